"""Pivot decomposition: parameters of separable models come back, up to the names of states."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linear_sum_assignment

from spectragram.errors import InputError, RankError
from spectragram.spectral import decompose_means, find_anchors, pivot_decompose, pivot_decompose_both


def separable(rng, d, e, m):
    """pi (m,), r (d, m), s (e, m); on both sides every state has a pivot."""

    def side(size):
        p = rng.dirichlet(np.full(size, 0.3), m).T
        pivots = rng.choice(size, m, replace=False)
        p[pivots] = 0.0
        p[pivots, np.arange(m)] = rng.uniform(0.05, 0.2, m)
        return p / p.sum(axis=0)

    return rng.dirichlet(np.full(m, 5.0)), side(d), side(e)


def matched(found, truth):
    """The order of the true states that fits the found ones."""
    cost = ((found[:, :, np.newaxis] - truth[:, np.newaxis, :]) ** 2).sum(axis=0)
    return linear_sum_assignment(cost)[1]


@pytest.mark.parametrize(("d", "e", "m"), [(20, 30, 1), (30, 20, 3), (60, 80, 8), (200, 150, 24)])
def test_one_side_from_exact_probabilities(rng, d, e, m):
    pi, r, s = separable(rng, d, e, m)
    found = pivot_decompose((r * pi) @ s.T, n_states=m)
    order = matched(found.left, r)
    np.testing.assert_allclose(found.left, r[:, order], atol=1e-9)
    np.testing.assert_allclose(found.prior, pi[order], atol=1e-9)
    posterior = r * pi / (r @ pi)[:, np.newaxis]
    np.testing.assert_allclose(found.memberships, posterior[:, order], atol=1e-9)
    np.testing.assert_allclose(posterior[found.anchors, order], 1.0, atol=1e-9)


@pytest.mark.parametrize(("d", "e", "m"), [(20, 30, 1), (30, 25, 3), (80, 60, 6)])
def test_both_sides_from_exact_probabilities(rng, d, e, m):
    pi, r, s = separable(rng, d, e, m)
    Q = (r * pi) @ s.T
    found = pivot_decompose_both(scipy.sparse.csr_array(Q), m, tolerance=1e-12, max_iter=20_000)
    order = matched(found.left, r)
    np.testing.assert_allclose(found.left, r[:, order], atol=1e-9)
    np.testing.assert_allclose(found.right, s[:, order], atol=1e-6)
    np.testing.assert_allclose(found.prior, pi[order], atol=1e-9)
    np.testing.assert_allclose((found.left * found.prior) @ found.right.T, Q, atol=1e-8)


def test_error_falls_with_the_sample(rng):
    pi, r, s = separable(rng, 40, 30, 3)
    Q = (r * pi) @ s.T
    errors = []
    for n in (3_000, 300_000):
        counts = rng.multinomial(n, Q.ravel() / Q.sum()).reshape(Q.shape)
        found = pivot_decompose(counts, 3, min_count=n / 100)
        errors.append(np.abs(found.left - r[:, matched(found.left, r)]).sum(axis=0).mean())
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.1


def test_rows_without_counts_get_the_prior(rng):
    pi, r, s = separable(rng, 20, 20, 3)
    Q = np.insert((r * pi) @ s.T, 5, 0.0, axis=0)
    found = pivot_decompose(Q, 3)
    np.testing.assert_allclose(found.memberships[5], found.prior)
    assert not found.left[5].any()
    np.testing.assert_allclose(found.left.sum(axis=0), 1.0)


def test_rare_rows_are_no_anchors(rng):
    counts = rng.poisson(20.0, (30, 20)).astype(float)
    counts[7] = 0.0
    counts[7, 3] = 1.0  # as extreme as can be, and seen once
    assert 7 in pivot_decompose(counts, 4).anchors
    assert 7 not in pivot_decompose(counts, 4, min_count=2).anchors


def test_counts_and_probabilities_give_the_same(rng):
    counts = rng.poisson(2.0, (30, 20)).astype(float)
    a, b = pivot_decompose(counts, 4), pivot_decompose(counts / counts.sum(), 4)
    np.testing.assert_array_equal(a.anchors, b.anchors)
    np.testing.assert_allclose(a.left, b.left, atol=1e-10)


@pytest.mark.parametrize("dimensions", [3, 10])
def test_anchors_are_the_vertices(rng, dimensions):
    vertices = rng.standard_normal((4, dimensions))
    inside = rng.dirichlet(np.ones(4), 100) @ vertices
    points = np.vstack([inside[:50], vertices, inside[50:]]) + 7.0
    assert sorted(find_anchors(points, 4)) == [50, 51, 52, 53]


def distances(points, hull):
    """Squared distance of every point to the affine hull of some, by least squares."""
    away = (points - hull[0]).T
    span = (hull[1:] - hull[0]).T
    rest = away - span @ np.linalg.lstsq(span, away, rcond=None)[0] if len(hull) > 1 else away
    return (rest**2).sum(axis=0)


def test_both_passes_agree_with_least_squares(rng):
    """Arora et al. 2013, algorithm 4, written down literally."""
    n_changed = 0
    for _ in range(20):
        points = rng.standard_normal((40, 6))
        picked = [int(np.argmax(distances(points, points.mean(axis=0, keepdims=True))))]
        while len(picked) < 4:
            picked.append(int(np.argmax(distances(points, points[picked]))))
        greedy = list(picked)
        for i in range(4):
            picked[i] = int(np.argmax(distances(points, points[picked[:i] + picked[i + 1 :]])))
        assert find_anchors(points, 4).tolist() == picked
        n_changed += picked != greedy
    assert n_changed > 0, "the second pass was never needed: the test shows nothing about it"


def test_more_anchors_than_dimensions_are_still_distinct(rng):
    flat = np.outer(rng.random(10), [1.0, 2.0])
    assert len(set(find_anchors(flat, 6))) == 6
    assert len(set(find_anchors(np.zeros((10, 3)), 6))) == 6


def test_candidates_are_respected(rng):
    points = rng.standard_normal((30, 5))
    allowed = np.array([3, 8, 9, 20, 29])
    assert set(find_anchors(points, 4, allowed)) <= set(allowed)
    with pytest.raises(InputError, match="6 anchors from 5 candidate rows"):
        find_anchors(points, 6, allowed)


def test_what_cannot_be_decomposed_is_refused(rng):
    pi, r, s = separable(rng, 20, 20, 3)
    with pytest.raises(RankError, match="rank 3"):
        pivot_decompose((r * pi) @ s.T, 4)
    with pytest.raises(InputError, match="non-negative"):
        pivot_decompose(-np.ones((3, 3)), 1)
    with pytest.raises(InputError, match="not all zero"):
        pivot_decompose(np.zeros((3, 3)), 1)
    with pytest.raises(InputError, match="candidate rows"):
        pivot_decompose((r * pi) @ s.T, 3, min_count=2.0)
    with pytest.raises(RankError, match="only 1 anchors differ"):
        decompose_means(np.ones((5, 2)), np.ones(5), 3)
