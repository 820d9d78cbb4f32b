"""The paper's guarantee: a Brown model's clusters come back, exactly from exact moments, and from samples."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics import adjusted_rand_score

from spectragram.clusters import WordClusters
from spectragram.clusters.spectral import ward_classes, word_vectors
from spectragram.synthetic import BrownModel


@pytest.mark.parametrize("seed", range(8))
def test_exact_moments_give_the_true_clusters(seed: int) -> None:
    """Theorem 5.1: rows of M are equal for words of a cluster and orthogonal otherwise."""
    rng = np.random.default_rng(seed)
    truth = BrownModel.random(int(rng.integers(20, 60)), int(rng.integers(2, 9)), rng=rng)
    bigram = truth.moments(length=50).bigram
    # Words are taken in order of frequency.
    order = np.argsort(-bigram.sum(axis=1), kind="stable")
    bigram, clusters = bigram[np.ix_(order, order)], truth.clusters[order]
    vectors, _ = word_vectors(scipy.sparse.csr_matrix(bigram), truth.n_clusters, 0.0, rng, tolerance=1e-10)
    np.testing.assert_allclose(vectors @ vectors.T, clusters[:, None] == clusters, atol=1e-6)
    labels, _ = ward_classes(vectors, truth.n_clusters)
    assert adjusted_rand_score(clusters, labels) == 1.0


@pytest.mark.parametrize("learner", ["exchange", "spectral", "spectral+exchange", "brown"])
def test_samples_give_the_true_clusters(learner: str) -> None:
    rng = np.random.default_rng(1)
    truth = BrownModel.random(40, 6, rng=rng, conditioning=0.2)
    sample = truth.sample(4000, 25, rng)
    sentences = [sample.decode(i) for i in range(len(sample))]
    model = WordClusters(6, learner=learner, boundaries=True, n_dimensions=6, context="LR1", kappa=0.0).fit(sentences)
    found = dict(zip(model.vocabulary_.words, model.clusters_, strict=True))
    words = [f"w{i}" for i in range(40)]
    assert adjusted_rand_score(truth.clusters, [found[word] for word in words]) == 1.0


def test_rare_words_have_short_singular_vectors_but_unit_rows() -> None:
    counts = scipy.sparse.csr_matrix(np.array([[0, 9, 1, 0], [8, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]]))
    vectors, sigma = word_vectors(counts, 2, 1.0, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 0], atol=1e-12)
    assert (np.diff(sigma) <= 0).all()
    scaled = counts.toarray() / np.sqrt(np.outer(counts.sum(axis=1) + 1, counts.sum(axis=0) + 1))
    np.testing.assert_allclose(sigma, np.linalg.svd(scaled)[1][:2], atol=1e-9)
