"""Paths, iterables and what readers return mean the same data, for every kind of data."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.data.brackets import parse_tree
from spectragram.data.conllu import Sentence, parse_conllu
from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.data.inputs import as_corpus, as_dependencies, as_trees, as_word_lists
from spectragram.data.text import read_text
from spectragram.errors import InputError

TREES = """( (S (NP-SBJ-1 (DT the) (NN dog)) (VP (VBD was) (VP (VBN seen) (NP (-NONE- *-1))))) )
(TOP (NP (-NONE- *)))
(TOP (S (NP=2 (NN cat))))
"""
CLEAN = ["(TOP (S (NP (DT the) (NN dog)) (VP (VBD was) (VP (VBN seen)))))", "(TOP (S (NP (NN cat))))"]
TEXT = "the dog\n\nthe  cat\tsleeps \n"
SENTENCES = [Sentence.from_words(["dogs", "bark"], head=["2", "0"]), Sentence.from_words(["go"], head=["0"])]
CONLLU = "".join(f"{sentence}\n" for sentence in SENTENCES)
READERS = (as_trees, as_word_lists, as_dependencies, as_corpus)

Write = Callable[[str], Path]


@pytest.fixture(params=["plain", "gzip", "stdin"])
def source(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Put a text into a plain file, a gzipped file or standard input, and say what to read."""

    def put(text: str) -> str:
        if request.param == "stdin":
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            return "-"
        path = tmp_path / "data"
        path.write_bytes(gzip.compress(text.encode()) if request.param == "gzip" else text.encode())
        return str(path)

    return put


def same(a: Corpus, b: Corpus) -> bool:
    tokens = a.tokens.tolist() == b.tokens.tolist() and a.offsets.tolist() == b.offsets.tolist()
    return tokens and a.vocabulary == b.vocabulary


