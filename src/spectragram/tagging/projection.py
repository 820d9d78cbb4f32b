"""Low-dimensional views of every token, label by label (Stratos et al. 2013, figure 4, the first two steps).

    paper              here            shape
    F_1, P             future, past    (n_tokens, m)    of Omega_1 = E[phi psi' | a]
    R, D               present, destiny                 of Omega_2 = E[xi upsilon' | a]

By default views are centred: the mean of a view given the label is known exactly, so only what varies within the label
is left to the decomposition, which :mod:`spectragram.learning.views` computes. The paper does not centre.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.learning import views

__all__ = ["Projection", "project_views", "with_constant"]

SMALLEST = 0.01
"""Singular values below this share of the largest are noise. Chosen by hand, not tuned; the spectral learner damps
small values anyway."""
DECOMPOSITION = views.Decomposition(centred=True, solver="krylov", least_share=SMALLEST)
TOKENS_A_DIMENSION = 50
"""A label gets one dimension for every 50 of its tokens. Chosen by hand, not tuned."""


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
    how: views.Decomposition = DECOMPOSITION,
    tokens_a_dimension: int = TOKENS_A_DIMENSION,
) -> Projection:
    """Project two views onto ``n_dims`` dimensions: singular value decomposition and sample projection of figure 4.

    Parameters
    ----------
    labels : int array, shape (n_tokens,)
    n_labels : int
    left, right : arrays, shape (n_tokens, n_templates) or (n_tokens, d)
        Feature numbers, or vectors of floating-point numbers.
    n_dims : int
    seed : int
    noise : float
        Perturbs the features, see :meth:`spectragram.learning.views.View.of`.
    n_jobs : int
    how : Decomposition
    tokens_a_dimension : int
        A label gets at most one dimension for so many of its tokens.
    """

    def rank(n_tokens: int) -> int:
        return min(n_dims, n_tokens // tokens_a_dimension)

    projected = np.zeros((2, len(labels), n_dims))
    singular_values = np.zeros((n_labels, n_dims))
    found = views.project_labels(left, right, labels, n_labels, rank, how, noise=noise, seed=seed, n_jobs=n_jobs)
    for a, part in enumerate(found):
        k = len(part.sigma)
        projected[0, part.rows, :k] = part.left
        projected[1, part.rows, :k] = part.right
        singular_values[a, :k] = part.sigma
    return Projection(projected[0], projected[1], singular_values)


def with_constant(vectors: np.ndarray) -> np.ndarray:
    """[1, v] for every row v: (n, d) -> (n, d + 1)."""
    return np.concatenate([np.ones((len(vectors), 1)), vectors], axis=1)
