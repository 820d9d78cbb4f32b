"""Low-dimensional views of every token, label by label (Stratos et al. 2013, figure 4, the first two steps).

    paper              here            shape
    Omega_1, Omega_2   -               the cross moments, applied as products of sparse matrices, never formed
    F_1, P             future, past    (n_tokens, m)    of Omega_1 = E[phi psi' | a]
    R, D               present, destiny                 of Omega_2 = E[xi upsilon' | a]

Features are scaled as in canonical correlation analysis, f * sqrt(n / (count(f) + kappa)), and centred: the mean of
a view given the label is known exactly, so only what varies within the label is left to the decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from spectragram.engine import map_threads
from spectragram.errors import RankError
from spectragram.spectral.scaling import cca_weights
from spectragram.spectral.subspace import find_subspace

__all__ = ["Projection", "project_views"]

MIN_FEATURE_COUNT = 2
TOKENS_A_DIMENSION = 50
"""A label gets one dimension for every so many tokens."""
SMALLEST_SINGULAR_VALUE = 0.01
"""As a share of the largest."""
TOLERANCE = 1e-2
LARGEST_DENSE = 200


@dataclass(frozen=True)
class Projection:
    """Two views that see the hidden state independently of each other, in the coordinates that agree best.

    Attributes
    ----------
    left, right : float64 arrays, shape (n_tokens, n_dims)
        Zero beyond the rank of the token's label.
    singular_values : float64 array, shape (n_labels, n_dims)
        Their correlations; zero beyond the rank.
    """

    left: np.ndarray
    right: np.ndarray
    singular_values: np.ndarray

    @property
    def ranks(self) -> np.ndarray:
        """Dimensions of each label."""
        return (self.singular_values > 0).sum(axis=1)


def project_views(
    labels: np.ndarray,
    n_labels: int,
    left: np.ndarray,
    right: np.ndarray,
    n_dims: int,
    *,
    seed: int,
    noise: float = 0.0,
    n_jobs: int = 1,
) -> Projection:
    """Project two views onto ``n_dims`` dimensions: singular value decomposition and sample projection of figure 4.

    A view is given as feature numbers (n_tokens, n_templates), or as vectors (n_tokens, d) of floating-point numbers.
    ``noise`` multiplies every feature of every token by 1 + noise * N(0, 1), to make members of an ensemble differ.
    """
    tokens_of = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels, minlength=n_labels))[:-1])

    def project(a: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = tokens_of[a]
        rng = np.random.default_rng([seed, a])
        rank = min(n_dims, len(rows) // TOKENS_A_DIMENSION)
        if rank < 1:
            return np.zeros((len(rows), 0)), np.zeros((len(rows), 0)), np.zeros(0)
        return _correlate(_view(left[rows], noise, rng), _view(right[rows], noise, rng), rank, rng)

    n_tokens = len(labels)
    projected = np.zeros((2, n_tokens, n_dims))
    singular_values = np.zeros((n_labels, n_dims))
    for a, (Y, Z, sigma) in enumerate(map_threads(project, range(n_labels), n_jobs)):
        projected[0, tokens_of[a], : len(sigma)] = Y
        projected[1, tokens_of[a], : len(sigma)] = Z
        singular_values[a, : len(sigma)] = sigma
    return Projection(projected[0], projected[1], singular_values)


@dataclass(frozen=True)
class _View:
    """Scaled features of the tokens of one label (n, d), their transpose, and their mean (d,)."""

    matrix: Any
    transposed: Any
    mean: np.ndarray

    @property
    def n_features(self) -> int:
        return len(self.mean)

    def project(self, directions: np.ndarray) -> np.ndarray:
        """Centred coordinates of every token: (n_features, k) -> (n, k)."""
        return self.matrix @ directions - self.mean @ directions


def _view(features: np.ndarray, noise: float, rng: np.random.Generator) -> _View:
    if np.issubdtype(features.dtype, np.floating):
        scaled = features / np.maximum(features.std(axis=0), 1e-9)
        if noise:
            scaled *= 1 + noise * rng.standard_normal(scaled.shape)
        return _View(scaled, scaled.T, scaled.mean(axis=0))
    n = len(features)
    counts = np.bincount(features.ravel())
    # A feature seen once correlates with everything that was seen with it: noise that scaling would magnify.
    kept = np.flatnonzero(counts >= MIN_FEATURE_COUNT)
    column = np.full(len(counts), -1, np.int32)
    column[kept] = np.arange(len(kept), dtype=np.int32)
    columns = column[features]
    present = columns >= 0
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    values = cca_weights(counts[kept], n=n)[columns[present]]
    if noise:
        values *= 1 + noise * rng.standard_normal(len(values))
    matrix = sp.csr_matrix((values, columns[present], indptr), (n, len(kept)))
    return _View(matrix, matrix.T.tocsr(), np.asarray(matrix.mean(axis=0)).ravel())


def _correlate(
    left: _View, right: _View, rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates of both views in the leading singular directions of their centred cross moment, and its values."""
    n = left.matrix.shape[0]
    rank = min(rank, left.n_features, right.n_features)
    if rank < 1:
        return np.zeros((n, 0)), np.zeros((n, 0)), np.zeros(0)
    # Centring one of the two is enough for a covariance.
    moment = LinearOperator(
        (left.n_features, right.n_features),
        dtype=np.float64,
        matvec=lambda v: left.transposed @ right.project(v.ravel()) / n,
        matmat=lambda V: left.transposed @ right.project(V) / n,
        rmatvec=lambda v: right.transposed @ left.project(v.ravel()) / n,
        rmatmat=lambda V: right.transposed @ left.project(V) / n,
    )
    # Labels are solved in threads, and PROPACK, which "auto" may take, is not made for that.
    method: Literal["dense", "krylov"] = "dense" if max(moment.shape) <= LARGEST_DENSE else "krylov"
    try:
        found = find_subspace(moment, rank, rng=rng, tolerance=TOLERANCE, truncate=True, method=method)
    except RankError:  # the views do not vary together within this label
        return np.zeros((n, 0)), np.zeros((n, 0)), np.zeros(0)
    sigma = found.singular_values[found.singular_values > SMALLEST_SINGULAR_VALUE * found.singular_values[0]]
    k = len(sigma)
    return left.project(found.left[:, :k]), right.project(found.right[:, :k]), sigma
