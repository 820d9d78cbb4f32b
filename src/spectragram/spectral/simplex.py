"""Least squares on the probability simplex, for all rows at once.

    gamma_f = argmin  || sum_h gamma_h w_h - v_f ||^2    subject to  gamma >= 0,  sum_h gamma_h = 1

(Cohen & Collins 2014, section 5.2, step 4.) The paper uses Frank-Wolfe; here an active-set method solves each row
exactly: on the support S the optimum has a closed form through the Gram matrix, states enter by the most violated
optimality condition and leave when their weight reaches zero.

    paper     here        shape
    w_h       vertices    (m, l)
    v_f       points      (n, l)
    gamma     weights     (n, m)
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.engine import map_threads
from spectragram.errors import InputError

__all__ = ["project_to_simplex", "simplex_least_squares"]

RIDGE = 1e-12
"""Relative weight added to the Gram matrix's diagonal, so that coinciding vertices do no harm."""


def project_to_simplex(points: np.ndarray) -> np.ndarray:
    """The nearest point of the probability simplex to every row, (n, m) -> (n, m).

    >>> project_to_simplex(np.array([[0.9, 0.3]])).round(3).tolist()
    [[0.8, 0.2]]
    """
    points = np.asarray(points, np.float64)
    ordered = -np.sort(-points, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, points.shape[1] + 1)
    size = (ordered > excess).sum(axis=1)
    return np.maximum(points - excess[np.arange(len(points)), size - 1][:, None], 0.0)


def simplex_least_squares(points: np.ndarray, vertices: np.ndarray, *, n_jobs: int = 1) -> np.ndarray:
    """Convex weights (n, m) that bring the vertices (m, l) closest to each point (n, l)."""
    points, vertices = np.asarray(points, np.float64), np.asarray(vertices, np.float64)
    if points.ndim != 2 or vertices.ndim != 2 or points.shape[1] != vertices.shape[1] or not len(vertices):
        raise InputError(
            f"points of shape {points.shape} and vertices of shape {vertices.shape}",
            remedy="give (n, l) points and (m, l) vertices",
        )
    # Distances between points and vertices are all that matters: centring keeps the Gram matrix well scaled.
    centre = vertices.mean(axis=0)
    gram = (vertices - centre) @ (vertices - centre).T
    gram[np.diag_indices_from(gram)] += RIDGE * max(float(np.trace(gram)) / len(gram), 1e-300)
    weights = np.zeros((len(points), len(vertices)))

    def solve(span: tuple[int, int]) -> None:
        part = slice(*span)
        _solve_rows(gram, (points[part] - centre) @ (vertices - centre).T, weights[part])

    cuts = np.linspace(0, len(points), max(1, len(points) // 512) + 1).astype(int).tolist()
    map_threads(solve, list(zip(cuts[:-1], cuts[1:], strict=True)), n_jobs=n_jobs)
    return weights


@njit(cache=True, nogil=True)
def _solve_rows(gram, targets, weights):
    """(m, m), (n, m), (n, m): fill ``weights`` with the minimiser of  g G g' / 2 - b g'  on the simplex, row by row."""
    n, m = targets.shape
    support = np.empty(m, np.int64)
    factor = np.empty((m, m))
    solution = np.empty(m)
    ones = np.empty(m)
    slopes = np.empty(m)
    inside = np.empty(m, np.bool_)
    tolerance = 1e-12 * (np.abs(gram).max() + 1e-300)
    for row in range(n):
        b = targets[row]
        gamma = weights[row]
        first = np.argmin(0.5 * np.diag(gram) - b)
        inside[:] = False
        inside[first] = True
        gamma[first] = 1.0
        support[0] = first
        size, factored = 1, 0
        for _ in range(4 * m + 10):
            # Optimum on the support; walk towards it, dropping the first weight that reaches zero, until inside.
            while True:
                level = _optimum_on_support(gram, b, support, size, factor, factored, solution, ones)
                step, factored = 1.0, size
                for i in range(size):
                    if solution[i] <= 0.0 and gamma[support[i]] > solution[i]:
                        step = min(step, gamma[support[i]] / (gamma[support[i]] - solution[i]))
                kept = 0
                for i in range(size):
                    h = support[i]
                    gamma[h] += step * (solution[i] - gamma[h])
                    if step < 1.0 and gamma[h] <= 1e-14:
                        gamma[h] = 0.0
                        inside[h] = False
                        factored = min(factored, i)
                    else:
                        support[kept] = h
                        kept += 1
                done = step == 1.0 or kept == size
                size = kept
                if done:
                    break
            # Optimal when no vertex outside has a smaller slope than those inside.
            for h in range(m):
                slopes[h] = -b[h] - level
            for i in range(size):
                share = gamma[support[i]]
                line = gram[support[i]]
                for h in range(m):
                    slopes[h] += share * line[h]
            worst, enters = -tolerance, -1
            for h in range(m):
                if slopes[h] < worst and not inside[h]:
                    worst, enters = slopes[h], h
            if enters < 0:
                break
            support[size] = enters
            inside[enters] = True
            size += 1


@njit(cache=True, nogil=True)
def _optimum_on_support(gram, b, support, size, factor, factored, solution, ones):
    """Minimiser with weights summing to one on the support, signs free; returns the common slope (multiplier).

    G y = b and G z = 1 by one Cholesky factor, whose first ``factored`` rows are right already; the solution is
    y - lambda z  with  lambda = (1'y - 1) / 1'z.
    """
    for i in range(factored, size):
        for j in range(i + 1):
            value = gram[support[i], support[j]]
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(max(value, 1e-14 * gram[support[i], support[i]] + 1e-300))
            else:
                factor[i, j] = value / factor[j, j]
    for i in range(size):
        y, z = b[support[i]], 1.0
        for k in range(i):
            y -= factor[i, k] * solution[k]
            z -= factor[i, k] * ones[k]
        solution[i] = y / factor[i, i]
        ones[i] = z / factor[i, i]
    for i in range(size - 1, -1, -1):
        solution[i] /= factor[i, i]
        ones[i] /= factor[i, i]
        for k in range(i):
            solution[k] -= factor[i, k] * solution[i]
            ones[k] -= factor[i, k] * ones[i]
    sum_y, sum_z = 0.0, 0.0
    for i in range(size):
        sum_y += solution[i]
        sum_z += ones[i]
    level = (sum_y - 1.0) / sum_z
    for i in range(size):
        solution[i] -= level * ones[i]
    return -level
