"""CCA scaling: the conventions of both papers give the same matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from spectragram.errors import InputError
from spectragram.spectral import Scaling, cca_weights, find_subspace


@pytest.fixture
def counts(rng):
    return scipy.sparse.csr_array(rng.poisson(0.7, (30, 20)).astype(float))


def test_weights_by_hand():
    np.testing.assert_allclose(cca_weights(np.array([4.0, 11.0]), kappa=5.0, n=36.0), [2.0, 1.5])
    assert cca_weights(np.array([0.0, 4.0]), kappa=0.0).tolist() == [0.0, 0.5]
    with pytest.raises(InputError, match="negative"):
        cca_weights(np.array([1.0]), kappa=-1.0)
    with pytest.raises(InputError, match="negative"):
        cca_weights(np.array([-1.0]))


def test_scaled_feature_rows_and_scaled_counts_are_the_same_matrix(rng):
    """Cohen et al. 2013 scale the features and average; Stratos et al. 2014 scale the counts."""
    phi, psi = ((rng.random((50, d)) < 0.4).astype(float) for d in (6, 8))
    left, right = (cca_weights(rows.sum(axis=0), n=50) for rows in (phi, psi))
    by_counts = Scaling.from_counts(phi.sum(axis=0), psi.sum(axis=0))
    np.testing.assert_allclose((phi * left).T @ (psi * right) / 50, by_counts.apply(phi.T @ psi))


def test_scaling_leaves_its_argument_alone(counts):
    before = counts.copy()
    Scaling.from_counts(counts.sum(axis=1), counts.sum(axis=0)).apply(counts)
    np.testing.assert_array_equal(before.toarray(), counts.toarray())


def test_figure_4_of_the_brown_paper(counts):
    kappa, N = 3.0, float(counts.sum())
    B = counts.toarray() / N
    u, v = B.sum(axis=1) + kappa / N, B.sum(axis=0) + kappa / N
    expected = B / np.sqrt(np.outer(u, v))
    scaling = Scaling.from_counts(counts.sum(axis=1), counts.sum(axis=0), kappa=kappa)
    np.testing.assert_allclose(scaling.apply(counts).toarray(), expected)
    np.testing.assert_allclose(scaling.apply(counts.toarray()), expected)


def test_folded_vectors_project_raw_features(counts, rng):
    scaling = Scaling.from_counts(counts.sum(axis=1), counts.sum(axis=0))
    subspace = find_subspace(scaling.apply(counts), 5)
    phi = rng.random((4, 30))
    np.testing.assert_allclose(phi @ scaling.fold(subspace).left, (phi * scaling.left) @ subspace.left)
