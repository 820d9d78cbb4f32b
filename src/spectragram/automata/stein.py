"""Sums over all strings of products of two automata, in the memory of a matrix (m1, m2).

    X = sum_x (A_x' alpha)(B_x' beta)'      solves      X = alpha beta' + sum_sigma A_sigma' X B_sigma

This is a linear (Stein) equation in m1 m2 unknowns. Its matrix has (m1 m2)^2 entries: for two automata of 480 states,
more than 400 GB. It is therefore never formed, except for small automata; GMRES needs only products with it.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, gmres

from spectragram.errors import RankError

__all__ = ["sum_of_products"]

CONVERGES = 1e-12
"""Sums count as divergent if the spectral radius is this close to 1. Any value near the rounding error does."""
DENSE = 400
"""Up to this many unknowns the matrix is formed: 1.3 MB. Chosen by hand; the results agree."""
ACCURACY = 1e-13
"""Relative residual at which the iteration stops; near the rounding error."""
RESTART, MAX_RESTARTS = 30, 40
"""Vectors that GMRES keeps, and how often it may start again. Chosen by hand, not tuned."""
POWER_STEPS = 200
"""Steps of the power method where ARPACK finds no eigenvalue. Chosen by hand, not tuned."""


def sum_of_products(
    initial: np.ndarray,
    operators: np.ndarray,
    other_initial: np.ndarray,
    other_operators: np.ndarray,
    *,
    converges: bool = False,
) -> np.ndarray:
    """X, shape (m1, m2); a RankError if the sum diverges, which is not looked into if ``converges``.

    Parameters
    ----------
    initial, operators : arrays, shapes (m1,) and (k, m1, m1)
    other_initial, other_operators : arrays, shapes (m2,) and (k, m2, m2)
    converges : bool
        Whether the caller knows that the sum converges.
    """
    shape = len(initial), len(other_initial)
    start = np.outer(initial, other_initial)
    if start.size <= DENSE:
        matrix = np.einsum("sij,skl->jlik", operators, other_operators).reshape(start.size, start.size)
        _require_contraction(float(np.abs(np.linalg.eigvals(matrix)).max()))
        return np.linalg.solve(np.eye(start.size) - matrix, start.ravel()).reshape(shape)

    def step(X: np.ndarray) -> np.ndarray:
        X = X.reshape(shape)
        return sum((A.T @ X @ B for A, B in zip(operators, other_operators, strict=True)), np.zeros(shape)).ravel()

    if not converges:
        _require_contraction(_radius(LinearOperator((start.size, start.size), step, dtype=np.float64)))
    equation = LinearOperator((start.size, start.size), lambda X: X - step(X), dtype=np.float64)
    found, trouble = gmres(equation, start.ravel(), rtol=ACCURACY, restart=RESTART, maxiter=MAX_RESTARTS)
    residual = np.linalg.norm(equation @ found - start.ravel())
    if trouble and residual > np.sqrt(ACCURACY) * np.linalg.norm(start):
        raise RankError("the sum over all strings converges too slowly to be computed")
    return found.reshape(shape)


def _radius(operator: LinearOperator) -> float:
    start = np.random.default_rng(0).random(operator.shape[0])
    try:
        return float(np.abs(eigs(operator, 1, which="LM", v0=start, tol=1e-6, return_eigenvectors=False)[0]))
    except ArpackNoConvergence:
        radius = 0.0
        for _ in range(POWER_STEPS):
            following = operator @ (start / np.linalg.norm(start))
            radius, start = float(np.linalg.norm(following)), following
            if not radius:
                break
        return radius


def _require_contraction(radius: float) -> None:
    if radius >= 1.0 - CONVERGES:
        raise RankError(
            "sums over all strings diverge: the spectral radius of the product of the two automata is "
            f"{radius:.6g}, not below 1"
        )
