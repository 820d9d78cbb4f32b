"""Averaged posteriors of spans and tags against sums over all trees of every member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from spectragram.constituency import parsing
from spectragram.constituency.brackets import bracket_tree
from spectragram.constituency.model import Grammar, Member
from spectragram.constituency.parsing import HeldOutF1, Status, average_posteriors, cut_into_pieces, prune
from spectragram.data.binarization import is_intermediate
from spectragram.data.brackets import parse_tree
from spectragram.inference.chart_coarse import span_id
from spectragram.metrics import bracket_scores
from tests.constituency.brute import Enumeration, make_grammar, random_member, random_trees, training_trees

WORDS = ["x", "z", "y"]
TREES = random_trees(np.random.default_rng(0))


def make(direction: str, n_members: int, seed: int) -> Grammar:
    data, rng = training_trees(TREES, direction), np.random.default_rng(seed)
    return make_grammar(data, [random_member(data, rng) for _ in range(n_members)])


def without_value(member: Member) -> Member:
    """A member for which nothing has a parse."""
    return Member(member.operators._replace(root=np.zeros_like(member.operators.root)), member.lexicon)


def brute(enumeration: Enumeration) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors of labels over spans and of tags, from the trees of all derivations."""
    grammar, words = enumeration.grammar, enumeration.words
    n, labels = len(words), grammar.labels
    spans, tags = np.zeros((n * (n + 1) // 2, len(labels.phrases))), np.zeros((n, len(labels.tags)))
    derivations = enumeration.derivations()
    total = sum(derivation.value for derivation in derivations)
    for derivation in derivations:
        tree = derivation.tree(grammar, words)
        root = grammar.productions.labels[derivation.nodes[-1][1]]
        # The root of a piece may be an intermediate symbol, which trees do not show.
        for label, i, j in tree.spans()[int(is_intermediate(root)) :]:
            if label != labels.outer:
                spans[span_id(i, j), labels.phrase_index[label]] += derivation.value / total
        for i, tag in enumerate(tree.tags()):
            tags[i, labels.tag_index[tag]] += derivation.value / total
    return spans, tags


def check(grammars: Sequence[Grammar], members: Sequence[tuple[Grammar, Member]], words: list[str] = WORDS) -> None:
    """The average is that of these members, each with the same weight."""
    found, status, n_negative, _ = average_posteriors(grammars, words)
    parts = [brute(Enumeration(grammar, member, words)) for grammar, member in members]
    np.testing.assert_allclose(found.spans, np.mean([spans for spans, _ in parts], axis=0), atol=1e-10)
    np.testing.assert_allclose(found.tags, np.mean([tags for _, tags in parts], axis=0), atol=1e-10)
    assert (status, n_negative) == (Status.PRUNED, 0)


def test_one_member():
    grammar = make("right", 1, 0)
    check([grammar], [(grammar, grammar.members[0])])


def test_members_of_all_grammars_have_the_same_weight():
    right, left = make("right", 3, 1), make("left", 1, 2)
    check([right, left], [(grammar, member) for grammar in (right, left) for member in grammar.members])


def test_the_first_member_prunes_for_the_others():
    grammar = make("right", 2, 7)
    grammar = replace(grammar, thresholds=grammar.thresholds._replace(middle=0.05))
    wide, _ = prune(grammar, WORDS)
    assert wide is not None
    left = []
    for members in (grammar.members, grammar.members[::-1]):
        (found,) = average_posteriors([replace(grammar, members=members)], WORDS).forests
        likely = parsing.posteriors(grammar, members[0], wide, WORDS).items >= 0.05
        left.append([(a, top, *found.forest.spans[span].tolist()) for a, top, span in found.forest.items.tolist()])
        assert left[-1] == [(a, top, *wide.spans[span].tolist()) for a, top, span in wide.items[likely].tolist()]
        assert len(left[-1]) < len(wide.items)
        others = parsing.posteriors(grammar, members[1], found.forest, WORDS).items
        first = parsing.posteriors(grammar, members[0], wide, WORDS).items[likely]
        np.testing.assert_allclose(found.posteriors.items, (first + others) / 2.0)
    assert left[0] != left[1]


def test_members_without_a_value_do_not_vote():
    grammar = make("right", 2, 3)
    first, second = grammar.members
    check([replace(grammar, members=(without_value(first), second))], [(grammar, second)])


def test_the_middle_model_decides_if_nobody_else_can():
    grammar = make("right", 1, 4)
    middle = random_member(training_trees(TREES), np.random.default_rng(9))
    mute = replace(grammar, middle=middle, members=(without_value(grammar.members[0]),))
    check([mute], [(grammar, middle)])


def test_negative_posteriors_are_counted_and_made_positive():
    data = training_trees(TREES)
    member = random_member(data, np.random.default_rng(0), signed=True)
    found, _, n_negative, _ = average_posteriors([make_grammar(data, [member])], WORDS)
    assert n_negative > 0
    assert found.spans.min() >= 0.0
    assert found.tags.min() >= 0.0


GLUED = [parse_tree("(S (A a) (B b))"), parse_tree("(S (A a) (B b) (A a))"), parse_tree("(S (B b) (A c))")]


def test_a_sentence_without_a_parse_is_put_together_from_pieces():
    data = training_trees(GLUED)
    grammar = make_grammar(data, [random_member(data, np.random.default_rng(0))])
    words = ["a", "b", "a", "b", "c"]
    pieces = cut_into_pieces(grammar, words)
    assert prune(grammar, words) == (None, Status.GLUED)
    assert len(pieces) == 2
    found, status, _, _ = average_posteriors([grammar], words)
    assert status is Status.GLUED
    spans, tags = np.zeros_like(found.spans), np.zeros_like(found.tags)
    for start, end in pieces:
        # Any symbol may be the root of a piece, and only the first piece begins the sentence.
        listed = Enumeration(grammar, grammar.middle, words[start:end], any_root=True, first=start == 0)
        inner, tags[start:end] = brute(listed)
        for j in range(1, end - start + 1):
            for i in range(j):
                spans[span_id(start + i, start + j)] = inner[span_id(i, j)]
    np.testing.assert_allclose(found.spans, spans, atol=1e-10)
    np.testing.assert_allclose(found.tags, tags, atol=1e-10)


def test_no_piece_spans_the_whole_of_a_sentence_without_a_parse():
    """All ways to cut are enumerated: none has fewer pieces."""
    data = training_trees(GLUED)
    grammar = make_grammar(data, [random_member(data, np.random.default_rng(0))])
    words = ["b", "a", "b", "b", "a", "c", "b"]

    def fewest(start: int) -> int:
        if start == len(words):
            return 0
        ends = range(start + 1, len(words) + 1)
        derivable = [e for e in ends if Enumeration(grammar, grammar.middle, words[start:e], any_root=True).value() > 0]
        return 1 + min(fewest(end) for end in derivable)

    pieces = cut_into_pieces(grammar, words)
    assert len(pieces) == fewest(0) > 1
    assert [end for _, end in pieces[:-1]] == [start for start, _ in pieces[1:]]
    assert (pieces[0][0], pieces[-1][1]) == (0, len(words))


def test_words_over_which_nothing_can_be_built_get_their_likeliest_tag():
    data = training_trees(GLUED)
    grammar = make_grammar(data, [random_member(data, np.random.default_rng(0))])
    operators = grammar.middle.operators
    mute = operators._replace(kept=np.zeros_like(operators.kept), unary=np.zeros_like(operators.unary))
    broken = replace(grammar, middle=Member(mute, grammar.middle.lexicon))
    found, status, _, _ = average_posteriors([broken], ["a", "b", "c"])
    assert status is Status.GLUED
    assert not found.spans.any()
    assert [grammar.labels.tags[t] for t in found.tags.argmax(axis=1)] == ["A", "B", "A"]
    np.testing.assert_allclose(found.tags.sum(axis=1), 1.0)


def test_sentences_whose_chart_is_too_large_are_cut(monkeypatch):
    data = training_trees(GLUED)
    grammar = make_grammar(data, [random_member(data, np.random.default_rng(0))])
    monkeypatch.setattr(parsing, "MAX_CHART_BYTES", 1)
    assert parsing.max_words(grammar) == 2
    assert cut_into_pieces(grammar, ["a", "b", "a", "b", "a"]) == [(0, 2), (2, 4), (4, 5)]
    found, status, _, _ = average_posteriors([grammar], ["a", "b", "a"])
    assert status is Status.GLUED
    assert found.spans[span_id(0, 2)].max() > 0.5
    np.testing.assert_allclose(found.tags.sum(axis=1), 1.0)


@pytest.mark.parametrize("n_words", [3, 50])
def test_pruning_is_lifted_where_it_leaves_no_parse(n_words):
    """The middle model forbids what the coarse one finds likely, so that only the unpruned chart has a parse."""
    trees = [parse_tree("(S (A a) (S (B b)))")] * 50 + [parse_tree("(S (A a) (S (C b)))")]
    long = "(A a) (S " * (n_words - 2) + "(A a) (S (B b))" + ")" * (n_words - 2)
    data = training_trees([*trees, parse_tree(f"(S {long})")])
    grammar = replace(make_grammar(data, [random_member(data, np.random.default_rng(0), 1)]))
    (unary,) = np.flatnonzero(data.rules.unary[:, 1] == grammar.productions.labels.index("B"))
    operators = grammar.middle.operators
    weights = operators.unary.copy()
    weights[unary] = 0.0
    middle = Member(operators._replace(unary=weights), grammar.middle.lexicon)
    thresholds = grammar.thresholds._replace(coarse=0.3)
    broken = replace(grammar, middle=middle, thresholds=thresholds)
    words = ["a"] * (n_words - 1) + ["b"]
    forest, status = prune(broken, words)
    assert forest is not None
    assert status is Status.UNPRUNED


def test_the_judge_gives_the_score_of_a_single_member():
    grammar = make("right", 2, 5)
    gold = random_trees(np.random.default_rng(8), 40)

    def f1(part: Grammar) -> float:
        found = [average_posteriors([part], tree.leaves())[0] for tree in gold]
        return bracket_scores(
            gold, [bracket_tree(t.leaves(), p, part.labels) for t, p in zip(gold, found, strict=True)]
        )["f1"]

    assert (
        HeldOutF1(gold)(grammar, grammar.members[1]) == f1(replace(grammar, members=grammar.members[1:])) != f1(grammar)
    )
