"""Which labels may follow which: IOB2, IOBES, IOB1, and labels that are no spans."""

from __future__ import annotations

import numpy as np

from spectragram.tagging.decoding import legal_moves


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
