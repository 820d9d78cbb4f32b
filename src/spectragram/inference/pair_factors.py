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

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["Pairs", "Weights", "context_keys", "find_place", "pair_scores", "step_pairs", "step_weight"]

MIX = np.uint64(0x9E3779B97F4A7C15)
STIR = np.uint64(0xC2B2AE3D27D4EB4F)
SMALLEST_STEP = 1e-3
"""Gradients below this are not worth the memory traffic."""


class Pairs(NamedTuple):
    """The pairs of one sentence as a family of templates sees them.

    here, there (2, n, t) uint64: keys of the word itself and of the other one, from :func:`context_keys`;
    grades (n,) int64: the grade of each distance; graded (t,) bool: whether a template looks at it;
    kinds (n,) int64: what words are as words between; first: the smallest distance of a pair, 0 or 1.
    """

    here: np.ndarray
    there: np.ndarray
    grades: np.ndarray
    graded: np.ndarray
    kinds: np.ndarray
    first: int


class Weights(NamedTuple):
    """Weights in training, all (2^b,) float32.

    table: the weights; squares: sums of squared gradients; summed: steps times the time they were made at, so that
    table - summed / now is the average over time.
    """

    table: np.ndarray
    squares: np.ndarray
    summed: np.ndarray


@njit(cache=True, nogil=True)
def context_keys(columns, atoms):  # type: ignore[no-untyped-def]
    """What each template sees at each word, as a 64-bit key.

    columns (c, n) int64; atoms (t, a, 2) int64, each a column (-1 for none) and an offset, counted away from the head
    (in the direction of the pair). Returns (2, n, t) uint64.
    """
    n = columns.shape[1]
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
def find_place(key, shift):  # type: ignore[no-untyped-def]
    """Where the feature with this key lies in a table of 2^(64 - shift) weights."""
    key = (key ^ (key >> np.uint64(32))) * MIX
    return np.int64(key >> shift)


@njit(cache=True, nogil=True)
def _find_places(here, there, grade, graded, between, shift, places):  # type: ignore[no-untyped-def]
    """Write the places of a pair's features; returns how many there are. The last template is that of words between."""
    grade_key = np.uint64(grade + 1) * STIR
    last = len(here) - 1
    for t in range(last):
        key = here[t] + there[t]
        if graded[t]:
            key += grade_key
        places[t] = find_place(key, shift)
    key = here[last] + there[last]
    for b in range(len(between)):
        places[last + b] = find_place(key + np.uint64(between[b] + 1) * STIR, shift)
    return last + len(between)


@njit(cache=True, nogil=True)
def pair_scores(pairs, table):  # type: ignore[no-untyped-def]
    """Scores of all pairs of a sentence, (2, n, n) by direction, word and distance; table (2^b,) float32."""
    # Taken out of the tuple once: numba counts references each time.
    here, there, grades, graded, kinds, first = pairs
    _, n, n_templates = here.shape
    shift = np.uint64(64 - int(np.log2(len(table)) + 0.5))
    scores = np.zeros((2, n, n))
    places = np.empty(n_templates + kinds.max() + 1, np.int64)
    for d in range(2):
        away = 2 * d - 1
        for i in range(n):
            between, n_between = _kinds_outwards(kinds, i, away)
            for s in range(first, n - i if d == 1 else i + 1):
                known = between[: n_between[s]]
                found = _find_places(here[d, i], there[d, i + away * s], grades[s], graded, known, shift, places)
                total = 0.0
                for f in range(found):
                    total += table[places[f]]
                scores[d, i, s] = total
    return scores


@njit(cache=True, nogil=True)
def step_pairs(pairs, gradient, weights, rate, now):  # type: ignore[no-untyped-def]
    """Climb along the gradient (2, n, n) of a sentence's pairs by AdaGrad, changing ``weights``."""
    here, there, grades, graded, kinds, first = pairs
    table, squares, summed = weights
    _, n, n_templates = here.shape
    shift = np.uint64(64 - int(np.log2(len(table)) + 0.5))
    places = np.empty(n_templates + kinds.max() + 1, np.int64)
    for d in range(2):
        away = 2 * d - 1
        for i in range(n):
            between, n_between = _kinds_outwards(kinds, i, away)
            for s in range(first, n - i if d == 1 else i + 1):
                g = gradient[d, i, s]
                if abs(g) > SMALLEST_STEP:
                    known = between[: n_between[s]]
                    found = _find_places(here[d, i], there[d, i + away * s], grades[s], graded, known, shift, places)
                    for f in range(found):
                        step_weight(table, squares, summed, places[f], g, rate, now)


@njit(cache=True, nogil=True)
def _kinds_outwards(kinds, i, away):  # type: ignore[no-untyped-def]
    """Kinds of words met on the way from word i, each once; and how many before the word at each distance."""
    n = len(kinds)
    seen = np.zeros(kinds.max() + 1, np.bool_)
    between, n_between = np.empty(kinds.max() + 1, np.int64), np.zeros(n, np.int64)
    found, s = 0, 1
    while 0 <= i + away * s < n:
        n_between[s] = found
        kind = kinds[i + away * s]
        if not seen[kind]:
            seen[kind] = True
            between[found] = kind
            found += 1
        s += 1
    return between, n_between


@njit(cache=True, nogil=True)
def step_weight(table, squares, summed, place, g, rate, now):  # type: ignore[no-untyped-def]
    """One step of AdaGrad on one weight, along its gradient g."""
    squares[place] += g * g
    step = rate * g / np.sqrt(squares[place])
    table[place] += step
    summed[place] += step * now
