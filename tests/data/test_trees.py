from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given

from spectragram.data.brackets import parse_tree
from spectragram.data.trees import Tree, fold, make_tree
from spectragram.errors import InputError
from tests.data.tree_examples import DEPTH, deep_tree, trees

TREE = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))"


def test_what_a_tree_tells() -> None:
    tree = parse_tree(TREE)
    assert tree.leaves() == ["the", "dog", "barks", "."]
    assert tree.tags() == ["DT", "NN", "VBZ", "."]
    assert tree.pos()[1] == ("dog", "NN")
    assert tree.spans() == [("TOP", 0, 4), ("S", 0, 4), ("NP", 0, 2), ("VP", 2, 3)]
    assert [node.label for node in tree.subtrees()] == ["TOP", "S", "NP", "DT", "NN", "VP", "VBZ", "."]
    assert not tree.is_tag
    assert tree.children[0].children[2].is_tag


def test_equality_is_of_structure() -> None:
    assert parse_tree(TREE) == parse_tree(TREE)
    assert hash(parse_tree(TREE)) == hash(parse_tree(TREE))
    for other in (
        TREE.replace("dog", "cat"),
        TREE.replace("NN", "NP"),
        TREE.replace("(VP (VBZ barks))", "(VBZ barks)"),
        TREE.replace(" (. .)", ""),
    ):
        assert parse_tree(TREE) != parse_tree(other)
    assert parse_tree(TREE) != TREE


def test_pretty_printing() -> None:
    assert parse_tree(TREE).pretty(width=24) == (
        "(TOP\n  (S\n    (NP (DT the) (NN dog))\n    (VP (VBZ barks))\n    (. .)))"
    )
    assert parse_tree(TREE).pretty() == TREE


@given(trees)
def test_printed_trees_read_back(tree: Tree) -> None:
    assert parse_tree(str(tree)) == tree
    assert parse_tree(tree.pretty(width=10)) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.deepcopy(tree) == tree
    assert eval(repr(tree)) == tree


@given(trees)
def test_spans_cover_their_words(tree: Tree) -> None:
    words = tree.leaves()
    phrases = [node for node in tree.subtrees() if not node.is_tag]
    assert [(node.label, node.leaves()) for node in phrases] == [
        (label, words[start:end]) for label, start, end in tree.spans()
    ]


def test_deep_trees_need_no_deep_stack() -> None:
    tree = deep_tree("A", "B")
    same = parse_tree(str(tree))
    assert same == tree
    assert hash(same) == hash(tree)
    assert len(tree.spans()) == DEPTH
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert parse_tree(deep_tree("A", depth=1500).pretty()) == deep_tree("A", depth=1500)


def test_fold_goes_from_left_to_right_and_up() -> None:
    def spell(node: Tree, below: list[str]) -> str:
        return node.label + "".join(below)

    assert fold(parse_tree(TREE), spell) == "TOPSNPDTNNVPVBZ."


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("NP",), "0 children"),
        (("NP", [Tree("NN", word="dog")], "dog"), "1 children and word 'dog'"),
        (("", [Tree("NN", word="dog")]), "label ''"),
        (("N P", [Tree("NN", word="dog")]), "label 'N P'"),
        (("NN", (), "a b"), "word 'a b'"),
        (("NN", (), ":-)"), "escape_word"),
        (("NN", (), 7), "type int"),
    ],
)
def test_no_tree_that_could_not_be_written(arguments: tuple, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Tree(*arguments)


def test_a_root_is_left_out_only_over_one_constituent() -> None:
    below = make_tree("S", (make_tree("VB", (), "go"),))
    assert make_tree("TOP", (below,)).without_root() == below
    two = make_tree("TOP", (below, below))
    assert two.without_root() == two
    assert below.without_root() == below
    tag = make_tree("TOP", (), "go")
    assert tag.without_root() == tag
