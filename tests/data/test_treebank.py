from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.data.binarization import Binarizer, is_intermediate
from spectragram.data.brackets import parse_tree
from spectragram.data.heads import ENGLISH_HEADS, HeadRules, learn_head_rules
from spectragram.data.productions import BINARY, LEXICAL, UNARY, Productions
from spectragram.data.treebank import Treebank, head_words
from spectragram.data.trees import Tree
from spectragram.errors import InputError
from tests.data.tree_examples import TREEBANKS, deep_tree, real_trees, trees

TREES = [
    parse_tree("(TOP (S (NP (DT the) (JJ big) (NN dog)) (VP (VB runs))))"),
    parse_tree("(S (VP (VP (VB go))))"),
    parse_tree("(ROOT (NN dog))"),
    parse_tree("(TOP (VP (VB runs)) (NN dog))"),
]
BINARIZERS = [Binarizer("right"), Binarizer("left", 1, 2), Binarizer("head", None, 1)]


def test_a_worked_example() -> None:
    treebank = Treebank.from_trees(TREES)
    table = treebank.productions
    assert table.labels == ("DT", "JJ", "NN", "VB", "@NP", "NP", "S", "TOP", "VP")
    assert table.n_tags == 4
    assert table.words.words == ("dog", "runs", "big", "go", "the")
    assert table.words.counts.tolist() == [3, 2, 1, 1, 1]
    assert table.chains == ((), ("VP", "VP"))
    assert len(treebank) == 4
    # the big dog @NP NP | runs VP S || go S || dog || runs VP dog TOP
    assert treebank.offsets.tolist() == [0, 8, 10, 11, 15]
    assert [table.labels[symbol] for symbol in treebank.symbol] == (
        ["DT", "JJ", "NN", "@NP", "NP", "VB", "VP", "S", "VB", "S", "NN", "VB", "VP", "NN", "TOP"]
    )
    assert treebank.kind.tolist() == [0, 0, 0, 2, 2, 0, 1, 2, 0, 1, 0, 0, 1, 0, 2]
    assert treebank.left.tolist() == [-1, -1, -1, 1, 0, -1, 5, 4, -1, 8, -1, -1, 11, -1, 12]
    assert treebank.right.tolist() == [-1, -1, -1, 2, 3, -1, -1, 6, -1, -1, -1, -1, -1, -1, 13]
    assert treebank.parent.tolist() == [4, 3, 3, 4, 7, 6, 7, -1, 9, -1, -1, 12, 14, 14, -1]
    assert treebank.start.tolist() == [0, 1, 2, 1, 0, 3, 3, 0, 4, 4, 5, 6, 6, 7, 6]
    assert treebank.end.tolist() == [1, 2, 3, 3, 3, 4, 4, 4, 5, 5, 6, 7, 7, 8, 8]
    assert treebank.outer.tolist() == [0, -1, 1, -1]
    assert treebank.roots.tolist() == [7, 9, 10, 14]
    assert treebank.leaves.tolist() == [0, 1, 2, 5, 8, 10, 11, 13]
    assert treebank.tree_of_node.tolist() == [0] * 8 + [1] * 2 + [2] + [3] * 4
    assert table.unary.tolist() == [[6, 3, 1], [8, 3, 0]]
    assert table.binary.tolist() == [[4, 1, 2], [5, 0, 4], [6, 5, 8], [7, 8, 2]]
    assert table.lexical.tolist() == [[0, 4], [1, 2], [2, 0], [3, 1], [3, 3]]
    assert treebank.rule.tolist() == [0, 1, 2, 0, 1, 3, 1, 2, 4, 0, 2, 3, 1, 2, 3]
    assert treebank.production.tolist() == [0, 1, 2, 6, 7, 3, 5, 8, 3, 4, 2, 3, 5, 2, 9]
    assert table.n_productions == 10
    assert treebank.sentences.decode(0) == ["the", "big", "dog", "runs"]
    assert list(treebank) == TREES
    assert str(treebank.decode(0, binarized=True)) == ("(TOP (S (NP (DT the) (@NP (JJ big) (NN dog))) (VP (VB runs))))")


def test_tags_and_phrases_of_the_same_name_are_apart() -> None:
    tree = parse_tree("(X (X a) (X (X b)))")
    treebank = Treebank.from_trees([tree])
    assert treebank.productions.labels == ("X", "X")
    assert treebank.symbol.tolist() == [0, 0, 1, 1]
    assert treebank.decode(0) == tree


