"""Parts of the tokeniser: word classes, dropout, what sentences leave open, examples for training."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.inference.token_factors import token_places
from spectragram.learning.factors import start_weights
from spectragram.pipeline.characters import character_columns, paragraph_bounds, read_text
from spectragram.pipeline.dropout import Dropout, freeze_rare
from spectragram.pipeline.sentence_ends import _training_windows
from spectragram.pipeline.token_columns import COLUMNS, LONGEST_QUOTE, open_marks, token_columns
from spectragram.pipeline.word_classes import WordClasses, learn_word_classes


def test_word_classes_are_those_of_forms_then_of_endings() -> None:
    numbers = np.array([[10, 10, 10, 11, 11, 12], [5, 5, 5, 5, 5, 6]])
    classes = learn_word_classes(numbers, ["NOUN", "VERB", "VERB", "NOUN", "NOUN", ""])
    found = classes.find(np.array([[10, 11, 12, 13, 14], [5, 5, 6, 5, 7]]))
    assert [classes.names[k] for k in found] == ["VERB", "NOUN", "", "NOUN", ""]
    assert classes.is_verb.tolist() == [False, False, True]
    again = WordClasses.from_state(*classes.to_state())
    np.testing.assert_array_equal(again.find(numbers), classes.find(numbers))


def test_word_classes_of_a_treebank_without_tags() -> None:
    numbers = np.array([[1, 2], [3, 3]])
    assert learn_word_classes(numbers, ["", ""]).find(numbers).tolist() == [0, 0]


def test_word_classes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        WordClasses(("",), np.array([1]), np.array([1]))


def test_dropout_depends_on_the_example_and_the_visit_only() -> None:
    places = np.arange(40)[None, :]
    one, two = Dropout(0.5, 3, 7), Dropout(0.5, 3, 7)
    first = one.choose(1, places)
    two.choose(2, places)
    np.testing.assert_array_equal(two.choose(1, places), first)
    assert not np.array_equal(one.choose(1, places), first)
    assert Dropout(1e-9, 1, 0).choose(0, places).shape == (1, 1)


def test_rare_features_do_not_learn() -> None:
    columns, atoms = np.array([[4, 4, 9]]), np.array([[[0, 0]]])
    weights = start_weights(np.zeros(1 << 16, np.float32))
    freeze_rare(weights, columns, atoms, 2)
    places = token_places(columns, np.arange(3), atoms, 1 << 16)[:, 0]
    assert np.isinf(weights.squares[places]).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("texts", "states"),
    [
        (['a " b " c'], "o(i)o"),  # in turns
        (['a "b" c'], "o(i)o"),
        (['" a "b'], "(i(i"),  # the space is stronger than the turn
        (['a" b "'], "o)o("),
        (["„a“ »b« “c”"], "(i)(i)(i)"),
        (['" a', 'b "'], "(io("),  # forgotten where a paragraph ends
        (['" ' + "x " * LONGEST_QUOTE + '"'], "(" + "i" * LONGEST_QUOTE + "("),  # and far behind
    ],
)
def test_quotes_open_and_close(texts: list[str], states: str) -> None:
    text = read_text(texts)
    found = token_columns(text, np.arange(len(text.codes)) + 1)[COLUMNS.index("q")]
    assert "".join("oi()"[k] for k in found) == states


def test_marks_that_a_text_leaves_open() -> None:
    text, stops = read_text(['( a " b']), np.array([1, 2, 3, 4])
    nested, mirrored = open_marks(text, stops, token_columns(text, stops))
    assert nested.tolist() == [0, 1, 1, 1, 1]
    assert mirrored.tolist() == [0, 0, 0, 1, 1]


def test_training_windows_share_a_sentence_and_stay_in_their_paragraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spectragram.pipeline.sentence_ends.TRAINING_WINDOW", 4)
    ends = np.array([0, 1, 0, 1, 0, 1, 1], np.bool_)
    paragraph_ends = np.array([0, 0, 0, 0, 0, 1, 1], np.bool_)
    assert [window[:2] for window in _training_windows(ends, paragraph_ends)] == [(0, 4), (2, 6), (6, 7)]


def test_columns_of_characters_stay_in_their_paragraph() -> None:
    alone = character_columns(read_text(["ab. c"]))
    text = read_text(["x y", "ab. c", "z"])
    np.testing.assert_array_equal(paragraph_bounds(text)[:3], [[0, 2], [0, 2], [2, 6]])
    np.testing.assert_array_equal(character_columns(text)[:, 2:6], alone)
