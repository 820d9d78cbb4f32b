"""Log-linear factors of pairs of words: hashed indicator features, their scores and their gradient steps.

A pair is a word i and another word j, s places away from it in direction d. Every template describes the surroundings
of both words, so a feature consists of what the template sees at i, what it sees at j and, for some templates, the
distance between them. One more template combines the pair with every kind of word between them, each kind once:

    score(d, i, s) = sum_t  w[hash(key_t(d, i) + key'_t(d, j) + grade_t(s))]  +  sum_{b between}  w[hash(... + key(b))]

Keys of the two sides are computed once for each word, so a pair costs an addition, a multiplication and one table
lookup for each template. Different features may share a place in the table; if the table has a few places for each
feature that occurs, collisions have no measurable effect.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["Pairs", "Weights", "context_keys", "find_place", "pair_scores", "step_pairs", "step_weight"]

MIX, STIR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""Odd multipliers that spread keys over 64 bits: the golden ratio, as in Fibonacci hashing, and a prime of xxHash."""
SMALLEST_STEP = 1e-3
"""Smaller gradients are skipped: they change little and cost as many memory accesses. Chosen by hand, not tuned."""


class Pairs(NamedTuple):
    """The pairs of one sentence as described by a family of templates.

    here, there (2, n, t) uint64: keys of the word itself and of the other one, from :func:`context_keys`;
    grades (n,) int64: the grade of each distance; graded (t,) bool: whether a template looks at it;
    kinds (n,) int64: the kind of each word as a word between; first: the smallest distance of a pair, 0 or 1.
    """

    here: np.ndarray
    there: np.ndarray
    grades: np.ndarray
    graded: np.ndarray
    kinds: np.ndarray
    first: int


class Weights(NamedTuple):
    """Weights in training, all (2^b,) float32.

    table: the weights; squares: sums of squared gradients; summed: each step times the time at which it was taken, so
    that table - summed / now is the average over time.
    """

    table: np.ndarray
    squares: np.ndarray
    summed: np.ndarray


@njit(cache=True, nogil=True)
def context_keys(columns: np.ndarray, atoms: np.ndarray) -> np.ndarray:
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
def find_place(key: np.uint64, shift: np.uint64) -> np.int64:
    """The place of the feature with this key in a table of 2^(64 - shift) weights."""
    key = (key ^ (key >> np.uint64(32))) * MIX
    return np.int64(key >> shift)


@njit(cache=True, nogil=True)
def _find_places(
    here: np.ndarray,
    there: np.ndarray,
    grade: int,
    graded: np.ndarray,
    between: np.ndarray,
    shift: np.uint64,
    places: np.ndarray,
) -> int:
    """Write the places of the features of a pair and return their number. The last template is for words between."""
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
def pair_scores(pairs: Pairs, table: np.ndarray) -> np.ndarray:
    """Scores of all pairs of a sentence, (2, n, n) by direction, word and distance; table (2^b,) float32."""
    # Unpacked once, since numba counts references at each access.
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
def step_pairs(pairs: Pairs, gradient: np.ndarray, weights: Weights, rate: float, now: float) -> None:
    """Take a step of AdaGrad along the gradient (2, n, n) of the pairs of a sentence, in place."""
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
def _kinds_outwards(kinds: np.ndarray, i: int, away: int) -> tuple[np.ndarray, np.ndarray]:
    """Kinds of the words on the way from word i, each once, and how many come before the word at each distance."""
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
def step_weight(
    table: np.ndarray, squares: np.ndarray, summed: np.ndarray, place: int | np.int64, g: float, rate: float, now: float
) -> None:
    """One step of AdaGrad on one weight, along its gradient g."""
    squares[place] += g * g
    step = rate * g / np.sqrt(squares[place])
    table[place] += step
    summed[place] += step * now
