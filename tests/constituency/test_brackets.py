"""F1-MBR decoding against exhaustive search, and the labels of a treebank by hand."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest

from spectragram.constituency.brackets import LabelSet, SpanPosteriors, bracket_tree
from spectragram.data.brackets import parse_tree
from spectragram.inference.chart_coarse import span_id
from tests.constituency.brute import training_trees

LABELS = LabelSet(["A", "B", "C"], ["s", "t"], np.array([0.2, 0.9, 0.5]), None, "A")


def random_posteriors(rng: np.random.Generator, n: int) -> SpanPosteriors:
    """Many around the threshold."""
    return SpanPosteriors(rng.random((n * (n + 1) // 2, 3)) ** 2, rng.random((n, 2)))


def crosses(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]


def all_nested(n: int) -> list[tuple[tuple[int, int], ...]]:
    """All sets of spans of n words that do not cross."""
    spans = [(i, j) for j in range(1, n + 1) for i in range(j)]
    subsets = chain.from_iterable(combinations(spans, size) for size in range(len(spans) + 1))
    return [subset for subset in subsets if not any(crosses(a, b) for a, b in combinations(subset, 2))]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_tree_exceeds_the_threshold_by_more(rng, n):
    nested = all_nested(n)
    for threshold in (0.2, 0.4, 0.7):
        posteriors = random_posteriors(rng, n)
        gains = np.maximum(posteriors.spans - threshold, 0.0).sum(axis=1)
        best = max(sum(gains[span_id(i, j)] for i, j in subset) for subset in nested)
        tree = bracket_tree([f"w{i}" for i in range(n)], posteriors, LABELS, threshold)
        assert tree.leaves() == [f"w{i}" for i in range(n)]
        found = [posteriors.spans[span_id(i, j), LABELS.phrase_index[label]] for label, i, j in tree.spans()]
        assert sum(max(p - threshold, 0.0) for p in found) == pytest.approx(best)
        # Only the whole sentence may have a bracket that is not worth it, if it has no other.
        poor = [span for span, p in zip(tree.spans(), found, strict=True) if p <= threshold]
        assert all((i, j) == (0, n) for _, i, j in poor)
        assert len(poor) <= 1
        expected = [LABELS.tags[t] for t in posteriors.tags.argmax(axis=1)]
        assert tree.tags() == expected


def test_labels_of_the_same_words_are_ordered_by_height():
    spans = np.zeros((3, 3))
    spans[span_id(0, 2)] = [0.9, 0.8, 0.7]
    posteriors = SpanPosteriors(spans, np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert str(bracket_tree(["x", "y"], posteriors, LABELS)) == "(B (C (A (s x) (t y))))"


def test_a_sentence_without_a_likely_label_gets_the_best_one():
    spans = np.zeros((3, 3))
    tags = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert str(bracket_tree(["x", "y"], SpanPosteriors(spans, tags), LABELS)) == "(A (s x) (t y))"
    spans[span_id(0, 2), 2] = 0.1
    assert str(bracket_tree(["x", "y"], SpanPosteriors(spans, tags), LABELS)) == "(C (s x) (t y))"


def test_trees_have_the_outer_bracket_of_the_treebank():
    outer = LabelSet(LABELS.phrases, LABELS.tags, LABELS.height, "TOP", "A")
    found = bracket_tree(["x"], SpanPosteriors(np.zeros((1, 3)), np.array([[0.0, 1.0]])), outer)
    assert str(found) == "(TOP (t x))"


def test_the_labels_of_a_treebank():
    texts = ["(TOP (S (VP (V b))))", "(TOP (S (NP (N a)) (VP (V b) (N a) (N a))))", "(TOP (NP (N a)))"]
    data = [training_trees([parse_tree(text) for text in texts], direction) for direction in ("right", "left", "head")]
    for labels in (LabelSet.of_treebank(part.treebank) for part in data):
        assert labels.phrases == ["NP", "S", "VP"]
        assert labels.tags == ["N", "V"]
        # S is above VP once, VP below S once, NP (over a tag only) neither; all are smoothed by one half.
        np.testing.assert_allclose(labels.height, [0.5, 1.5 / 2.0, 0.5 / 2.0])
        assert (labels.outer, labels.top) == ("TOP", "S")


def test_labels_survive_a_model_file():
    restored = LabelSet.from_state(*LABELS.to_state())
    assert (restored.phrases, restored.tags, restored.outer, restored.top) == (["A", "B", "C"], ["s", "t"], None, "A")
    np.testing.assert_array_equal(restored.height, LABELS.height)
    values, arrays = LABELS.to_state()
    with pytest.raises(ValueError, match="heights"):
        LabelSet.from_state(values, arrays | {"height": np.zeros(2)})
