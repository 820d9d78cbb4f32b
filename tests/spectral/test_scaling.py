"""CCA scaling: both papers' conventions, and back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from spectragram.errors import InputError
from spectragram.spectral import CrossMoment, Scaling, cca_weights, find_subspace, scale_features


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
    phi = scipy.sparse.csr_array((rng.random((50, 6)) < 0.4).astype(float))
    psi = scipy.sparse.csr_array((rng.random((50, 8)) < 0.4).astype(float))
    moment = CrossMoment.from_rows(phi, psi)
    by_rows = Scaling.from_counts(moment.left_squares, moment.right_squares, n=moment.n)
    scaled_rows = CrossMoment.from_rows(scale_features(phi, by_rows.left), scale_features(psi, by_rows.right))
    by_counts = Scaling.from_counts(moment.left_squares, moment.right_squares)
    np.testing.assert_allclose(scaled_rows.mean().toarray(), by_counts.apply(moment.matrix).toarray())
    np.testing.assert_allclose(scale_features(phi.toarray(), by_rows.left), scale_features(phi, by_rows.left).toarray())


def test_figure_4_of_the_brown_paper(counts):
    kappa, N = 3.0, float(counts.sum())
    B = counts.toarray() / N
    u, v = B.sum(axis=1) + kappa / N, B.sum(axis=0) + kappa / N
    expected = B / np.sqrt(np.outer(u, v))
    scaling = Scaling.from_counts(counts.sum(axis=1), counts.sum(axis=0), kappa=kappa)
    np.testing.assert_allclose(scaling.apply(counts).toarray(), expected)
    np.testing.assert_allclose(scaling.apply(counts.toarray()), expected)


@pytest.mark.parametrize("kappa", [0.0, 5.0])
def test_undo_is_the_inverse(counts, kappa):
    scaling = Scaling.from_counts(counts.sum(axis=1), counts.sum(axis=0), kappa=kappa)
    before = counts.copy()
    np.testing.assert_allclose(scaling.undo(scaling.apply(counts)).toarray(), counts.toarray())
    np.testing.assert_allclose(scaling.undo(scaling.apply(counts.toarray())), counts.toarray())
    np.testing.assert_array_equal(before.data, counts.data)


def test_folded_vectors_project_raw_features(counts, rng):
    scaling = Scaling.from_counts(counts.sum(axis=1), counts.sum(axis=0))
    subspace = find_subspace(scaling.apply(counts), 5)
    phi = rng.random((4, 30))
    np.testing.assert_allclose(phi @ scaling.fold(subspace).left, (phi * scaling.left) @ subspace.left)


def test_unfolded_factors_reconstruct_the_raw_matrix(counts):
    scaling = Scaling.from_counts(counts.sum(axis=1), counts.sum(axis=0))
    everything = find_subspace(scaling.apply(counts), 20)
    np.testing.assert_allclose(scaling.unfold(everything).reconstruct(), counts.toarray(), atol=1e-10)
