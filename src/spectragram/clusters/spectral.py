"""The paper's method: canonical correlation analysis of words and their contexts, then Ward's algorithm.

    paper      here                 shape
    B          context_counts / N   (n, n * places)    words by words at a place of their context
    u, v       margins of it        (n,), (n * places,)
    kappa      kappa                pseudo-count added to the margins
    Omega      scaled               (n, n * places)    diag(u)^-1/2 B diag(v)^-1/2          equation 1
    U          left                 (n, m)             leading left singular vectors of Omega
    M          vectors              (n, m)             rows of U, of length 1               figure 4

If the text comes from a Brown model, rows of M are equal exactly for words of the same cluster (theorem 5.1).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from spectragram.clusters.hierarchy import labels_after
from spectragram.clusters.ward import ward
from spectragram.engine import single_threaded_blas
from spectragram.spectral.subspace import find_subspace

__all__ = ["spectral_hierarchy", "ward_classes", "word_vectors"]

SVD_TOLERANCE = 1e-3
"""Relative to the largest singular value, 1: finer differences are far below the noise of the counts."""


def word_vectors(
    context_counts: scipy.sparse.csr_matrix,
    n_dimensions: int,
    kappa: float,
    rng: np.random.Generator,
    tolerance: float = SVD_TOLERANCE,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of length 1 that put words with like contexts close together (figure 4).

    Parameters
    ----------
    context_counts : sparse matrix, shape (n, e)
        How often each word has each context; probabilities will do as well.
    n_dimensions : int
        Rank of the decomposition; fewer come back where the counts have a lower rank.

    Returns
    -------
    vectors : float array, shape (n, n_dimensions)
        A word without any context has the zero vector.
    singular_values : float array, shape (n_dimensions,)
    """
    n, e = context_counts.shape
    places = max(1, e // n)
    u = np.asarray(context_counts.sum(axis=1)).ravel() / places
    v = np.asarray(context_counts.sum(axis=0)).ravel()
    # Omega = diag(u + kappa)^-1/2 B diag(v + kappa)^-1/2; the number of tokens cancels.
    scaled = scipy.sparse.diags_array(_inverse_root(u + kappa)) @ context_counts
    scaled = (scaled @ scipy.sparse.diags_array(_inverse_root(v + kappa))).tocsr()
    # The blocks are narrow: BLAS threads would cost more than they give, and could show in the last digits.
    with single_threaded_blas():
        subspace = find_subspace(scaled, n_dimensions, tolerance=tolerance, rng=rng, truncate=True)
    length = np.linalg.norm(subspace.left, axis=1, keepdims=True)
    return subspace.left / np.maximum(length, 1e-300), subspace.singular_values


def _inverse_root(margin: np.ndarray) -> np.ndarray:
    return np.where(margin > 0, 1 / np.sqrt(np.maximum(margin, 1e-300)), 0.0)


def ward_classes(vectors: np.ndarray, n_classes: int) -> tuple[np.ndarray, float]:
    """Classes of the words by Ward's algorithm over n_classes + 1 active clusters, and gamma (figure 5)."""
    merges, gamma = ward(vectors, np.ones(len(vectors)), n_classes + 1, n_classes)
    return labels_after(merges, len(vectors)), gamma


def spectral_hierarchy(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Ward's tree over classes: merges of shape (n_classes - 1, 2), from the mean vectors of their words.

    After the last word has entered, figure 5 goes on with these very clusters.
    """
    sizes = np.bincount(labels)
    means = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(means, labels, vectors)
    merges, _ = ward(means / sizes[:, None], sizes, len(sizes), 1)
    return merges
