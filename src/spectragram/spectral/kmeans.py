"""k-means of projected vectors: scikit-learn's, imported when needed, on one thread, without its warnings.

One OpenMP thread makes the order of its sums, hence the result, independent of the machine; callers that cluster many
sets of vectors use threads of their own (:func:`spectragram.engine.map_threads`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from spectragram.engine import single_threaded_blas

__all__ = ["k_means", "nearest_centres"]


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
