"""Convex EM: the global optimum, certified by the gap, on both problems of the pivot paper."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

from spectragram.errors import InputError
from spectragram.spectral import match_states, mixture_weights, mixtures


def log_likelihood(t, views, weights):
    p = np.einsum("ni,nj,nk,ijk->n", *views, t)
    return float(weights @ np.log(p))


@pytest.fixture
def examples(rng):
    return [rng.random((40, m)) for m in (2, 3, 2)], rng.integers(1, 5, 40).astype(float)


def test_gap_bounds_what_is_missing(examples):
    views, weights = examples
    best = mixture_weights(*views, weights=weights, tolerance=1e-10, max_iter=100_000)
    assert best.converged and best.gap <= 1e-10
    rough = mixture_weights(*views, weights=weights, tolerance=1e-2)
    assert rough.converged and rough.n_iterations < best.n_iterations
    missing = log_likelihood(best.weights, views, weights) - log_likelihood(rough.weights, views, weights)
    assert 0 <= missing <= rough.gap * weights.sum()


def test_gap_by_hand():
    found = mixture_weights(np.array([[1.0, 0.0], [0.5, 0.5]]), weights=np.array([1.0, 1.0]), max_iter=1)
    # p = (1/2, 1/2), gradient = (1 / .5 + .5 / .5, .5 / .5) = (3, 1); (3 - 2) / 2
    assert found.gap == pytest.approx(0.5)
    assert found.log_likelihood == pytest.approx(2 * np.log(0.5))
    np.testing.assert_allclose(found.weights, [0.75, 0.25])
    assert (found.n_iterations, found.converged) == (1, False)


def test_optimum_agrees_with_a_general_solver(examples):
    views, weights = examples
    found = mixture_weights(*views, weights=weights, tolerance=1e-9, max_iter=100_000)

    def negative(theta):
        t = np.exp(theta - theta.max())
        return -log_likelihood((t / t.sum()).reshape(2, 3, 2), views, weights)

    reference = scipy.optimize.minimize(negative, np.zeros(12), options={"gtol": 1e-7})
    assert found.weights.shape == (2, 3, 2)
    assert found.weights.sum() == pytest.approx(1.0)
    assert log_likelihood(found.weights, views, weights) >= -reference.fun - 1e-6
    assert found.log_likelihood <= log_likelihood(found.weights, views, weights) + 1e-9


def test_rule_states_come_back_from_exact_moments(rng):
    """Equation 1 with every (g, f2, f3) weighted by its probability recovers t."""
    t = rng.dirichlet(np.ones(8)).reshape(2, 2, 2)
    s, r2, r3 = (rng.dirichlet(np.full(6, 0.3), 2).T for _ in range(3))
    p = np.einsum("ai,bj,ck,ijk->abc", s, r2, r3, t)
    a, b, c = (index.ravel() for index in np.indices(p.shape))
    found = mixture_weights(s[a], r2[b], r3[c], weights=p.ravel(), tolerance=1e-13, max_iter=50_000)
    np.testing.assert_allclose(found.weights, t, atol=1e-5)


def test_weights_mean_repetition_and_blocks_do_not_show(examples, monkeypatch):
    views, weights = examples
    weighted = mixture_weights(*views, weights=weights, max_iter=5)
    repeated = mixture_weights(*(np.repeat(view, weights.astype(int), axis=0) for view in views), max_iter=5)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-9)
    monkeypatch.setattr(mixtures, "CHUNK_ENTRIES", 20)
    in_blocks = mixture_weights(*views, weights=weights, max_iter=5)
    np.testing.assert_allclose(in_blocks.weights, weighted.weights, atol=1e-9)


def test_likelihood_never_falls(examples):
    views, weights = examples
    values = [
        mixture_weights(*views, weights=weights, max_iter=n, tolerance=0.0).log_likelihood for n in range(1, 40, 3)
    ]
    assert (np.diff(values) >= -1e-9).all()
    assert values[-1] > values[0] + 1e-3


def test_impossible_examples_are_counted_and_left_out():
    view = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    found = mixture_weights(view)
    assert found.n_impossible == 1
    np.testing.assert_allclose(found.weights, [2 / 3, 1 / 3], atol=1e-6)


def test_matching_undoes_a_permutation(rng):
    memberships = rng.dirichlet(np.full(4, 0.2), 50)
    components = rng.dirichlet(np.full(30, 0.3), 4).T
    order = np.array([2, 0, 3, 1])
    Q = scipy.sparse.csr_array((memberships * rng.random((50, 1))) @ components[:, order].T)
    found = match_states(Q, memberships, components, tolerance=1e-11, max_iter=20_000)
    np.testing.assert_allclose(found.weights, np.eye(4)[order], atol=1e-3)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0)


def test_what_does_not_fit_is_refused(rng):
    with pytest.raises(InputError, match="one to three views"):
        mixture_weights()
    with pytest.raises(InputError, match="one to three views"):
        mixture_weights(rng.random((4, 2)), rng.random((5, 2)))
    with pytest.raises(InputError, match="one to three views"):
        mixture_weights(rng.random((4, 2)), weights=np.ones(3))
