"""Two views of every example, label by label, in the few dimensions in which they agree.

A view is a table of features (inside and outside of a tree node, past and future of a token) or of vectors. For each
label

    paper        here           shape
    phi, psi     View.matrix    (n, d), (n, d')    features scaled as in CCA: sqrt(n / (count(f) + kappa))
    Omega        A' B / n       (d, d')            the cross moment, applied as products, never formed
    U' phi       left           (n, m)
    V' psi       right          (n, m)
    sigma        sigma          (m,)               the leading singular values of Omega

Cohen et al. (2012), figures 4 and 5, and Stratos et al. (2013), figure 4. Tasks differ in two ways, which
:class:`Decomposition` names: whether views are centred, and how exactly the decomposition is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from spectragram.engine import map_threads
from spectragram.errors import RankError
from spectragram.spectral.scaling import cca_weights
from spectragram.spectral.subspace import find_subspace

__all__ = ["Decomposition", "Projection", "View", "project_labels", "rows_by_label"]

MIN_COUNT = 2
"""Features seen once are left out: such a feature correlates with everything that was seen with it, which says nothing
about other examples."""
KAPPA = 5.0
"""Added to the count of a feature before scaling; about 5 works well in practice (see ``spectral/scaling.py``)."""
SMALLEST_SPREAD = 1e-9
"""A guard against division by zero; any tiny value does."""
OVERSAMPLING, POWER_STEPS = 8, 4
"""Extra dimensions and iterations of the power iteration; on wsj-sample dev the parser does best when
it stops this early (see ``constituency/features.py``)."""
TOLERANCE = 1e-2
"""Residuals of the Krylov solver relative to the largest singular value. Chosen by hand, not tuned: the moments are
noisier than that."""
LARGEST_DENSE = 200
"""Moments up to this size are decomposed exactly, which is faster there (see the table in ``spectral/subspace.py``)."""


@dataclass(frozen=True)
class Decomposition:
    """How the cross moment of two views is decomposed.

    Attributes
    ----------
    centred : bool
        Whether the label's mean is subtracted from both views, so that only what varies within the label is left.
    solver : {"krylov", "power"}
        ``krylov`` finds exact singular vectors (dense for small moments). ``power`` stops after a few block power
        iterations, whose trailing directions are mixtures.
    least : float
        Keep singular values above this (by default only above rounding errors),
    least_share : float
        and above this share of the largest one.
    tolerance : float
        Residuals of ``krylov`` for large moments, relative to the largest singular value.
    scaled, kappa
        Whether features are scaled as above; in the papers they are not.
    min_count : int
        Features seen less often are left out; 1 keeps all, as in the papers.
    """

    centred: bool
    solver: Literal["krylov", "power"]
    least: float = 1e-10
    least_share: float = 0.0
    tolerance: float = TOLERANCE
    scaled: bool = True
    kappa: float = KAPPA
    min_count: int = MIN_COUNT


@dataclass(frozen=True)
class Projection:
    """The examples of one label, projected.

    Attributes
    ----------
    rows : int64 array, shape (n,)
        Numbers of the examples.
    left, right : float64 arrays, shape (n, m)
    sigma : float64 array, shape (m,)
        Correlations of the dimensions, largest first. There may be none (m = 0).
    """

    rows: np.ndarray
    left: np.ndarray
    right: np.ndarray
    sigma: np.ndarray


@dataclass(frozen=True)
class View:
    """Scaled features of the examples of one label.

    Attributes
    ----------
    matrix : sparse matrix or array, shape (n, d)
    transposed : sparse matrix or array, shape (d, n)
    mean : array, shape (d,)
        What is subtracted from every row; zero unless the view is centred.
    """

    matrix: Any
    transposed: Any
    mean: np.ndarray

    @classmethod
    def of(
        cls,
        features: np.ndarray,
        *,
        centred: bool,
        noise: float,
        rng: np.random.Generator,
        scaled: bool = True,
        kappa: float = KAPPA,
        min_count: int = MIN_COUNT,
    ) -> View:
        """Scale the features of the examples of one label.

        Parameters
        ----------
        features : array, shape (n, n_templates) or (n, d)
            Whole numbers: each column holds the features of a template, equal numbers in a column being the same
            feature. Columns that begin with -1 are templates that do not apply to this label. Or vectors of
            floating-point numbers, which are scaled to a variance of one. Or a sparse matrix of values.
        centred, scaled, kappa, min_count
            See :class:`Decomposition`.
        noise : float
            Every entry is multiplied by 1 + noise N(0, 1), so that members of an ensemble differ.
        rng : Generator
        """
        if not sp.issparse(features) and np.issubdtype(features.dtype, np.floating):
            matrix: Any = features / np.maximum(features.std(axis=0), SMALLEST_SPREAD) if scaled else features
            if noise:
                matrix = matrix * (1.0 + noise * rng.standard_normal(matrix.shape))
            transposed: Any = matrix.T
        else:
            how = (kappa if scaled else None, min_count, noise, rng)
            if sp.issparse(features):
                matrix = _scaled_values(sp.csr_matrix(features), *how)
            else:
                matrix = _scaled_rows(features[:, features[0] >= 0], *how)
            transposed = matrix.T.tocsr()
        mean = np.asarray(matrix.mean(axis=0)).ravel() if centred else np.zeros(matrix.shape[1])
        return cls(matrix, transposed, mean)

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.mean)

    def project(self, directions: np.ndarray) -> np.ndarray:
        """Coordinates of every example: (d, k) -> (n, k)."""
        return self.matrix @ directions - self.mean @ directions


def _weights(counts: np.ndarray, kappa: float | None, min_count: int, n: int) -> np.ndarray:
    """The factor of each feature, (d,): 0 for rare ones, and 1 for the others if there is no ``kappa``."""
    weights = np.ones(len(counts)) if kappa is None else cca_weights(counts, kappa=kappa, n=n)
    return np.where(counts >= min_count, weights, 0.0)


def _scaled_values(values: sp.csr_matrix, kappa: float | None, min_count: int, noise: float, rng: Any) -> sp.csr_matrix:
    """Given values of features, (n, d), scaled; a feature counts as often as its value is not zero."""
    values = values.astype(np.float64)
    values.eliminate_zeros()
    counts = np.bincount(values.indices, minlength=values.shape[1])
    factors = _weights(counts, kappa, min_count, values.shape[0])
    matrix = sp.csr_matrix(values.multiply(factors[None, :]))[:, np.flatnonzero(counts >= min_count)]
    if noise:
        matrix.data *= 1.0 + noise * rng.standard_normal(matrix.data.shape)
    return matrix


def _scaled_rows(
    features: np.ndarray, kappa: float | None, min_count: int, noise: float, rng: np.random.Generator
) -> sp.csr_matrix:
    """One row an example, one column a feature that was seen at least ``min_count`` times."""
    n = len(features)
    lowest = features.min(axis=0).astype(np.int64)
    widths = features.max(axis=0) - lowest + 1
    numbers = features - lowest + (np.cumsum(widths) - widths)  # every template has a range of its own
    counts = np.bincount(numbers.ravel(), minlength=int(widths.sum()))
    kept = counts >= min_count
    kept &= counts > 0
    values = _weights(counts, kappa, min_count, n)[numbers]
    if noise:
        values *= 1.0 + noise * rng.standard_normal(values.shape)
    column = np.cumsum(kept) - 1
    present = kept[numbers]
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return sp.csr_matrix((values[present], column[numbers[present]], indptr), (n, int(kept.sum())))


def rows_by_label(labels: np.ndarray, n_labels: int) -> list[np.ndarray]:
    """The numbers of the examples of each label, ascending.

    >>> [rows.tolist() for rows in rows_by_label(np.array([1, 0, 1]), 2)]
    [[1], [0, 2]]
    """
    ends = np.cumsum(np.bincount(labels, minlength=n_labels))
    return np.split(np.argsort(labels, kind="stable"), ends[:-1])


def project_labels(
    left: np.ndarray,
    right: np.ndarray,
    labels: np.ndarray,
    n_labels: int,
    rank: Callable[[int], int],
    how: Decomposition,
    *,
    noise: float = 0.0,
    seed: int = 0,
    n_jobs: int = 1,
) -> list[Projection]:
    """Project the examples of every label.

    Parameters
    ----------
    left, right : arrays, shape (n, n_templates) or (n, d)
        The two views, see :meth:`View.of`.
    labels : int array, shape (n,)
        Every label occurs.
    n_labels : int
    rank : callable
        How many dimensions a label gets at most, given its number of examples.
    how : Decomposition
    noise : float
    seed, n_jobs : int
    """
    rows_of = rows_by_label(labels, n_labels)

    def project(a: int) -> Projection:
        # A generator of its own for each label: the result does not depend on which thread comes first.
        rng = np.random.default_rng([seed, a])
        rows = rows_of[a]
        k = rank(len(rows))
        if k < 1:
            return _nothing(rows)
        scaling: dict[str, Any] = {"scaled": how.scaled, "kappa": how.kappa, "min_count": how.min_count}
        A, B = (View.of(view[rows], centred=how.centred, noise=noise, rng=rng, **scaling) for view in (left, right))
        k = min(k, len(rows), A.n_features, B.n_features)
        if k < 1:
            return _nothing(rows)
        U, sigma, V = _power(A, B, k, rng) if how.solver == "power" else _krylov(A, B, k, rng, how.tolerance)
        m = int((sigma > max(how.least, how.least_share * sigma.max(initial=0.0))).sum())
        return Projection(rows, A.project(U[:, :m]), B.project(V[:, :m]), sigma[:m])

    return map_threads(project, range(n_labels), n_jobs)


def _nothing(rows: np.ndarray) -> Projection:
    empty = np.zeros((len(rows), 0))
    return Projection(rows, empty, empty, np.zeros(0))


def _power(A: View, B: View, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leading singular triplets by block power iteration."""
    n = A.matrix.shape[0]
    X = rng.standard_normal((B.n_features, min(k + OVERSAMPLING, n, A.n_features, B.n_features)))
    for _ in range(POWER_STEPS):
        Q, _ = np.linalg.qr(A.transposed @ B.project(X))
        X, _ = np.linalg.qr(B.transposed @ A.project(Q))
    U, sigma, Wt = np.linalg.svd(A.transposed @ B.project(X) / n, full_matrices=False)
    return U[:, :k], sigma[:k], (X @ Wt.T)[:, :k]


def _krylov(
    A: View, B: View, k: int, rng: np.random.Generator, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leading singular triplets by Lanczos iteration, or exactly for small moments."""
    n = A.matrix.shape[0]
    # Centring one of the two views is enough for a covariance.
    moment = LinearOperator(
        (A.n_features, B.n_features),
        dtype=np.float64,
        matvec=lambda v: A.transposed @ B.project(v.ravel()) / n,
        matmat=lambda V: A.transposed @ B.project(V) / n,
        rmatvec=lambda v: B.transposed @ A.project(v.ravel()) / n,
        rmatmat=lambda V: B.transposed @ A.project(V) / n,
    )
    # Labels are solved in threads, and PROPACK, which "auto" may take, is not made for that.
    method: Literal["dense", "krylov"] = "dense" if max(moment.shape) <= LARGEST_DENSE else "krylov"
    try:
        found = find_subspace(moment, k, rng=rng, tolerance=tolerance, truncate=True, method=method)
    except RankError:  # the views do not vary together within this label
        return np.zeros((A.n_features, 0)), np.zeros(0), np.zeros((B.n_features, 0))
    return found.left, found.singular_values, found.right