def check_structure(treebank: Treebank) -> None:
    """Children, parents, spans, symbols and rules of every node agree with one another."""
    table = treebank.productions
    kind, left, right = treebank.kind, treebank.left, treebank.right
    nodes = np.arange(treebank.n_nodes)
    for children in (left, right):
        inner = np.flatnonzero(children >= 0)
        assert (children[inner] < inner).all()
        assert (treebank.parent[children[inner]] == inner).all()
        assert (treebank.tree_of_node[children[inner]] == treebank.tree_of_node[inner]).all()
    assert np.array_equal(kind, (left >= 0).astype(int) + (right >= 0))
    assert np.array_equal(np.flatnonzero(treebank.parent < 0), treebank.roots)

    words, above, pairs = (nodes[kind == k] for k in (LEXICAL, UNARY, BINARY))
    assert treebank.start[words].tolist() == list(range(len(words)))
    assert (treebank.end[words] == treebank.start[words] + 1).all()
    assert (treebank.end[left[pairs]] == treebank.start[right[pairs]]).all()
    assert (treebank.end[pairs] == treebank.end[right[pairs]]).all()
    assert (treebank.start[left >= 0] == treebank.start[left[left >= 0]]).all()
    assert (treebank.end[above] == treebank.end[left[above]]).all()
    assert (kind[left[above]] != UNARY).all()

    symbol, rule, tokens = treebank.symbol, treebank.rule, treebank.sentences.tokens
    assert ((symbol < table.n_tags) == (kind == LEXICAL)).all()
    assert np.array_equal(table.lexical[rule[words]], np.stack([symbol[words], tokens], 1))
    assert np.array_equal(table.unary[rule[above], :2], np.stack([symbol[above], symbol[left[above]]], 1))
    triples = np.stack([symbol[pairs], symbol[left[pairs]], symbol[right[pairs]]], 1)
    assert np.array_equal(table.binary[rule[pairs]], triples)


many_trees = st.lists(trees, min_size=1, max_size=4)


@given(many_trees, st.sampled_from(BINARIZERS))
def test_any_trees_come_back(many: list[Tree], binarizer: Binarizer) -> None:
    treebank = Treebank.from_trees(many, binarizer)
    check_structure(treebank)
    assert list(treebank) == many
    assert treebank.decode(-1) == many[-1]


@given(many_trees, st.integers(1, 5))
def test_shards_are_treebanks_of_their_own(many: list[Tree], n: int) -> None:
    treebank = Treebank.from_trees(many)
    shards = treebank.shards(n)
    assert 1 <= len(shards) <= n
    assert [tree for shard in shards for tree in shard] == many
    for shard in shards:
        check_structure(shard)
    assert np.array_equal(np.concatenate([shard.rule for shard in shards]), treebank.rule)


def test_known_productions_keep_their_numbers() -> None:
    train = Treebank.from_trees(TREES)
    again = Treebank.from_trees(reversed(TREES), productions=train.productions)
    assert list(again) == TREES[::-1]
    assert again.rule[again.roots].tolist() == train.rule[train.roots].tolist()[::-1]
    assert again.productions is train.productions

    # A new word, a new tag, a new chain, a new phrase, a new binary rule of known symbols.
    new = [
        parse_tree(text)
        for text in ("(NN cat)", "(UH dog)", "(S (VP (VB go)))", "(XP (NN dog))", "(S (VP (VB go)) (NN dog))")
    ]
    unknown = Treebank.from_trees(new, productions=train.productions)
    assert unknown.rule[unknown.roots].tolist() == [-1] * 5
    assert unknown.sentences.tokens[0] == -1
    assert unknown.symbol[unknown.roots[[1, 3]]].tolist() == [-1, -1]
    vp = unknown.left[unknown.roots[4]]
    assert unknown.rule[vp] == train.rule[12]
    with pytest.raises(InputError, match="tree 0 has rules that its productions lack"):
        unknown.decode(0)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_unknown_symbols_never_look_like_known_rules(part: int) -> None:
    """-1 packed into a key must not borrow from its neighbour: (A, -1, C) is not (A - 1, n - 1, C)."""
    labels = [f"(P{i} (P{j} (A a) (A a)) (P{k} (A a) (A a)))" for i in range(3) for j in range(3) for k in range(3)]
    train = Treebank.from_trees(map(parse_tree, labels))
    names = ["P1", "P1", "P1"]
    names[part] = "Q"
    strange = parse_tree("({} ({} (A a) (A a)) ({} (A a) (A a)))".format(*names))
    treebank = Treebank.from_trees([strange], productions=train.productions)
    assert treebank.rule[treebank.roots].tolist() == [-1]


