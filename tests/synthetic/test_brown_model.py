"""The Brown model against enumeration, and theorem 5.1 of Stratos et al. (2014)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.synthetic.brown import BrownModel


@pytest.fixture
def model(rng: np.random.Generator) -> BrownModel:
    return BrownModel.random(5, 2, rng=rng, conditioning=0.2)


def test_probability_is_the_sum_over_clusters(model: BrownModel) -> None:
    for words in [(3,), (0, 4), (1, 1, 2)]:
        total = 0.0
        for c in product(range(2), repeat=len(words)):
            p = model.initial[c[0]]
            for i, x in enumerate(words):
                p *= model.emission[x, c[i]] * (model.transition[c[i], c[i - 1]] if i else 1)
            total += p
        assert model.probability(words) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("length", [2, 3, 4])
def test_moments_equal_enumeration(model: BrownModel, length: int) -> None:
    bigram = np.zeros((5, 5))
    total = 0.0
    for words in product(range(5), repeat=length):
        p = model.probability(words)
        total += p
        for i in range(length - 1):
            bigram[words[i], words[i + 1]] += p / (length - 1)
    assert total == pytest.approx(1, abs=1e-12)
    moments = model.moments(length)
    np.testing.assert_allclose(moments.bigram, bigram, atol=1e-13)
    np.testing.assert_allclose(moments.first, bigram.sum(axis=1), atol=1e-13)
    np.testing.assert_allclose(moments.second, bigram.sum(axis=0), atol=1e-13)
    np.testing.assert_allclose(moments.clusters, np.bincount(model.clusters, moments.first), atol=1e-13)


def test_singular_vectors_of_the_scaled_bigrams_are_the_roots_of_emissions(rng: np.random.Generator) -> None:
    model = BrownModel.random(30, 4, rng=rng, conditioning=0.1)
    moments = model.moments(20)
    omega = moments.bigram / np.sqrt(np.outer(moments.first, moments.second))
    U, sigma, _ = np.linalg.svd(omega)
    assert sigma[3] > 0.05
    assert sigma[4] < 1e-12
    root = np.sqrt(model.emission)
    np.testing.assert_allclose(U[:, :4] @ U[:, :4].T, root @ root.T, atol=1e-10)


def test_samples_have_the_moments_of_the_model(model: BrownModel, rng: np.random.Generator) -> None:
    n, length = 20_000, 5
    corpus = model.sample(n, length, rng)
    assert (len(corpus), corpus.n_tokens) == (n, n * length)
    tokens = corpus.tokens.reshape(n, length)
    pairs = np.zeros((5, 5))
    np.add.at(pairs, (tokens[:, :-1].ravel(), tokens[:, 1:].ravel()), 1 / (n * (length - 1)))
    exact = model.moments(length).bigram
    # Pairs within a sequence depend on each other, so there are n independent draws, not n (length - 1).
    np.testing.assert_array_less(abs(pairs - exact), 5 * np.sqrt(exact * (1 - exact) / n))
    firsts = np.bincount(tokens[:, 0], minlength=5) / n
    expected = model.emission @ model.initial
    np.testing.assert_array_less(abs(firsts - expected), 5 * np.sqrt(expected * (1 - expected) / n))


def test_the_stationary_distribution_stays(model: BrownModel) -> None:
    stationary = model.stationary()
    assert stationary.sum() == pytest.approx(1)
    np.testing.assert_allclose(model.transition @ stationary, stationary, atol=1e-12)


@pytest.mark.parametrize(("n_words", "n_clusters", "conditioning"), [(10, 2, 0.5), (200, 20, 0.1), (3, 3, 0.2)])
def test_random_models_are_as_well_conditioned_as_asked(
    n_words: int, n_clusters: int, conditioning: float, rng: np.random.Generator
) -> None:
    model = BrownModel.random(n_words, n_clusters, rng=rng, conditioning=conditioning)
    assert model.conditioning() >= conditioning
    stationary = BrownModel(model.stationary() / model.stationary().sum(), model.transition, model.emission)
    moments = stationary.moments(2)
    omega = moments.bigram / np.sqrt(np.outer(moments.first, moments.second))
    assert np.linalg.svd(omega, compute_uv=False)[n_clusters - 1] >= conditioning * (1 - 1e-6)
    assert set(model.clusters) == set(range(n_clusters))


def test_wrong_parameters_are_refused(model: BrownModel, rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="exactly one"):
        BrownModel(model.initial, model.transition, np.full((5, 2), 0.2))
    with pytest.raises(InputError, match="add up to 1"):
        BrownModel(model.initial, model.transition.T * 2, model.emission)
    with pytest.raises(InputError, match="shapes"):
        BrownModel(model.initial, model.transition[:1], model.emission)
    with pytest.raises(InputError, match="2 words for 3 clusters"):
        BrownModel.random(2, 3, rng=rng)
    with pytest.raises(InputError, match="no neighbours"):
        model.moments(1)
