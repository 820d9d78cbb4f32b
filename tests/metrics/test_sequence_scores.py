"""Tagging and span scores by hand; spans are read as in conlleval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.errors import InputError
from spectragram.metrics import label_table, labelled_spans, span_scores, span_table, tagging_scores

POS = [["DT", "NN", "VBZ"], ["NN", "VBZ"]]
GUESS = [["DT", "NN", "NN"], ["NN", "VBZ"]]


def test_accuracy_and_unknown_words() -> None:
    words = [["the", "gnu", "sleeps"], ["gnu", "eats"]]
    scores = tagging_scores(POS, GUESS, words=words, known={"the", "gnu"})
    assert scores["accuracy"] == 80
    assert (scores["unknown_accuracy"], scores["unknown"]) == (50, 2)
    assert (scores["exact"], scores["sentences"], scores["tokens"]) == (50, 2, 5)
    assert "span_f1" not in scores


def test_label_table_by_hand() -> None:
    table = label_table(POS, GUESS)
    assert list(table) == ["NN", "VBZ", "DT"]
    assert table["NN"] == pytest.approx({"precision": 200 / 3, "recall": 100, "f1": 80, "support": 2})
    assert table["VBZ"] == pytest.approx({"precision": 100, "recall": 50, "f1": 200 / 3, "support": 2})
    assert label_table([["A"]], [["B"]])["B"] == {"precision": 0, "recall": 0, "f1": 0, "support": 0}


@pytest.mark.parametrize(
    ("scheme", "labels", "spans"),
    [
        ("IOB2", "B-X I-X B-X O B-Y", [("X", 0, 2), ("X", 2, 3), ("Y", 4, 5)]),
        ("IOB1", "I-X I-X B-X O I-Y", [("X", 0, 2), ("X", 2, 3), ("Y", 4, 5)]),
        ("IOBES", "B-X E-X S-X O S-Y", [("X", 0, 2), ("X", 2, 3), ("Y", 4, 5)]),
        ("IOBES, one after the other", "S-X S-X E-X E-X", [("X", 0, 1), ("X", 1, 2), ("X", 2, 3), ("X", 3, 4)]),
        ("type changes inside", "B-X I-Y I-Y", [("X", 0, 1), ("Y", 1, 3)]),
        ("I after O", "O I-X O", [("X", 1, 2)]),
        ("I after E", "B-X E-X I-X", [("X", 0, 2), ("X", 2, 3)]),
        ("hyphen in the type", "B-X-1 I-X-1 I-X-2", [("X-1", 0, 2), ("X-2", 2, 3)]),
        ("no types", "O I I B O", [("", 1, 3), ("", 3, 4)]),
        ("outside only", "O O", []),
        ("empty", "", []),
    ],
)
def test_reading_spans(scheme: str, labels: str, spans: list[tuple[str, int, int]]) -> None:
    assert labelled_spans(labels.split()) == spans


def test_span_scores_by_hand() -> None:
    gold = [["B-NP", "I-NP", "B-VP", "B-NP", "O"]]
    # The first NP is too short, the VP is right, the next NP is right though it starts with I-, the last is spurious.
    guess = [["B-NP", "O", "B-VP", "I-NP", "B-NP"]]
    assert span_scores(gold, guess) == pytest.approx({"precision": 50, "recall": 200 / 3, "f1": 400 / 7})
    table = span_table(gold, guess)
    assert table["NP"] == pytest.approx({"precision": 100 / 3, "recall": 50, "f1": 40, "support": 2})
    assert table["VP"]["f1"] == 100
    scores = tagging_scores(gold, guess)
    assert (scores["accuracy"], scores["span_f1"]) == (40, pytest.approx(400 / 7))


def test_a_span_is_not_shared_between_sentences() -> None:
    assert span_scores([["B-X"], ["I-X"]], [["B-X"], ["B-X"]])["f1"] == 100


def test_misaligned_input_is_refused() -> None:
    with pytest.raises(InputError, match="sentence 2 has 1 labels for 2 tokens"):
        tagging_scores(POS, [GUESS[0], ["NN"]])
    with pytest.raises(InputError, match="sentence 1 has 1 words for 3 tokens"):
        tagging_scores(POS, POS, words=[["the"], ["gnu", "eats"]], known=set())
    with pytest.raises(InputError, match="sentence 1 has 2 labels for 1 tokens"):
        span_scores([["O"]], [["O", "O"]])


bio = st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y", "E-X", "S-Y"]), max_size=8)


@given(bio)
def test_spans_cover_exactly_what_is_not_outside(labels: list[str]) -> None:
    covered = [i for _, start, end in labelled_spans(labels) for i in range(start, end)]
    assert covered == [i for i, label in enumerate(labels) if label != "O"]
    assert all(labels[i].endswith(kind) for kind, start, end in labelled_spans(labels) for i in range(start, end))


@given(st.lists(bio, min_size=1).filter(lambda rows: any(label != "O" for row in rows for label in row)))
def test_gold_scores_a_hundred_against_itself(rows: list[list[str]]) -> None:
    assert span_scores(rows, rows) == pytest.approx({"precision": 100, "recall": 100, "f1": 100})
    assert tagging_scores(rows, rows)["accuracy"] == 100
    assert all(line["f1"] == pytest.approx(100) for line in label_table(rows, rows).values())


@given(st.lists(st.tuples(st.sampled_from("BIO"), st.sampled_from("BIO")), min_size=1))
def test_swapping_sides_swaps_precision_and_recall(pairs: list[tuple[str, str]]) -> None:
    gold, guess = ([[x if x == "O" else x + "-X" for x in side]] for side in zip(*pairs, strict=True))
    there, back = span_scores(gold, guess), span_scores(guess, gold)
    assert (there["precision"], there["f1"]) == pytest.approx((back["recall"], back["f1"]))
