"""Chains over siblings against enumeration of all labellings of a tree, and their gradient against differences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spectragram.inference.sibling_chain import (
    Choices,
    chain_gradient,
    chain_posteriors,
    find_choices,
    sibling_scores,
    step_siblings,
)
from spectragram.inference.tree_factors import BEFORE, find_nodes
from spectragram.learning.factors import start_weights

HEADS = np.array([3, 3, 0, 3, 6, 4])  # three siblings below word 3, and two words below others
NODES = find_nodes(HEADS)
N, L = len(HEADS), 4
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(N, L))
SCORES[2] = -np.inf  # the root word has no label
SCORES[0, 1] = -np.inf
PLACES = RNG.integers(1 << 12, size=(N, 2))
TABLE = RNG.normal(size=1 << 12).astype(np.float32)


def log_weights(scores: np.ndarray, table: np.ndarray) -> dict[tuple[int, ...], float]:
    """The definition: all labellings of the words that have labels (0 for the root word)."""
    found = {}
    ranges = [[label for label in range(L) if np.isfinite(scores[i, label])] or [0] for i in range(N)]
    for labels in product(*ranges):
        total = sum(scores[i, labels[i]] for i in range(N) if np.isfinite(scores[i]).any())
        for i in range(N):
            before = NODES[BEFORE, i]
            if before >= 0:
                total += sum(
                    float(table[(place + (labels[before] + 1) * L + labels[i]) % len(table)]) for place in PLACES[i]
                )
        found[labels] = total
    return found


def test_posteriors_are_those_of_all_labellings() -> None:
    choices = find_choices(SCORES, np.full(N, -1), np.inf)
    words, joint = chain_posteriors(choices, NODES, sibling_scores(choices, NODES, PLACES, TABLE, L))
    weights = {labels: np.exp(value) for labels, value in log_weights(SCORES, TABLE).items()}
    z = sum(weights.values())
    for i in range(N):
        for b in range(choices.counts[i]):
            label = choices.labels[i, b]
            assert words[i, b] == pytest.approx(sum(w for ls, w in weights.items() if ls[i] == label) / z)
            before = NODES[BEFORE, i]
            for a in range(choices.counts[before] if before >= 0 else 0):
                left = choices.labels[before, a]
                both = sum(w for ls, w in weights.items() if ls[i] == label and ls[before] == left) / z
                assert joint[i, a, b] == pytest.approx(both)
    assert words[2].sum() == 0.0


def test_choices_are_near_the_best_or_right() -> None:
    scores = np.array([[0.0, -3.0, -9.0], [-np.inf, 1.0, -np.inf], [-np.inf] * 3])
    choices = find_choices(scores, np.array([2, -1, -1]), 5.0)
    assert choices.counts.tolist() == [3, 1, 0]
    assert find_choices(scores, np.full(3, -1), 5.0).counts.tolist() == [2, 1, 0]
    assert choices.labels[1, 0] == 1


def test_a_word_without_choices_breaks_the_chain() -> None:
    scores = SCORES.copy()
    scores[1] = -np.inf  # the middle one of three siblings
    choices = find_choices(scores, np.full(N, -1), np.inf)
    words, joint = chain_posteriors(choices, NODES, sibling_scores(choices, NODES, PLACES, TABLE, L))
    assert np.isfinite(words).all()
    alone = np.exp(scores[3] - scores[3].max())
    np.testing.assert_allclose(words[3], alone / alone.sum())
    assert not joint.any()


def test_the_gradient_is_that_of_the_likelihood() -> None:
    gold = np.array([0, 3, -1, 1, 2, 0])
    choices = find_choices(SCORES, gold, np.inf)
    posteriors = chain_posteriors(choices, NODES, sibling_scores(choices, NODES, PLACES, TABLE, L))
    of_words, of_pairs = chain_gradient(choices, NODES, gold, *posteriors, L)

    def likelihood(scores: np.ndarray, table: np.ndarray) -> float:
        weights = log_weights(scores, table)
        return weights[tuple(np.maximum(gold, 0))] - np.logaddexp.reduce(list(weights.values()))

    h = 1e-5
    for i, label in ((0, 2), (3, 1), (5, 0), (1, 3)):
        above, below = SCORES.copy(), SCORES.copy()
        above[i, label] += h
        below[i, label] -= h
        difference = (likelihood(above, TABLE) - likelihood(below, TABLE)) / (2 * h)
        assert of_words[i, label] == pytest.approx(difference, abs=1e-6)
    # With a huge damping every step is proportional to the gradient.
    steps = start_weights(np.zeros_like(TABLE))
    steps.squares[:] = 1e12
    step_siblings(choices, NODES, PLACES, of_pairs, steps, L, 1.0, 1)
    found = steps.table.astype(np.float64) * 1e6
    for place in np.argsort(-np.abs(found))[:5]:
        above, below = TABLE.astype(np.float64), TABLE.astype(np.float64)
        above[place] += h
        below[place] -= h
        difference = (likelihood(SCORES, above) - likelihood(SCORES, below)) / (2 * h)
        assert found[place] == pytest.approx(difference, abs=1e-3)
    assert np.abs(found).max() > 0.05


def test_choices_are_a_tuple_of_arrays() -> None:
    choices = find_choices(SCORES, np.full(N, -1), np.inf)
    assert isinstance(choices, Choices)
    assert choices.labels.shape == choices.scores.shape == (N, L)
