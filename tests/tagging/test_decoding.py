"""Which labels may follow which: IOB2, IOBES, IOB1, and labels that are no spans."""

from __future__ import annotations

import numpy as np

from spectragram.tagging.decoding import legal_moves, marks_spans, weigh_outside, weight_of_outside


def moves(sequences: list[list[str]]) -> tuple[list[str], tuple[np.ndarray, np.ndarray] | None]:
    names = sorted({label for sequence in sequences for label in sequence})
    encoded = np.array([names.index(label) for sequence in sequences for label in sequence])
    offsets = np.concatenate([[0], np.cumsum([len(sequence) for sequence in sequences])])
    return names, legal_moves(names, encoded, offsets)


def test_iob2() -> None:
    names, legal = moves([["B-X", "I-X", "O", "B-Y", "I-Y", "B-X"], ["O"]])
    assert legal is not None
    may_follow, may_start = legal
    allowed = {(names[a], names[b]) for a, b in np.argwhere(may_follow)}
    assert {before for before, after in allowed if after == "I-X"} == {"B-X", "I-X"}
    assert ("B-X", "O") in allowed and ("I-X", "B-Y") in allowed
    assert {names[i] for i in np.flatnonzero(may_start)} == {"B-X", "B-Y", "O"}


def test_iobes_spans_must_be_closed() -> None:
    names, legal = moves([["B-X", "I-X", "E-X", "S-X", "O"]])
    assert legal is not None
    after_begin = {names[b] for b in np.flatnonzero(legal[0][names.index("B-X")])}
    assert after_begin == {"I-X", "E-X"}


def test_iob1_and_plain_labels_are_left_free() -> None:
    assert moves([["I-X", "I-X", "O", "I-Y", "B-Y"]])[1] is None
    assert moves([["NOUN", "VERB"]])[1] is None
    assert moves([["O", "O"]])[1] is None


def test_a_few_slips_do_not_lift_the_rule() -> None:
    assert moves([["B-X", "I-X", "I-X"]] * 200 + [["O", "I-X"]])[1] is not None


def test_labels_that_mark_spans() -> None:
    assert marks_spans(["B-X", "I-X", "O"])
    assert not marks_spans(["B-X", "I-X"])
    assert not marks_spans(["O"])
    assert not marks_spans(["O", "NOUN"])


def test_the_weight_of_outside_is_where_expected_f1_is_best() -> None:
    """Single tokens whose probabilities are right: of all thresholds on p(span), about F/2 is the best one."""
    rng = np.random.default_rng(0)
    n = 40_000
    p = rng.beta(0.3, 2.0, n)
    gold = (rng.random(n) < p).astype(np.int64)
    names, offsets = ["O", "S-X"], np.arange(n + 1)

    def f1(threshold: float) -> float:
        found = p > threshold
        return 2 * (found & (gold == 1)).sum() / (found.sum() + gold.sum())

    best = max(f1(threshold) for threshold in np.arange(0.05, 0.6, 0.01))
    weight = weight_of_outside(np.stack([1 - p, p], axis=1), gold, offsets, names, None)
    chosen = weigh_outside(np.stack([1 - p, p], axis=1), names, weight).argmax(axis=1)
    reached = 2 * (chosen & gold).sum() / (chosen.sum() + gold.sum())
    assert reached > best - 0.003
    assert reached > f1(0.5) + 0.02


def test_outside_keeps_its_weight_where_every_span_is_found() -> None:
    gold = np.array([0, 1, 0, 1])
    weight = weight_of_outside(np.eye(2)[gold], gold, np.array([0, 2, 4]), ["O", "S-X"], None)
    assert weight == 1.0


def test_weighed_rows_are_distributions() -> None:
    rows = np.array([[0.8, 0.2], [0.5, 0.5]])
    np.testing.assert_allclose(weigh_outside(rows, ["O", "S-X"], 0.25), [[0.5, 0.5], [0.2, 0.8]])
    assert weigh_outside(rows, ["O", "S-X"], 1.0) is rows
