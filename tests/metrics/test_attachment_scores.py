"""Attachment scores by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.errors import InputError
from spectragram.metrics import attachment_scores

# "Cats chase red mice ." and "Run !": one wrong head (red), one right head with a wrong label (mice), "!" wrong.
GOLD = [[2, 0, 4, 2, 2], [0, 1]]
PREDICTED = [[2, 0, 2, 2, 2], [0, 0]]
GOLD_LABELS = [["nsubj", "root", "amod", "obj", "punct"], ["root", "punct"]]
PREDICTED_LABELS = [["nsubj", "root", "amod", "iobj", "punct"], ["root", "punct"]]


@pytest.mark.parametrize(
    "tags",
    [
        [["NOUN", "VERB", "ADJ", "NOUN", "PUNCT"], ["VERB", "PUNCT"]],
        [["NOUN", "VERB", "ADJ", "NOUN", "."], ["VERB", "."]],
        [["NNS", "VBP", "JJ", "NNS", ":"], ["VB", "''"]],
    ],
)
def test_a_worked_case(tags: list[list[str]]) -> None:
    scores = attachment_scores(GOLD, PREDICTED, tags=tags, gold_labels=GOLD_LABELS, predicted_labels=PREDICTED_LABELS)
    assert scores["uas"] == pytest.approx(100 * 5 / 7)
    assert scores["las"] == pytest.approx(100 * 4 / 7)
    assert scores["uas_nopunct"] == pytest.approx(100 * 4 / 5)
    assert scores["las_nopunct"] == pytest.approx(100 * 3 / 5)
    assert scores["exact"] == 0
    assert (scores["sentences"], scores["tokens"]) == (2, 7)


def test_only_what_was_given_is_scored() -> None:
    assert set(attachment_scores(GOLD, GOLD)) == {"uas", "exact", "sentences", "tokens"}


def test_exact_counts_sentences() -> None:
    assert attachment_scores(GOLD, [GOLD[0], PREDICTED[1]])["exact"] == 50


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"predicted_heads": [[2, 0], [0, 1]]}, "sentence 1 has 2 heads for 5 tokens"),
        ({"predicted_heads": [GOLD[0]]}, "1 predicted sentences but more gold"),
        ({"tags": [["NN"] * 5, ["VB"]]}, "sentence 2 has 1 tags for 2 tokens"),
        ({"gold_labels": GOLD_LABELS, "predicted_labels": [["x"] * 5, ["x"]]}, "sentence 2 has 1 labels for 2"),
    ],
)
def test_misaligned_input_is_refused(arguments: dict, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        attachment_scores(**({"gold_heads": GOLD, "predicted_heads": GOLD} | arguments))


@given(st.lists(st.lists(st.integers(0, 5), min_size=1), min_size=1))
def test_gold_scores_a_hundred_against_itself(heads: list[list[int]]) -> None:
    scores = attachment_scores(heads, heads)
    assert (scores["uas"], scores["exact"]) == (100, 100)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1), st.randoms())
def test_the_order_of_sentences_does_not_matter(pairs: list[tuple[int, int]], random) -> None:
    shuffled = random.sample(pairs, len(pairs))
    there = attachment_scores([[a] for a, _ in pairs], [[b] for _, b in pairs])
    assert there == attachment_scores([[a] for a, _ in shuffled], [[b] for _, b in shuffled])
