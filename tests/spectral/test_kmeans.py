"""k-means: clusters that are plain to see, and fewer points than clusters."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from spectragram.spectral.kmeans import k_means


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
