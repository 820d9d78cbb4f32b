"""EM for the aggregate Markov model of Saul and Pereira (1997), in compiled passes over sparse counts.

    p(w2 | w1) = sum_h r(h | w1) s(w2 | h)

    paper      here            shape
    c(w1,w2)   counts          (V, V), CSR
    r(h|w1)    histories       (V, m), rows sum to one
    p(h)       mix             (m,), the classes of an unknown past
    s(w2|h)    emissions       (V, m), columns sum to one (row w2 holds s(w2 | .), so that an entry is one dot product)

With ratio(w1,w2) = c(w1,w2) / p(w2|w1) the expected counts are  r * (ratio s)  and  s * (ratio^T r): two passes over
the counts. Each row is summed by one thread, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit
from scipy import sparse

from spectragram.engine import map_threads
from spectragram.engine.progress import Report, silent
from spectragram.learning.counts import TupleCounts
from spectragram.learning.em import refine
from spectragram.schema import Array, Schema

__all__ = ["ClassModel", "bigram_matrix", "em", "em_step", "history_step", "random_start"]

PART = 1 << 16
"""Words scored at a time, so that the gathered rows stay small. Chosen by hand; results do not depend on it."""

N_PARTS = 32
"""Parts into which the rows of an E-step are cut for threads. Chosen by hand: more than most machines have cores, so
that a part with long rows does not hold up the others. Results do not depend on it."""

SMALLEST = 1e-300
"""A guard against division by zero; any tiny value does."""


@dataclass(frozen=True)
class ClassModel:
    """Hidden classes of a word: the tables of the model, as the module describes them."""

    SCHEMA: ClassVar[Schema] = Schema(
        "Class model",
        "Hidden classes between neighbouring words.",
        arrays={
            "histories": Array("f4|f8", ("n_words", "n_states"), "classes after each word", least=0),
            "emissions": Array("f4|f8", ("n_words", "n_states"), "each word given the class", least=0),
            "mix": Array("f4|f8", ("n_states",), "classes after an unknown past", least=0),
        },
        sizes={"n_states": 1},
    )

    histories: np.ndarray
    emissions: np.ndarray
    mix: np.ndarray

    @property
    def n_states(self) -> int:
        """Number of hidden classes, m."""
        return self.histories.shape[1]

    def prob(self, previous: np.ndarray, words: np.ndarray) -> np.ndarray:
        """p(word | previous word) of words (n,) after words (n,), shape (n,); -1 stands for an unknown past."""
        result = np.empty(len(words))
        for first in range(0, len(words), PART):
            part = slice(first, first + PART)
            rows = np.where((previous[part] < 0)[:, None], self.mix, self.histories[previous[part]])
            result[part] = np.einsum("ij,ij->i", rows, self.emissions[words[part]])
        return result

    def next(self, previous: int) -> np.ndarray:
        """p(. | previous word) of all words, shape (V,); the previous word -1 stands for an unknown past."""
        row = self.mix if previous < 0 else self.histories[previous]
        return (self.emissions @ row).astype(np.float64)


def bigram_matrix(counts: TupleCounts) -> sparse.csr_array:
    """Bigram counts as a (V, V) matrix of float64, rows the first word."""
    shape = (counts.n_ids, counts.n_ids)
    return sparse.csr_array((counts.counts.astype(np.float64), (counts.contexts, counts.words)), shape=shape)


def random_start(n_words: int, n_states: int, rng: np.random.Generator, shape: float = 50.0) -> ClassModel:
    """Both tables drawn from a symmetric Dirichlet distribution; the larger ``shape``, the more even they are."""
    histories = rng.standard_gamma(shape, (n_words, n_states))
    emissions = rng.standard_gamma(shape, (n_words, n_states))
    histories /= histories.sum(axis=1, keepdims=True)
    return ClassModel(histories, emissions / emissions.sum(axis=0), histories.mean(axis=0))


@njit(cache=True, nogil=True)
def _expected(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
    others: np.ndarray,
    first: int,
    last: int,
    out: np.ndarray,
) -> float:
    """out[i] = rows[i] * sum_j values[ij] / (rows[i] . others[j]) others[j] for rows first .. last - 1.

    Returns the log-likelihood of these rows.
    """
    m = rows.shape[1]
    log_likelihood = 0.0
    for i in range(first, last):
        row = rows[i]
        total = out[i]
        total[:] = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            other = others[indices[place]]
            # Four partial sums, since each addition to one sum would have to wait for the addition before it.
            p0, p1, p2, p3 = 0.0, 0.0, 0.0, 0.0
            whole = m - m % 4
            for h in range(0, whole, 4):
                p0 += row[h] * other[h]
                p1 += row[h + 1] * other[h + 1]
                p2 += row[h + 2] * other[h + 2]
                p3 += row[h + 3] * other[h + 3]
            for h in range(whole, m):
                p0 += row[h] * other[h]
            p = max(p0 + p1 + p2 + p3, SMALLEST)
            log_likelihood += values[place] * np.log(p)
            ratio = values[place] / p
            for h in range(m):
                total[h] += ratio * other[h]
        for h in range(m):
            total[h] *= row[h]
    return log_likelihood


def _expected_counts(
    matrix: sparse.csr_array, rows: np.ndarray, others: np.ndarray, n_jobs: int
) -> tuple[np.ndarray, float]:
    """Expected counts of every row's classes, shape of ``rows``, and the log-likelihood."""
    out = np.empty_like(rows)
    targets = np.linspace(0, matrix.nnz, N_PARTS + 1)
    cuts = np.unique(np.searchsorted(matrix.indptr, targets, side="left").clip(0, len(rows)))
    cuts[0], cuts[-1] = 0, len(rows)
    arrays = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data, rows, others)
    parts = map_threads(
        lambda span: _expected(*arrays, span[0], span[1], out),
        list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)),
        n_jobs=n_jobs,
    )
    return out, float(sum(parts))


