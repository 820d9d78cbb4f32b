"""Features of tokens: equal contexts have equal places, scores are sums of weights, steps are those of AdaGrad."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.inference.token_factors import (
    label_pair_places,
    label_pair_scores,
    places_within,
    step_tokens,
    token_places,
    token_scores,
)
from spectragram.learning.factors import start_weights

ATOMS = np.array([[[0, 0], [-1, -1]], [[0, -1], [-1, -1]], [[0, 0], [1, 1]]])
"""The first column; that of the token before; the first column and the second one of the next token."""
COLUMNS = np.array([[0, 1, 2, 1], [5, 6, 6, 7]])
SIZE = 1 << 20


def test_places_depend_on_what_atoms_see() -> None:
    places = token_places(COLUMNS, np.array([0, 1, 2, 3, 0]), ATOMS, SIZE)
    assert places.shape == (5, 3)
    assert places.min() >= 0 and places.max() < SIZE
    assert places[0, 0] == places[4, 0]  # the same type
    assert places[1, 0] == places[3, 0] != places[2, 0]  # another type with an equal first column
    assert places[2, 1] == places[4, 1] != places[1, 1]  # after 1, after 1, after 0
    assert places[0, 2] != places[4, 2]  # followed by 6 and by the end
    assert len(set(places[:, 0]) & set(places[:, 1])) == 0  # templates have places of their own


def test_positions_in_a_long_text_see_their_part_of_it() -> None:
    columns = np.array([[0, 1, 2, 1, 0, 2], [5, 6, 6, 7, 5, 5]])
    first, second = np.arange(0, 4), np.arange(4, 6)
    expected = np.concatenate([token_places(columns, part, ATOMS, SIZE) for part in (first, second)])
    at = np.array([0, 3, 4, 5])
    bounds = np.array([[0, 4], [0, 4], [4, 6], [4, 6]])
    np.testing.assert_array_equal(places_within(columns, at, bounds, ATOMS, SIZE), expected[at])


def test_the_two_ends_of_a_sequence_differ() -> None:
    around = np.array([[[0, -1]], [[0, 1]]])
    places = token_places(np.array([[0]]), np.array([0]), around, SIZE)
    twice = token_places(np.array([[0]]), np.array([0, 0]), around, SIZE)
    assert places[0, 0] == twice[0, 0] != twice[1, 0]
    assert places[0, 1] == twice[1, 1] != twice[0, 1]


def test_scores_are_sums_of_the_weights_of_labels(rng: np.random.Generator) -> None:
    table = rng.normal(size=16).astype(np.float32)
    scores = token_scores(np.array([[3, 15]]), np.array([[True, False, True]]), table)
    np.testing.assert_allclose(scores, [[table[3] + table[15], -np.inf, table[5] + table[1]]], rtol=1e-6)


def test_pairs_of_labels_have_weights_in_the_same_table(rng: np.random.Generator) -> None:
    table = rng.normal(size=SIZE).astype(np.float32)
    places = label_pair_places(3, SIZE)
    assert len(set(places[:, 0].tolist())) == 3
    scores = label_pair_scores(3, table)
    assert scores[1, 2] == pytest.approx(table[(places[1, 0] + 2) % SIZE])


def test_steps_follow_the_gradient() -> None:
    weights = start_weights(np.zeros(16, np.float32))
    step_tokens(np.array([[3, 15]]), np.array([[0.5, 0.0, -0.25]]), weights, 0.1, 4)
    wanted = np.zeros(16)
    wanted[[3, 15]] = 0.1 * 0.5 / np.sqrt(1.25)
    wanted[[5, 1]] = -0.1 * 0.25 / np.sqrt(1 + 0.25**2)
    np.testing.assert_allclose(weights.table, wanted, rtol=1e-6)
    np.testing.assert_allclose(weights.summed, 4 * wanted, rtol=1e-6)
