"""EM for the aggregate Markov model of Saul and Pereira (1997), in compiled passes over sparse counts.

    p(w2 | w1) = sum_h r(h | w1) s(w2 | h)

    paper      here            shape
    c(w1,w2)   counts          (V, V), CSR
    r(h|w1)    histories       (V, m), rows sum to one
    p(h)       mix             (m,), the classes of an unknown past
    s(w2|h)    emissions       (V, m), columns sum to one (row w2 holds s(w2 | .), so that an entry is one dot product)

With ratio(w1,w2) = c(w1,w2) / p(w2|w1) the expected counts are  r * (ratio s)  and  s * (ratio^T r): two passes over
the counts. Each row is summed in one place, so the result depends neither on threads nor on workers, which keep their
rows of the counts while the tables travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from numba import njit
from scipy import sparse

from spectragram.engine import Resident, allocator_of, scratch_array
from spectragram.engine.progress import Report, silent
from spectragram.learning.counts import TupleCounts
from spectragram.learning.em import refine
from spectragram.schema import Array, Schema

__all__ = ["ClassModel", "Expectation", "bigram_matrix", "em", "em_step", "history_step", "random_start"]

PART = 1 << 16
"""Words scored at a time, so that the gathered rows stay small. Chosen by hand; results do not depend on it."""

N_PARTS = 32
"""Parts into which the rows of an E-step are cut for threads and workers. Chosen by hand: more than most machines have
cores, so that a part with long rows does not hold up the others. Only the last bits of log-likelihoods depend on it."""

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
    """Bigram counts as a (V, V) matrix of float64, rows the first word; in files if the counts are."""
    n_words = counts.n_ids
    allocate = allocator_of(counts.keys)
    indices, values = (allocate(len(counts.keys), dtype) for dtype in (np.int32, np.float64))
    for part in counts.slices():
        indices[part], values[part] = counts.keys[part] % n_words, counts.counts[part]
    starts = np.searchsorted(counts.keys, np.arange(n_words + 1) * n_words)
    if len(indices) < 2**31:  # otherwise scipy makes wider copies of the indices
        starts = starts.astype(np.int32)
    return sparse.csr_array((values, indices, starts), shape=(n_words, n_words))


def by_second_word(counts: TupleCounts, matrix: sparse.csr_array) -> sparse.csr_array:
    """The transpose of a bigram matrix, with its rows together; in files if the counts are."""
    transposed = matrix.T.tocsr()
    if allocator_of(counts.keys) is scratch_array:
        for name in ("indices", "data"):
            here = getattr(transposed, name)
            there = scratch_array(len(here), here.dtype)
            there[:] = here
            setattr(transposed, name, there)
    return transposed


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
    out: np.ndarray,
) -> float:
    """out[i] = rows[i] * sum_j values[ij] / (rows[i] . others[j]) others[j] for all rows.

    Returns the log-likelihood of these rows.
    """
    m = rows.shape[1]
    log_likelihood = 0.0
    for i in range(len(rows)):
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


class Expectation:
    """Expected counts of every row's classes, again and again; with an executor rows stay with its workers."""

    def __init__(self, matrix: sparse.csr_array, n_jobs: int = 1) -> None:
        n_rows = matrix.shape[0]
        targets = np.linspace(0, matrix.nnz, N_PARTS + 1)
        cuts = np.unique(np.searchsorted(matrix.indptr, targets, side="left").clip(0, n_rows))
        cuts[0], cuts[-1] = 0, n_rows
        parts = [_Rows.of(matrix, first, stop) for first, stop in pairwise(np.unique(cuts).tolist())]
        self._expect = Resident(_expect_rows, parts, n_jobs)

    def __call__(self, rows: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, float]:
        """Expected counts, shape of ``rows``, and the log-likelihood."""
        found = self._expect(rows, others)
        log_likelihood = float(sum(value for _, value in found))
        expected, first = np.empty_like(rows), 0
        while found:  # parts make room for one another: there may be hundreds of megabytes of them
            part, _ = found.pop(0)
            expected[first : first + len(part)] = part
            first += len(part)
        return expected, log_likelihood


@dataclass(frozen=True)
class _Rows:
    """Rows ``first`` to ``stop`` of a matrix in CSR."""

    first: int
    stop: int
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, matrix: sparse.csr_array, first: int, stop: int) -> Self:
        indptr = matrix.indptr[first : stop + 1].astype(np.int64)
        entries = slice(indptr[0], indptr[-1])
        return cls(first, stop, indptr - indptr[0], matrix.indices[entries], matrix.data[entries])


def _expect_rows(part: _Rows, rows: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, float]:
    own = rows[part.first : part.stop]
    out = np.empty_like(own)
    return out, _expected(part.indptr, part.indices, part.values, own, others, out)


def _normalise_histories(expected: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """r(h|w1) = (expected + prior p(h)) / (total + prior), and p(h); a history that was never seen gets p(h).

    They take the place of the expected counts, since a table of a large vocabulary takes hundreds of megabytes.
    """
    mix = expected.sum(axis=0)
    mix /= mix.sum() or 1.0
    total = expected.sum(axis=1, keepdims=True)
    expected += prior * mix
    expected /= np.maximum(total + prior, SMALLEST)
    expected[total[:, 0] <= 0] = mix
    return expected, mix


def em_step(
    counts: Expectation, transposed: Expectation, model: ClassModel, *, prior: float = 0.0
) -> tuple[ClassModel, float]:
    """One iteration on counts of pairs, by their first and by their second word.

    Returns the new model, and the log-likelihood of the counts under the old one. ``prior`` is the strength of a
    Dirichlet prior that draws the classes of rare histories towards the overall mix.
    """
    histories, log_likelihood = counts(model.histories, model.emissions)
    emissions, _ = transposed(model.emissions, model.histories)
    emissions /= np.maximum(emissions.sum(axis=0), SMALLEST)
    histories, mix = _normalise_histories(histories, prior)
    return ClassModel(histories, emissions, mix), log_likelihood


def history_step(counts: Expectation, model: ClassModel, *, prior: float = 0.0) -> tuple[ClassModel, float]:
    """One iteration on r alone, with s fixed: the likelihood is concave in r, so EM finds its global optimum."""
    expected, log_likelihood = counts(model.histories, model.emissions)
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
    steps = _steps(counts, model, prior, n_jobs)
    del model  # a table of a large vocabulary takes hundreds of megabytes
    found = refine(
        steps,
        max_iter=max_iter,
        judge=None if loss is None else lambda model: -loss(model),
        patience=patience,
        report=report,
    )
    return found.model, found.iteration, [-score for score in found.scores]


def _steps(counts: TupleCounts, model: ClassModel, prior: float, n_jobs: int) -> Iterator[tuple[ClassModel, float]]:
    """The start, and endless EM iterations: the next model and the log-likelihood of the one before."""
    yield model, -np.inf
    matrix = bigram_matrix(counts)
    by_first, by_second = Expectation(matrix, n_jobs), Expectation(by_second_word(counts, matrix), n_jobs)
    while True:
        model, log_likelihood = em_step(by_first, by_second, model, prior=prior)
        yield model, log_likelihood
