"""Ward's algorithm over m + 1 active clusters with lazy lower bounds (figure 5 of the paper).

    paper            here                      shape
    mu               points, centroids         (n, d), kept transposed (d, n_active)
    |c|              size                      (n_active,)
    d(c, c')         cost                      |c||c'| / (|c| + |c'|) ||mu_c - mu_c'||^2          equation 2
    lowerbound(c)    bound                     never above the cost of c's cheapest merge
    tight(c)         tight                     whether the bound is that cost
    gamma            tightenings per merge     how often a loose bound came out lowest

Points enter in their order, which is that of decreasing frequency.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["ward"]


def ward(points: np.ndarray, sizes: np.ndarray, n_active: int, n_left: int) -> tuple[np.ndarray, float]:
    """Merge points until ``n_left`` clusters remain, with never more than ``n_active`` to choose from.

    Parameters
    ----------
    points : float array, shape (n, d)
    sizes : array, shape (n,)
        Weight |c| of each point: 1 for a word, more for a cluster made before.

    Returns
    -------
    merges : int64 array, shape (n - n_left, 2)
        Row t: the two nodes that become node n + t.
    gamma : float
        Mean number of bounds tightened for a merge (the paper's gamma).
    """
    n = len(points)
    merges, tightened = _ward(
        np.ascontiguousarray(points, np.float64),
        np.ascontiguousarray(sizes, np.float64),
        max(2, min(n_active, n)),
        n_left,
    )
    return merges, tightened / max(1, len(merges))


@njit(cache=True, nogil=True)
def _costs(centroids, size, n_active, c, cost):  # type: ignore[no-untyped-def]
    """Cost of merging cluster c with each active one (its own is infinite)."""
    for other in range(n_active):
        cost[other] = 0.0
    # Dimensions outside, clusters inside: the inner loop is a vector operation without reordering any sum.
    for i in range(centroids.shape[0]):
        row = centroids[i]
        x = row[c]
        for other in range(n_active):
            difference = row[other] - x
            cost[other] += difference * difference
    for other in range(n_active):
        cost[other] *= size[c] * size[other] / (size[c] + size[other])
    cost[c] = np.inf


@njit(cache=True, nogil=True)
def _tighten(centroids, size, n_active, c, cost, bound, nearest, tight):  # type: ignore[no-untyped-def]
    """Find the nearest cluster of c; others learn of c on the way when it is nearer than their bound."""
    _costs(centroids, size, n_active, c, cost)
    bound[c] = np.inf
    tight[c] = True
    nearest[c] = -1
    for other in range(n_active):
        if cost[other] < bound[c]:
            bound[c] = cost[other]
            nearest[c] = other
        if cost[other] < bound[other]:
            bound[other] = cost[other]
            nearest[other] = c
            tight[other] = True


@njit(cache=True, nogil=True)
def _ward(points, sizes, max_active, n_left):  # type: ignore[no-untyped-def]
    n, d = points.shape
    n_merges = n - n_left
    centroids = np.empty((d, max_active))
    size = np.empty(max_active)
    bound = np.empty(max_active)
    cost = np.empty(max_active)
    nearest = np.empty(max_active, np.int64)
    tight = np.empty(max_active, np.bool_)
    node = np.empty(max_active, np.int64)
    merges = np.empty((n_merges, 2), np.int64)
    n_active = 0
    entered = 0
    tightened = 0
    for t in range(n_merges):
        while n_active < max_active and entered < n:
            for i in range(d):
                centroids[i, n_active] = points[entered, i]
            size[n_active] = sizes[entered]
            node[n_active] = entered
            n_active += 1
            entered += 1
            bound[n_active - 1] = np.inf
            _tighten(centroids, size, n_active, n_active - 1, cost, bound, nearest, tight)
        c = np.argmin(bound[:n_active])
        while not tight[c]:
            _tighten(centroids, size, n_active, c, cost, bound, nearest, tight)
            tightened += 1
            c = np.argmin(bound[:n_active])
        kept, gone = min(c, nearest[c]), max(c, nearest[c])
        merges[t, 0] = node[kept]
        merges[t, 1] = node[gone]
        node[kept] = n + t
        weight = size[gone] / (size[kept] + size[gone])
        for i in range(d):
            centroids[i, kept] += weight * (centroids[i, gone] - centroids[i, kept])
        size[kept] += size[gone]
        # Merging never brings Ward's costs down, so old bounds stay bounds; they are loose where the
        # nearest cluster is one of the two.
        for other in range(n_active):
            if nearest[other] == kept or nearest[other] == gone:
                tight[other] = False
        n_active -= 1
        _fill_gap(gone, n_active, centroids, size, bound, nearest, tight, node)
        _tighten(centroids, size, n_active, kept, cost, bound, nearest, tight)
    return merges, tightened


@njit(cache=True, nogil=True)
def _fill_gap(gap, last, centroids, size, bound, nearest, tight, node):  # type: ignore[no-untyped-def]
    """The last active cluster moves into a slot that became free."""
    if gap == last:
        return
    for i in range(centroids.shape[0]):
        centroids[i, gap] = centroids[i, last]
    size[gap] = size[last]
    bound[gap] = bound[last]
    nearest[gap] = nearest[last]
    tight[gap] = tight[last]
    node[gap] = node[last]
    for other in range(last):
        if nearest[other] == last:
            nearest[other] = gap
