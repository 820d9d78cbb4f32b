"""Spans of several sentences that are read together, shorter ones first, and their scales."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["Spans", "relative", "rescaled"]


class Spans:
    """Numbers of the spans of several sentences, shorter ones first, and of the places between their words.

    Parameters
    ----------
    lengths : sequence of int
        Words of each sentence; 0 is allowed.
    """

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = np.asarray(lengths, np.int64).reshape(-1)
        self.longest = int(self.lengths.max(initial=0))
        counts = np.maximum(self.lengths[None, :] - np.arange(self.longest + 1)[:, None] + 1, 0)
        counts[0] = 0
        # first[length, s]: the span of this length at the beginning of sentence s
        self.first = (np.cumsum(counts) - counts.ravel()).reshape(counts.shape)
        self.n_spans = int(counts.sum())
        self.first_place = np.concatenate([[0], np.cumsum(self.lengths + 1)]).astype(np.int64)
        self.n_places = int(self.first_place[-1])
        self.counts = counts

    def of_length(self, length: int) -> slice:
        """All spans of a length, sentence by sentence, from left to right."""
        start = int(self.first[length, 0])
        return slice(start, start + int(self.counts[length].sum()))

    def splits(self, length: int) -> np.ndarray:
        """The spans that each span of a length can be cut into, int64 (n, length - 1, 2)."""
        sentence = np.repeat(np.arange(len(self.lengths)), self.counts[length])
        place = np.arange(len(sentence)) - (self.first[length] - self.first[length, 0])[sentence]
        cut = np.arange(1, length)
        left = self.first[cut][:, sentence].T + place[:, None]
        right = self.first[length - cut][:, sentence].T + place[:, None] + cut
        return np.stack([left, right], axis=2)

    def at(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The places after k words, (n,), and the earlier places with the spans from them to here, (n, k, 2)."""
        sentence = np.flatnonzero(self.lengths >= k)
        places = self.first_place[sentence]
        i = np.arange(k)
        spans = self.first[k - i][:, sentence].T + i
        return places + k, np.stack([places[:, None] + i, spans], axis=2)

    def places(self) -> list[tuple[int, int]]:
        """First place of every sentence and the place after its last."""
        return list(zip(self.first_place[:-1].tolist(), self.first_place[1:].tolist(), strict=True))


def relative(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """exp of ``logs`` (n, k) relative to the largest of each row, float32, and those largest, (n,)."""
    base = logs.max(axis=1)
    finite = np.where(np.isfinite(base), base, 0.0)
    return np.exp(logs - finite[:, None]).astype(np.float32), base


def rescaled(vectors: np.ndarray, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors (n, m) divided by their largest entries, and logarithms of their scales, minus infinity for zeros."""
    largest = vectors.max(axis=1, initial=0.0)
    with np.errstate(divide="ignore"):
        return vectors / np.where(largest > 0.0, largest, 1.0)[:, None], base + np.log(largest.astype(np.float64))