def _normalise_histories(expected: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """r(h|w1) = (expected + prior p(h)) / (total + prior), and p(h); a history that was never seen gets p(h)."""
    mix = expected.sum(axis=0)
    mix /= mix.sum() or 1.0
    total = expected.sum(axis=1, keepdims=True)
    smoothed = expected + prior * mix
    return np.where(total > 0, smoothed / np.maximum(total + prior, SMALLEST), mix), mix


def em_step(
    counts: sparse.csr_array, transposed: sparse.csr_array, model: ClassModel, *, prior: float = 0.0, n_jobs: int = 1
) -> tuple[ClassModel, float]:
    """One iteration; returns the new model, and the log-likelihood of the counts under the old one.

    ``prior`` is the strength of a Dirichlet prior that draws the classes of rare histories towards the overall mix.
    """
    histories, log_likelihood = _expected_counts(counts, model.histories, model.emissions, n_jobs)
    emissions, _ = _expected_counts(transposed, model.emissions, model.histories, n_jobs)
    emissions /= np.maximum(emissions.sum(axis=0), SMALLEST)
    histories, mix = _normalise_histories(histories, prior)
    return ClassModel(histories, emissions, mix), log_likelihood


def history_step(
    counts: sparse.csr_array, model: ClassModel, *, prior: float = 0.0, n_jobs: int = 1
) -> tuple[ClassModel, float]:
    """One iteration on r alone, with s fixed: the likelihood is concave in r, so EM finds its global optimum."""
    expected, log_likelihood = _expected_counts(counts, model.histories, model.emissions, n_jobs)
    histories, mix = _normalise_histories(expected, prior)
    return ClassModel(histories, model.emissions, mix), log_likelihood


def em(
    counts: TupleCounts,
    model: ClassModel,
    *,
    max_iter: int,
    loss: Callable[[ClassModel], float] | None = None,
    prior: float = 0.0,
    patience: int = 2,
    n_jobs: int = 1,
    report: Report = silent,
) -> tuple[ClassModel, int, list[float]]:
    """Iterate from ``model`` until ``loss`` (held-out) has not improved for ``patience`` steps, or ``max_iter``.

    Returns the best model (which may be the start), its iteration, and the losses, that of the start first.
    """
    found = refine(
        _steps(counts, model, prior, n_jobs),
        start=model,
        max_iter=max_iter,
        judge=None if loss is None else lambda model: -loss(model),
        patience=patience,
        report=report,
    )
    return found.model, found.iteration, [-score for score in found.scores]


def _steps(counts: TupleCounts, model: ClassModel, prior: float, n_jobs: int) -> Iterator[tuple[ClassModel, float]]:
    """Endless EM iterations: the next model and the log-likelihood of the one before."""
    matrix = bigram_matrix(counts)
    transposed = matrix.T.tocsr()
    while True:
        model, log_likelihood = em_step(matrix, transposed, model, prior=prior, n_jobs=n_jobs)
        yield model, log_likelihood
