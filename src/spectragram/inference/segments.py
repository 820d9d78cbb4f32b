"""Semi-Markov models of segmentations: marginals of cuts, and the segmentation with the best expected F1.

A sequence of n items is cut into segments. The score of a segmentation is that of its cuts plus that of its segments:

    p(segments | x)  ~  prod_{segments [i, j)}  exp( cut(j) + kind_weight(i, j) )

What kind of segment [i, j) is depends on its length and on what is left open in it: for every position three counts are
given (brackets that are open, quotes so far, verbs so far), and the segment sees their differences.

Segments of at most ``longest`` items and cuts at candidates only are considered, so that the cost is linear in n. Log
space is used throughout: segments are long, and their number varies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = [
    "N_KINDS",
    "Shape",
    "best_segments",
    "count_kinds",
    "find_candidates",
    "length_buckets",
    "segment_marginals",
]

N_LENGTHS, N_BALANCES = 32, 6
N_KINDS = 64
"""Weights of kinds: of lengths, of balances, of numbers of verbs, and room up to a power of two."""
LEAST_CUT = -12.0
"""A cut with a smaller score is not considered: even between neutral neighbours its probability is below 1e-5."""
IMPOSSIBLE = -1e30  # instead of minus infinity, whose differences are not numbers


class Shape(NamedTuple):
    """What the kind of a segment depends on.

    buckets (longest + 1,) int64: where the weight of each length is; nested (n + 1,) int64: brackets opened minus
    brackets closed before each position; mirrored and verbs (n + 1,) int64: number of quotes and of verbs before each
    position.
    """

    buckets: np.ndarray
    nested: np.ndarray
    mirrored: np.ndarray
    verbs: np.ndarray


def length_buckets(longest: int) -> np.ndarray:
    """The bucket of each length up to ``longest``, (longest + 1,) int64: each of the first eight is its own one.

    >>> length_buckets(12).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 10]
    """
    lengths = np.arange(longest + 1)
    coarse = 8 + np.floor(4 * np.log2(np.maximum(lengths, 8) / 8) + 0.5).astype(np.int64)
    return np.minimum(np.where(lengths <= 8, lengths, coarse), N_LENGTHS - 1)


@njit(cache=True, nogil=True)
def find_candidates(cuts: np.ndarray, gold: np.ndarray, longest: int) -> np.ndarray:
    """Positions where a segment may end, (m + 1,) int64 with the start 0 and the end n among them.

    cuts (n,): score of a cut behind each item; gold (n,) bool: cuts that must be candidates. Candidates are close
    enough together that segments of at most ``longest`` items can reach from each to the next.
    """
    n = len(cuts)
    found = np.empty(n + 1, np.int64)
    found[0] = 0
    m = 1
    for i in range(n):
        if cuts[i] > LEAST_CUT or gold[i] or i == n - 1 or i + 1 - found[m - 1] >= longest // 2:
            found[m] = i + 1
            m += 1
    return found[:m]


@njit(cache=True, nogil=True, inline="always")
def _balance(shape: Shape, i: int, j: int) -> int:
    """Where the weight of the balance of [i, j) is."""
    nested = shape.nested[j] - shape.nested[i]
    odd = (shape.mirrored[j] - shape.mirrored[i]) & 1
    return N_LENGTHS + 2 * (0 if nested == 0 else 1 if nested > 0 else 2) + odd


@njit(cache=True, nogil=True, inline="always")
def _verbs(shape: Shape, i: int, j: int) -> int:
    """Where the weight of the number of verbs in [i, j), given its length, is."""
    length = j - i
    size = 0 if length <= 2 else 1 if length <= 5 else 2 if length <= 11 else 3
    return N_LENGTHS + N_BALANCES + 4 * size + min(shape.verbs[j] - shape.verbs[i], 3)


@njit(cache=True, nogil=True, inline="always")
def _weight(shape: Shape, kinds: np.ndarray, i: int, j: int) -> float:
    return kinds[shape.buckets[j - i]] + kinds[_balance(shape, i, j)] + kinds[_verbs(shape, i, j)]


@njit(cache=True, nogil=True)
def count_kinds(at: np.ndarray, shape: Shape) -> np.ndarray:
    """Number of segments of each kind, (N_KINDS,), in the segmentation whose segments begin and end ``at`` (m + 1,)."""
    counts = np.zeros(N_KINDS)
    for v in range(1, len(at)):
        counts[shape.buckets[at[v] - at[v - 1]]] += 1.0
        counts[_balance(shape, at[v - 1], at[v])] += 1.0
        counts[_verbs(shape, at[v - 1], at[v])] += 1.0
    return counts


@njit(cache=True, nogil=True)
def _forward_backward(
    cuts: np.ndarray, at: np.ndarray, shape: Shape, kinds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log sums over the segmentations before and behind each candidate, both (m + 1,)."""
    m = len(at)
    longest = len(shape.buckets) - 1
    before, behind = np.full(m, IMPOSSIBLE), np.full(m, IMPOSSIBLE)
    terms = np.empty(m)
    before[0] = 0.0
    for v in range(1, m):
        top, first = IMPOSSIBLE, v
        for u in range(v - 1, -1, -1):
            if at[v] - at[u] > longest:
                break
            first = u
            terms[u] = before[u] + _weight(shape, kinds, at[u], at[v])
            top = max(top, terms[u])
        total = 0.0
        for u in range(first, v):
            total += np.exp(terms[u] - top)
        before[v] = top + np.log(total) + cuts[at[v] - 1]
    behind[m - 1] = 0.0
    for u in range(m - 2, -1, -1):
        top, last = IMPOSSIBLE, u
        for v in range(u + 1, m):
            if at[v] - at[u] > longest:
                break
            last = v
            weight = _weight(shape, kinds, at[u], at[v])
            terms[v] = behind[v] + weight + cuts[at[v] - 1]
            top = max(top, terms[v])
        total = 0.0
        for v in range(u + 1, last + 1):
            total += np.exp(terms[v] - top)
        behind[u] = top + np.log(total)
    return before, behind


