"""Scores of labels on the arcs of a given tree, with the same hashed features as the arcs themselves."""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.pair_factors import STIR, find_place, step_weight

__all__ = ["label_scores", "step_labels"]


@njit(cache=True, nogil=True)
def label_scores(pairs, heads, candidates, table):  # type: ignore[no-untyped-def]
    """Score of every candidate label of every word that has a head.

    pairs: :class:`~spectragram.inference.pair_factors.Pairs`; heads (n,) as in CoNLL-U; candidates (n, l) bool;
    table (2^b,) float32. Returns (n, l); -inf for other labels and below the root.
    """
    n, n_labels = candidates.shape
    shift = np.uint64(64 - int(np.log2(len(table)) + 0.5))
    scores = np.full((n, n_labels), -np.inf)
    for j in range(n):
        i = heads[j] - 1
        if i < 0:
            continue
        d = int(i < j)
        for label in range(n_labels):
            if candidates[j, label]:
                total = 0.0
                for t in range(pairs.here.shape[2]):
                    total += table[_label_place(pairs, d, i, j, t, label, shift)]
                scores[j, label] = total
    return scores


@njit(cache=True, nogil=True)
def step_labels(pairs, heads, gradient, weights, rate, now):  # type: ignore[no-untyped-def]
    """Climb along the gradient (n, l) of the labels of a sentence by AdaGrad, changing ``weights``."""
    n, n_labels = gradient.shape
    shift = np.uint64(64 - int(np.log2(len(weights.table)) + 0.5))
    for j in range(n):
        i = heads[j] - 1
        if i < 0:
            continue
        d = int(i < j)
        for label in range(n_labels):
            g = gradient[j, label]
            if abs(g) > 1e-3:
                for t in range(pairs.here.shape[2]):
                    step_weight(weights, _label_place(pairs, d, i, j, t, label, shift), g, rate, now)


@njit(cache=True, nogil=True)
def _label_place(pairs, d, i, j, t, label, shift):  # type: ignore[no-untyped-def]
    key = pairs.here[d, i, t] + pairs.there[d, j, t]
    if pairs.graded[t]:
        key += np.uint64(pairs.grades[abs(i - j)] + 1) * STIR
    return find_place((key ^ np.uint64(label + 1)) * STIR, shift)
