"""The method of Stratos et al. (2014): canonical correlation analysis of words and contexts, then Ward's algorithm.

    paper            here                  shape
    B                context_counts / N    (n, n * places)    words by words at a place of their context
    u, v             its margins           (n,), (n * places,)
    kappa            kappa                 pseudo-count added to the margins
    Omega            scaled                (n, n * places)    diag(u)^-1/2 B diag(v)^-1/2               equation 1
    U                left                  (n, m)             leading left singular vectors of Omega
    M                vectors               (n, m)             rows of U, scaled to length 1             figure 4
    mu               points, centroids     (n, d), kept transposed (d, n_active)
    |c|              size                  (n_active,)
    d(c, c')         cost                  |c||c'| / (|c| + |c'|) ||mu_c - mu_c'||^2                    equation 2
    lowerbound(c)    bound                 never above the cost of the cheapest merge of c              figure 5
    tight(c)         tight                 whether the bound equals that cost
    gamma            tightened per merge   how often a loose bound came out lowest

If the text comes from a Brown model, rows of M are equal exactly for words of the same cluster (theorem 5.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numba import njit

from spectragram.clusters.contexts import ContextCounts
from spectragram.clusters.hierarchy import labels_after
from spectragram.engine import single_threaded_blas
from spectragram.spectral.subspace import find_subspace

__all__ = ["spectral_hierarchy", "ward", "ward_classes", "word_vectors"]

SVD_TOLERANCE = 1e-3
"""Precision of the singular vectors, relative to the largest singular value, which is 1. Chosen by hand: finer
differences are far below the noise of the counts."""

SMALLEST = 1e-300
"""A guard against division by zero; any tiny value does."""


def word_vectors(
    context_counts: scipy.sparse.csr_matrix | ContextCounts,
    n_dimensions: int,
    kappa: float,
    rng: np.random.Generator,
    tolerance: float = SVD_TOLERANCE,
) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of length 1 that are close for words with similar contexts (figure 4).

    Parameters
    ----------
    context_counts : sparse matrix or ContextCounts, shape (n, e)
        How often each word has each context. Probabilities work as well.
    n_dimensions : int
        Rank of the decomposition. Counts of a lower rank give vectors of that length.
    kappa : float
        Smoothing: pseudo-count added to the margins.
    rng : numpy Generator
        Start of the singular value decomposition.
    tolerance : float
        Precision of the singular vectors, relative to the largest singular value.

    Returns
    -------
    vectors : float array, shape (n, n_dimensions)
        A word without any context gets the zero vector.
    singular_values : float array, shape (n_dimensions,)
    """
    n, e = context_counts.shape
    places = max(1, e // n)
    rows, v = _margins(context_counts)
    u = rows / places
    # Omega = diag(u + kappa)^-1/2 B diag(v + kappa)^-1/2; the number of tokens cancels.
    scaled = _scaled(context_counts, _inverse_root(u + kappa), _inverse_root(v + kappa))
    # The blocks are narrow: BLAS threads would cost more than they save, and could change the last digits.
    with single_threaded_blas():
        subspace = find_subspace(scaled, n_dimensions, tolerance=tolerance, rng=rng, truncate=True)
    length = np.linalg.norm(subspace.left, axis=1, keepdims=True)
    return subspace.left / np.maximum(length, SMALLEST), subspace.singular_values


def _margins(context_counts: scipy.sparse.csr_matrix | ContextCounts) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(context_counts, ContextCounts):
        return context_counts.margins()
    return np.asarray(context_counts.sum(axis=1)).ravel(), np.asarray(context_counts.sum(axis=0)).ravel()


def _scaled(context_counts: scipy.sparse.csr_matrix | ContextCounts, rows: np.ndarray, columns: np.ndarray) -> Any:
    if isinstance(context_counts, ContextCounts):
        return context_counts.scaled(rows, columns)
    return (scipy.sparse.diags_array(rows) @ context_counts @ scipy.sparse.diags_array(columns)).tocsr()


def _inverse_root(margin: np.ndarray) -> np.ndarray:
    return np.where(margin > 0, 1 / np.sqrt(np.maximum(margin, SMALLEST)), 0.0)


def ward_classes(vectors: np.ndarray, n_classes: int) -> tuple[np.ndarray, float]:
    """Classes of the words by Ward's algorithm over n_classes + 1 active clusters, and gamma (figure 5)."""
    merges, gamma = ward(vectors, np.ones(len(vectors)), n_classes + 1, n_classes)
    return labels_after(merges, len(vectors)), gamma


def spectral_hierarchy(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Ward's tree over classes: merges of shape (n_classes - 1, 2), from the mean vectors of their words.

    After the last word has entered, figure 5 continues with exactly these clusters.
    """
    sizes = np.bincount(labels)
    means = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(means, labels, vectors)
    merges, _ = ward(means / sizes[:, None], sizes, len(sizes), 1)
    return merges


def ward(points: np.ndarray, sizes: np.ndarray, n_active: int, n_left: int) -> tuple[np.ndarray, float]:
    """Merge points until ``n_left`` clusters remain, choosing among at most ``n_active`` at a time (figure 5).

    Parameters
    ----------
    points : float array, shape (n, d)
        They enter in this order, which should be that of decreasing frequency.
    sizes : array, shape (n,)
        Weight |c| of each point: 1 for a word, more for a cluster made before.

    Returns
    -------
    merges : int64 array, shape (n - n_left, 2)
        Row t holds the two nodes that become node n + t.
    gamma : float
        Mean number of bounds that were tightened for a merge.
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
def _costs(centroids: np.ndarray, size: np.ndarray, n_active: int, c: int, cost: np.ndarray) -> None:
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
def _tighten(
    centroids: np.ndarray,
    size: np.ndarray,
    n_active: int,
    c: int,
    cost: np.ndarray,
    bound: np.ndarray,
    nearest: np.ndarray,
    tight: np.ndarray,
) -> None:
    """Find the nearest cluster of c.

    Bounds of other clusters stay as they are, even of those to which c is nearer than they say: the pair is found from
    the side of c. Lowering them as well gives the same merges with many more bounds to tighten later.
    """
    _costs(centroids, size, n_active, c, cost)
    bound[c] = np.inf
    tight[c] = True
    nearest[c] = -1
    for other in range(n_active):
        if cost[other] < bound[c]:
            bound[c] = cost[other]
            nearest[c] = other


@njit(cache=True, nogil=True)
def _ward(points: np.ndarray, sizes: np.ndarray, max_active: int, n_left: int) -> tuple[np.ndarray, int]:
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
            if entered == max_active - 1:  # step 1 of figure 5
                for c in range(n_active):
                    _tighten(centroids, size, n_active, c, cost, bound, nearest, tight)
        c = int(np.argmin(bound[:n_active]))
        while not tight[c]:
            _tighten(centroids, size, n_active, c, cost, bound, nearest, tight)
            tightened += 1
            c = int(np.argmin(bound[:n_active]))
        kept, gone = min(c, nearest[c]), max(c, nearest[c])
        merges[t, 0] = node[kept]
        merges[t, 1] = node[gone]
        node[kept] = n + t
        weight = size[gone] / (size[kept] + size[gone])
        for i in range(d):
            centroids[i, kept] += weight * (centroids[i, gone] - centroids[i, kept])
        size[kept] += size[gone]
        # Merging never lowers Ward's costs, so old bounds remain bounds. They become loose where the nearest
        # cluster is one of the two.
        for other in range(n_active):
            if nearest[other] == kept or nearest[other] == gone:
                tight[other] = False
        n_active -= 1
        _fill_gap(gone, n_active, centroids, size, bound, nearest, tight, node)
        _tighten(centroids, size, n_active, kept, cost, bound, nearest, tight)
    return merges, tightened


@njit(cache=True, nogil=True)
def _fill_gap(
    gap: int,
    last: int,
    centroids: np.ndarray,
    size: np.ndarray,
    bound: np.ndarray,
    nearest: np.ndarray,
    tight: np.ndarray,
    node: np.ndarray,
) -> None:
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
