"""k-means: clusters that are plain to see, and fewer points than clusters."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from spectragram.learning.states import k_means, nearest_centres


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_far_groups_are_found(rng: np.random.Generator, init: str) -> None:
    truth = rng.integers(0, 2, 60)
    labels, centres = k_means(rng.standard_normal((60, 2)) + 50 * truth[:, None], 2, seed=1, init=init)
    assert len({(a, b) for a, b in zip(truth, labels, strict=True)}) == 2
    np.testing.assert_allclose(np.sort(centres[:, 0]), [0, 50], atol=1)


def test_repeated_points_are_no_trouble() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels, centres = k_means(np.array([[0.0], [0.0], [1.0]]), 3, seed=0)
    assert labels[0] == labels[1] != labels[2]
    assert len(centres) == 3


def test_weights_mean_repetition(rng: np.random.Generator) -> None:
    vectors = np.concatenate([rng.standard_normal((20, 2)), rng.standard_normal((20, 2)) + 40])
    weights = rng.integers(1, 5, 40)
    _, weighted = k_means(vectors, 2, seed=0, weights=weights.astype(float))
    _, repeated = k_means(np.repeat(vectors, weights, axis=0), 2, seed=0)
    np.testing.assert_allclose(np.sort(weighted, axis=0), np.sort(repeated, axis=0))


def test_more_starts_never_do_worse(rng: np.random.Generator) -> None:
    vectors = rng.standard_normal((300, 2))

    def inertia(n_init: int) -> float:
        labels, centres = k_means(vectors, 12, seed=4, n_init=n_init, init="random", max_iter=300)
        return float(((vectors - centres[labels]) ** 2).sum())

    assert inertia(10) < inertia(1)


def test_batches_find_far_groups_and_the_nearest_centre_is_the_label(rng: np.random.Generator) -> None:
    truth = rng.integers(0, 3, 500)
    vectors = rng.standard_normal((500, 2)) + 50 * truth[:, None]
    labels, centres = k_means(vectors, 3, seed=0, n_init=3, batch_size=64)
    assert len(set(zip(truth.tolist(), labels.tolist(), strict=True))) == 3
    np.testing.assert_array_equal(nearest_centres(vectors, centres), labels)