# -- the rule, in all kinds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("text", ["the dog barks", "(S (NN dog))", "x" * 5000, "a\0b"])
def test_a_string_that_names_no_file_is_refused(read: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(InputError, match="no such file; check the path") as caught:
        read(text)
    assert ("a single sentence goes in a list" in str(caught.value)) == (" " in text)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("read", READERS)
def test_a_path_object_that_names_no_file_is_refused(read: Callable[[Any], Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such file"):
        read(tmp_path / "nowhere")


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("X", [7, None, b"text", parse_tree("(S (NN dog))"), SENTENCES[0], [7], [None], [[b"a"]]])
def test_what_is_no_data_is_refused(read: Callable[[Any], Any], X: object) -> None:
    with pytest.raises(InputError):
        read(X)


# -- trees -------------------------------------------------------------------------------------------------------------


def test_trees_of_a_file_and_in_memory_are_the_same(source: Callable[[str], str]) -> None:
    strings = [line for line in TREES.splitlines() if line]
    assert [str(tree) for tree in as_trees(source(TREES))] == CLEAN
    assert [str(tree) for tree in as_trees(strings)] == CLEAN
    assert [str(tree) for tree in as_trees(parse_tree(text) for text in strings)] == CLEAN


def test_trees_of_nltk() -> None:
    nltk = pytest.importorskip("nltk")
    assert [str(tree) for tree in as_trees([nltk.Tree.fromstring("(S (NP-SBJ (NN dog)))")])] == ["(S (NP (NN dog)))"]


def test_no_trees(tmp_path: Path) -> None:
    (tmp_path / "traces").write_text("(TOP (NP (-NONE- *)))\n")
    with pytest.raises(InputError, match="traces: no trees"):
        as_trees(tmp_path / "traces")
    with pytest.raises(InputError, match="no trees; give at least one"):
        as_trees([])


# -- words -------------------------------------------------------------------------------------------------------------


def test_words_of_a_file_and_in_memory_are_the_same(source: Callable[[str], str]) -> None:
    expected = [["the", "dog"], ["the", "cat", "sleeps"]]
    path = source(TEXT)
    assert as_word_lists(path) == expected
    assert as_word_lists([line for line in TEXT.splitlines() if line]) == expected
    assert as_word_lists(expected) == as_word_lists(map(tuple, expected)) == expected


def test_blank_lines_stay_where_predictions_must_stay_aligned(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TEXT)
    expected = [["the", "dog"], [], ["the", "cat", "sleeps"]]
    assert as_word_lists(tmp_path / "text", keep_empty=True) == expected
    assert as_word_lists(TEXT.splitlines(), keep_empty=True) == expected
    with pytest.raises(InputError, match="sentence 1 has no words"):
        as_word_lists(TEXT.splitlines())


def test_what_fit_takes_has_words() -> None:
    assert as_word_lists([*SENTENCES, parse_tree("(S (NN dog))")]) == [["dogs", "bark"], ["go"], ["dog"]]
    assert as_word_lists(Corpus.from_sequences(["a b", "b"])) == [["a", "b"], ["b"]]
    assert as_word_lists(Corpus.from_sequences(["a z"], Vocabulary(["a", "b"]))) == [["a", "<unk>"]]


def test_only_ascii_white_space_separates_words() -> None:
    assert as_word_lists(["10\u00a0000\tdogs"]) == [["10\u00a0000", "dogs"]]


@pytest.mark.parametrize("words", [["a", ""], ["a", 3], [("a", "DT")]])
def test_odd_words_are_refused(words: list[Any]) -> None:
    with pytest.raises(InputError, match=r"sentence 1 contains .* which is not a word"):
        as_word_lists([["a"], words])


# -- dependencies ------------------------------------------------------------------------------------------------------


def test_sentences_of_a_file_and_in_memory_are_the_same(source: Callable[[str], str]) -> None:
    rows = [sentence.rows for sentence in SENTENCES]
    assert [sentence.rows for sentence in as_dependencies(source(CONLLU), check_tree=True)] == rows
    assert [sentence.rows for sentence in as_dependencies(map(str, SENTENCES))] == rows
    assert as_dependencies(SENTENCES) == SENTENCES


def test_token_lists_are_sentences() -> None:
    conllu = pytest.importorskip("conllu")
    found = as_dependencies(conllu.parse(CONLLU))
    assert [sentence.rows for sentence in found] == [sentence.rows for sentence in SENTENCES]


def test_sentences_that_cannot_be_used(tmp_path: Path) -> None:
    cyclic = Sentence.from_words(["a", "b"], head=["2", "1"])
    assert as_dependencies([cyclic]) == [cyclic]
    with pytest.raises(InputError, match="form a cycle"):
        as_dependencies([cyclic], check_tree=True)
    (tmp_path / "cyclic").write_text(f"{cyclic}\n")
    with pytest.raises(InputError, match=r"cyclic:1: .*form a cycle"):
        as_dependencies(tmp_path / "cyclic", check_tree=True)
    with pytest.raises(InputError, match="a string with 2 CoNLL-U sentences"):
        as_dependencies([CONLLU])
    with pytest.raises(InputError, match="no sentences"):
        as_dependencies([])
    assert as_dependencies([], may_be_empty=True) == []
    assert parse_conllu(CONLLU)[0].rows == SENTENCES[0].rows


# -- strings of symbols ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_empty", [False, True])
def test_strings_of_a_file_and_in_memory_are_the_same(source: Callable[[str], str], keep_empty: bool) -> None:
    found = as_corpus(source(TEXT), keep_empty=keep_empty)
    assert found.vocabulary.words == ("cat", "dog", "sleeps", "the")
    assert len(found) == (3 if keep_empty else 2)
    assert same(found, as_corpus(TEXT.splitlines(), keep_empty=keep_empty))
    assert same(found, as_corpus([line.split() for line in TEXT.splitlines()], keep_empty=keep_empty))


@given(st.lists(st.lists(st.sampled_from(["a", "b", "ä", "<unk>", "10"]), max_size=4), max_size=5))
def test_any_file_of_strings_is_its_lines(tmp_path_factory: pytest.TempPathFactory, strings: list[list[str]]) -> None:
    path = tmp_path_factory.mktemp("strings") / "text"
    path.write_text("".join(" ".join(string) + "\n" for string in strings))
    assert same(as_corpus(path, keep_empty=True), as_corpus(strings, keep_empty=True))


def test_strings_over_a_vocabulary(source: Callable[[str], str]) -> None:
    known = Vocabulary(["the", "dog", "?"], unknown="?")
    expected = [0, 1, 0, 2, 2]
    assert as_corpus(source(TEXT), known).tokens.tolist() == expected
    assert as_corpus(TEXT.splitlines(), known).tokens.tolist() == expected
    assert as_corpus(as_corpus(TEXT.splitlines()), known).tokens.tolist() == expected
    assert as_corpus(TEXT.splitlines(), Vocabulary(["the"])).tokens.tolist() == [0, -1, 0, -1, -1]


def test_a_corpus_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TEXT)
    corpus = read_text(tmp_path / "text", keep_empty=True)
    assert as_corpus(corpus) is corpus


@pytest.mark.parametrize("name", ["strings", "x.pautomac.train"])
def test_pautomac_files_are_recognised(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("2 3\n2 0 2\n1 1\n")
    found = as_corpus(path, format="auto")
    assert found.vocabulary.words == ("0", "1", "2")
    assert found.tokens.tolist() == [0, 2, 1]
    assert same(found, as_corpus(path, format="pautomac"))
    assert as_corpus(path).tokens.size == 7, "as text, the numbers in front are symbols too"
    over = as_corpus(path, Vocabulary(["2", "0"]), format="auto")
    assert over.tokens.tolist() == [1, 0, -1]


def test_formats_are_checked() -> None:
    with pytest.raises(InputError, match="format 'csv' is unknown; choose one of auto, text, pautomac"):
        as_corpus([["a"]], format="csv")
