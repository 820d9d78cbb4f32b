"""k-means of projected vectors: scikit-learn's, imported when needed and quiet about repeated points."""

from __future__ import annotations

import warnings

import numpy as np

__all__ = ["k_means"]


def k_means(
    vectors: np.ndarray, k: int, *, seed: int, max_iter: int = 30, init: str = "k-means++"
) -> tuple[np.ndarray, np.ndarray]:
    """The cluster of each row and the centres of the clusters: (n, d) -> int32 (n,), (k, d).

    ``init`` is "k-means++", or "random" for centres that start at rows drawn at random: quicker for many clusters.

    >>> k_means(np.array([[0.0], [9.0], [9.0]]), 2, seed=0)[1].ravel().tolist()
    [9.0, 0.0]
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters is fine
        found = KMeans(k, init=init, n_init=1, random_state=seed, max_iter=max_iter).fit(vectors)
    return found.labels_, found.cluster_centers_
