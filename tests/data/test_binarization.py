from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.data.binarization import (
    Binarizer,
    base_label,
    binarize,
    is_intermediate,
    unbinarize,
)
from spectragram.data.brackets import parse_tree
from spectragram.data.heads import ENGLISH_HEADS, learn_head_rules
from spectragram.data.trees import Tree
from spectragram.errors import InputError
from tests.data.tree_examples import TREEBANKS, deep_tree, names, real_trees, trees

FLAT = "(S (NP (A a) (B b) (N n) (C c) (D d)))"
SETTINGS = [("right", 0, 1), ("left", 1, 2), ("head", None, 3)]


@pytest.mark.parametrize(
    ("direction", "horizontal", "vertical", "expected"),
    [
        ("right", 0, 1, "(S (NP (A a) (@NP (B b) (@NP (N n) (@NP (C c) (D d))))))"),
        ("left", 0, 1, "(S (NP (@NP (@NP (@NP (A a) (B b)) (N n)) (C c)) (D d)))"),
        ("head", 0, 1, "(S (NP (@NP (@NP (A a) (@NP (B b) (N n))) (C c)) (D d)))"),
        ("right", 1, 1, "(S (NP (A a) (@NP|A (B b) (@NP|B (N n) (@NP|N (C c) (D d))))))"),
        ("right", 2, 1, "(S (NP (A a) (@NP|A (B b) (@NP|A|B (N n) (@NP|B|N (C c) (D d))))))"),
        ("left", None, 1, "(S (NP (@NP|D (@NP|D|C (@NP|D|C|N (A a) (B b)) (N n)) (C c)) (D d)))"),
        ("head", 2, 1, "(S (NP (@NP|D (@NP|D|C (A a) (@NP|C|A (B b) (N n))) (C c)) (D d)))"),
        ("right", 0, 2, "(S (NP^S (A a) (@NP^S (B b) (@NP^S (N n) (@NP^S (C c) (D d))))))"),
    ],
)
def test_worked_examples(direction: str, horizontal: int | None, vertical: int, expected: str) -> None:
    rules = learn_head_rules([parse_tree("(NP (A a) (N n))"), parse_tree("(NP (B b) (N n))")])
    tree = parse_tree(FLAT)
    binary = binarize(tree, direction, horizontal, vertical, rules)  # type: ignore[arg-type]
    assert str(binary) == expected
    assert unbinarize(binary) == tree


def test_ancestors_are_those_of_the_treebank() -> None:
    tree = parse_tree("(TOP (S (NP (A a)) (VP (B b) (NP (C c)) (D d))))")
    assert str(binarize(tree, vertical=3)) == (
        "(TOP (S^TOP (NP^S^TOP (A a)) (VP^S^TOP (B b) (@VP^S^TOP (NP^VP^S (C c)) (D d)))))"
    )


def test_labels_that_look_like_marks() -> None:
    tree = parse_tree(r"(@A (|^ (@ @) (+ +) (\ \)) (^B| (C c)))")
    binary = binarize(tree, horizontal=1, vertical=2)
    assert str(binary) == r"(\@A (\|\^^\@A (@ @) (@\|\^^\@A|\@ (+ +) (\ \))) (\^B\|^\@A (C c)))"
    assert unbinarize(binary) == tree


def test_base_labels() -> None:
    assert base_label("@NP^S|DT") == "NP"
    assert base_label(r"\@NP\|X^S") == "@NP|X"
    assert is_intermediate("@NP")
    assert not is_intermediate(r"\@NP")


directions = st.sampled_from(["left", "right", "head"])


@given(trees, directions, st.sampled_from([0, 1, 2, None]), st.integers(1, 3))
def test_binarisation_has_an_inverse_for_any_labels(
    tree: Tree, direction: str, horizontal: int | None, vertical: int
) -> None:
    binary = binarize(tree, direction, horizontal, vertical)  # type: ignore[arg-type]
    assert max(len(node.children) for node in binary.subtrees()) <= 2
    assert binary.pos() == tree.pos()
    assert unbinarize(binary) == tree


@given(names)
def test_any_label_keeps_its_name(label: str) -> None:
    tree = Tree("TOP", [Tree(label, [Tree("A", word="a"), Tree("B", word="b"), Tree("C", word="c")])])
    binary = binarize(tree, horizontal=None, vertical=2)
    phrase = binary.children[0]
    assert base_label(phrase.label) == base_label(phrase.children[1].label) == label
    assert [is_intermediate(node.label) for node in (phrase, phrase.children[1])] == [False, True]


@pytest.mark.parametrize("setting", SETTINGS)
def test_deep_trees(setting: tuple) -> None:
    tree = deep_tree("A", "@", "B")
    assert unbinarize(binarize(tree, *setting)) == tree


def test_long_chains_and_wide_phrases() -> None:
    chain = parse_tree("(A" * 30_000 + " b" + ")" * 30_000)
    assert unbinarize(binarize(chain, vertical=2)) == chain
    flat = parse_tree("(NP" + " (NN dog)" * 30_000 + ")")
    for direction in ("left", "right", "head"):
        assert unbinarize(binarize(flat, direction)) == flat  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(("up",), "'left', 'right' or 'head'"), (("right", -1), "horizontal=-1"), (("right", 0, 0), "vertical=0")],
)
def test_settings_are_checked(arguments: tuple, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Binarizer(*arguments)


@pytest.mark.parametrize("treebank", TREEBANKS)
def test_real_trees_come_back_exactly(data_dir: Path, treebank: str) -> None:
    dev = list(real_trees(data_dir, treebank, "dev"))
    rules = ENGLISH_HEADS if treebank.startswith("wsj") else learn_head_rules(dev)
    for setting in SETTINGS:
        binarizer = Binarizer(*setting, rules)  # type: ignore[arg-type]
        assert all(unbinarize(binarizer(tree)) == tree for tree in dev)
