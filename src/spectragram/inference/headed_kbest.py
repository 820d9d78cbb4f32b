"""The k best projective trees for given scores of arcs: Eisner's recursion over sorted lists of k scores.

    closed_k(d, i, w) = the k best of  link(d, i, s) + closed(d, i + s, w - s)              over s and pairs of ranks
    link_k(d, i, w)   = arc(d, i, w) + the k best of  closed(inwards from i) + closed(inwards from j)

Halves and links are those of :mod:`spectragram.inference.headed`. Every tree has one derivation, so all trees of the
list are different. Of two lists only pairs of ranks (p, q) with (p + 1)(q + 1) <= k can be among the k best.
Costs O(n^3 k log k), memory O(n^2 k).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.headed import LEFT, RIGHT

__all__ = ["k_best_heads"]


@njit(cache=True, nogil=True)
def _add_pairs(first: np.ndarray, second: np.ndarray, split: int, scores: np.ndarray, backs: np.ndarray) -> None:
    """Put the sums of two sorted lists, (k,) with -inf at the end, into a sorted list (k,) with its origins (k, 3)."""
    k = len(scores)
    for p in range(k):
        if first[p] == -np.inf:
            break
        for q in range(k // (p + 1)):
            value = first[p] + second[q]
            if not value > scores[k - 1]:
                break
            at = k - 1
            while at > 0 and scores[at - 1] < value:
                scores[at] = scores[at - 1]
                backs[at] = backs[at - 1]
                at -= 1
            scores[at] = value
            backs[at, 0], backs[at, 1], backs[at, 2] = split, p, q


@njit(cache=True, nogil=True)
def k_best_heads(root_scores: np.ndarray, arc_scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` best trees, fewer if there are not so many: heads (m, n) int32 as in CoNLL-U, and their scores (m,).

    root_scores (n,), arc_scores (2, n, n) as in :func:`~spectragram.inference.headed.best_heads`; -inf rules out.
    """
    n = len(root_scores)
    closed, links = np.full((2, n, n, k), -np.inf), np.full((2, n, n, k), -np.inf)
    half_backs, link_backs = np.zeros((2, n, n, k, 3), np.int64), np.zeros((n, n, k, 3), np.int64)
    closed[:, :, 0, 0] = 0.0
    inner = np.empty(k)
    for w in range(1, n):
        for i in range(n - w):
            j = i + w
            inner[:] = -np.inf
            for s in range(w):
                _add_pairs(closed[RIGHT, i, s], closed[LEFT, j, w - 1 - s], s, inner, link_backs[i, w])
            links[RIGHT, i, w] = inner + arc_scores[RIGHT, i, w]
            links[LEFT, j, w] = inner + arc_scores[LEFT, j, w]
        for d in range(2):
            away = 2 * d - 1
            for i in range(n - w) if d == RIGHT else range(w, n):
                for s in range(1, w + 1):
                    _add_pairs(links[d, i, s], closed[d, i + away * s, w - s], s, closed[d, i, w], half_backs[d, i, w])
    scores, tops = np.full(k, -np.inf), np.zeros((k, 3), np.int64)
    whole = np.empty(k)
    for i in range(n):
        whole[:] = -np.inf
        pairs = np.zeros((k, 3), np.int64)
        _add_pairs(closed[LEFT, i, i], closed[RIGHT, i, n - 1 - i], i, whole, pairs)
        for r in range(k):
            value = whole[r] + root_scores[i]
            if not value > scores[k - 1]:
                break
            at = k - 1
            while at > 0 and scores[at - 1] < value:
                scores[at] = scores[at - 1]
                tops[at] = tops[at - 1]
                at -= 1
            scores[at] = value
            tops[at] = pairs[r]
    found = int((scores > -np.inf).sum())
    heads = np.zeros((found, n), np.int32)
    for r in range(found):
        _follow(tops[r], half_backs, link_backs, heads[r])
    return heads, scores[:found]


@njit(cache=True, nogil=True)
def _follow(top: np.ndarray, half_backs: np.ndarray, link_backs: np.ndarray, heads: np.ndarray) -> None:
    """Fill in the heads of a tree, given its root word and the ranks of the two halves below it."""
    n = len(heads)
    waiting = np.empty((2 * n + 4, 4), np.int64)
    waiting[0] = (LEFT, top[0], top[0], top[1])
    waiting[1] = (RIGHT, top[0], n - 1 - top[0], top[2])
    size = 2
    while size:
        size -= 1
        d, i, w, rank = waiting[size]
        if w == 0:
            continue
        s, of_link, of_half = half_backs[d, i, w, rank]
        j = i + (2 * d - 1) * s
        heads[j] = i + 1
        left = min(i, j)
        inside, of_right, of_left = link_backs[left, s, of_link]
        waiting[size] = (d, j, w - s, of_half)
        waiting[size + 1] = (RIGHT, left, inside, of_right)
        waiting[size + 2] = (LEFT, max(i, j), s - 1 - inside, of_left)
        size += 3
