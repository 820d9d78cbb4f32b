"""Scores of annotated text, on examples small enough to count by hand."""

from __future__ import annotations

import pytest

from spectragram.errors import InputError
from spectragram.metrics import UNIVERSAL_SCORES, universal_scores


def row(number: str, form: str, head: str = "0", relation: str = "root", **columns: str) -> tuple[str, ...]:
    names = ("lemma", "upos", "xpos", "feats")
    return (number, form, *(columns.get(name, "_") for name in names), head, relation, "_", "_")


DOGS = [row("1", "Dogs", "2", "nsubj", lemma="dog", upos="NOUN"), row("2", "bark", lemma="bark", upos="VERB")]


def test_equal_texts_score_a_hundred() -> None:
    assert universal_scores([DOGS], [DOGS]) == dict.fromkeys(UNIVERSAL_SCORES, 100.0)


def test_a_sentence_that_was_cut_in_two() -> None:
    scores = universal_scores([DOGS], [[row("1", "Dogs", upos="NOUN")], [row("1", "bark", upos="NOUN")]])
    assert (scores["tokens"], scores["words"], scores["sentences"]) == (100.0, 100.0, 0.0)
    assert scores["upos"] == 50.0
    assert scores["las"] == 50.0  # the verb is a root on both sides


def test_a_head_that_is_not_known_is_not_a_root() -> None:
    unknown = [row("1", "Dogs", "_", "_"), row("2", "bark", "_", "root")]
    for gold, guess in ((DOGS, unknown), (unknown, DOGS), (unknown, unknown)):
        scores = universal_scores([gold], [guess])
        assert (scores["uas"], scores["las"]) == (0.0, 0.0)


def test_white_space_inside_words_does_not_count() -> None:
    scores = universal_scores([[row("1", "xin chào")]], [[row("1", "xinchào")]])
    assert scores["words"] == 100.0


def test_words_of_multiword_tokens_are_aligned_by_form() -> None:
    gold = [row("1-2", "Du"), row("1", "De"), row("2", "le", "1", "det")]
    guess = [row("1-3", "Du"), row("1", "de"), row("2", "la", "1", "det"), row("3", "le", "1", "det")]
    scores = universal_scores([gold], [guess])
    assert scores["tokens"] == 100.0
    assert scores["words"] == pytest.approx(100 * 2 * 2 / 5)


def test_lemmas_that_gold_lacks_count_as_right_and_subtypes_do_not_count() -> None:
    scores = universal_scores([[row("1", "a", relation="root:x")]], [[row("1", "a", lemma="b")]])
    assert (scores["lemmas"], scores["las"]) == (100.0, 100.0)


def test_other_characters_are_refused() -> None:
    with pytest.raises(InputError, match="differ after 1 characters: gold 'b', predicted 'c'"):
        universal_scores([[row("1", "ab")]], [[row("1", "ac")]])
