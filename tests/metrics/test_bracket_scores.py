"""EVALB by hand: each case is small enough to count on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.errors import InputError
from spectragram.metrics import bracket_scores, sentence_brackets


@dataclass(frozen=True)
class Tree:
    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None


def tree(text: str) -> Tree:
    def read(tokens: Iterator[str]) -> Tree:
        label, children = next(tokens), []
        for token in tokens:
            if token == ")":
                return Tree(label, tuple(children))
            if token != "(":
                assert next(tokens) == ")"
                return Tree(label, (), token)
            children.append(read(tokens))
        raise AssertionError(text)

    tokens = iter(re.findall(r"[()]|[^\s()]+", text))
    assert next(tokens) == "("
    return read(tokens)


GOLD = tree(
    "(TOP (S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (NP (DT a) (NN dog)) (PP (IN with) (NP (NNS spots))))) (. .)))"
)
# The PP is attached to the verb, "spots" has no NP, and one tag is wrong.
VERB_ATTACHED = tree(
    "(TOP (S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT a) (JJ dog)) (PP (IN with) (NNS spots))) (. .)))"
)


def test_a_worked_sentence() -> None:
    # Gold: S(0,7) NP(0,2) VP(2,7) NP(3,7) NP(3,5) PP(5,7) NP(6,7).  Predicted: S NP VP NP(3,5) PP.
    counts = sentence_brackets(GOLD, VERB_ATTACHED)
    assert (counts.matched, counts.gold, counts.predicted) == (5, 7, 5)
    assert (counts.words, counts.tags, counts.length) == (7, 6, 8)
    assert counts.crossing == 0
    scores = bracket_scores([GOLD], [VERB_ATTACHED])
    assert scores["precision"] == 100
    assert scores["recall"] == pytest.approx(500 / 7)
    assert scores["f1"] == pytest.approx(1000 / 12)
    assert scores["tag_accuracy"] == pytest.approx(600 / 7)
    assert scores["exact"] == 0


def test_punctuation_goes_by_the_gold_tag() -> None:
    gold = tree("(TOP (S (NP (NNS cats)) (, ,) (VP (VBP sleep))))")
    # The comma is tagged NN inside the NP, but it is removed by its gold tag, so both spans still match.
    assert sentence_brackets(gold, tree("(TOP (S (NP (NNS cats) (NN ,)) (VP (VBP sleep))))")).exact
    # "cats" tagged as a comma is still a word, though its tag is wrong.
    counts = sentence_brackets(gold, tree("(TOP (S (NP (, cats)) (, ,) (VP (VBP sleep))))"))
    assert counts.exact
    assert (counts.words, counts.tags) == (2, 1)


def test_only_the_tags_of_collins_prm_are_punctuation() -> None:
    gold = tree("(S (NP (NN a)) (-LRB- -LRB-) (: ;) (`` ``) ('' '') ($ $) (. ?))")
    assert sentence_brackets(gold, gold).words == 3


def test_a_bracket_over_punctuation_alone_does_not_count() -> None:
    with_empty = tree("(TOP (S (NP (NNS cats)) (X (. .))))")
    without = tree("(TOP (S (NP (NNS cats)) (. .)))")
    assert sentence_brackets(with_empty, without).exact
    assert sentence_brackets(with_empty, without).gold == 2


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        ("(TOP (VP (VB go) (PRT (RP up))))", "(ROOT (VP (VB go) (ADVP (RP up))))"),
        ("(TOP (NP-SBJ-1 (NN x)))", "(S1 (NP (NN x)))"),
        ("(TOP (NP=2 (NN x)))", "(NP (NN x))"),
        ("(TOP (NP (NN x)) (VP (-NONE- *T*-1)))", "(TOP (NP (NN x)))"),
    ],
)
def test_labels_that_are_the_same(gold: str, predicted: str) -> None:
    assert sentence_brackets(tree(gold), tree(predicted)).exact


def test_repeated_brackets_are_a_multiset() -> None:
    once, twice = tree("(S (NP (NN x)))"), tree("(S (NP (NP (NN x))))")
    counts = sentence_brackets(once, twice)
    assert (counts.matched, counts.gold, counts.predicted, counts.exact) == (2, 2, 3, False)


def test_crossing_brackets() -> None:
    gold = tree("(S (A (X a) (X b)) (B (X c) (X d)) (X e))")
    # (1,3) crosses both A and B and counts once; (0,3) crosses B; (4,5) crosses nothing.
    predicted = tree("(S (Q (X a) (P (X b) (X c))) (X d) (R (X e)))")
    assert sentence_brackets(gold, predicted).crossing == 2
    scores = bracket_scores([gold, gold], [predicted, gold])
    assert scores["crossing"] == 1
    assert scores["no_crossing"] == 50
    assert scores["two_or_less_crossing"] == 100


@pytest.mark.parametrize("bad", [None, "(S (NP (NN x)))", "(S (NP (DT the) (NN dog)) (VP (VBZ sleeps)))"])
def test_a_missing_or_foreign_parse_costs_recall(bad: str | None) -> None:
    gold = tree("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")
    scores = bracket_scores([gold, gold], [gold, None if bad is None else tree(bad)])
    assert (scores["sentences"], scores["valid"], scores["errors"]) == (2, 1, 1)
    assert (scores["precision"], scores["recall"], scores["exact"], scores["tag_accuracy"]) == (100, 50, 50, 50)
    assert scores["no_crossing"] == 100


def test_forty_words_or_fewer() -> None:
    def flat(n: int, label: str) -> Tree:
        nouns = [Tree("NN", (), str(i)) for i in range(n - 1)]
        return Tree("TOP", (Tree(label, (*nouns, Tree(".", (), "."))),))

    scores = bracket_scores([flat(40, "S"), flat(41, "S")], [flat(40, "S"), flat(41, "NP")])
    assert (scores["f1"], scores["f1_40"]) == (50, 100)
    assert (scores["sentences"], scores["sentences_40"]) == (2, 1)


def test_a_tree_deeper_than_the_stack() -> None:
    deep = Tree("NN", (), "x")
    for _ in range(5000):
        deep = Tree("NP", (deep,))
    assert sentence_brackets(deep, deep).matched == 5000


def test_unequal_or_empty_lists_are_refused() -> None:
    with pytest.raises(InputError, match="1 predicted trees but more gold"):
        bracket_scores([GOLD, GOLD], [GOLD])
    with pytest.raises(InputError, match="no trees"):
        bracket_scores([], [])


@st.composite
def brackets_over(draw: st.DrawFn, words: tuple[str, ...]) -> Tree:
    """Any tree over these words whose root is an S."""

    def build(start: int, end: int, label: str) -> Tree:
        if end - start == 1 and draw(st.booleans()):
            return Tree(draw(st.sampled_from(["NN", "VB", ","])), (), words[start])
        cuts = draw(st.sets(st.integers(start + 1, end - 1))) if end - start > 1 else set()
        edges = [start, *sorted(cuts), end]
        if len(edges) == 2:  # one child over the same words: stop at tags
            tags = (Tree("NN", (), word) for word in words[start:end])
            return Tree(label, tuple(tags))
        labels = st.sampled_from(["NP", "VP", "PRT", "ADVP"])
        return Tree(label, tuple(build(a, b, draw(labels)) for a, b in pairwise(edges)))

    return Tree("TOP", (build(0, len(words), "S"),))


some_words = st.lists(st.sampled_from("abc"), min_size=2, max_size=7).map(tuple)


@given(some_words.flatmap(brackets_over))
def test_a_tree_against_itself_is_perfect(same: Tree) -> None:
    counts = sentence_brackets(same, same)
    assert counts.exact
    assert counts.crossing == 0
    if counts.gold:
        assert bracket_scores([same], [same])["f1"] == pytest.approx(100)


@given(some_words.flatmap(lambda words: st.tuples(brackets_over(words), brackets_over(words))))
def test_swapping_gold_and_prediction_swaps_precision_and_recall(pair: tuple[Tree, Tree]) -> None:
    a, b = (retagged(t) for t in pair)
    there, back = bracket_scores([a], [b]), bracket_scores([b], [a])
    assert there["precision"] == pytest.approx(back["recall"])
    assert there["f1"] == pytest.approx(back["f1"])
    assert 0 <= there["f1"] <= 100.000001


def retagged(t: Tree) -> Tree:
    """The tree with all words tagged NN; otherwise the two directions would remove different punctuation."""
    return Tree("NN", (), t.word) if t.word is not None else Tree(t.label, tuple(map(retagged, t.children)))


def damaged(t: Tree) -> list[Tree]:
    """Remove PP brackets, rename VPs with an even number of children, and tag RB as a comma."""
    if t.word is not None:
        return [Tree("," if t.label == "RB" else t.label, (), t.word)]
    below = tuple(node for child in t.children for node in damaged(child))
    if t.label == "PP":
        return list(below)
    return [Tree("NP" if t.label == "VP" and len(below) % 2 == 0 else t.label, below)]


def test_a_damaged_treebank(data_dir: Path) -> None:
    """The expected scores come from an independent scorer on the same two files."""
    lines = (data_dir / "wsj-sample" / "clean" / "dev.txt").read_text(encoding="utf-8").splitlines()
    gold = [tree(line) for line in lines]
    scores = bracket_scores(gold, [damaged(t)[0] for t in gold])
    expected = {"precision": 83.362032, "recall": 73.241301, "f1": 77.974633, "exact": 3.063063, "sentences": 555}
    expected |= {"precision_40": 83.066302, "recall_40": 73.197888, "f1_40": 77.820489, "sentences_40": 504}
    assert {key: scores[key] for key in expected} == pytest.approx(expected, abs=1e-6)
    assert bracket_scores(gold, gold)["f1"] == 100
