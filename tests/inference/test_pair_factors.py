"""Hashed factors of pairs: counts by hand, independence of places, steps uphill."""

from __future__ import annotations

import numpy as np

from spectragram.dependency.encoding import LETTERS
from spectragram.dependency.factors import Templates, arc_templates
from spectragram.inference.pair_factors import pair_scores, step_pairs
from spectragram.learning.factors import start_weights

COLUMNS = np.zeros((len(LETTERS), 6), np.int64)
COLUMNS[:2] = [1, 2, 1, 3, 2, 1], [1, 1, 2, 2, 1, 2]
COLUMNS[LETTERS.index("w")] = 5, 0, 7, 7, 0, 9
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
    pairs = arc_templates("tw").pairs(COLUMNS)
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


def test_agreement_is_part_of_the_templates_that_ask_for_it() -> None:
    """Words 0, 2 and 5 have the same tag; attributes tell the pairs (0, 2) and (2, 5) apart, or do not."""
    table = np.random.default_rng(0).normal(size=1 << 16).astype(np.float32)
    columns = COLUMNS.copy()
    columns[:, 3] = columns[:, 4] = columns[:, 1]  # only word 1's kind lies between
    asking, silent = Templates(("t0 | t0 =", "w0 | w0"), 1), Templates(("t0 | t0", "w0 | w0"), 1)
    for values, equal in (([1, 0, 1, 0, 0, 1], True), ([1, 0, 1, 0, 0, 2], False), ([1, 0, 1, 0, 0, 0], False)):
        rows = np.vstack([columns, values])
        scores = pair_scores(asking.pairs(rows), table)
        # The last template, of words between, has other words at both ends; it is taken off.
        rest = pair_scores(Templates(("w0 | w0",), 1).pairs(rows), np.zeros_like(table))
        assert not rest.any()
        alone = scores - pair_scores(silent.pairs(rows), table)
        assert np.isclose(alone[1, 0, 2], alone[1, 2, 3]) == equal
    assert np.isclose(alone[1, 1, 2], alone[1, 1, 3]) == (columns[0, 3] == columns[0, 4])


def test_pairs_that_are_not_wanted_are_impossible_and_the_others_keep_theirs() -> None:
    rng = np.random.default_rng(2)
    pairs, table = ARCS.pairs(COLUMNS), rng.normal(size=1 << 10).astype(np.float32)
    scores = pair_scores(pairs, table)
    inside = pair_scores(pairs, np.ones_like(table)) > 0
    wanted = (rng.random(scores.shape) < 0.5) & inside
    assert np.array_equal(pair_scores(pairs, table, wanted), np.where(wanted, scores, -np.inf))
    assert (scores[~wanted] != 0.0).any()
