from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from spectragram.data.brackets import clean, parse_tree, plain_label, read_trees
from spectragram.data.trees import Tree
from tests.data.tree_examples import TREEBANKS, deep_tree, real_trees, trees


@pytest.mark.parametrize(
    ("label", "plain"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("PP-TMP=3", "PP"),
        ("ADVP|PRT", "ADVP"),
        ("-LRB-", "-LRB-"),
        ("-", "-"),
        ("|", "|"),
        ("PRP$", "PRP$"),
        ("S.NF.P", "S.NF.P"),
        ("ADVR+Q", "ADVR+Q"),
    ],
)
def test_labels(label: str, plain: str) -> None:
    assert plain_label(label) == plain


def test_empty_elements_go_with_what_they_empty() -> None:
    tree = parse_tree(
        "( (S (S-TPC-1 (NP-SBJ (PRP It)) (VP (VBZ works))) (, ,) (NP-SBJ (PRP he)) "
        "(VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*-1)))) (. .)) )"
    )
    assert str(clean(tree)) == (
        "(TOP (S (S (NP (PRP It)) (VP (VBZ works))) (, ,) (NP (PRP he)) (VP (VBD said)) (. .)))"
    )


def test_nothing_left() -> None:
    assert clean(parse_tree("( (NP-SBJ (-NONE- *)))")) is None


def test_a_phrase_named_like_a_trace_is_kept() -> None:
    assert str(clean(parse_tree("(-NONE- (NN dog))"))) == "(-NONE- (NN dog))"


@given(trees)
def test_cleaning_twice_is_cleaning_once(tree: Tree) -> None:
    once = clean(tree)
    assert once is not None
    assert clean(once) == once
    assert once.leaves() == tree.leaves()


def test_deep_trees() -> None:
    assert clean(deep_tree("NP-SBJ", "VP=1")) == deep_tree("NP", "VP")


@pytest.mark.parametrize(("raw", "cleaned"), [("train.mrg.gz", "train.txt.gz"), ("dev.mrg", "dev.txt")])
def test_the_penn_treebank_sample_is_cleaned_as_published(data_dir: Path, raw: str, cleaned: str) -> None:
    folder = data_dir / "wsj-sample"
    pairs = zip(read_trees(folder / "raw" / raw), read_trees(folder / "clean" / cleaned), strict=True)
    assert all(clean(annotated) == plain for annotated, plain in pairs)


@pytest.mark.parametrize("treebank", TREEBANKS)
def test_clean_trees_stay_as_they_are(data_dir: Path, treebank: str) -> None:
    assert all(clean(tree) == tree for tree in real_trees(data_dir, treebank, "dev"))
