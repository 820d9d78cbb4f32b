"""Every template of inside and outside features, by hand, on the nodes of small trees."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.constituency.features import BUCKETS, FeatureColumns, _bucket, extract_features
from spectragram.data.brackets import parse_tree
from spectragram.data.heads import learn_head_rules
from spectragram.data.productions import LEXICAL, UNARY
from spectragram.data.signatures import signatures
from spectragram.data.treebank import Treebank, head_words
from spectragram.data.trees import Tree

TEXTS = [
    "(TOP (S (NP (DT The) (NN dog)) (VP (VBZ sees) (NP (DT the) (JJ old) (NN cat))) (. .)))",
    "(TOP (S (NP (NN Rain)) (VP (VBZ sees) (NP (DT the) (NN dog))) (. .)))",
    "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .)))",
    "(TOP (S (VP (VB Go)) (. .)))",
    "(TOP (NP (DT The) (NN catdog)))",
    "(TOP (S (NP (NN dog)) (VP (VBZ asks) (NP (NP (NN cat)) (NP (NN dog))))))",
    "(TOP (S (NP (DT The) (NN dog)) (VP (VBZ walks) (S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (NP (NN dog)))))))",
]
"""A label on both sides of a rule, a sentence in a sentence, words with the same two last letters."""


class Node:
    """A node of a binarised treebank that knows its neighbours: the templates from their definitions."""

    def __init__(self, treebank: Treebank, heads: np.ndarray, number: int) -> None:
        self.bank, self.heads, self.n = treebank, heads, int(number)
        self.kind, self.symbol = int(treebank.kind[number]), int(treebank.symbol[number])
        self.start, self.end = int(treebank.start[number]), int(treebank.end[number])
        tree = int(treebank.tree_of_node[number])
        self.first, self.last = (int(treebank.sentences.offsets[tree + i]) for i in (0, 1))

    def at(self, number: int) -> Node | None:
        return None if number < 0 else Node(self.bank, self.heads, number)

    @property
    def left(self) -> Node | None:
        return self.at(self.bank.left[self.n])

    @property
    def right(self) -> Node | None:
        return self.at(self.bank.right[self.n])

    @property
    def parent(self) -> Node | None:
        return self.at(self.bank.parent[self.n])

    @property
    def rule(self) -> tuple:
        """How the node is rewritten, words ignored: its symbol, its children's, the labels of its chain."""
        below = tuple(child.symbol for child in (self.left, self.right) if child is not None)
        chain = int(self.bank.productions.unary[self.bank.rule[self.n], 2]) if self.kind == UNARY else -1
        return (self.symbol, below, chain)

    def tag(self, word: int) -> int:
        return int(self.bank.symbol[self.bank.leaves[word]])

    @property
    def head_tag(self) -> int:
        return self.tag(int(self.heads[self.n]))

    @property
    def word(self) -> str:
        return self.bank.productions.words.words[self.bank.sentences.tokens[self.start]]

    def above(self) -> tuple | None:
        """The parent's rule, with the place of the node in it."""
        parent = self.parent
        return None if parent is None else (parent.rule, parent.left is not None and parent.left.n == self.n)

    def ancestor(self, steps: int) -> Node | None:
        node: Node | None = self
        for _ in range(steps):
            node = None if node is None else node.parent
        return node

    def inside(self, known: set[str]) -> list[object]:
        if self.kind == LEXICAL:
            classes = signatures([self.word], initial=[self.start == self.first], known=known)[0]
            return [self.word.lower(), classes[1], self.word.lower()[-3:]] + [None] * 6
        left, right = self.left, self.right
        assert left is not None
        return [
            self.rule,
            left.symbol,
            "no right child" if right is None else right.symbol,
            (self.rule, left.rule),
            (self.rule, "no right child" if right is None else right.rule),
            self.head_tag,
            BUCKETS.index(max(b for b in BUCKETS if b <= self.end - self.start)),
            self.tag(self.start),
            self.tag(self.end - 1),
        ]

    def outside(self) -> list[object]:
        parent, grandparent = self.ancestor(1), self.ancestor(2)
        above = [node.above() if node is not None else "none" for node in (self, parent, grandparent)]
        other = parent
        while other is not None and other.head_tag == self.head_tag:
            other = other.parent
        before, after = self.start - self.first, self.last - self.end
        return [
            above[0],
            tuple(above[:2]),
            tuple(above),
            parent and parent.symbol,
            (parent and parent.symbol, grandparent and grandparent.symbol),
            other and other.head_tag,
            sum(b <= before for b in BUCKETS),
            sum(b <= after for b in BUCKETS),
            self.tag(self.start - 1) if before else "begin",
            self.tag(self.end) if after else "end",
        ]


@pytest.fixture(scope="module", params=["right", "left"])
def bank(request: pytest.FixtureRequest) -> tuple[Treebank, FeatureColumns, list[Node], set[str]]:
    from spectragram.data.binarization import Binarizer

    trees: list[Tree] = [parse_tree(text) for text in TEXTS]
    rules = learn_head_rules(trees)
    treebank = Treebank.from_trees(trees, Binarizer(request.param, head_rules=rules))
    known = {"the", "dog"}
    heads = head_words(treebank, rules)
    nodes = [Node(treebank, heads, n) for n in range(treebank.n_nodes)]
    return treebank, extract_features(treebank, rules, known), nodes, known


INSIDE = ["rule", "left", "right", "rule and left rule", "rule and right rule", "head tag", "length", "first", "last"]
OUTSIDE = ["above", "above 2", "above 3", "parent", "grandparent", "other head", "before", "after", "tag -1", "tag +1"]


def same_partition(column: np.ndarray, values: list[object]) -> None:
    """Nodes have the same number where they have the same value, and -1 where they have none."""
    numbers: dict[object, int] = {}
    for number, value in zip(column.tolist(), values, strict=True):
        assert numbers.setdefault(value, number) == number, value
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize("template", range(len(INSIDE)), ids=INSIDE)
def test_inside_templates(bank, template):
    _, columns, nodes, known = bank
    values = [(node.symbol, node.inside(known)[template]) for node in nodes]
    values = ["nothing" if value is None else (symbol, value) for symbol, value in values]
    same_partition(columns.inside[:, template], values)
    applies = np.array([value != "nothing" for value in values])
    np.testing.assert_array_equal(columns.inside[:, template] >= 0, applies)


@pytest.mark.parametrize("template", range(len(OUTSIDE)), ids=OUTSIDE)
def test_outside_templates(bank, template):
    _, columns, nodes, _ = bank
    same_partition(columns.outside[:, template], [(node.symbol, node.outside()[template]) for node in nodes])
    assert (columns.outside[:, template] >= 0).all()


def test_there_are_no_other_templates(bank):
    _, columns, nodes, _ = bank
    assert columns.inside.shape == (len(nodes), len(INSIDE))
    assert columns.outside.shape == (len(nodes), len(OUTSIDE))


def test_words_begin_classes_of_their_own(bank):
    """'The' begins a sentence and 'the' is known, so it has another class than a name would have."""
    _, columns, nodes, _ = bank
    shapes = {node.word: columns.inside[node.n, 1] for node in nodes if node.kind == LEXICAL}
    assert shapes["The"] != shapes["the"]


@pytest.mark.parametrize(("n", "bucket"), [(0, 0), (1, 1), (5, 5), (6, 6), (7, 6), (8, 7), (10, 7), (40, 9), (99, 10)])
def test_lengths_fall_into_buckets(n, bucket):
    assert _bucket(np.array([n])).tolist() == [bucket]
