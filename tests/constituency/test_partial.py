"""Learning from trees with holes."""

from __future__ import annotations

import numpy as np

from spectragram.constituency import ConstituencyParser
from spectragram.constituency.partial import complete_trees
from spectragram.data import SpanConstraints, Tree, parse_tree
from spectragram.data.known_spans import is_partial
from spectragram.data.trees import ROOTS
from spectragram.synthetic.english import english_trees

TREES = english_trees(160, seed=8)


def with_holes(tree: Tree, rng: np.random.Generator, share: float) -> Tree:
    """Some brackets are gone, some labels and tags open."""
    inner = tree.children[0] if tree.label in ROOTS else tree
    spans = [(i, j, label) for label, i, j in inner.spans() if rng.random() >= share]
    required = [(i, j, label if rng.random() >= share else None) for i, j, label in spans]
    tags = tuple(tag if rng.random() >= share else None for tag in tree.tags())
    return SpanConstraints(tuple(tree.leaves()), tags, tuple(required)).to_tree()


def test_partial_trees_are_completed_within_their_brackets() -> None:
    rng = np.random.default_rng(0)
    partial = [with_holes(tree, rng, 0.4) for tree in TREES[10:30]]
    seen = []

    def learn(trees):
        assert not any(map(is_partial, trees))
        parser = ConstituencyParser(1, "pcfg", n_jobs=1).fit(trees)
        seen.append(len(trees))
        return parser.predict

    found = complete_trees([*TREES[:10], *partial], learn)
    assert seen == [10, 30]
    assert found[:10] == TREES[:10]
    for tree, given in zip(found[10:], partial, strict=True):
        brackets = {(i, j) for _, i, j in tree.spans()}
        assert {(i, j) for i, j, _ in SpanConstraints.from_tree(given).required} <= brackets
        assert not is_partial(tree)
    assert complete_trees(TREES[:3], learn) == TREES[:3]


def test_trees_with_holes_teach_more_than_the_whole_ones_alone() -> None:
    rng = np.random.default_rng(1)
    few = ConstituencyParser(2, preset="fast", n_jobs=1).fit(TREES[:8])
    more = ConstituencyParser(2, preset="fast", n_jobs=1).fit(
        [*TREES[:8], *(with_holes(tree, rng, 0.3) for tree in TREES[8:80])]
    )
    assert more.summary_["partial_sentences"] > 60
    assert more.score(TREES[100:]) > few.score(TREES[100:])


def test_brackets_without_any_whole_tree_are_enough() -> None:
    trees = ["(? (NP (DT the) (NN dog)) (! (? saw) (? me)) (? now))", "(S (NP (DT a) (NN cat)) (? (VB sat)))"] * 4
    parser = ConstituencyParser(1, "pcfg", n_jobs=1).fit([parse_tree(tree) for tree in trees])
    assert "(NP (DT the) (NN cat))" in str(parser.predict(["the cat sat"])[0])
