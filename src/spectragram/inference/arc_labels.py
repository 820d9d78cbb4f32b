"""Scores of labels on the arcs of a given tree; they use the same hashed features as the arcs."""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.pair_factors import SMALLEST_STEP, STIR, Pairs, Weights, find_place, step_weight

__all__ = ["label_scores", "step_labels"]


@njit(cache=True, nogil=True)
def label_scores(pairs: Pairs, heads: np.ndarray, candidates: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Score of every candidate label of every word that has a head.

    pairs: :class:`~spectragram.inference.pair_factors.Pairs`; heads (n,) as in CoNLL-U; candidates (n, l) bool;
    table (2^b,) float32. Returns (n, l); -inf for other labels, and for the word below the root.
    """
    n, n_labels = candidates.shape
    shift = np.uint64(64 - int(np.log2(len(table)) + 0.5))
    scores = np.full((n, n_labels), -np.inf)
    keys = np.empty(pairs.here.shape[2], np.uint64)
    for j in range(n):
        if heads[j] > 0:
            _find_keys(pairs, heads[j] - 1, j, keys)
            for label in range(n_labels):
                if candidates[j, label]:
                    total = 0.0
                    for t in range(len(keys)):
                        total += table[find_place((keys[t] ^ np.uint64(label + 1)) * STIR, shift)]
                    scores[j, label] = total
    return scores


@njit(cache=True, nogil=True)
def step_labels(
    pairs: Pairs, heads: np.ndarray, gradient: np.ndarray, weights: Weights, rate: float, now: float
) -> None:
    """Take a step of AdaGrad along the gradient (n, l) of the labels of a sentence, in place."""
    table, squares, summed = weights
    n, n_labels = gradient.shape
    shift = np.uint64(64 - int(np.log2(len(table)) + 0.5))
    keys = np.empty(pairs.here.shape[2], np.uint64)
    for j in range(n):
        if heads[j] > 0:
            _find_keys(pairs, heads[j] - 1, j, keys)
            for label in range(n_labels):
                g = gradient[j, label]
                if abs(g) > SMALLEST_STEP:
                    for t in range(len(keys)):
                        place = find_place((keys[t] ^ np.uint64(label + 1)) * STIR, shift)
                        step_weight(table, squares, summed, place, g, rate, now)


@njit(cache=True, nogil=True)
def _find_keys(pairs: Pairs, i: int, j: int, keys: np.ndarray) -> None:
    """The keys of the arc from i to j, before any label is added."""
    d = int(i < j)
    here, there, graded = pairs.here[d, i], pairs.there[d, j], pairs.graded
    grade = np.uint64(pairs.grades[abs(i - j)] + 1) * STIR
    for t in range(len(keys)):
        keys[t] = here[t] + there[t]
        if graded[t]:
            keys[t] += grade
