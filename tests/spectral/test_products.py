"""Moments of products within groups, and all lower orders in the same tensor."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.spectral import ProductMoments, products


@pytest.fixture
def views(rng):
    return [rng.standard_normal((50, m)) for m in (3, 4, 2)], rng.integers(0, 5, 50)


def test_orders_one_to_three(views):
    (z, y, x), groups = views
    moments = ProductMoments.from_rows([z, y, x], groups, 6)
    for a in range(5):
        own = groups == a
        np.testing.assert_allclose(moments.sums[a, 1:, 1:, 1:], np.einsum("ni,nj,nk->ijk", z[own], y[own], x[own]))
        np.testing.assert_allclose(moments.sums[a, 1:, 0, 1:], z[own].T @ x[own])
        np.testing.assert_allclose(moments.sums[a, 0, 1:, 0], y[own].sum(axis=0))
        np.testing.assert_allclose(moments.mean()[a], np.einsum("ni,nj,nk->ijk", z[own], y[own], x[own]) / own.sum())
    np.testing.assert_array_equal(moments.counts, np.bincount(groups, minlength=6))
    assert not moments.sums[5].any()
    assert not moments.mean()[5].any()


def test_fewer_views(views):
    (z, y, _), groups = views
    pairs = ProductMoments.from_rows([z, y], groups, 5)
    np.testing.assert_allclose(pairs.sums[2, 1:, 1:], z[groups == 2].T @ y[groups == 2])
    assert pairs.order == 2
    single = ProductMoments.from_rows([z], groups, 5)
    np.testing.assert_allclose(single.mean()[3], z[groups == 3].mean(axis=0))
    assert single.mean(with_constant=True)[3, 0] == 1.0


def test_blocks_and_parts_add_up(views, monkeypatch):
    three, groups = views
    whole = ProductMoments.from_rows(three, groups, 5)
    monkeypatch.setattr(products, "CHUNK_ENTRIES", 60)  # three rows at a time
    np.testing.assert_allclose(ProductMoments.from_rows(three, groups, 5).sums, whole.sums, atol=1e-12)
    halves = [
        ProductMoments.from_rows([v[rows] for v in three], groups[rows], 5) for rows in np.split(np.arange(50), 2)
    ]
    np.testing.assert_allclose(sum(halves).sums, whole.sums, atol=1e-12)


def test_what_does_not_fit_is_refused(views):
    (z, y, x), groups = views
    for bad in ([], [z, y[:-1]], [z, y, x, z], [z[:, 0]]):
        with pytest.raises(InputError, match="one to three views"):
            ProductMoments.from_rows(bad, groups, 5)
    with pytest.raises(InputError, match="one id in 0"):
        ProductMoments.from_rows([z], groups, 3)
    with pytest.raises(InputError, match="cannot be added"):
        ProductMoments.from_rows([z], groups, 5) + ProductMoments.from_rows([y], groups, 5)
