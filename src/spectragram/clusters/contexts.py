"""Words by their contexts as a linear operator on the pairs as exchange reads them, without a matrix of its own."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.sparse.linalg import LinearOperator

from spectragram.clusters.information import Bigrams

__all__ = ["ContextCounts", "ScaledContexts"]


class ContextCounts:
    """Counts of words by the next (place 1) and the previous word (place -1), shape (n, n * places)."""

    def __init__(self, bigrams: Bigrams, places: tuple[int, ...]) -> None:
        self.bigrams = bigrams
        self.places = places
        self.shape = (bigrams.n_words, bigrams.n_words * len(places))

    def margins(self) -> tuple[np.ndarray, np.ndarray]:
        """Sums of rows and of columns."""
        left, right = self.bigrams.left.astype(np.float64), self.bigrams.right.astype(np.float64)
        rows = sum((left if place > 0 else right for place in self.places), np.zeros(len(left)))
        return rows, np.concatenate([right if place > 0 else left for place in self.places])

    def scaled(self, rows: np.ndarray, columns: np.ndarray) -> ScaledContexts:
        """The same with row i and column j multiplied by factors."""
        return ScaledContexts(self, rows, columns)


class ScaledContexts(LinearOperator):
    """diag(rows) counts diag(columns)."""

    def __init__(self, counts: ContextCounts, rows: np.ndarray, columns: np.ndarray) -> None:
        super().__init__(np.float64, counts.shape)  # type: ignore[call-arg,unused-ignore]
        self.counts = counts
        self.rows = rows
        self.columns = columns.reshape(len(counts.places), -1)

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        """Counts of words by contexts, times a vector of contexts."""
        parts = self.columns * np.asarray(x, np.float64).reshape(self.columns.shape)
        result = np.zeros(len(self.rows))
        for place, part in zip(self.counts.places, parts, strict=True):
            _add_product(*self._by_word(place), part, result)
        return self.rows * result

    def _rmatvec(self, y: np.ndarray) -> np.ndarray:
        """The transposed product."""
        scaled = self.rows * np.asarray(y, np.float64).ravel()
        result = np.zeros(self.columns.shape)
        for place, part in zip(self.counts.places, result, strict=True):
            _add_product(*self._by_word(-place), scaled, part)
        return np.asarray((self.columns * result).ravel())

    def _by_word(self, place: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pairs = self.counts.bigrams
        if place > 0:
            return pairs.next_starts, pairs.following, pairs.next_counts
        return pairs.previous_starts, pairs.preceding, pairs.previous_counts


@njit(cache=True, nogil=True)
def _add_product(
    starts: np.ndarray, neighbours: np.ndarray, counts: np.ndarray, x: np.ndarray, result: np.ndarray
) -> None:
    """Add a sparse matrix times a vector to ``result``."""
    for word in range(len(result)):
        total = 0.0
        for i in range(starts[word], starts[word + 1]):
            total += counts[i] * x[neighbours[i]]
        result[word] += total