def test_trees_that_cannot_be_encoded() -> None:
    with pytest.raises(InputError, match="no trees"):
        Treebank.from_trees([])
    with pytest.raises(InputError, match="'S' with 3 children"):
        Treebank.from_trees([parse_tree("(S (A a) (B b) (C c))")], lambda tree: tree)  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        Treebank.from_trees(TREES).decode(4)


def test_deep_trees() -> None:
    tree = deep_tree("A", "B")
    treebank = Treebank.from_trees([tree, tree])
    check_structure(treebank)
    assert treebank.decode(1) == tree


def test_productions_survive_storage() -> None:
    table = Treebank.from_trees(TREES).productions
    values, arrays = table.to_state()
    copy = Productions.from_state(json.loads(json.dumps(values)), arrays)
    assert (copy.labels, copy.n_tags, copy.words, copy.chains) == (
        table.labels,
        table.n_tags,
        table.words,
        table.chains,
    )
    for name in ("lexical", "unary", "binary"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(table, name))
        for wrong in (arrays[name] + 100, arrays[name] - 100, np.zeros((3, 9), np.int32)):
            with pytest.raises(InputError, match=f"{name} rules that do not fit"):
                Productions.from_state(values, arrays | {name: wrong})


def heads_by_span(tree: Tree, rules: HeadRules) -> dict[tuple[int, int], int]:
    """Head word of every phrase and tag of a tree that was never binarised, by its span."""
    heads: dict[tuple[int, int], int] = {}

    def visit(node: Tree, start: int) -> tuple[int, int]:
        if node.is_tag:
            head, end = start, start + 1
        else:
            end, below = start, []
            for child in node.children:
                child_head, end = visit(child, end)
                below.append(child_head)
            head = below[rules.head_index(node.label, [child.label for child in node.children])]
        heads[start, end] = head
        return head, end

    visit(tree, 0)
    return heads


@pytest.mark.parametrize("direction", ["left", "right", "head"])
@pytest.mark.parametrize(("treebank", "english"), [("wsj-sample/clean", True), ("cess-esp", False)])
def test_heads_do_not_depend_on_binarisation(data_dir: Path, treebank: str, english: bool, direction: str) -> None:
    some = list(real_trees(data_dir, treebank, "dev", 3))
    rules = ENGLISH_HEADS if english else learn_head_rules(some)
    encoded = Treebank.from_trees(some, Binarizer(direction, 1, 2, rules))  # type: ignore[arg-type]
    heads = head_words(encoded, rules)
    labels = encoded.productions.labels
    n_intermediate = 0
    for i, tree in enumerate(some):
        expected = heads_by_span(tree, rules)
        first_word = encoded.sentences.offsets[i]
        for node in range(encoded.offsets[i], encoded.offsets[i + 1]):
            start, end, head = (int(a[node] - first_word) for a in (encoded.start, encoded.end, heads))
            if encoded.kind[node] != LEXICAL and is_intermediate(labels[encoded.symbol[node]]):
                n_intermediate += 1
                assert start <= head < end
            else:
                assert head == expected[start, end]
    assert n_intermediate > 1000


def test_an_intermediate_symbol_has_the_best_head_it_covers() -> None:
    treebank = Treebank.from_trees([parse_tree("(NP (NN a) (PP (IN b) (NN c)) (CC d) (JJ e))")])
    heads = head_words(treebank, ENGLISH_HEADS)
    names = {treebank.productions.labels[s]: int(h) for s, h in zip(treebank.symbol, heads, strict=True)}
    # The last two children are CC and JJ, of which JJ can head an NP; the PP before them can not.
    assert names["NP"] == 0
    assert names["PP"] == 1
    assert names["@NP"] == 4
    assert [heads[treebank.right[treebank.roots[0]]], heads[treebank.roots[0]]] == [4, 0]


@pytest.mark.slow
@pytest.mark.parametrize("treebank", TREEBANKS)
def test_trees_of_every_treebank_come_back(data_dir: Path, treebank: str) -> None:
    train = list(itertools.islice(real_trees(data_dir, treebank, "train"), 15_000))
    encoded = Treebank.from_trees(train, BINARIZERS[1])
    check_structure(encoded)
    assert all(tree == original for tree, original in zip(encoded, train, strict=True))
