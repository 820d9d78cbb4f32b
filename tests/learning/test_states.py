"""From projected vectors to states and shares."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.learning.states import (
    cluster_rows,
    joint_coordinates,
    random_shares,
    random_states,
    state_shares,
    states_by_count,
)


def test_numbers_of_states_grow_with_counts() -> None:
    counts = np.array([1, 19, 40, 399, 400, 10**6])
    assert states_by_count(counts, 8, per_state=100).tolist() == [1, 1, 1, 3, 4, 8]
    by_root = states_by_count(counts, 8, per_state=10, power=0.5, whole=np.round)
    assert by_root.tolist() == [1, 1, 2, 6, 6, 8]


def test_coordinates_by_hand() -> None:
    vectors = np.array([[1.0, 10.0, 7.0], [3.0, 30.0, 7.0]])
    sigma = np.array([0.25, 0.04, 0.0])
    found = joint_coordinates([(vectors, sigma), (vectors[:, :1], np.array([1.0]))], power=0.5)
    np.testing.assert_allclose(found, [[-0.5, -0.2, -1.0], [0.5, 0.2, 1.0]])
    equal = joint_coordinates([(vectors, sigma), (vectors[:, :1], np.array([1.0]))], power=0.5, equal_lengths=True)
    np.testing.assert_allclose((equal[:, :2] ** 2).sum(axis=1).mean(), 1.0)
    np.testing.assert_allclose(equal[:, 2], [-1.0, 1.0])


def test_a_constant_dimension_does_no_harm() -> None:
    found = joint_coordinates([(np.ones((3, 1)), np.array([1.0]))], power=1.0)
    np.testing.assert_array_equal(found, np.zeros((3, 1)))


def test_clusters_are_found_within_labels(rng: np.random.Generator) -> None:
    labels = rng.integers(0, 2, 300)
    hidden = rng.integers(0, 3, 300)
    points = np.eye(3)[hidden] * 10 + rng.normal(size=(300, 3))
    rows_of = [np.flatnonzero(labels == a) for a in (0, 1)]
    states = cluster_rows(rows_of, np.array([3, 1]), lambda a: points[rows_of[a]], seed=0)
    assert (states[labels == 1] == 0).all()
    own = labels == 0
    pairs = {(int(s), int(h)) for s, h in zip(states[own], hidden[own], strict=True)}
    assert len(pairs) == 3, "clusters and hidden states correspond"


@pytest.mark.parametrize("soft", [0.0, 0.2])
def test_shares_sum_to_one_within_the_states_of_a_label(soft: float) -> None:
    sizes = np.array([3, 1, 2])
    shares = state_shares(np.array([2, 0, 1]), sizes, soft=soft)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares.argmax(axis=1).tolist() == [2, 0, 1]
    assert (shares[np.arange(3) >= sizes[:, None]] == 0).all()
    assert shares[0, 0] == pytest.approx(soft / 3)


def test_random_starts_use_every_state_of_a_label_and_no_other(rng: np.random.Generator) -> None:
    sizes = np.repeat([1, 3], 500)
    states = random_states(sizes, rng)
    assert set(states[:500].tolist()) == {0}
    assert set(states[500:].tolist()) == {0, 1, 2}
    shares = random_shares(sizes, rng)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares[:500, 1:] == 0).all()
    assert (shares[500:] > 0).all()
    np.testing.assert_allclose(shares[500:].mean(axis=0), 1 / 3, atol=0.05)