@njit(cache=True, nogil=True)
def segment_marginals(
    cuts: np.ndarray, at: np.ndarray, shape: Shape, kinds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Marginals of a sequence of n items.

    cuts (n,): score of a cut behind each item; at (m + 1,): candidates (:func:`find_candidates`); kinds (N_KINDS,)
    weights. Returns the probability of a cut behind each item (n,), the expected number of segments of each kind
    (N_KINDS,), and the logarithm of the sum over all segmentations.
    """
    before, behind = _forward_backward(cuts, at, shape, kinds)
    longest = len(shape.buckets) - 1
    log_sum = before[-1]
    marginals, expected = np.zeros(len(cuts)), np.zeros(N_KINDS)
    for v in range(1, len(at)):
        for u in range(v - 1, -1, -1):
            length = at[v] - at[u]
            if length > longest:
                break
            weight = _weight(shape, kinds, at[u], at[v])
            share = np.exp(before[u] + weight + cuts[at[v] - 1] + behind[v] - log_sum)
            marginals[at[v] - 1] += share
            expected[shape.buckets[length]] += share
            expected[_balance(shape, at[u], at[v])] += share
            expected[_verbs(shape, at[u], at[v])] += share
    return marginals, expected, log_sum


@njit(cache=True, nogil=True)
def best_segments(
    cuts: np.ndarray, at: np.ndarray, shape: Shape, kinds: np.ndarray, price: float
) -> tuple[np.ndarray, np.ndarray]:
    """The segmentation with the largest sum over its segments of their probability minus ``price``.

    A segment counts as right only if both of its ends are. With a price of F/2, where F is the expected F1 that can be
    reached, this is the segmentation that reaches it. Returns whether there is a cut behind each item, (n,) bool, and
    the probability of the segment that ends there, (n,).
    """
    before, behind = _forward_backward(cuts, at, shape, kinds)
    longest = len(shape.buckets) - 1
    m = len(at)
    value, origin, chance = np.full(m, IMPOSSIBLE), np.zeros(m, np.int64), np.zeros(m)
    value[0] = 0.0
    for v in range(1, m):
        for u in range(v - 1, -1, -1):
            length = at[v] - at[u]
            if length > longest:
                break
            weight = _weight(shape, kinds, at[u], at[v])
            share = np.exp(before[u] + weight + cuts[at[v] - 1] + behind[v] - before[-1])
            if value[u] + share - price > value[v]:
                value[v], origin[v], chance[v] = value[u] + share - price, u, share
    chosen, chances = np.zeros(len(cuts), np.bool_), np.zeros(len(cuts))
    v = m - 1
    while v > 0:
        chosen[at[v] - 1] = True
        chances[at[v] - 1] = chance[v]
        v = origin[v]
    return chosen, chances
