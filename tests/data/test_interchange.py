from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given

from spectragram.data.brackets import parse_tree
from spectragram.data.conllu import Sentence, read_conllu
from spectragram.data.interchange import from_nltk, from_token_list, to_nltk, to_token_list
from spectragram.data.trees import Tree
from spectragram.errors import InputError, MissingExtraError
from tests.data.tree_examples import deep_tree, real_trees, trees

nltk = pytest.importorskip("nltk")

SENTENCE = Sentence.from_words(["dogs", "bark"], ["# sent_id = 1"], head=["2", "0"], feats=["Number=Plur", "_"])


@given(trees)
def test_there_and_back(tree: Tree) -> None:
    theirs = to_nltk(tree)
    assert theirs.leaves() == tree.leaves()
    assert from_nltk(theirs) == tree


def test_their_reading_is_ours(data_dir: Path) -> None:
    for tree in real_trees(data_dir, "cess-esp", "dev", 7):
        theirs = nltk.Tree.fromstring(str(tree))
        assert to_nltk(tree) == theirs
        assert from_nltk(theirs) == tree


def test_what_only_they_allow() -> None:
    mixed = nltk.Tree("S", [nltk.Tree("NP", [("the", "DT"), ("dog", "NN")]), "barks", ("(", "-LRB-")])
    assert str(from_nltk(mixed)) == "(S (NP (DT the) (NN dog)) (X barks) (-LRB- -LRB-))"
    assert from_nltk(nltk.Tree.fromstring("((NP (NN dog)))")) == parse_tree("(TOP (NP (NN dog)))")


@pytest.mark.parametrize(
    "tree", [nltk.Tree("NP", []), nltk.Tree("NN", ["New York"]), nltk.Tree("NP", [7]), nltk.Tree("NP", [None])]
)
def test_what_no_tree_can_hold(tree: object) -> None:
    with pytest.raises(InputError):
        from_nltk(tree)


def test_deep_trees() -> None:
    assert from_nltk(to_nltk(deep_tree("A"))) == deep_tree("A")


def test_without_nltk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(MissingExtraError, match=r"spectragram\[interchange\]"):
        to_nltk(parse_tree("(NN dog)"))


def test_sentences_become_token_lists_and_come_back() -> None:
    pytest.importorskip("conllu")
    tokens = to_token_list(SENTENCE)
    assert [(token["form"], token["head"]) for token in tokens] == [("dogs", 2), ("bark", 0)]
    assert tokens[0]["feats"] == {"Number": "Plur"}
    assert tokens.metadata == {"sent_id": "1"}
    tokens[0]["upos"] = "NOUN"
    assert from_token_list(tokens).rows == SENTENCE.with_columns(upos=["NOUN", "_"]).rows


def test_what_is_no_token_list_is_refused() -> None:
    with pytest.raises(InputError, match=r"a list; give a conllu\.TokenList"):
        from_token_list([])


def test_the_package_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "conllu", None)
    with pytest.raises(MissingExtraError, match=r"needs conllu.*spectragram\[interchange\]"):
        to_token_list(SENTENCE)


def test_real_sentences_come_back(data_dir: Path) -> None:
    pytest.importorskip("conllu")
    for sentence in islice(read_conllu(data_dir / "ud-ewt/en_ewt-ud-dev.conllu.gz"), 500):
        again = from_token_list(to_token_list(sentence))
        assert (again.rows, again.comments) == (sentence.rows, sentence.comments)
