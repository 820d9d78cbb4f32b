"""Simplex least squares: optimality conditions on anything, exact weights where they are unique."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spectragram.errors import InputError
from spectragram.spectral import simplex_least_squares

finite = st.floats(-10, 10, allow_nan=False, width=32)


@st.composite
def problems(draw):
    """Points and vertices of any shape; small integers make coinciding and collinear vertices common."""
    m, l, n = draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    numbers = draw(st.sampled_from([finite, st.integers(-2, 2).map(float)]))
    return draw(arrays(float, (n, l), elements=numbers)), draw(arrays(float, (m, l), elements=numbers))


def duality_gap(points, vertices, weights):
    """How much the objective could still fall, at most: zero exactly at the optimum."""
    slopes = (weights @ vertices - points) @ vertices.T
    return np.einsum("nm,nm->n", slopes - slopes.min(axis=1, keepdims=True), weights)


@settings(max_examples=300, deadline=None)
@given(problems())
def test_optimality_conditions_hold(problem):
    points, vertices = problem
    weights = simplex_least_squares(points, vertices)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    scale = 1.0 + (np.abs(vertices).max() + np.abs(points).max()) * np.abs(vertices).max()
    assert duality_gap(points, vertices, weights).max() < 1e-10 * scale


@pytest.mark.parametrize("spread", [1e-3, 1e-9, 1e-22, 1e-36, 1e-300])
def test_vertices_much_closer_to_each_other_than_to_the_point(spread):
    weights = simplex_least_squares(np.array([[1.0], [-1.0]]), np.array([[0.0], [spread], [0.5 * spread]]))
    np.testing.assert_allclose(weights, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], atol=1e-7)


def test_agrees_with_a_general_solver(rng):
    vertices, points = rng.standard_normal((5, 7)), rng.standard_normal((6, 7))
    weights = simplex_least_squares(points, vertices)
    for point, found in zip(points, weights, strict=True):
        # Non-negative least squares with the sum as a heavily weighted equation.
        reference, _ = scipy.optimize.nnls(np.vstack([vertices.T, np.full(5, 1e5)]), np.append(point, 1e5))
        np.testing.assert_allclose(found, reference, atol=1e-8)


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_weights_of_exact_combinations_come_back(rng, spread):
    """Also where vertices are nearly dependent, and where one is the origin (a singular Gram matrix)."""
    vertices = np.linalg.qr(rng.standard_normal((8, 8)))[0] * np.geomspace(1.0, spread, 8)
    vertices[3] = 0.0
    truth = rng.dirichlet(np.full(8, 0.3), 200)
    np.testing.assert_allclose(simplex_least_squares(truth @ vertices, vertices), truth, atol=1e-8)


def test_shift_does_not_matter(rng):
    points, vertices, shift = rng.standard_normal((9, 4)), rng.standard_normal((5, 4)), rng.standard_normal(4)
    shifted = simplex_least_squares(points + 100 * shift, vertices + 100 * shift)
    np.testing.assert_allclose(shifted, simplex_least_squares(points, vertices), atol=1e-9)


def test_one_vertex_and_equal_vertices():
    assert simplex_least_squares(np.ones((2, 3)), np.zeros((1, 3))).tolist() == [[1.0], [1.0]]
    weights = simplex_least_squares(np.ones((2, 3)), np.zeros((4, 3)))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert simplex_least_squares(np.ones((0, 3)), np.zeros((4, 3))).shape == (0, 4)


def test_threads_do_not_show(rng):
    points, vertices = rng.standard_normal((1500, 6)), rng.standard_normal((10, 6))
    alone = simplex_least_squares(points, vertices)
    for n_jobs in (2, -1, None):
        np.testing.assert_array_equal(simplex_least_squares(points, vertices, n_jobs=n_jobs), alone)


@pytest.mark.parametrize(
    ("points", "vertices"),
    [(np.ones((2, 3)), np.ones((2, 4))), (np.ones(3), np.ones((1, 3))), (np.ones((2, 3)), np.ones((0, 3)))],
)
def test_shapes_that_do_not_fit_are_refused(points, vertices):
    with pytest.raises(InputError, match="points of shape"):
        simplex_least_squares(points, vertices)


def test_undefined_entries_are_refused():
    with pytest.raises(InputError, match="infinite or undefined"):
        simplex_least_squares(np.array([[np.nan]]), np.ones((2, 1)))


def test_vertices_that_coincide_but_for_rounding(rng):
    vertex = rng.normal(size=5)
    vertices = np.stack([vertex, vertex * (1.0 + 2e-16), vertex])
    points = np.vstack([vertices, rng.normal(size=(20, 5)) * 10.0 ** rng.integers(-20, 20, (20, 1))])
    weights = simplex_least_squares(points, vertices)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert (weights >= 0).all()
