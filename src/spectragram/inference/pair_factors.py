"""Log-linear factors of pairs of words: the keys of their features, their scores and their gradient steps.

A pair is a word i and another word s places away from it in direction d. Every template describes the surroundings of
both, so a feature consists of what the template sees at i, what it sees at the other word and, if the template asks for
it, how far apart they are and in which attributes they agree. The last template combines the two with every kind of
word between them, each kind once:

    score(d, i, s) = sum_t w[place(key_t(d, i) + key'_t(d, j) + grade_t(s) + agreement_t(i, j))]
                     + sum_{b between} w[place(key(d, i) + key'(d, j) + key(b))]

Keys of the two sides are computed once for each word, so a pair costs an addition, a multiplication and one look into
the table for each template (:mod:`spectragram.inference.hashed`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.hashed import MIX, SMALLEST_STEP, STIR, Weights, find_place, step_weight, table_shift

__all__ = ["Pairs", "agreement_key", "context_keys", "pair_scores", "step_pairs"]


class Pairs(NamedTuple):
    """The pairs of one sentence as a family of templates sees them.

    here, there (2, n, t) uint64: keys of the word itself and of the other one, from :func:`context_keys`;
    grades (n,) int64: the grade of each distance; graded (t,) bool: whether a template looks at it;
    attributes (n, a) int64: values of attributes, 0 for none; agreeing (t,) bool: whether a template compares them;
    kinds (n,) int64: the kind of a word that lies between; first: the smallest distance of a pair, 0 or 1.
    """

    here: np.ndarray
    there: np.ndarray
    grades: np.ndarray
    graded: np.ndarray
    attributes: np.ndarray
    agreeing: np.ndarray
    kinds: np.ndarray
    first: int


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


@njit(cache=True, nogil=True)
def agreement_key(attributes: np.ndarray, i: int, j: int) -> np.uint64:
    """In which attributes two words have the same value, in which different ones, as a key; attributes (n, a)."""
    found = np.uint64(1)
    for a in range(attributes.shape[1]):
        found *= np.uint64(3)
        if attributes[i, a] != 0 and attributes[j, a] != 0:
            found += np.uint64(1) if attributes[i, a] == attributes[j, a] else np.uint64(2)
    return found * MIX


@njit(cache=True, nogil=True)
def _find_places(
    here: np.ndarray,
    there: np.ndarray,
    grade: int,
    graded: np.ndarray,
    agreement: np.uint64,
    agreeing: np.ndarray,
    between: np.ndarray,
    shift: np.uint64,
    places: np.ndarray,
) -> int:
    """Write the places of a pair's features and return their number; the last template is that of words between."""
    grade_key = np.uint64(grade + 1) * STIR
    last = len(here) - 1
    for t in range(last):
        # Without branches several templates are done at a time.
        key = here[t] + there[t] + np.uint64(graded[t]) * grade_key + np.uint64(agreeing[t]) * agreement
        places[t] = find_place(key, shift)
    key = here[last] + there[last]
    for b in range(len(between)):
        places[last + b] = find_place(key + np.uint64(between[b] + 1) * STIR, shift)
    return last + len(between)


def pair_scores(pairs: Pairs, table: np.ndarray, wanted: np.ndarray | None = None) -> np.ndarray:
    """Scores of all pairs of a sentence, (2, n, n) by direction, word and distance; table (2^b,) float32.

    Pairs that are not ``wanted``, (2, n, n) bool, have score -inf; places that are no pairs have 0 if all are wanted.
    """
    n = len(pairs.kinds)
    start = np.zeros((2, n, n)) if wanted is None else np.full((2, n, n), -np.inf)
    return _pair_scores(pairs, table, np.ones((2, n, n), np.bool_) if wanted is None else wanted, start)


@njit(cache=True, nogil=True)
def _pair_scores(pairs: Pairs, table: np.ndarray, wanted: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Write the scores of the pairs that are wanted into ``scores`` (2, n, n)."""
    # Taken out of the tuple once: numba counts references each time.
    here, there, grades, graded, attributes, agreeing, kinds, first = pairs
    _, n, n_templates = here.shape
    shift = table_shift(table)
    places = np.empty(n_templates + kinds.max() + 1, np.int64)
    walk = _start_walk(kinds)
    for d in range(2):
        away = 2 * d - 1
        for i in range(n):
            between, n_between = _kinds_outwards(kinds, i, away, walk)
            for s in range(first, n - i if d == 1 else i + 1):
                if not wanted[d, i, s]:
                    continue
                known = between[: n_between[s]]
                j = i + away * s
                agreement = agreement_key(attributes, i, j)
                found = _find_places(
                    here[d, i], there[d, j], grades[s], graded, agreement, agreeing, known, shift, places
                )
                total = 0.0
                for f in range(found):
                    total += table[places[f]]
                scores[d, i, s] = total
    return scores


@njit(cache=True, nogil=True)
def step_pairs(pairs: Pairs, gradient: np.ndarray, weights: Weights, rate: float, now: int) -> None:
    """Climb along the gradient (2, n, n) of a sentence's pairs by AdaGrad, changing ``weights``."""
    here, there, grades, graded, attributes, agreeing, kinds, first = pairs
    table, squares, summed = weights
    _, n, n_templates = here.shape
    shift = table_shift(table)
    places = np.empty(n_templates + kinds.max() + 1, np.int64)
    walk = _start_walk(kinds)
    for d in range(2):
        away = 2 * d - 1
        for i in range(n):
            between, n_between = _kinds_outwards(kinds, i, away, walk)
            for s in range(first, n - i if d == 1 else i + 1):
                g = gradient[d, i, s]
                if abs(g) > SMALLEST_STEP:
                    known = between[: n_between[s]]
                    j = i + away * s
                    agreement = agreement_key(attributes, i, j)
                    found = _find_places(
                        here[d, i], there[d, j], grades[s], graded, agreement, agreeing, known, shift, places
                    )
                    for f in range(found):
                        step_weight(table, squares, summed, places[f], g, rate, now)


@njit(cache=True, nogil=True)
def _start_walk(kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Room for :func:`_kinds_outwards`: the last walk that met each kind, the kinds met, their number by distance."""
    n_kinds = kinds.max() + 1
    return np.full(n_kinds, -1, np.int64), np.empty(n_kinds, np.int64), np.zeros(len(kinds), np.int64)


@njit(cache=True, nogil=True)
def _kinds_outwards(
    kinds: np.ndarray, i: int, away: int, walk: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Kinds of words met on the way from word i, each once; and how many before the word at each distance."""
    last_met, between, n_between = walk
    name = 2 * i + (away + 1) // 2
    found, s = 0, 1
    while 0 <= i + away * s < len(kinds):
        n_between[s] = found
        kind = kinds[i + away * s]
        if last_met[kind] != name:
            last_met[kind] = name
            between[found] = kind
            found += 1
        s += 1
    return between, n_between
