"""Hidden states from projected vectors: examples of a label whose views agree become one state.

Counting with clusters as states gives a proper probabilistic model at once (Narayan & Cohen 2015), and EM a start
that random ones do not reach.

:func:`k_means` is scikit-learn's, imported when needed, without its warnings and on one OpenMP thread, which makes the
order of its sums, and hence the result, independent of the machine.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from spectragram.engine import map_threads, single_threaded_blas

__all__ = [
    "cluster_rows",
    "joint_coordinates",
    "k_means",
    "nearest_centres",
    "random_shares",
    "random_states",
    "state_shares",
    "states_by_count",
]

SMALLEST_SPREAD = 1e-9
"""A guard against division by zero; any tiny value does."""


def states_by_count(
    counts: np.ndarray,
    most: int,
    *,
    per_state: float,
    power: float = 1.0,
    whole: Callable[[np.ndarray], np.ndarray] = np.floor,
) -> np.ndarray:
    """Number of states of each label, int32: (count / per_state) ** power, from 1 to ``most``.

    ``whole`` makes the quotient a whole number.

    >>> states_by_count(np.array([30, 250, 9000]), 16, per_state=100).tolist()
    [1, 2, 16]
    """
    return np.clip(whole((counts / per_state) ** power), 1, most).astype(np.int32)


def joint_coordinates(
    views: Sequence[tuple[np.ndarray, np.ndarray]], *, power: float, equal_lengths: bool = False
) -> np.ndarray:
    """Vectors to cluster: several projected views of the same examples, side by side.

    Parameters
    ----------
    views : pairs of arrays, shapes (n, m) and (m,)
        Projected vectors and the singular values of their dimensions. Dimensions whose singular value is zero are left
        out.
    power : float
        Every dimension is standardised and then weighted by its singular value to this power.
    equal_lengths : bool
        Whether each view is scaled to a mean squared length of one, so that all views count the same.
    """
    parts = []
    for vectors, sigma in views:
        used = sigma > 0
        kept = vectors[:, used]
        scaled = (kept - kept.mean(axis=0)) / np.maximum(kept.std(axis=0), SMALLEST_SPREAD) * sigma[used] ** power
        if equal_lengths:
            scaled = scaled / max(SMALLEST_SPREAD, float(np.sqrt((scaled**2).sum(axis=1).mean())))
        parts.append(scaled)
    return np.concatenate(parts, axis=1)


def cluster_rows(
    rows_of: Sequence[np.ndarray],
    sizes: np.ndarray,
    coordinates: Callable[[int], np.ndarray],
    *,
    seed: int,
    n_jobs: int = 1,
) -> np.ndarray:
    """A hidden state for every example, int64 (n,), by k-means within each label.

    Parameters
    ----------
    rows_of : sequence of int arrays
        The examples of each label; together all of them.
    sizes : int array, shape (n_labels,)
        Number of states of each label.
    coordinates : callable
        The vectors to cluster, (number of examples, d), of label a. Not called for labels with a single state.
    seed, n_jobs : int
    """
    states = np.zeros(sum(map(len, rows_of)), np.int64)
    refined = [int(a) for a in np.flatnonzero(sizes > 1)]

    def cluster(a: int) -> np.ndarray:
        return k_means(coordinates(a), int(sizes[a]), seed=seed)[0]

    for a, found in zip(refined, map_threads(cluster, refined, n_jobs), strict=True):
        states[rows_of[a]] = found
    return states


def state_shares(states: np.ndarray, sizes: np.ndarray, *, soft: float = 0.0) -> np.ndarray:
    """How much of each example belongs to each state of its label, (n, largest number of states).

    Parameters
    ----------
    states : int array, shape (n,)
        The state of each example.
    sizes : int array, shape (n,)
        The number of states of its label.
    soft : float
        Share of an example that is spread evenly over all states of its label, so that EM can still move it.

    >>> state_shares(np.array([1, 0]), np.array([2, 1]), soft=0.5).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    shares = np.where(np.arange(int(sizes.max())) < sizes[:, None], soft / sizes[:, None], 0.0)
    shares[np.arange(len(states)), states] += 1.0 - soft
    return shares


def random_states(sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A start without knowledge: one state of its label for every example, int64 (n,); ``sizes`` (n,) as above."""
    return (rng.random(len(sizes)) * sizes).astype(np.int64)


def random_shares(sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A start without knowledge: every example spread at random over the states of its label; ``sizes`` (n,) as above.

    Shares are drawn from a flat Dirichlet distribution.
    """
    valid = np.arange(int(sizes.max())) < sizes[:, None]
    shares = rng.gamma(1.0, size=valid.shape) * valid
    return shares / shares.sum(axis=1, keepdims=True)


def k_means(
    vectors: np.ndarray,
    k: int,
    *,
    seed: int,
    weights: np.ndarray | None = None,
    n_init: int = 1,
    max_iter: int = 30,
    init: str = "k-means++",
    batch_size: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The cluster of each row and the centres of the clusters: (n, d) -> int32 (n,), (k, d).

    Parameters
    ----------
    vectors : array, shape (n, d)
    k : int
        Number of clusters.
    seed : int
    weights : array, shape (n,), optional
        Weights of the rows; equal by default.
    n_init : int
        Number of starts, of which the best is kept.
    max_iter : int
        Iterations at most. The default was chosen by hand, not tuned.
    init : {"k-means++", "random"}
        How starts are chosen. "random" takes rows at random, which is faster for many clusters.
    batch_size : int, optional
        Update the centres after this many random rows instead of all (mini-batch k-means): faster for many rows.

    >>> k_means(np.array([[0.0], [9.0], [9.0]]), 2, seed=0)[1].ravel().tolist()
    [9.0, 0.0]
    """
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    settings: dict[str, Any] = {"init": init, "n_init": n_init, "random_state": seed, "max_iter": max_iter}
    means = KMeans(k, **settings) if batch_size is None else MiniBatchKMeans(k, batch_size=batch_size, **settings)
    with single_threaded_blas(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters is fine
        means.fit(vectors, sample_weight=weights)
    return means.labels_, means.cluster_centers_


def nearest_centres(vectors: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The number of the nearest centre of each row: (n, d), (k, d) -> int64 (n,).

    >>> nearest_centres(np.array([[1.0], [8.0]]), np.array([[9.0], [0.0]])).tolist()
    [1, 0]
    """
    from sklearn.metrics import pairwise_distances_argmin

    with single_threaded_blas():
        return np.asarray(pairwise_distances_argmin(vectors, centres), np.int64)
