"""A quick look at all pairs of words of a sentence: which arcs, and which ends of halves, deserve a closer one.

    score(d, i, s) = base(t_i, t_j, distance) + sum_{four neighbours k} near(t_i, t_j, t_k)
                     + sum_{b between i and j, each tag once} (after(t_i, b) + before(t_j, b))         j is s places on

Only tags are looked at, those of the marks before and behind the sentence included. Sums over the words between grow
word by word, so a pair costs a handful of additions, however many words lie between. Ends of halves are pairs, too: of
a word and of the first word that its half does not reach. Weights are hashed (:mod:`spectragram.inference.hashed`).

A sentence comes as its tags with the number 0 for both marks, (n + 2,) int64; scores are indexed by direction, word and
distance, (2, n, n + 1), with words counted without the marks and distances from 1; the place at 0 is not used.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.hashed import MIX, SMALLEST_STEP, STIR, Weights, find_place, step_weight, table_shift

__all__ = ["choice_gradients", "gate_scores", "open_gates", "step_gates"]

BASE, NEAR, AFTER, BEFORE = 0, 1, 5, 6
N_NEAR = 4
"""Kinds of features, which only tell keys apart; ``NEAR`` and the three numbers behind it are the four neighbours of a
pair."""


@njit(cache=True, nogil=True, inline="always")
def _place(kind: int, d: int, first: int, second: int, third: int, shift: np.uint64) -> np.int64:
    key = np.uint64(((first << 16 | second) << 16 | third) << 8 | kind << 1 | d)
    return find_place((key * MIX) ^ STIR, shift)


@njit(cache=True, nogil=True, inline="always")
def _neighbour(tags: np.ndarray, at: int) -> int:
    """A tag, or that of the mark if the place is beyond both."""
    return tags[min(max(at, 0), len(tags) - 1)]


@njit(cache=True, nogil=True)
def _pair_places(tags: np.ndarray, grade: int, d: int, i: int, j: int, shift: np.uint64, places: np.ndarray) -> None:
    """Where the features of a pair lie but for those of words between; i and j are counted with the marks."""
    away = 2 * d - 1
    first, second = tags[i], tags[j]
    places[0] = _place(BASE, d, first, second, grade, shift)
    places[1] = _place(NEAR, d, first, second, _neighbour(tags, i - away), shift)
    places[2] = _place(NEAR + 1, d, first, second, _neighbour(tags, i + away), shift)
    places[3] = _place(NEAR + 2, d, first, second, _neighbour(tags, j - away), shift)
    places[4] = _place(NEAR + 3, d, first, second, _neighbour(tags, j + away), shift)


@njit(cache=True, nogil=True)
def gate_scores(
    tags: np.ndarray, grades: np.ndarray, of_arcs: np.ndarray, of_ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of all pairs as arcs and as ends of halves; grades (n + 2,) int64 of distances, tables (2^b,) float32.

    Both tables have the same size, so a feature has one place in both.
    """
    n = len(tags) - 2
    shift = table_shift(of_arcs)
    arcs, ends, places = np.zeros((2, n, n + 1)), np.zeros((2, n, n + 1)), np.empty(1 + N_NEAR, np.int64)
    seen = np.zeros(tags.max() + 1, np.int64)
    walk = 0
    for d in range(2):
        away = 2 * d - 1
        for i in range(n + 2):
            # Outwards from i as the first word of pairs, then as the second one.
            for kind in (AFTER, BEFORE):
                step = away if kind == AFTER else -away
                if kind == AFTER and not 0 < i <= n:
                    continue
                walk += 1
                arc, end = 0.0, 0.0
                j, s = i + step, 1
                while 0 <= j < n + 2:
                    if kind == AFTER:
                        _pair_places(tags, grades[s], d, i, j, shift, places)
                        arcs[d, i - 1, s] += arc
                        ends[d, i - 1, s] += end
                        for f in range(1 + N_NEAR):
                            arcs[d, i - 1, s] += of_arcs[places[f]]
                            ends[d, i - 1, s] += of_ends[places[f]]
                    elif 0 < j <= n:
                        arcs[d, j - 1, s] += arc
                        ends[d, j - 1, s] += end
                    if seen[tags[j]] != walk:
                        seen[tags[j]] = walk
                        place = _place(kind, d, tags[i], tags[j], 0, shift)
                        arc += of_arcs[place]
                        end += of_ends[place]
                    j, s = j + step, s + 1
    return arcs, ends


