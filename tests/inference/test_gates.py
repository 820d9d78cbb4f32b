"""Gates: scores against their definition, gradients against differences, what stays open."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.dependency.features import gold_pairs
from spectragram.dependency.gates import GRADES, with_marks
from spectragram.inference.gates import choice_gradients, gate_scores, open_gates, step_gates
from spectragram.learning.factors import start_weights

TAGS = np.array([0, 1, 2, 1, 0, 2])
HEADS = np.array([2, 0, 2, 3, 6, 2])
N = len(TAGS)


def pairs() -> list[tuple[int, int, int]]:
    """Directions, words and distances, up to the marks."""
    return [(d, i, s) for d in range(2) for i in range(N) for s in range(1, (N - i if d else i + 1) + 1)]


def test_words_between_count_once_each_and_marks_are_seen() -> None:
    """With a table of ones a score is a number of features: five, and two for each kind of word between."""
    marked, grades = with_marks(TAGS)
    assert marked.tolist() == [0, 1, 2, 3, 2, 1, 3, 0]
    assert grades[:3].tolist() == np.searchsorted(GRADES, [0, 1, 2], side="right").tolist()
    ones = np.ones(1 << 10, np.float32)
    arcs, ends = gate_scores(marked, grades, ones, 3 * ones)
    for d, i, s in pairs():
        j = i + (2 * d - 1) * s
        between = {int(TAGS[k]) for k in range(min(i, j) + 1, max(i, j))}
        assert arcs[d, i, s] == 5 + 2 * len(between)
    np.testing.assert_array_equal(ends, 3 * arcs)


def test_a_step_changes_the_scores_by_the_features_that_two_pairs_share() -> None:
    marked, grades = with_marks(TAGS)
    for d, i, s in pairs():
        weights, gradient = start_weights(np.zeros(1 << 16, np.float32)), np.zeros((2, N, N + 1))
        gradient[d, i, s] = 1.0
        step_gates(marked, grades, gradient, weights, 0.1, 1)
        scores, counts = gate_scores(marked, grades, weights.table, np.ones_like(weights.table))
        # AdaGrad from a squared gradient of 1: each weight moves by 0.1 / sqrt(2).
        n_features = counts[d, i, s]
        assert scores[d, i, s] == pytest.approx(n_features * 0.1 / np.sqrt(2.0), rel=1e-5)
        assert scores[d, i, s] >= max(scores[place] for place in pairs()) - 1e-6


def test_gradients_are_those_of_the_probability_of_all_choices() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 2, N, N + 1))
    gold = gold_pairs(HEADS)

    def log_probability(head_scores: np.ndarray, end_scores: np.ndarray) -> float:
        total = 0.0
        for j, head in enumerate(HEADS):
            choices = {i: head_scores[int(i < j), i, abs(i - j)] for i in range(N) if i != j}
            total += choices[head - 1] - np.logaddexp.reduce(list(choices.values())) if head else 0.0
        for d in range(2):
            for i in range(N):
                ends = end_scores[d, i, 1 : (N - i if d else i + 1) + 1]
                total += ends[gold[1][d, i].argmax()] - np.logaddexp.reduce(ends)
        return total

    found = choice_gradients(scores[0], scores[1], HEADS, gold[1])
    h = 1e-5
    for which in range(2):
        for d, i, s in pairs():
            above, below = scores.copy(), scores.copy()
            above[which, d, i, s] += h
            below[which, d, i, s] -= h
            slope = (log_probability(*above) - log_probability(*below)) / (2 * h)
            assert found[which][d, i, s] == pytest.approx(slope, abs=1e-8)


def test_what_is_near_the_best_choice_stays_open() -> None:
    rng = np.random.default_rng(1)
    heads, ends = 3 * rng.normal(size=(2, 2, N, N + 1))
    arcs, halves = open_gates(heads, ends, 2.0)
    for j in range(N):
        mine = {(int(i < j), i, abs(i - j)) for i in range(N) if i != j}
        best = max(heads[place] for place in mine)
        assert {place for place in mine if arcs[place]} == {place for place in mine if heads[place] >= best - 2.0}
    assert 0 < arcs.sum() < N * (N - 1)
    for d in range(2):
        for i in range(N):
            room = N - i if d else i + 1
            wanted = ends[d, i, 1 : room + 1] >= ends[d, i, 1 : room + 1].max() - 2.0
            assert halves[d, i].tolist() == [*wanted.tolist(), *[False] * (N - room)]
