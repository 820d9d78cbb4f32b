"""Log-linear factors of pairs of words: hashed indicator features, their scores and their gradient steps.

A pair is a word i and another one s places away from it in direction d. Every template describes the surroundings of
both, so a feature is what the template sees at i, what it sees at the other word and, where the template asks for it,
how far apart they are; one more template pairs the two with every kind of word between them, each kind once:

    score(d, i, s) = sum_t  w[hash(key_t(d, i) + key'_t(d, j) + grade_t(s))]  +  sum_{b between}  w[hash(... + key(b))]

Keys of the two sides are computed once for each word, so a pair costs an addition, a multiplication and one look into
the table for each template. Different features may share a place in the table; with a few places for each feature that
occurs this costs nothing that can be measured.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["context_keys", "pair_scores", "step_pairs"]

MIX = np.uint64(0x9E3779B97F4A7C15)
STIR = np.uint64(0xC2B2AE3D27D4EB4F)
SMALLEST_STEP = 1e-4
"""Gradients below this are not worth the memory traffic."""


@njit(cache=True, nogil=True)
def context_keys(columns, atoms):  # type: ignore[no-untyped-def]
    """What each template sees at each word, as a 64-bit key.

    columns (c, n) int64; atoms (t, a, 2) int64, each a column (-1 for none) and an offset, counted away from the head
    (in the direction of the pair). Returns (2, n, t) uint64.
    """
    n_columns, n = columns.shape
    n_templates, n_atoms, _ = atoms.shape
    keys = np.empty((2, n, n_templates), np.uint64)
    for d in range(2):
        for i in range(n):
            for t in range(n_templates):
                key = np.uint64(t + 1) * STIR
                for a in range(n_atoms):
                    column = atoms[t, a, 0]
                    if column < 0:
                        break
                    at = i + (2 * d - 1) * atoms[t, a, 1]
                    value = columns[column, at] + 2 if 0 <= at < n else 1
                    key = (key ^ np.uint64(value)) * MIX
                    key ^= key >> np.uint64(29)
                keys[d, i, t] = (key + np.uint64(d)) * STIR
    return keys


@njit(cache=True, nogil=True, inline="always")
def _place(key, shift):  # type: ignore[no-untyped-def]
    key = (key ^ (key >> np.uint64(32))) * MIX
    return np.int64(key >> shift)


@njit(cache=True, nogil=True)
def _find_places(here, there, grade, graded, between, n_between, shift, places):  # type: ignore[no-untyped-def]
    """Write the places of a pair's features; returns how many there are. The last template is that of words between."""
    last = len(here) - 1
    for t in range(last):
        key = here[t] + there[t]
        if graded[t]:
            key += np.uint64(grade + 1) * STIR
        places[t] = _place(key, shift)
    key = here[last] + there[last]
    for b in range(n_between):
        places[last + b] = _place(key + np.uint64(between[b] + 1) * STIR, shift)
    return last + n_between


@njit(cache=True, nogil=True)
def pair_scores(here, there, grades, graded, kinds, n_kinds, first, table):  # type: ignore[no-untyped-def]
    """Scores of all pairs of a sentence, (2, n, n) by direction, word and distance.

    here, there (2, n, t) from :func:`context_keys`; grades (n,) int64, the grade of each distance; graded (t,) bool;
    kinds (n,) int64 below n_kinds, what words are as words between; first: the smallest distance of a pair (0 or 1);
    table (2^b,) float32.
    """
    _, n, n_templates = here.shape
    shift = np.uint64(64 - int(np.log2(len(table)) + 0.5))
    scores = np.zeros((2, n, n))
    places = np.empty(n_templates + n_kinds, np.int64)
    between = np.empty(n_kinds, np.int64)
    for d in range(2):
        away = 2 * d - 1
        for i in range(n):
            seen = np.zeros(n_kinds, np.bool_)
            n_between = 0
            for s in range(n - i if d == 1 else i + 1):
                j = i + away * s
                if s >= first:
                    found = _find_places(
                        here[d, i], there[d, j], grades[s], graded, between, n_between, shift, places
                    )
                    total = 0.0
                    for f in range(found):
                        total += table[places[f]]
                    scores[d, i, s] = total
                if s > 0 and not seen[kinds[j]]:
                    seen[kinds[j]] = True
                    between[n_between] = kinds[j]
                    n_between += 1
    return scores


@njit(cache=True, nogil=True)
def step_pairs(  # type: ignore[no-untyped-def]
    here, there, grades, graded, kinds, n_kinds, first, gradient, table, squares, summed, rate, time
):
    """Climb along ``gradient`` (2, n, n) of the pairs of a sentence by AdaGrad, in place.

    squares (2^b,): sum of squared gradients of each place; summed (2^b,): steps weighted by the time they were made at,
    so that table - summed / end is the average over time.
    """
    _, n, n_templates = here.shape
    shift = np.uint64(64 - int(np.log2(len(table)) + 0.5))
    places = np.empty(n_templates + n_kinds, np.int64)
    between = np.empty(n_kinds, np.int64)
    for d in range(2):
        away = 2 * d - 1
        for i in range(n):
            seen = np.zeros(n_kinds, np.bool_)
            n_between = 0
            for s in range(n - i if d == 1 else i + 1):
                j = i + away * s
                g = gradient[d, i, s]
                if s >= first and abs(g) > SMALLEST_STEP:
                    found = _find_places(
                        here[d, i], there[d, j], grades[s], graded, between, n_between, shift, places
                    )
                    for f in range(found):
                        place = places[f]
                        squares[place] += g * g
                        step = rate * g / np.sqrt(squares[place])
                        table[place] += step
                        summed[place] += step * time
                if s > 0 and not seen[kinds[j]]:
                    seen[kinds[j]] = True
                    between[n_between] = kinds[j]
                    n_between += 1
