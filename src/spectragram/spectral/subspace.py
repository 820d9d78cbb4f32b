"""Find the latent subspace of a cross moment by truncated SVD.

    paper    here              shape
    Omega    cross_moment      (d, e)           E[phi psi^T], sparse, dense or an operator
    U, V     left, right       (d, m), (e, m)
    sigma    singular_values   (m,)             largest first
    m        n_states

CPU seconds of each solver on one thread, for square CCA-scaled power-law counts at tolerance 1e-8, as measured by
``benchmarks/speed/svd_crossover.py``:

    size     k     dense  propack   krylov        size     k    propack   krylov
     50     16    0.0006   0.0012   0.0013       3 000    128      0.33     0.37
    100     32    0.0013   0.0028   0.0045      10 000     16      0.18     0.23
    200      8    0.0055   0.0015   0.0052      10 000    128      1.09     1.14
    200    128    0.0050   0.0106   0.0140      10 000    256      5.93     4.47
    400     64    0.030    0.017    0.041       10 000    512     15.3     17.3
    400    256    0.026    0.048    0.064       30 000    128      3.08     2.80
    800     64    0.16     0.025    0.041      100 000     64      4.21     8.32
    800    256    0.15     0.11     0.20       300 000     16      6.54    13.2
   1600    512    1.73     0.90     1.27       300 000     64     14.2     26.9

Hence the rule: dense if the small side is at most 100 or at most 2 k, otherwise PROPACK. Beyond k = 128 the two Lanczos
methods take the same CPU time (real bigram counts, 10 001 x 20 002, k = 200: 2.2 and 1.5 s), but block products use
several cores and finish earlier if the tolerance is loose, hence Krylov. ARPACK was slower than PROPACK in every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse.linalg import LinearOperator

from spectragram.display import shown_by
from spectragram.errors import InputError, RankError
from spectragram.spectral.svd import SOLVERS, Triplets, is_sparse, to_csr

__all__ = ["Subspace", "choose_method", "find_subspace"]

Method = Literal["auto", "dense", "propack", "krylov", "gram"]

RANK_TOLERANCE = 1e-10
"""Singular values below this share of the largest count as zero: well above rounding, well below any use."""


@dataclass(frozen=True)
class Subspace:
    """The leading singular vectors of a cross moment: spectral learners project features with them.

    Attributes
    ----------
    left : array, shape (d, n_states)
        Orthonormal columns; the largest entry of each (in size) is positive.
    right : array, shape (e, n_states)
    singular_values : array, shape (n_states,)
        Largest first, all above the requested threshold.
    n_requested : int
        How many were requested; more than ``n_states`` if the rank of the moment was too low.
    """

    left: np.ndarray
    right: np.ndarray
    singular_values: np.ndarray
    n_requested: int

    @property
    def n_states(self) -> int:
        """Number of dimensions kept."""
        return len(self.singular_values)

    _repr_svg_ = shown_by("subspace_svg")


def find_subspace(
    cross_moment: Any,
    n_states: int,
    *,
    threshold: float = 0.0,
    rng: np.random.Generator | int = 0,
    method: Method = "auto",
    tolerance: float = 1e-8,
    truncate: bool = False,
) -> Subspace:
    """The ``n_states`` leading singular triplets of ``cross_moment``.

    Parameters
    ----------
    cross_moment : sparse array, dense array or LinearOperator, shape (d, e)
    n_states : int
        How many singular triplets to keep, at most ``min(d, e)``.
    threshold : float
        Keep only singular values above it. After CCA scaling 0.01 is a good value: smaller ones are noise, and
        learners divide by singular values.
    rng : Generator or int
        Draws the start vectors of the iterative solvers; the same seed gives the same result.
    method : {"auto", "dense", "propack", "krylov", "gram"}
        The solver; "auto" chooses by size and rank, see the table in this module. It never chooses "gram", which
        cannot tell small singular values from zero but is the fastest for a thousand columns and noisy counts.
    tolerance : float
        Residuals of the iterative solvers, relative to the largest singular value.
    truncate : bool
        If fewer than ``n_states`` values exceed the threshold, keep those that do (always the largest one) instead of
        raising a :class:`RankError`.

    Examples
    --------
    >>> find_subspace(np.diag([3.0, 2.0, 0.0]), 2).singular_values
    array([3., 2.])
    """
    moment = _checked(cross_moment, n_states)
    U, sigma, V = _solve(moment, n_states, method, tolerance, np.random.default_rng(rng))
    if sigma[0] <= 0.0:
        raise RankError(f"this {moment.shape} cross moment is all zero: no features ever occur together")

    kept = max(1, int((sigma > max(threshold, sigma[0] * RANK_TOLERANCE)).sum()))
    if kept < n_states and not truncate:
        floor = f" with singular values above {threshold:g}" if threshold > 0 else ""
        raise RankError(
            f"n_states={n_states}, but this {moment.shape} cross moment has rank {kept}{floor}: use "
            f"n_states<={kept}, richer features, or truncate=True to keep {kept}"
        )
    U, sigma, V = U[:, :kept], sigma[:kept], V[:, :kept]
    # Unique up to a sign per column: make U's largest entry positive.
    sign = np.sign(U[np.abs(U).argmax(axis=0), np.arange(kept)])
    return Subspace(U * sign, V * sign, sigma, n_states)


def choose_method(shape: tuple[int, int], n_states: int) -> Literal["dense", "propack", "krylov"]:
    """The fastest accurate solver for a matrix of this shape and rank; see the table in this module."""
    small = min(shape)
    fits_in_memory = shape[0] * shape[1] <= 2**27  # a gigabyte as a dense matrix
    if small <= 100 or (2 * n_states >= small and fits_in_memory):
        return "dense"
    return "krylov" if n_states > 128 and small > 5000 else "propack"


def _checked(cross_moment: Any, n_states: int) -> Any:
    """The moment as float64 CSR, float64 array or operator; raises an error if no solver could take it."""
    if n_states < 1:
        raise InputError(f"n_states={n_states}", remedy="ask for at least one hidden state")
    moment: Any
    if isinstance(cross_moment, LinearOperator):
        moment, values = cross_moment, np.zeros(1)
    elif is_sparse(cross_moment):
        moment = to_csr(cross_moment)
        values = moment.data
    else:
        moment = values = np.asarray(cross_moment, np.float64)
    if len(moment.shape) != 2 or min(moment.shape) == 0:
        raise InputError(f"a cross moment of shape {moment.shape}", remedy="expected a non-empty matrix")
    if not np.isfinite(values).all():
        raise InputError(
            f"a {moment.shape} cross moment with infinite or undefined entries",
            remedy="check the features and the scaling (a feature of count 0 needs kappa > 0)",
        )
    return moment


def _solve(moment: Any, k: int, method: Method, tolerance: float, rng: np.random.Generator) -> Triplets:
    """Run a solver; of a sparse matrix, only on rows and columns that are not zero."""
    if not is_sparse(moment):
        return _run(moment, k, method, tolerance, rng)
    rows = np.flatnonzero(np.diff(moment.indptr))
    columns = np.unique(moment.indices)
    if len(rows) == 0:
        return np.zeros((moment.shape[0], 1)), np.zeros(1), np.zeros((moment.shape[1], 1))
    if (len(rows), len(columns)) == moment.shape:
        return _run(moment, k, method, tolerance, rng)
    u, sigma, v = _run(moment[rows][:, columns], k, method, tolerance, rng)
    U = np.zeros((moment.shape[0], len(sigma)))
    V = np.zeros((moment.shape[1], len(sigma)))
    U[rows], V[columns] = u, v
    return U, sigma, V


def _run(moment: Any, k: int, method: Method, tolerance: float, rng: np.random.Generator) -> Triplets:
    k = min(k, *moment.shape)
    solver = choose_method(moment.shape, k) if method == "auto" else method
    if k >= min(moment.shape) - 1:  # the Lanczos solvers refuse these
        solver = "dense"
    return SOLVERS[solver](moment, k, tolerance, rng)
