"""Features of spans: what they see of a tree, where they lie, scores that are sums of weights, steps of AdaGrad."""

from __future__ import annotations

import numpy as np

from spectragram.inference.chart_coarse import span_id
from spectragram.inference.span_factors import (
    OWN,
    Candidates,
    SpanPlaces,
    bracket_scores,
    span_contexts,
    span_places,
    step_brackets,
)
from spectragram.learning.factors import start_weights

SIZE = 1 << 20
N = 4
TREE = {(0, 4): 7, (0, 2): 5, (3, 4): 6}
"""(7 (5 a b) c (6 d)): a tree of four words with the tags 10 to 13."""


def contexts(*spans: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    split, label = np.full(10, -1, np.int32), np.full(10, -1, np.int64)
    for (i, j), k in {(0, 4): 2, (2, 4): 3, (0, 2): 1, (1, 4): 2, (0, 3): 2, (1, 3): 2}.items():
        split[span_id(i, j)] = k
    for (i, j), a in TREE.items():
        label[span_id(i, j)] = a
    grades = np.array([0, 100, 200, 300, 400])
    return span_contexts(N, np.array(spans), split, label, np.arange(10, 14), grades)


def phrase(label: int) -> int:
    return 2 * label + 2


def tag(number: int) -> int:
    return 2 * number + 1


def test_values_of_spans_in_view_of_a_tree() -> None:
    seen, values = contexts((0, 4), (2, 4), (1, 3), (3, 4), (0, 3))
    np.testing.assert_array_equal(seen, [[0, 4, 2], [2, 4, 3], [1, 3, 2], [3, 4, 3], [0, 3, 2]])
    # length, first and last child, number of children, last but one, parent, how it lies there
    np.testing.assert_array_equal(
        values,
        [
            [400, phrase(5), phrase(6), 3, tag(12), 0, 0],  # the whole tree
            [200, tag(12), phrase(6), 2, tag(12), 8, 2],  # at the right end of its parent, 7
            [200, tag(11), tag(12), 2, tag(11), 8, 4],  # crosses (0, 2)
            [100, 0, 0, 0, 0, 8, 2],  # a single word
            [300, phrase(5), tag(12), 2, phrase(5), 8, 1],
        ],
    )


def test_places_depend_on_what_atoms_see() -> None:
    columns = np.array([[1, 2, 1, 2]])
    # the first word; the word behind the last; the length; the word before and the one at the split
    atoms = np.array([[[0, 0, 0], [-1] * 3], [[0, 1, 0], [-1] * 3], [[0, OWN, 0], [-1] * 3], [[0, 0, -1], [0, 2, 0]]])
    seen, values = contexts((0, 2), (2, 4), (1, 3))
    places = span_places(columns, seen, values, atoms, 2, SIZE)
    first, behind, length, two = places.spans.T
    assert first[0] == first[1] != first[2]
    assert len(set(behind.tolist())) == 3  # 1, the end of the sentence, 2
    assert length[0] == length[1] == length[2]
    assert len(set(two.tolist())) == 3
    assert places.spans.min() >= 0 and places.spans.max() < SIZE and places.grades[0] != places.grades[1]


def some_candidates() -> tuple[Candidates, SpanPlaces]:
    found = Candidates(
        spans=np.array([[0, 2], [1, 3]]),
        span_of=np.array([0, 0, 1]),
        labels=np.array([0, 2, 2]),
        log_odds=np.array([0.5, -1.0, 2.0]),
        grades=np.array([1, 0, 1]),
    )
    return found, SpanPlaces(np.array([[3, 15], [8, 8]], np.int32), np.array([5, 10]))


def test_scores_are_log_odds_and_sums_of_weights(rng: np.random.Generator) -> None:
    table = rng.normal(size=16).astype(np.float32)
    scores = bracket_scores(*some_candidates(), table)
    wanted = [
        0.5 + table[10] + table[3] + table[15],
        -1.0 + table[7] + table[5] + table[1],  # 15 + 2 begins again at the front
        2.0 + table[12] + 2 * table[10],
    ]
    np.testing.assert_allclose(scores, wanted, rtol=1e-6)


def test_steps_climb_along_the_gradient() -> None:
    candidates, places = some_candidates()
    weights = start_weights(np.zeros(16, np.float32))
    step_brackets(candidates, places, np.array([1.0, 0.0, -0.5]), weights, 0.1, 1)
    changed = np.flatnonzero(weights.table)
    np.testing.assert_array_equal(changed, [3, 10, 12, 15])
    np.testing.assert_allclose(weights.table[[3, 15]], 0.1 / np.sqrt(2.0), rtol=1e-6)
    assert weights.table[12] < 0.0  # the grade of the third candidate
    after = bracket_scores(candidates, places, weights.table)
    assert after[0] > 0.5 and after[1] == -1.0
