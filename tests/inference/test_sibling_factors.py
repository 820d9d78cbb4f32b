"""Hashed factors of neighbouring modifiers: counts by hand, what features tell apart, steps uphill."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.dependency.encoding import LETTERS
from spectragram.dependency.siblings import SIBLING_TEMPLATES, Siblings
from spectragram.inference.headed import LEFT, RIGHT, list_arcs
from spectragram.inference.sibling_factors import step_triples
from spectragram.learning.factors import split_templates, start_weights

COLUMNS = np.zeros((len(LETTERS) + 1, 6), np.int64)
COLUMNS[:2] = [1, 2, 3, 2, 3, 1], [1, 1, 2, 2, 1, 2]
COLUMNS[-1] = 1, 0, 2, 1, 2, 2
N = COLUMNS.shape[1]
ALL = list_arcs(np.ones((2, N, N), bool))
TABLE = np.random.default_rng(0).normal(size=1 << 16).astype(np.float32)


def scores(*templates: str, table: np.ndarray = TABLE) -> tuple[np.ndarray, np.ndarray]:
    return Siblings(templates, table).scores(COLUMNS, ALL)


def pair(found: np.ndarray, d: int, i: int, k: int | None, j: int) -> float:
    """The score of a triple of words counted from 0; k is None for a first modifier."""
    place = ALL.pairs[ALL.places[d, i, abs(i - j)]]
    return float(found[place if k is None else place + abs(k - i)])


def test_a_table_of_ones_counts_features() -> None:
    pairs, lasts = scores(*split_templates(SIBLING_TEMPLATES), table=np.ones(1 << 10, np.float32))
    assert (pairs == len(split_templates(SIBLING_TEMPLATES))).all()
    assert (lasts == pairs[0]).all()


def test_templates_see_what_they_name() -> None:
    """Words 1 and 3, and 2 and 4, have the same tags, words 0 and 5 too."""
    pairs, lasts = scores("| t0 | t0")
    assert pair(pairs, RIGHT, 0, 1, 2) == pair(pairs, RIGHT, 0, 3, 4) == pair(pairs, RIGHT, 1, 3, 4)
    assert pair(pairs, RIGHT, 0, 1, 2) != pair(pairs, RIGHT, 0, 2, 3), "the order counts"
    assert pair(pairs, RIGHT, 0, None, 2) == pair(pairs, RIGHT, 1, None, 4)
    assert pair(pairs, RIGHT, 0, None, 2) != pair(pairs, RIGHT, 0, 1, 2)
    assert pair(pairs, RIGHT, 0, 1, 2) != pair(pairs, LEFT, 5, 3, 2), "and so does the side"
    assert lasts[ALL.places[RIGHT, 0, 1]] == lasts[ALL.places[RIGHT, 2, 1]]
    assert lasts[ALL.places[RIGHT, 0, 1]] != lasts[ALL.places[RIGHT, 0, 2]]
    with_heads, _ = scores("t0 | t0 | t0")
    assert pair(with_heads, RIGHT, 0, 1, 2) == pair(with_heads, RIGHT, 0, 3, 4) != pair(with_heads, RIGHT, 1, 3, 4)


def test_distance_and_agreement_count_where_templates_ask_for_them() -> None:
    graded, _ = scores("| t0 | t0 *")
    assert pair(graded, RIGHT, 0, 1, 2) == pair(graded, RIGHT, 0, 3, 4) != pair(graded, RIGHT, 0, 1, 4)
    agreeing, _ = scores("| t0 | t0 =")
    # The attributes of words 2 and 4 are alike, that of word 1 is missing, that of word 3 is another one.
    assert pair(agreeing, RIGHT, 0, 1, 2) != pair(agreeing, RIGHT, 0, 3, 4)


def test_a_step_raises_the_score_of_its_triple() -> None:
    siblings = Siblings(("t0 | t0 | t0 *", "| w0 | t0"), TABLE)
    weights = start_weights(np.zeros_like(TABLE))
    before = siblings.with_weights(weights.table).scores(COLUMNS, ALL)
    of_pairs, of_lasts = np.zeros_like(before[0]), np.zeros_like(before[1])
    of_pairs[7], of_lasts[3] = 1.0, -1.0
    step_triples(siblings.triples(COLUMNS), ALL, of_pairs, of_lasts, weights, 0.1, 1)
    pairs, lasts = siblings.with_weights(weights.table).scores(COLUMNS, ALL)
    # AdaGrad from a squared gradient of 1: each weight moves by 0.1 / sqrt(2).
    assert pairs[7] == pytest.approx(0.2 / np.sqrt(2.0), rel=1e-5)
    assert lasts[3] == pytest.approx(-0.2 / np.sqrt(2.0), rel=1e-5)


def test_odd_templates_are_refused() -> None:
    for listed in ((), ("t0 | t0",), ("x0 | t0 | t0",)):
        with pytest.raises(ValueError):
            Siblings(listed, TABLE)
