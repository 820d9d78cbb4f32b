"""Least squares on the probability simplex, for all rows at once.

    gamma_f = argmin  || sum_h gamma_h w_h - v_f ||^2    subject to  gamma >= 0,  sum_h gamma_h = 1

(Cohen & Collins 2014, section 5.2, step 4.) The paper uses Frank-Wolfe. Here an active-set method solves each row
exactly: on the support S the optimum has a closed form in terms of the Gram matrix; the state that violates the
optimality conditions most enters S, and a state whose weight reaches zero leaves it. The Cholesky factor of the support
is extended as the support grows, so a row costs about |S| (m |S| + |S|^2) operations.

    paper     here        shape
    w_h       vertices    (m, l)
    v_f       points      (n, l)
    gamma     weights     (n, m)
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.engine import map_threads
from spectragram.engine.kernels import REORDER
from spectragram.errors import InputError

__all__ = ["simplex_least_squares"]

ROWS_AT_A_TIME = 512
"""Rows that one thread solves at a time. Chosen by hand; results do not depend on it."""
FARTHEST = 1e8
"""Points farther away than this, in units of the spread of the vertices, are moved to this distance.

Of such a point only the direction matters, and its distance would swallow the digits of the weights: float64 has 16,
so this leaves half of them.
"""


def simplex_least_squares(
    points: np.ndarray, vertices: np.ndarray, *, tolerance: float = 1e-14, n_jobs: int | None = 1
) -> np.ndarray:
    """Convex weights (n, m) that bring the vertices (m, l) closest to each point (n, l).

    If the vertices are affinely dependent (for example, if some coincide), the weights are not unique and one optimum
    is returned. A vertex enters the support if it lowers the objective by more than ``tolerance`` (relative to the
    size of the vertices) for each unit of weight: 1e-14 is exact, 1e-5 is enough for noisy points. The rows are shared
    out to ``n_jobs`` threads; the result does not depend on their number.

    >>> simplex_least_squares(np.array([[0.25, 9.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])).round(9).tolist()
    [[0.75, 0.25]]
    """
    points, vertices = np.asarray(points, np.float64), np.asarray(vertices, np.float64)
    if points.ndim != 2 or vertices.ndim != 2 or points.shape[1] != vertices.shape[1] or not len(vertices):
        raise InputError(
            f"points of shape {points.shape} and vertices of shape {vertices.shape}",
            remedy="give (n, l) points and (m, l) vertices",
        )
    if not (np.isfinite(points).all() and np.isfinite(vertices).all()):
        raise InputError("points or vertices with infinite or undefined entries", remedy="drop those rows")
    # The weights sum to one, so neither a shift of all vectors nor a constant added to the Gram matrix moves the
    # optimum. Together they make the matrix well conditioned unless a vertex is an affine combination of others.
    centre = vertices.mean(axis=0)
    centred = vertices - centre
    if np.abs(centred).max() <= 1e-14 * np.abs(vertices).max():
        centred[:] = 0.0  # all vertices coincide up to rounding (1e-14: a hundred times float64's precision)
    # Squares of tiny vertices would underflow. A power of two scales without rounding.
    scale = 2.0 ** -np.floor(np.log2(np.abs(centred).max() or 1.0))
    centred *= scale
    gram = centred @ centred.T
    gram += float(np.trace(gram)) / len(gram) or 1.0
    weights = np.zeros((len(points), len(vertices)))

    slack = tolerance * float(np.abs(gram).max())

    def solve(start: int) -> None:
        part = slice(start, start + ROWS_AT_A_TIME)
        targets = (points[part] - centre) @ centred.T
        farthest = np.abs(targets).max(axis=1, keepdims=True)
        targets *= np.minimum(scale, FARTHEST / np.maximum(farthest, np.finfo(float).tiny * FARTHEST))
        _solve_rows(gram, targets, weights[part], slack)

    map_threads(solve, range(0, len(points), ROWS_AT_A_TIME), n_jobs)
    totals = weights.sum(axis=1, keepdims=True)
    return np.where(np.abs(totals - 1.0) > 1e-13, weights / totals, weights)  # 1e-13: what far points lose to rounding


@njit(cache=True, nogil=True)
def _solve_rows(gram: np.ndarray, targets: np.ndarray, weights: np.ndarray, slack: float) -> None:
    """(m, m), (n, m), (n, m): fill zero ``weights`` with the minimiser of  g G g' / 2 - b g'  on the simplex."""
    m = len(gram)
    support = np.empty(m, np.int64)
    factor = np.empty((m, m))
    forward = np.empty((2, m))
    solution = np.empty(m)
    ones = np.empty(m)
    slopes = np.empty(m)
    for row in range(len(targets)):
        b, gamma = targets[row], weights[row]
        for h in range(m):
            slopes[h] = 0.5 * gram[h, h] - b[h]
        support[0] = _place_of_smallest(slopes)
        gamma[support[0]] = 1.0
        size: int = np.int64(1)  # type: ignore[assignment]  # a plain number would be compiled for itself
        factored: int = np.int64(0)  # type: ignore[assignment]
        for _ in range(4 * m + 10):  # ends by itself; a guard against cycles caused by rounding
            size, factored, level = _walk_to_optimum(
                gram, b, gamma, support, size, factor, factored, forward, solution, ones
            )
            # Optimal when no vertex outside has a smaller slope than those inside.
            for h in range(m):
                slopes[h] = -b[h] - level
            for i in range(size):
                share, line = gamma[support[i]], gram[support[i]]
                for h in range(m):
                    slopes[h] += share * line[h]
            for i in range(size):
                slopes[support[i]] = 0.0
            enters = _place_of_smallest(slopes)
            if slopes[enters] >= -slack:
                break
            support[size] = enters
            size += 1


@njit(cache=True, nogil=True)
def _place_of_smallest(values: np.ndarray) -> int:
    best = 0
    for i in range(1, len(values)):
        if values[i] < values[best]:
            best = i
    return best


@njit(cache=True, nogil=True)
def _walk_to_optimum(
    gram: np.ndarray,
    b: np.ndarray,
    gamma: np.ndarray,
    support: np.ndarray,
    size: int,
    factor: np.ndarray,
    factored: int,
    forward: np.ndarray,
    solution: np.ndarray,
    ones: np.ndarray,
) -> tuple[int, int, float]:
    """Move ``gamma`` to the optimum of its support; weights that reach zero on the way leave it.

    Returns the size of the support, the number of valid rows of the Cholesky factor, and the common slope.
    """
    while True:
        level = _optimum_on_support(gram, b, support, size, factor, factored, forward, solution, ones)
        factored = size
        step = 1.0
        for i in range(size):
            weight = gamma[support[i]]
            if solution[i] <= 0.0 and weight > solution[i]:
                step = min(step, weight / (weight - solution[i]))
        kept = 0
        for i in range(size):
            h = support[i]
            gamma[h] += step * (solution[i] - gamma[h])
            if step < 1.0 and gamma[h] <= 1e-14:
                gamma[h] = 0.0
                factored = min(factored, i)
            else:
                support[kept] = h
                kept += 1
        if step == 1.0 or kept == size:
            return kept, factored, level
        size = kept


@njit(cache=True, nogil=True, fastmath=REORDER)
def _optimum_on_support(
    gram: np.ndarray,
    b: np.ndarray,
    support: np.ndarray,
    size: int,
    factor: np.ndarray,
    factored: int,
    forward: np.ndarray,
    solution: np.ndarray,
    ones: np.ndarray,
) -> float:
    """Minimiser on the support with weights of any sign that sum to one; returns the common slope (multiplier).

    Solves G y = b and G z = 1 with one Cholesky factor, whose first ``factored`` rows, and those of both forward
    substitutions, are already valid; the solution is  y - lambda z  with  lambda = (1'y - 1) / 1'z.
    """
    for i in range(factored, size):
        row = factor[i]
        for j in range(i + 1):
            above, product = factor[j], 0.0
            for k in range(j):
                product += row[k] * above[k]
            value = gram[support[i], support[j]] - product
            if j < i:
                row[j] = value / above[j]
            elif value > 1e-13 * gram[support[i], support[i]]:
                row[i] = np.sqrt(value)
            else:
                row[i] = np.inf  # an affine combination of the vertices before it: its weight becomes 0
        y, z = 0.0, 0.0
        for k in range(i):
            y += row[k] * forward[0, k]
            z += row[k] * forward[1, k]
        forward[0, i] = (b[support[i]] - y) / row[i]
        forward[1, i] = (1.0 - z) / row[i]
    for i in range(size):
        solution[i], ones[i] = forward[0, i], forward[1, i]
    for i in range(size - 1, -1, -1):
        row = factor[i]
        y = solution[i] = solution[i] / row[i]
        z = ones[i] = ones[i] / row[i]
        for k in range(i):
            solution[k] -= row[k] * y
            ones[k] -= row[k] * z
    level = (solution[:size].sum() - 1.0) / ones[:size].sum()
    for i in range(size):
        solution[i] -= level * ones[i]
    return -level