@njit(cache=True, nogil=True)
def step_gates(
    tags: np.ndarray, grades: np.ndarray, gradient: np.ndarray, weights: Weights, rate: float, now: int
) -> None:
    """Climb along the gradient (2, n, n + 1) of the scores by AdaGrad, changing ``weights``."""
    table, squares, summed = weights
    n = len(tags) - 2
    shift = table_shift(table)
    places = np.empty(1 + N_NEAR, np.int64)
    seen = np.zeros(tags.max() + 1, np.int64)
    walk = 0
    for d in range(2):
        away = 2 * d - 1
        for i in range(1, n + 1):
            for s in range(1, n + 2 - i if d == 1 else i + 1):
                g = gradient[d, i - 1, s]
                if abs(g) <= SMALLEST_STEP:
                    continue
                j = i + away * s
                _pair_places(tags, grades[s], d, i, j, shift, places)
                for f in range(1 + N_NEAR):
                    step_weight(table, squares, summed, places[f], g, rate, now)
                walk += 1
                for k in range(min(i, j) + 1, max(i, j)):
                    if seen[tags[k]] != walk:
                        seen[tags[k]] = walk
                        step_weight(table, squares, summed, _place(AFTER, d, tags[i], tags[k], 0, shift), g, rate, now)
                        step_weight(table, squares, summed, _place(BEFORE, d, tags[j], tags[k], 0, shift), g, rate, now)


@njit(cache=True, nogil=True)
def open_gates(head_scores: np.ndarray, end_scores: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Arcs, and ends of halves, that score at most ``margin`` less than the best choice: (2, n, n) bool each."""
    n = head_scores.shape[1]
    arcs, ends = np.zeros((2, n, n), np.bool_), np.zeros((2, n, n), np.bool_)
    for j in range(n):
        least = _best_head(head_scores, j) - margin
        for s in range(1, j + 1):
            arcs[1, j - s, s] = head_scores[1, j - s, s] >= least
        for s in range(1, n - j):
            arcs[0, j + s, s] = head_scores[0, j + s, s] >= least
    for d in range(2):
        for i in range(n):
            room = n - i if d == 1 else i + 1
            least = end_scores[d, i, 1 : room + 1].max() - margin
            for s in range(room):
                ends[d, i, s] = end_scores[d, i, s + 1] >= least
    return arcs, ends


@njit(cache=True, nogil=True)
def _best_head(scores: np.ndarray, j: int) -> float:
    """The highest score of an arc to word j."""
    best = -np.inf
    for s in range(1, j + 1):
        best = max(best, scores[1, j - s, s])
    for s in range(1, scores.shape[1] - j):
        best = max(best, scores[0, j + s, s])
    return best


@njit(cache=True, nogil=True)
def choice_gradients(
    head_scores: np.ndarray, end_scores: np.ndarray, heads: np.ndarray, gold_ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gold minus expected, in the places of scores, (2, n, n + 1) each.

    heads (n,) as in CoNLL-U, gold_ends (2, n, n); the word at the root chooses no head.
    """
    n = len(heads)
    of_heads, of_ends = np.zeros((2, n, n + 1)), np.zeros((2, n, n + 1))
    for j in range(n):
        if heads[j] == 0:
            continue
        best, total = _best_head(head_scores, j), 0.0
        for i in range(n):
            if i != j:
                total += np.exp(head_scores[int(i < j), i, abs(i - j)] - best)
        for i in range(n):
            if i != j:
                d, s = int(i < j), abs(i - j)
                of_heads[d, i, s] = (1.0 if heads[j] == i + 1 else 0.0) - np.exp(head_scores[d, i, s] - best) / total
    for d in range(2):
        for i in range(n):
            room = n - i if d == 1 else i + 1
            shares = np.exp(end_scores[d, i, 1 : room + 1] - end_scores[d, i, 1 : room + 1].max())
            shares /= shares.sum()
            for s in range(room):
                of_ends[d, i, s + 1] = gold_ends[d, i, s] - shares[s]
    return of_heads, of_ends
