"""Log-linear factors of neighbouring modifiers: the keys of their features, their scores and their gradient steps.

A triple is a head i, a modifier k on one side of it, and the next modifier j on that side, further out. Every template
describes the surroundings of all three, so a feature consists of what it sees at each of them and, if it asks for it,
how far apart the modifiers are and in which attributes they agree:

    score(d, i, k, j) = sum_t w[place(key_t(d, i) + key'_t(d, k) + key''_t(d, j) + grade_t(j - k) + agreement_t(k, j))]

The first modifier has no modifier before it, and the last one none after it: the keys of such a place are those of
nothing. Triples are numbered as in :class:`~spectragram.inference.headed.ArcList`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.hashed import MIX, SMALLEST_STEP, STIR, Weights, find_place, step_weight, table_shift
from spectragram.inference.headed import ArcList
from spectragram.inference.pair_factors import agreement_key

__all__ = ["Triples", "gold_triples", "step_triples", "triple_scores"]

NOTHING = np.uint64(0x165667B19E3779F9)
"""The key of a modifier that is not there: any odd number will do, this one is a prime of xxHash."""


class Triples(NamedTuple):
    """The triples of one sentence as a family of templates sees them.

    heads, inner, outer (2, n, t) uint64: keys of the head, of the modifier and of the next one, from
    :func:`~spectragram.inference.pair_factors.context_keys`; grades (n,) int64: the grade of each distance; graded (t,)
    bool: whether a template looks at it; attributes (n, a) int64, 0 for none; agreeing (t,) bool: whether a template
    compares them.
    """

    heads: np.ndarray
    inner: np.ndarray
    outer: np.ndarray
    grades: np.ndarray
    graded: np.ndarray
    attributes: np.ndarray
    agreeing: np.ndarray


@njit(cache=True, nogil=True)
def _find_places(triples: Triples, d: int, i: int, k: int, j: int, shift: np.uint64, places: np.ndarray) -> None:
    """Write the places of the features of a triple; k or j is -1 where there is none."""
    heads, inner, outer, grades, graded, attributes, agreeing = triples
    grade, agreement = NOTHING, NOTHING
    if k >= 0 and j >= 0:
        grade = np.uint64(grades[abs(j - k)] + 1) * STIR
        if attributes.shape[1]:
            agreement = agreement_key(attributes, k, j)
    for t in range(heads.shape[2]):
        # The two modifiers are turned differently, so that a and b is not b and a.
        key = heads[d, i, t] + (NOTHING if k < 0 else inner[d, k, t]) * MIX
        key += (NOTHING if j < 0 else outer[d, j, t]) * STIR
        if graded[t]:
            key += grade
        if agreeing[t]:
            key += agreement
        places[t] = find_place(key, shift)


@njit(cache=True, nogil=True)
def triple_scores(triples: Triples, listed: ArcList, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores of all pairs of listed arcs, and of all arcs as the last of their heads, (a,); table (2^b,) float32."""
    starts, distances, _, first_pairs = listed
    n, n_templates = triples.heads.shape[1:]
    shift = table_shift(table)
    pairs, lasts = np.zeros(first_pairs[len(distances)]), np.zeros(len(distances))
    places = np.empty(n_templates, np.int64)
    for d in range(2):
        away = 2 * d - 1
        for i in range(n):
            for e in range(starts[d, i], starts[d, i + 1]):
                j = i + away * distances[e]
                for b in range(starts[d, i] - 1, e):
                    k = -1 if b < starts[d, i] else i + away * distances[b]
                    _find_places(triples, d, i, k, j, shift, places)
                    for t in range(n_templates):
                        pairs[first_pairs[e] + 1 + b - starts[d, i]] += table[places[t]]
                _find_places(triples, d, i, j, -1, shift, places)
                for t in range(n_templates):
                    lasts[e] += table[places[t]]
    return pairs, lasts


@njit(cache=True, nogil=True)
def step_triples(
    triples: Triples,
    listed: ArcList,
    of_pairs: np.ndarray,
    of_lasts: np.ndarray,
    weights: Weights,
    rate: float,
    now: int,
) -> None:
    """Climb along the gradients of the scores by AdaGrad, changing ``weights``."""
    table, squares, summed = weights
    starts, distances, _, first_pairs = listed
    n, n_templates = triples.heads.shape[1:]
    shift = table_shift(table)
    places = np.empty(n_templates, np.int64)
    for d in range(2):
        away = 2 * d - 1
        for i in range(n):
            for e in range(starts[d, i], starts[d, i + 1]):
                j = i + away * distances[e]
                for b in range(starts[d, i] - 1, e):
                    g = of_pairs[first_pairs[e] + 1 + b - starts[d, i]]
                    if abs(g) > SMALLEST_STEP:
                        k = -1 if b < starts[d, i] else i + away * distances[b]
                        _find_places(triples, d, i, k, j, shift, places)
                        for t in range(n_templates):
                            step_weight(table, squares, summed, places[t], g, rate, now)
                if abs(of_lasts[e]) > SMALLEST_STEP:
                    _find_places(triples, d, i, j, -1, shift, places)
                    for t in range(n_templates):
                        step_weight(table, squares, summed, places[t], of_lasts[e], rate, now)


@njit(cache=True, nogil=True)
def gold_triples(heads: np.ndarray, listed: ArcList) -> tuple[np.ndarray, np.ndarray]:
    """1 at the pairs of neighbouring modifiers of a tree, and at the last ones.

    heads (n,) as in CoNLL-U; all arcs of the tree are listed.
    """
    starts, distances, _, first_pairs = listed
    n = len(heads)
    pairs, lasts = np.zeros(first_pairs[len(distances)]), np.zeros(len(distances))
    for d in range(2):
        away = 2 * d - 1
        for i in range(n):
            before = starts[d, i] - 1
            for e in range(starts[d, i], starts[d, i + 1]):
                if heads[i + away * distances[e]] == i + 1:
                    pairs[first_pairs[e] + 1 + before - starts[d, i]] = 1.0
                    before = e
            if before >= starts[d, i]:
                lasts[before] = 1.0
    return pairs, lasts
