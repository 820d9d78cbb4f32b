"""Smoothing of product moments: the chain by hand, its ends, and its constants."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.spectral import ProductMoments, confidence, smooth_moments, smoothing


@pytest.fixture
def rules(rng):
    groups = np.repeat([0, 1, 2], [4, 9, 30])
    views = [rng.standard_normal((43, m)) for m in (2, 3, 2)]
    return views, groups, [rng.standard_normal((4, m)) for m in (2, 3, 2)]


def test_third_order_chain(rules):
    views, groups, background = rules
    smoothed = smooth_moments(ProductMoments.from_rows(views, groups, 4), background, strength=3.0, trusted=20)
    for a, l in ((0, 2 / 5), (1, 1 / 2)):
        z, y, x = (view[groups == a] for view in views)
        E3 = np.einsum("ni,nj,nk->ijk", z, y, x) / len(z)
        zy, zx, yx = z.T @ y / len(z), z.T @ x / len(z), y.T @ x / len(z)
        mz, my, mx = z.mean(axis=0), y.mean(axis=0), x.mean(axis=0)
        E2 = (np.einsum("ij,k->ijk", zy, mx) + np.einsum("ik,j->ijk", zx, my) + np.einsum("jk,i->ijk", yx, mz)) / 3
        E1 = np.einsum("i,j,k->ijk", mz, my, mx)
        E0 = np.einsum("i,j,k->ijk", *(mean[a] for mean in background))
        np.testing.assert_allclose(smoothed[a], l * E3 + (1 - l) * (l * E2 + (1 - l) * (l * E1 + (1 - l) * E0)))


def test_trusted_rules_stay_and_unseen_ones_are_background(rules):
    views, groups, background = rules
    moments = ProductMoments.from_rows(views, groups, 4)
    smoothed = smooth_moments(moments, background, trusted=20)
    np.testing.assert_allclose(smoothed[2], moments.mean()[2])
    np.testing.assert_allclose(smoothed[3], np.einsum("i,j,k->ijk", *(mean[3] for mean in background)))


def test_unary_and_single_chains(rules):
    (z, y, _), groups, background = rules
    pair = smooth_moments(ProductMoments.from_rows([z, y], groups, 4), background[:2], strength=3.0)
    z0, y0, l = z[:4], y[:4], 2 / 5
    E2, E1 = z0.T @ y0 / 4, np.outer(z0.mean(axis=0), y0.mean(axis=0))
    E0 = np.outer(background[0][0], background[1][0])
    np.testing.assert_allclose(pair[0], l * E2 + (1 - l) * (l * E1 + (1 - l) * E0))
    single = smooth_moments(ProductMoments.from_rows([z], groups, 4), background[:1], strength=3.0)
    np.testing.assert_allclose(single[0], l * z0.mean(axis=0) + (1 - l) * background[0][0])


def test_constants_hold_the_lower_orders(rules):
    """A product of smoothed moments with a constant must be the smoothed moment of the others."""
    views, groups, background = rules
    full = smooth_moments(ProductMoments.from_rows(views, groups, 4), background, with_constant=True)
    np.testing.assert_allclose(full[:, 0, 0, 0], 1.0)
    np.testing.assert_allclose(
        full[:, 1:, 1:, 1:], smooth_moments(ProductMoments.from_rows(views, groups, 4), background)
    )
    # A single view: E3 = E2 = E1 there, so only the last link of the chain counts.
    l = confidence(np.array([4.0]))[0]
    mean, prior = views[0][:4].mean(axis=0), background[0][0]
    np.testing.assert_allclose(full[0, 1:, 0, 0], mean + (1 - l) ** 3 * (prior - mean))


def test_constant_background_ends_in_the_constant_alone(rules):
    views, groups, background = rules
    zeros = [np.zeros_like(mean) for mean in background]
    full = smooth_moments(ProductMoments.from_rows(views, groups, 4), zeros, with_constant=True)
    assert full[3, 0, 0, 0] == 1.0
    assert np.abs(full[3]).sum() == 1.0


def test_blocks_do_not_show(rules, monkeypatch):
    views, groups, background = rules
    moments = ProductMoments.from_rows(views, groups, 4)
    whole = smooth_moments(moments, background)
    monkeypatch.setattr(smoothing, "GROUPS_AT_A_TIME", 1)
    np.testing.assert_array_equal(smooth_moments(moments, background), whole)


def test_confidence():
    np.testing.assert_allclose(confidence(np.array([0, 25, 900, 5000]), strength=5.0), [0.0, 0.5, 30 / 35, 1.0])
    assert confidence(np.array([0.0]), strength=0.0)[0] == 0.0


def test_background_of_another_shape_is_refused(rules):
    views, groups, background = rules
    with pytest.raises(InputError, match="background means"):
        smooth_moments(ProductMoments.from_rows(views, groups, 4), background[:2])
