"""What the forest of the right-branching grammar leaves open to the left-branching one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import spectragram as sg
from spectragram.constituency.constraints import Known, exact_constraints
from spectragram.constituency.model import Grammar
from spectragram.constituency.parsing import Status, average_posteriors, prune
from spectragram.data.binarization import is_intermediate
from spectragram.inference.chart_rules import Forest
from spectragram.synthetic.english import english_trees

TREES, NEW = english_trees(150), english_trees(190)[150:]


@pytest.fixture(scope="module")
def grammars() -> tuple[Grammar, Grammar]:
    found = sg.ConstituencyParser(2, n_models=2, max_iter=1, n_jobs=1, factors=False).fit(TREES).model_.grammars
    return found[0], found[1]


def guided(grammars: tuple[Grammar, Grammar], words: list[str], forest: Forest) -> tuple[Forest | None, Status]:
    guide = grammars[1].guide_from(grammars[0])
    assert guide is not None
    known = Known(guide.mask(len(words), forest), np.full(len(words), -1, np.int32))
    return prune(grammars[1], words, known=known)


def brackets(grammar: Grammar, forest: Forest) -> set[tuple[str, int, int]]:
    """The labels and tags that some link of a forest shows."""
    kept, unary = grammar.shown_labels
    names, n_tags = grammar.productions.labels, grammar.productions.n_tags
    found = set()
    for _, rule, bottom in forest.links.tolist():
        symbol, _, span = forest.items[bottom].tolist()
        i, j = forest.spans[span].tolist()
        found |= {(label, i, j) for label in (kept[symbol] if rule < 0 else unary[rule])}
        found |= {(names[symbol], i, j)} if symbol < n_tags else set()
    return found


def items(grammar: Grammar, forest: Forest) -> set[tuple[str, int, int, int]]:
    """Layer, label and span of all items but intermediate ones."""
    names, n_tags = grammar.productions.labels, grammar.productions.n_tags
    return {
        (names[symbol], layer, *forest.spans[span].tolist())
        for symbol, layer, span in forest.items.tolist()
        if symbol < n_tags or not is_intermediate(names[symbol])
    }


def test_the_forest_of_one_tree_leaves_that_tree_alone(grammars: tuple[Grammar, Grammar]) -> None:
    n_single = 0
    for tree in TREES[:40]:
        words = tree.leaves()
        known = exact_constraints(grammars[0], tree)
        assert known is not None
        alone, _ = prune(grammars[0], words, known=known)
        assert alone is not None
        forest, status = guided(grammars, words, alone)
        assert forest is not None and status == Status.PRUNED
        assert brackets(grammars[1], forest) == brackets(grammars[0], alone) >= set(tree.children[0].spans())
        # The rules of a single binary tree, but for first parts that fit two phrases of the same label.
        assert len(words) - 1 <= len(forest.edges) <= len(words) + 1
        n_single += len(forest.edges) == len(words) - 1
    assert n_single >= 35


def test_no_more_labels_than_the_first_forest_has(grammars: tuple[Grammar, Grammar]) -> None:
    fewer = 0
    for tree in NEW:
        words = tree.leaves()
        first, free = prune(grammars[0], words)[0], prune(grammars[1], words)[0]
        assert first is not None and free is not None
        forest, _ = guided(grammars, words, first)
        assert forest is not None
        assert items(grammars[1], forest) <= items(grammars[0], first)
        fewer += len(forest.edges) < len(free.edges)
    assert fewer > 0


def test_posteriors_are_nearly_those_of_free_charts(grammars: tuple[Grammar, Grammar]) -> None:
    away, mass = 0.0, 0.0
    for tree in NEW[:10]:
        words = tree.leaves()
        both = average_posteriors(grammars, words).posteriors.spans
        free = np.mean([average_posteriors([one], words).posteriors.spans for one in grammars], axis=0)
        away += np.abs(both - free).sum()
        mass += free.sum()
    assert 0.0 < away < 0.05 * mass


def test_only_from_right_to_left_and_not_into_charts_without_pruning(grammars: tuple[Grammar, Grammar]) -> None:
    right, left = grammars
    assert left.guide_from(right) is left.guide_from(right)
    assert right.guide_from(left) is None and right.guide_from(right) is None and left.guide_from(left) is None
    whole = replace(left, thresholds=left.thresholds._replace(coarse=0.0, middle=0.0))
    words = NEW[0].leaves()
    found, alone = (average_posteriors(part, words).forests[-1].forest for part in ((right, whole), (whole,)))
    assert len(found.edges) == len(alone.edges)
