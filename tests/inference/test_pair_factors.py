"""Hashed factors of pairs: counts by hand, independence of places, steps uphill."""

from __future__ import annotations

import numpy as np

from spectragram.dependency.factors import Templates, arc_templates, label_templates
from spectragram.inference.hashed import find_place, label_scores, step_labels, table_shift
from spectragram.inference.pair_factors import arc_keys, pair_scores, step_pairs
from spectragram.learning.factors import start_weights

COLUMNS = np.array([[1, 2, 1, 3, 2, 1], [1, 1, 2, 2, 1, 2], [5, 0, 7, 7, 0, 9]])
N = COLUMNS.shape[1]
ARCS = Templates(("t0 | t0 *", "w0 | t+1", "t0 | t0"), 1)


def test_a_table_of_ones_counts_features() -> None:
    scores = pair_scores(ARCS.pairs(COLUMNS), np.ones(1 << 10, np.float32))
    for d, away in ((0, -1), (1, 1)):
        for i in range(N):
            for s in range(1, N):
                j = i + away * s
                if 0 <= j < N:
                    between = {int(COLUMNS[1, k]) for k in range(min(i, j) + 1, max(i, j))}
                    assert scores[d, i, s] == 2 + len(between)
                else:
                    assert scores[d, i, s] == 0.0
    assert not scores[:, :, 0].any()


def test_templates_see_what_they_name() -> None:
    """A table of random numbers: scores are equal exactly where everything that the templates name is."""
    table = np.random.default_rng(0).normal(size=1 << 16).astype(np.float32)
    templates = Templates(("t0 | c+1", "t0 | t0"), 0)
    scores = pair_scores(templates.pairs(COLUMNS), table)
    # No words between; heads 0 and 2 are both tagged 1, the words beyond have coarse tags 1 and 2.
    assert scores[1, 0, 0] != scores[1, 2, 0]
    assert scores[1, 0, 1] == scores[1, 2, 0]  # the word beyond has coarse tag 2 in both
    assert scores[0, 2, 1] != scores[1, 2, 1]  # directions are told apart


def test_a_step_raises_the_score_of_its_pair() -> None:
    pairs = arc_templates(words=True).pairs(COLUMNS)
    weights = start_weights(np.zeros(1 << 16, np.float32))
    gradient = np.zeros((2, N, N))
    gradient[1, 0, 3] = 1.0
    step_pairs(pairs, gradient, weights, 0.1, 1)
    scores = pair_scores(pairs, weights.table)
    assert scores.argmax() == np.ravel_multi_index((1, 0, 3), scores.shape)
    # AdaGrad from a squared gradient of 1: each weight moves by 0.1 / sqrt(2).
    n_features = pair_scores(pairs, np.ones_like(weights.table))[1, 0, 3]
    assert np.isclose(scores[1, 0, 3], n_features * 0.1 / np.sqrt(2.0), rtol=1e-5)
    np.testing.assert_array_equal(weights.summed, weights.table)


def test_labels_are_scored_for_candidates_only_and_learned() -> None:
    heads = np.array([2, 0, 2, 3, 3, 2])
    keys = arc_keys(label_templates(words=False).pairs(COLUMNS), heads)
    assert not keys[1].any()
    candidates = np.ones((N, 3), np.bool_)
    candidates[0, 2] = candidates[1] = False
    weights = start_weights(np.zeros(1 << 14, np.float32))
    gradient = np.zeros((N, 3))
    gradient[0, 1] = 1.0
    step_labels(keys, gradient, weights, 0.1, 1)
    scores = label_scores(keys, candidates, weights.table)
    assert scores[0].argmax() == 1
    assert scores[0, 2] == -np.inf
    assert np.isneginf(scores[1]).all()


def test_an_arc_has_the_same_keys_in_a_tree_as_among_all_pairs() -> None:
    """A table of random numbers: the sum over the keys of an arc is its score, but for the words between."""
    table = np.random.default_rng(0).normal(size=1 << 16).astype(np.float32)
    pairs = ARCS.pairs(COLUMNS)
    heads = np.array([2, 0, 2, 3, 4, 5])  # every arc joins neighbours: no words between
    keys = arc_keys(pairs, heads)[:, :-1]
    scores = pair_scores(pairs, table)
    for word, head in enumerate(heads - 1):
        if head >= 0:
            places = [find_place(key, table_shift(table)) for key in keys[word]]
            assert np.isclose(table[places].sum(), scores[int(head < word), head, abs(head - word)], rtol=1e-5)
