"""Observations and labels are the same wherever they come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spectragram.data.brackets import parse_tree
from spectragram.data.conllu import Sentence, read_conllu
from spectragram.data.labelled import Layout, as_labelled, read_labelled, read_words
from spectragram.errors import InputError

X = [["the", "dog"], ["barks"]]
Y = [["DT", "NN"], ["VB"]]
SENTENCES = [
    Sentence.from_words(
        ["the", "dog"],
        upos=["DET", "NOUN"],
        xpos=["DT", "NN"],
        feats=["_", "Number=Sing"],
        lemma=["the", "dog"],
        deprel=["det", "root"],
    ),
    Sentence.from_words(["_"], upos=["SYM"], xpos=["SYM"], feats=["_"], lemma=["_"], deprel=["root"]),
]


@pytest.fixture
def columns(tmp_path: Path) -> Path:
    path = tmp_path / "train.tags"
    path.write_text("the\tDT\ndog\tNN\n\nbarks\tVB\n")
    return path


@pytest.fixture
def conllu(tmp_path: Path) -> Path:
    path = tmp_path / "train.conllu"
    path.write_text("".join(f"{sentence}\n" for sentence in SENTENCES))
    return path


def test_a_file_its_records_and_python_lists_are_the_same(columns: Path) -> None:
    read = read_labelled(columns)
    for found in (
        as_labelled(columns),
        as_labelled(str(columns)),
        as_labelled(read),
        as_labelled((X, Y)),
        as_labelled(X, Y),
        as_labelled(["the dog", "barks"], ["DT NN", "VB"]),
        as_labelled(iter(X), iter(Y)),
    ):
        assert (found.X, found.y) == (X, Y)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("", [["DET", "NOUN"], ["SYM"]]),
        ("upos", [["DET", "NOUN"], ["SYM"]]),
        ("xpos", [["DT", "NN"], ["SYM"]]),
        ("feats", [["_", "Number=Sing"], ["_"]]),
        ("lemma", [["the", "dog"], ["_"]]),
        ("deprel", [["det", "root"], ["root"]]),
    ],
)
def test_columns_of_conllu(conllu: Path, label: str, expected: list[list[str]]) -> None:
    layout = Layout(label=label)
    for found in (as_labelled(conllu, layout=layout), as_labelled(iter(SENTENCES), layout=layout)):
        assert (found.X, found.y) == ([["the", "dog"], ["_"]], expected)
        assert found.layout == Layout("conllu", label=label or "upos")


def test_a_pair_of_sentences_is_not_a_pair_of_observations_and_labels() -> None:
    assert as_labelled(tuple(SENTENCES)).y == [["DET", "NOUN"], ["SYM"]]


def test_predictions_need_no_labels(columns: Path, conllu: Path) -> None:
    assert as_labelled(columns, labels=False).X == X
    assert as_labelled(conllu, labels=False).X == as_labelled(SENTENCES, labels=False).X == [["the", "dog"], ["_"]]
    assert as_labelled(["the dog", "barks"], labels=False).X == X
    assert as_labelled([parse_tree("(NP (DT the) (NN dog))"), ["barks"]], labels=False).X == X
    untagged = [Sentence.from_words(["the", "dog"])]
    assert as_labelled(untagged, labels=False).X == [["the", "dog"]]
    assert as_labelled(X, labels=False).y == []


def test_frames_and_tuples_stay_as_they_are() -> None:
    frames = [np.zeros((3, 2)), np.ones((1, 2))]
    found = as_labelled(frames, [["a"] * 3, ["b"]])
    assert found.X[0] is frames[0] and found.X[1] is frames[1]
    pairs = [[("the", "DT"), ("dog", "NN")]]
    assert pairs == as_labelled(pairs, [["B", "I"]]).X


def test_sentences_with_labels_of_their_own_choice() -> None:
    assert as_labelled(SENTENCES, [["a", "b"], ["c"]]).X == [["the", "dog"], ["_"]]
    assert as_labelled(SENTENCES, [["a", "b"], ["c"]]).y == [["a", "b"], ["c"]]


def test_missing_labels_are_named(columns: Path, conllu: Path) -> None:
    with pytest.raises(InputError, match="no labels; give y"):
        as_labelled(X)
    with pytest.raises(InputError, match="no such file; check the path; a single sentence goes in a list"):
        as_labelled("the dog barks", Y)
    with pytest.raises(InputError, match="labels beside a file, which has its own"):
        as_labelled(columns, Y)
    with pytest.raises(InputError, match="labels beside what was read from a file"):
        as_labelled(read_labelled(columns), Y)
    with pytest.raises(InputError, match="read without labels"):
        as_labelled(read_labelled(columns, labels=False))
    with pytest.raises(InputError, match="no word has UPOS"):
        as_labelled([Sentence.from_words(["the"])])
    with pytest.raises(InputError, match="no word has LEMMA"):
        as_labelled([Sentence.from_words(["the"])], layout=Layout(label="lemma"))
    with pytest.raises(InputError, match="label column 'head'; choose among upos, xpos, feats, deprel, lemma"):
        as_labelled(conllu, layout=Layout(label="head"))
    with pytest.raises(InputError, match="label column 'upos'; give a number"):
        as_labelled(columns, layout=Layout(label="upos"))


def test_words_without_a_label_are_labelled_like_that() -> None:
    holes = [Sentence.from_words(["the", "dog"], xpos=["DT", "_"]), Sentence.from_words(["a"])]
    assert as_labelled(holes, layout=Layout(label="xpos")).y == [["DT", "_"], ["_"]]


def test_files_without_tabs_are_lines_of_words(tmp_path: Path, conllu: Path) -> None:
    (tmp_path / "words.txt").write_text("the  dog\n\n#1 barks\n")
    layout = Layout("conllu", label="upos")
    found = read_labelled(tmp_path / "words.txt", layout, labels=False)
    assert found.X == [["the", "dog"], ["#1", "barks"]]
    found.write([["DET", "NOUN"], ["X", "VERB"]], tmp_path / "out")
    assert [s.upos for s in read_conllu(tmp_path / "out")] == [["DET", "NOUN"], ["X", "VERB"]]
    assert (tmp_path / "out").read_text().startswith("# text = the  dog\n1\tthe\t")
    (tmp_path / "same").write_text(conllu.read_text())
    assert read_labelled(tmp_path / "same", layout, labels=False).X == read_labelled(conllu).X
    with pytest.raises(InputError, match="expected 10"):
        read_labelled(tmp_path / "words.txt", layout)


def test_lines_of_words_for_models_of_column_files(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("the dog\nbarks\n")
    found = read_words(tmp_path / "words.txt", Layout("columns", (0,), "-1"))
    found.write([["D", "N"], ["V"]], tmp_path / "out")
    assert (tmp_path / "out").read_text() == "the\tD\ndog\tN\n\nbarks\tV\n\n"
    with pytest.raises(InputError, match="more than words"):
        read_words(tmp_path / "words.txt", Layout("columns", (0, 1), "-1"))


def test_a_layout_survives_storage() -> None:
    layout = Layout("npz", (0, 1), "phones", ("sa1", "sa2"))
    assert Layout.from_state(*layout.to_state()) == layout
