"""Seconds of the spectral core's heavier steps besides the SVD: simplex least squares, moments, anchors, convex EM.

Processor seconds on one thread, on made-up data of the sizes that the learners meet.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, row, take_turns
from spectragram.spectral import (
    ProductMoments,
    find_anchors,
    match_states,
    mixture_weights,
    simplex_least_squares,
    smooth_moments,
)


def run(quick: bool) -> list[Row]:
    """Rows for the runner."""
    rng = np.random.default_rng(0)
    share = 10 if quick else 1
    simplex_least_squares(np.eye(2), np.eye(2))  # compiled before the clock starts
    match_states(np.eye(2), np.eye(2), np.eye(2))
    with threadpool_limits(1):
        cases = {**_anchor_cases(rng, 25_000 // share, 128), **_moment_cases(rng, 1_000_000 // share)}
        return [row(name, "s", found[0]) for name, found in take_turns(cases, 1).items()]


def _anchor_cases(rng: np.random.Generator, n: int, m: int) -> dict[str, Callable[[], object]]:
    vertices = rng.standard_normal((m, m))
    mixed = rng.dirichlet(np.full(m, 0.02), n) @ vertices
    noisy = mixed + 0.3 * rng.standard_normal(mixed.shape)
    counts = scipy.sparse.random_array((n, n), density=20 / n, rng=rng).tocsr()
    memberships, components = rng.dirichlet(np.full(m, 0.1), n), rng.dirichlet(np.full(n, 0.1), m).T
    return {
        f"simplex least squares, {n} exact mixtures of {m}": lambda: simplex_least_squares(mixed, vertices),
        f"simplex least squares, {n} noisy mixtures of {m}": lambda: simplex_least_squares(noisy, vertices),
        f"{m} anchors of {n} points": lambda: find_anchors(noisy, m),
        f"10 EM steps of matching, {counts.nnz} entries, {m} states": lambda: match_states(
            counts, memberships, components, max_iter=10
        ),
    }


def _moment_cases(rng: np.random.Generator, n: int) -> dict[str, Callable[[], object]]:
    views = [rng.standard_normal((n, 16)) for _ in range(3)]
    likelihoods = [np.abs(view) for view in views]
    rules = (3000 * rng.random(n) ** 3).astype(np.int64)
    products = ProductMoments.from_rows(views, rules, 3000)
    return {
        f"third-order moments, {n} rows, 16 x 16 x 16, 3000 rules": lambda: ProductMoments.from_rows(
            views, rules, 3000
        ),
        "smoothing of 3000 rules, 16 x 16 x 16": lambda: smooth_moments(products, [np.zeros((3000, 16))] * 3),
        f"10 EM steps of one rule, {n} rows, 16 x 16 x 16": lambda: mixture_weights(*likelihoods, max_iter=10),
    }
