"""From signed marginals to distributions, and from several distributions to one."""

from __future__ import annotations

import numpy as np

from spectragram.tagging.member import as_probabilities, combine


def test_the_sign_rule() -> None:
    signed = np.array([[3.0, 1.0], [-3.0, -1.0], [4.0, -1.0], [-4.0, 1.0], [0.0, 0.0], [np.nan, 1.0]])
    instead = np.full((6, 2), 0.5)
    found, repaired = as_probabilities(signed, instead)
    np.testing.assert_array_equal(found, [[0.75, 0.25], [0.75, 0.25], [1, 0], [1, 0], [0.5, 0.5], [0.5, 0.5]])
    assert repaired == {"negative": 2, "fallbacks": 2}


def test_members_are_multiplied() -> None:
    sure, torn = np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])
    np.testing.assert_allclose(combine([sure, torn]), [[0.75, 0.25]], atol=1e-3)
    assert combine([sure]) is sure
    vetoed = combine([np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])])
    np.testing.assert_allclose(vetoed, [[0.5, 0.5]])
