"""Hidden classes by the anchor decomposition (Cohen & Collins 2014, section 8).

1. Q(w1, w2) = count(w1, w2) / N; the algorithm of section 5.2 on its transpose, rows w2, recovers s(w2 | h).
2. r(h | w1) by EM on  sum Q(w1, w2) log sum_h r(h | w1) s(w2 | h), concave in r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from spectragram.learning.counts import TupleCounts
from spectragram.lm.em import ClassModel, Expectation, bigram_matrix, history_step
from spectragram.spectral.anchors import decompose_means
from spectragram.spectral.scaling import Scaling
from spectragram.spectral.subspace import find_subspace

__all__ = ["Anchoring", "pivot"]

KAPPA = 5.0
"""Smoothing of the CCA scaling, in words. Chosen by hand, not tuned."""

MAX_CONTEXTS = 1000
"""Context words that the projection is learned from. Chosen by hand: the most frequent words carry nearly all of the
information, with less noise."""

MEMBERSHIP_TOLERANCE = 1e-5
"""Precision of the least squares. Chosen by hand: the error is far below the noise in the contexts of a word."""

HISTORY_STEPS = 3
"""EM steps for r. Chosen on the Brown split: the first steps bring most of the likelihood, and stopping early keeps
rare histories smooth."""

CANDIDATES_PER_ANCHOR = 10
"""By default anchors are chosen among the most frequent words, this many for each anchor. Chosen by hand, not tuned."""

SMOOTHING = 5.0
"""Strength, in words, of the overall class mix in the classes of a word. Chosen by hand, not tuned."""

SMALLEST = 1e-300
"""A guard against division by zero; any tiny value does."""


@dataclass(frozen=True)
class Anchoring:
    """How classes are found; ``ours`` are the defaults, with other values section 8 of the paper.

    Attributes
    ----------
    kappa : float
        Smoothing of the CCA scaling, in words.
    max_contexts : int
        Context words that the projection is learned from; 0 takes all.
    candidates : int
        Anchors are chosen among the most frequent words, this many for each anchor; 0 takes all.
    membership_tolerance : float
        Precision of the least squares.
    smoothing : float
        Strength, in words, of the overall class mix in the classes of each word. The classes of a rare word are hardly
        known, and without smoothing the least squares leave most of them at exactly zero.
    history_steps, history_tolerance
        EM steps for r at most; they stop when the log-likelihood of a word gains less.
    """

    kappa: float = KAPPA
    max_contexts: int = MAX_CONTEXTS
    candidates: int = CANDIDATES_PER_ANCHOR
    membership_tolerance: float = MEMBERSHIP_TOLERANCE
    smoothing: float = SMOOTHING
    history_steps: int = HISTORY_STEPS
    history_tolerance: float = 0.0


ANCHORING = Anchoring()


def pivot(
    counts: TupleCounts,
    n_states: int,
    *,
    prior: float = 0.0,
    how: Anchoring = ANCHORING,
    min_count: int | None = None,
    rng: np.random.Generator,
    n_jobs: int = 1,
) -> ClassModel:
    """Learn s by anchors and r by convex EM from bigram counts.

    Parameters
    ----------
    counts : TupleCounts
        Counts of pairs of words.
    n_states : int
        Number of classes. A small text that cannot tell so many apart gives fewer.
    prior : float
        Strength of the prior on r (:func:`~spectragram.lm.em.em_step`).
    how : Anchoring
    min_count : int, optional
        How often a word must occur to be an anchor; by default ``how`` decides.
    """
    matrix = bigram_matrix(counts)
    occurrences = matrix.sum(axis=0)
    if min_count is None:
        ordered = np.sort(occurrences)[::-1]
        n_candidates = how.candidates * n_states or len(ordered)
        min_count = max(int(ordered[min(n_candidates, len(ordered)) - 1]), 1)
    emissions, prior_of_classes = _emissions(matrix, occurrences, n_states, min_count, how, rng, n_jobs)
    model = ClassModel(np.repeat(prior_of_classes[None], counts.n_ids, axis=0), emissions, prior_of_classes)
    del emissions
    expect = Expectation(matrix, n_jobs)
    before = -np.inf
    for _ in range(how.history_steps):
        model, log_likelihood = history_step(expect, model, prior=prior)
        if 0.0 <= log_likelihood - before < how.history_tolerance * matrix.sum():
            break
        before = log_likelihood
    return model


def _emissions(
    matrix: sparse.csr_array,
    occurrences: np.ndarray,
    n_states: int,
    min_count: int,
    how: Anchoring,
    rng: np.random.Generator,
    n_jobs: int,
) -> tuple[np.ndarray, np.ndarray]:
    """s(w2|h), shape (V, m), and pi(h), shape (m,); in place, since every table of this shape may be large."""
    means = _mean_contexts(matrix, n_states, how, rng)
    tolerance = how.membership_tolerance
    found = decompose_means(means, occurrences, means.shape[1], min_count=min_count, tolerance=tolerance, n_jobs=n_jobs)
    share = occurrences / np.maximum(occurrences + how.smoothing, SMALLEST)
    # s(w2|h) = p(w2) q(h|w2) / pi(h)
    emissions = found.memberships
    emissions *= share[:, None]
    emissions += (1.0 - share)[:, None] * found.prior
    emissions *= occurrences[:, None]
    emissions /= np.maximum(emissions.sum(axis=0), SMALLEST)
    return emissions, found.prior


def _mean_contexts(matrix: sparse.csr_array, n_states: int, how: Anchoring, rng: np.random.Generator) -> np.ndarray:
    """Steps 1 and 2 of section 5.2: v(w2) = E[phi(w1) | w2], phi by CCA of Q(w2, w1), shape (V, n_states).

    Fewer columns where the matrix has a lower rank.
    """
    order = np.argsort(-matrix.sum(axis=1), kind="stable")
    frequent = np.sort(order[: max(how.max_contexts, 4 * n_states) if how.max_contexts else len(order)])
    Q = sparse.csr_array(matrix[frequent].T)
    mass = Q.sum(axis=1)
    scaling = Scaling.from_counts(mass, Q.sum(axis=0), kappa=how.kappa)
    # With a thousand columns the Gram matrix is small, and anchors do not need the precision that it loses.
    method: Literal["auto", "gram"] = "gram" if how.max_contexts else "auto"
    subspace = find_subspace(scaling.apply(Q), n_states, method=method, rng=rng, truncate=True)
    projection = scaling.fold(subspace).right
    return (Q @ projection) / np.maximum(mass, 1.0)[:, np.newaxis]
