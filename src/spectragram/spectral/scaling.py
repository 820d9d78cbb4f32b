"""CCA scaling: frequent features get smaller weights, so that the SVD reflects correlation instead of frequency.

    paper                          here                        shape
    sqrt(n / (count(f) + kappa))   cca_weights(counts, n=n)    (d,)     Cohen et al. 2013, per feature
    diag(u)^-1/2, diag(v)^-1/2     Scaling.left, .right        (d,), (e,)
    Omega                          Scaling.apply(counts)       (d, e)   Stratos et al. 2014, figure 4

Both papers compute the same matrix: with features scaled by sqrt(n / (count + kappa)),

    (1/n) sum_i phi_i psi_i^T   =   C_fg / sqrt((c_f + kappa) (c_g + kappa)),   C = sum_i (unscaled) phi_i psi_i^T,

which is diag(u)^-1/2 B diag(v)^-1/2 for B = C / n and u = (c + kappa) / n, so the number of examples cancels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse

from spectragram.errors import InputError
from spectragram.spectral.subspace import Subspace
from spectragram.spectral.svd import is_sparse, to_csr

__all__ = ["Scaling", "cca_weights"]


def cca_weights(counts: np.ndarray, *, kappa: float = 5.0, n: float = 1.0) -> np.ndarray:
    """Weight sqrt(n / (count + kappa)) of each feature, (d,) -> (d,); 0 where count and kappa are both 0.

    ``kappa`` pseudo-counts keep rare features from dominating; about 5 works well in practice. If ``n`` is the
    number of examples, the weights are for feature rows, whose products are then averaged; if it is 1, they are for
    the rows and columns of a count matrix.
    """
    counts = np.asarray(counts, np.float64)
    if kappa < 0 or (counts < 0).any():
        raise InputError(f"kappa={kappa}, smallest count {counts.min(initial=0.0)}", remedy="neither may be negative")
    smoothed = counts + kappa
    return np.sqrt(np.divide(n, smoothed, out=np.zeros_like(smoothed), where=smoothed > 0))


@dataclass(frozen=True)
class Scaling:
    """Weights of the rows and of the columns of one cross moment.

    Attributes
    ----------
    left : array, shape (d,)
    right : array, shape (e,)
    """

    left: np.ndarray
    right: np.ndarray

    @classmethod
    def from_counts(
        cls, left_counts: np.ndarray, right_counts: np.ndarray, *, kappa: float = 5.0, n: float = 1.0
    ) -> Self:
        """CCA weights of both sides from the counts of rows and columns."""
        return cls(cca_weights(left_counts, kappa=kappa, n=n), cca_weights(right_counts, kappa=kappa, n=n))

    def apply(self, matrix: Any) -> Any:
        """diag(left) M diag(right): sparse stays sparse."""
        return _scaled(matrix, self.left, self.right)

    def fold(self, subspace: Subspace) -> Subspace:
        """The subspace of a scaled moment as projections of *unscaled* features.

        ``phi @ fold(s).left == (phi * left) @ s.left``, so raw features or raw Hankel blocks need not be scaled before
        they are projected.
        """
        return replace(
            subspace,
            left=self.left[:, np.newaxis] * subspace.left,
            right=self.right[:, np.newaxis] * subspace.right,
        )


def _scaled(matrix: Any, left: np.ndarray, right: np.ndarray) -> Any:
    if not is_sparse(matrix):
        return left[:, np.newaxis] * np.asarray(matrix) * right
    matrix = to_csr(matrix)
    data = matrix.data * np.repeat(left, np.diff(matrix.indptr)) * right[matrix.indices]
    return scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
