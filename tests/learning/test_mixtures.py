"""Mixture weights: the optimum that a grid search over the simplex finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spectragram.learning.mixtures import bucket_weights, held_out_weights

STEP = 0.02


def on_grid(probs: np.ndarray) -> np.ndarray:
    """The best weights of three models on a grid, by brute force."""
    ticks = np.arange(0, 1 + STEP / 2, STEP)
    grid = np.array([(a, b, max(1 - a - b, 0.0)) for a, b in itertools.product(ticks, ticks) if a + b <= 1 + 1e-9])
    return grid[np.log(np.maximum(probs @ grid.T, 1e-300)).sum(axis=0).argmax()]


@pytest.fixture
def probs(rng):
    """Examples drawn from a mixture of three models over six events, under each model."""
    models = rng.dirichlet(np.full(6, 0.4), 3)
    events = rng.choice(6, 400, p=np.array([0.5, 0.2, 0.3]) @ models)
    return models[:, events].T


def test_one_set_of_weights_against_a_grid(probs):
    weights = held_out_weights(np.log(probs).T)
    np.testing.assert_allclose(weights, on_grid(probs), atol=1.5 * STEP)
    best = on_grid(probs)
    assert np.log(probs @ weights).sum() >= np.log(probs @ best).sum() - 1e-2


def test_tiny_likelihoods_do_not_underflow(probs, rng):
    shift = rng.uniform(-5000, 5000, len(probs))
    weights = held_out_weights(np.log(probs).T)
    np.testing.assert_allclose(held_out_weights(np.log(probs).T + shift), weights, atol=1e-9)


def test_impossible_strings_are_left_out(probs):
    log_probs = np.log(probs).T
    padded = np.concatenate([log_probs, np.full((3, 50), -np.inf)], axis=1)
    np.testing.assert_array_equal(held_out_weights(padded), held_out_weights(log_probs))
    assert held_out_weights([*log_probs, np.full(len(probs), -np.inf)])[3] == 0.0
    np.testing.assert_array_equal(held_out_weights(np.full((2, 5), -np.inf)), [0.5, 0.5])


def test_each_bucket_against_a_grid(probs):
    buckets = (np.arange(len(probs)) % 2) * 2
    weights = bucket_weights(probs, buckets, 4, 0.0)
    for bucket in (0, 2):
        np.testing.assert_allclose(weights[bucket], on_grid(probs[buckets == bucket]), atol=0.05)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    np.testing.assert_array_equal(weights[1], weights[3])


def test_pseudo_counts_draw_buckets_to_the_overall_weights(probs):
    buckets = np.arange(len(probs)) // 100
    overall = bucket_weights(probs, np.zeros(len(probs), int), 1, 0.0)[0]
    distances = [
        np.abs(bucket_weights(probs, buckets, 4, pseudo_counts) - overall).max() for pseudo_counts in (0.0, 50.0, 1e9)
    ]
    assert distances[0] > 1.5 * distances[1] > distances[2]
    assert distances[2] < 1e-3


def test_nothing_held_out_means_equal_weights():
    np.testing.assert_array_equal(bucket_weights(np.zeros((0, 4)), np.zeros(0, int), 2, 20.0), np.full((2, 4), 0.25))
