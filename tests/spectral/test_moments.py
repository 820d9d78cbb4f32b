"""Cross moments: equal to the plain sums, whatever the split, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from spectragram.errors import InputError
from spectragram.spectral import CrossMoment, GroupedCrossMoment

N, D, E, GROUPS = 60, 7, 9, 4


@pytest.fixture
def views(rng):
    phi = scipy.sparse.random_array((N, D), density=0.3, rng=rng, data_sampler=lambda size: rng.integers(1, 4, size))
    psi = scipy.sparse.random_array((N, E), density=0.3, rng=rng, data_sampler=lambda size: rng.integers(1, 4, size))
    return phi.tocsr(), psi.tocsr(), rng.integers(0, GROUPS, N)


def same_bits(a, b) -> bool:
    for name, value in vars(a).items():
        other = getattr(b, name)
        if scipy.sparse.issparse(value):
            if value.shape != other.shape or any(
                not np.array_equal(getattr(value, part), getattr(other, part)) for part in ("indptr", "indices", "data")
            ):
                return False
        elif not np.array_equal(value, other):
            return False
    return True


def test_cross_moment_is_the_sum_of_outer_products(views):
    phi, psi = (view.toarray() for view in views[:2])
    moment = CrossMoment.from_rows(*views[:2])
    np.testing.assert_array_equal(moment.matrix.toarray(), sum(np.outer(a, b) for a, b in zip(phi, psi, strict=True)))
    np.testing.assert_array_equal(moment.left_sums, phi.sum(axis=0))
    np.testing.assert_array_equal(moment.right_squares, (psi**2).sum(axis=0))
    assert moment.n == N
    np.testing.assert_allclose(moment.mean().toarray(), phi.T @ psi / N)


@pytest.mark.parametrize("grouped", [False, True])
def test_any_split_gives_the_same_bits(views, grouped):
    phi, psi, groups = views

    def count(rows):
        if grouped:
            return GroupedCrossMoment.from_rows(phi[rows], psi[rows], groups[rows], GROUPS)
        return CrossMoment.from_rows(phi[rows], psi[rows])

    a, b, c = (count(slice(*cut)) for cut in ((0, 13), (13, 14), (14, N)))
    whole = count(slice(0, N))
    for merged in ((a + b) + c, a + (b + c), c + a + b, sum([b, c, a])):
        assert same_bits(merged, whole)
    assert not same_bits(a + b, whole)


def test_covariance_centres_both_views(views, rng):
    phi, psi = (view.toarray() for view in views[:2])
    expected = (phi - phi.mean(axis=0)).T @ (psi - psi.mean(axis=0)) / N
    operator = CrossMoment.from_rows(*views[:2]).covariance()
    X, Y = rng.standard_normal((E, 3)), rng.standard_normal((D, 2))
    np.testing.assert_allclose(operator @ X, expected @ X, atol=1e-12)
    np.testing.assert_allclose(operator.T @ Y, expected.T @ Y, atol=1e-12)
    np.testing.assert_allclose(operator @ X[:, 0], expected @ X[:, 0], atol=1e-12)


def test_each_group_equals_its_own_rows(views):
    phi, psi, groups = views
    moments = GroupedCrossMoment.from_rows(phi, psi, groups, GROUPS + 1)
    for a in range(GROUPS):
        part = moments.group(a)
        alone = CrossMoment.from_rows(phi[groups == a], psi[groups == a])
        full = np.zeros((D, E))
        full[np.ix_(part.left_features, part.right_features)] = part.moment.matrix.toarray()
        np.testing.assert_array_equal(full, alone.matrix.toarray())
        np.testing.assert_array_equal(part.moment.left_squares, alone.left_squares[part.left_features])
        np.testing.assert_array_equal(part.moment.right_sums, alone.right_sums[part.right_features])
        assert part.moment.n == alone.n
        assert (part.moment.left_squares > 0).all()
    assert moments.group(GROUPS).moment.matrix.shape == (0, 0)


def test_features_that_cancel_stay_in_step():
    psi = scipy.sparse.csr_array(np.array([[1.0, 2.0], [-1.0, 2.0]]))
    part = GroupedCrossMoment.from_rows(psi, psi, np.zeros(2, int), 1).group(0)
    assert part.moment.right_sums.tolist() == [0.0, 4.0]
    assert part.moment.right_squares.tolist() == [2.0, 8.0]


def test_what_does_not_fit_is_refused(views):
    phi, psi, groups = views
    with pytest.raises(InputError, match="rows of left features"):
        CrossMoment.from_rows(phi, psi[:-1])
    with pytest.raises(InputError, match="cannot be added"):
        CrossMoment.from_rows(phi, psi) + CrossMoment.from_rows(psi, phi)
    with pytest.raises(InputError, match="cannot be added"):
        GroupedCrossMoment.from_rows(phi, psi, groups, 4) + GroupedCrossMoment.from_rows(phi, psi, groups, 5)
    for bad in (groups[:-1], groups - 1, groups + 1):
        with pytest.raises(InputError, match="one id in 0"):
            GroupedCrossMoment.from_rows(phi, psi, bad, GROUPS)
