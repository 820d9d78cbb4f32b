"""The projective tree with the highest sum of arc scores (Eisner 2000), for minimum-risk decoding of marginals.

    y* = argmax_y sum_{(i, j) in y} score(i, j)                                          (Balle et al. 2014, equation 2)

Scores are indexed as in :mod:`spectragram.inference.headed`: direction, head, distance.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.headed import LEFT, RIGHT

__all__ = ["best_heads"]


@njit(cache=True, nogil=True)
def best_heads(root_scores: np.ndarray, arc_scores: np.ndarray) -> np.ndarray:
    """(n,), (2, n, n) -> heads (n,) int32, counted from 1; 0 for the one word below the root."""
    n = len(root_scores)
    closed = np.zeros((2, n, n))
    links = np.full((2, n, n), -np.inf)
    link_splits, half_splits = np.zeros((n, n), np.int64), np.zeros((2, n, n), np.int64)
    for w in range(1, n):
        for i in range(n - w):
            # The inner halves of i and j = i + w meet after i + s, whichever of the two is the head.
            j = i + w
            best = -np.inf
            for s in range(w):
                value = closed[RIGHT, i, s] + closed[LEFT, j, w - 1 - s]
                if value > best:
                    best, link_splits[i, w] = value, s
            links[RIGHT, i, w] = best + arc_scores[RIGHT, i, w]
            links[LEFT, j, w] = best + arc_scores[LEFT, j, w]
        for d in range(2):
            away = 2 * d - 1
            for i in range(n - w) if d == RIGHT else range(w, n):
                best = -np.inf
                for s in range(1, w + 1):
                    value = links[d, i, s] + closed[d, i + away * s, w - s]
                    if value > best:
                        best, half_splits[d, i, w] = value, s
                closed[d, i, w] = best
    top, best = 0, -np.inf
    for i in range(n):
        value = root_scores[i] + closed[LEFT, i, i] + closed[RIGHT, i, n - 1 - i]
        if value > best:
            top, best = i, value
    return _follow(top, link_splits, half_splits)


@njit(cache=True, nogil=True)
def _follow(top: int, link_splits: np.ndarray, half_splits: np.ndarray) -> np.ndarray:
    """Heads of the tree below ``top``; halves that are still to be opened wait on a stack."""
    n = len(link_splits)
    heads = np.zeros(n, np.int32)
    waiting = np.empty((2 * n + 2, 3), np.int64)
    waiting[0], waiting[1] = (LEFT, top, top), (RIGHT, top, n - 1 - top)
    size = 2
    while size:
        size -= 1
        d, i, w = waiting[size]
        if w == 0:
            continue
        away = 2 * d - 1
        s = half_splits[d, i, w]
        j = i + away * s
        heads[j] = i + 1
        left = min(i, j)
        inside = link_splits[left, s]
        # The outer half of j, then the inner halves of i and j.
        waiting[size] = (d, j, w - s)
        waiting[size + 1] = (RIGHT, left, inside)
        waiting[size + 2] = (LEFT, max(i, j), s - 1 - inside)
        size += 3
    return heads
