"""Decoders of whole derivations against all derivations of short sentences."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from spectragram.constituency.derivations import FLOOR, best_derivation, k_best_derivations
from spectragram.constituency.model import Grammar, Member
from spectragram.constituency.parsing import Status
from spectragram.data.brackets import parse_tree
from tests.constituency.brute import Derivation, Enumeration, make_grammar, random_member, random_trees, training_trees

SENTENCES = (["x"], ["y", "x"], ["x", "z", "y"], ["z", "z", "x", "y"])


def posteriors(derivations: list[Derivation]) -> dict[tuple, float]:
    total = sum(derivation.value for derivation in derivations)
    found: dict[tuple, float] = defaultdict(float)
    for derivation in derivations:
        for part in derivation.parts:
            found[part] += derivation.value / total
    return found


def rules_of(derivation: Derivation) -> list[tuple]:
    """The parts that max-rule multiplies: rules, unary rules or their absence, tag -> word."""
    single = [part for part in derivation.parts if part[0] == "item" and part[3] - part[2] == 1]
    return [part for part in derivation.parts if part[0] != "item"] + single


def max_rule(derivations: list[Derivation], members: list[list[Derivation]]) -> np.ndarray:
    """Score of each derivation: mean over members of the sum of log posteriors."""
    tables = [posteriors(listed) for listed in members]
    return np.array(
        [
            np.mean([sum(np.log(max(table[part], FLOOR)) for part in rules_of(d)) for table in tables])
            for d in derivations
        ]
    )


def make(seed: int, *, n_members: int = 1, signed: bool = False, direction: str = "right") -> Grammar:
    rng = np.random.default_rng(seed)
    data = training_trees(random_trees(rng), direction)
    return make_grammar(data, [random_member(data, rng, signed=signed) for _ in range(n_members)])


def listed(grammar: Grammar, member: Member, words: list[str]) -> list[Derivation]:
    return Enumeration(grammar, member, words).derivations()


@pytest.mark.parametrize("words", SENTENCES, ids=len)
@pytest.mark.parametrize(("seed", "signed"), [(0, False), (1, False), (0, True)])
def test_k_best_trees_are_the_first_of_all(seed, signed, words):
    grammar = make(seed, signed=signed)
    derivations = listed(grammar, grammar.members[0], words)
    total = sum(derivation.value for derivation in derivations)
    scores = max_rule(derivations, [derivations])
    of_tree = {str(d.tree(grammar, words)): (score, d) for score, d in zip(scores, derivations, strict=True)}
    assert len(of_tree) == len(derivations) > 0
    for k in {1, 2, 7, len(derivations), len(derivations) + 3}:
        found, n_negative = k_best_derivations(grammar, words, k)
        assert len(found) == len({str(tree) for tree, _ in found}) == min(k, len(derivations))
        chosen = [of_tree[str(tree)][0] for tree, _ in found]
        np.testing.assert_allclose(chosen, np.sort(scores)[::-1][:k], rtol=1e-9)
        for tree, log_share in found:
            value = of_tree[str(tree)][1].value
            assert np.exp(log_share) == pytest.approx(abs(value / total), rel=1e-9)
        assert n_negative == 0 or signed


def test_chains_of_unary_rules_are_in_the_trees():
    """The random grammars have what the tests above are meant to cover."""
    trees = [str(d.tree(make(0), ["x", "y"])) for d in listed(make(0), make(0).members[0], ["x", "y"])]
    assert any("(A (B (" in tree and "(B (A (" in tree for tree in trees)
    assert any(make(0).productions.chains)  # the labels inside of a unary rule


def test_ties_are_all_listed():
    """One rule S -> S S: all bracketings of n words have the same probability, but not the same max-rule score."""
    trees = [parse_tree("(S (S (S (t x)) (S (t x))) (S (t x)))"), parse_tree("(S (S (t x)) (S (S (t x)) (S (t x))))")]
    data = training_trees(trees)
    grammar = make_grammar(data, [random_member(data, np.random.default_rng(0), 1)])
    found, _ = k_best_derivations(grammar, ["x"] * 4, 10)
    shares = np.exp([value for _, value in found])
    assert len({str(tree) for tree, _ in found}) == len(found) == 5
    np.testing.assert_allclose(shares, 0.2, rtol=1e-9)
    assert [str(tree) for tree, _ in found] == [str(tree) for tree, _ in k_best_derivations(grammar, ["x"] * 4, 5)[0]]


def test_derivations_of_the_same_tree_are_one():
    """Binarised around its head, a phrase can lose its outer children in any order."""
    texts = ["(A (s x) (t y) (t y))", "(A (t y) (t y) (s x))", "(A (t y) (s x) (t y))"]
    data = training_trees([parse_tree(text) for text in (*texts, "(A (t y) (s x) (t y) (t y))")], "head")
    grammar = make_grammar(data, [random_member(data, np.random.default_rng(0))])
    words = ["y", "x", "y"]
    derivations = listed(grammar, grammar.members[0], words)
    total = sum(derivation.value for derivation in derivations)
    expected: dict[str, float] = defaultdict(float)
    for derivation in derivations:
        expected[str(derivation.tree(grammar, words))] += derivation.value / total
    assert len(expected) < len(derivations)
    found, _ = k_best_derivations(grammar, words, 10)
    assert {str(tree): np.exp(value) for tree, value in found} == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("words", SENTENCES, ids=len)
@pytest.mark.parametrize("n_members", [1, 3])
def test_the_best_derivation_is_the_best_of_all(words, n_members):
    grammar = make(3, n_members=n_members)
    members = [listed(grammar, member, words) for member in grammar.members]
    scores = max_rule(members[0], members)
    tree, status, n_negative = best_derivation(grammar, words, "max-rule")
    assert str(tree) == str(members[0][int(scores.argmax())].tree(grammar, words))
    assert (status, n_negative) == (Status.PRUNED, 0)
    tables = [posteriors(derivations) for derivations in members]
    sums = [
        sum(np.mean([table[part] for table in tables]) for part in d.parts if part[0] != "edge") for d in members[0]
    ]
    tree, _, _ = best_derivation(grammar, words, "goodman")
    assert str(tree) == str(members[0][int(np.argmax(sums))].tree(grammar, words))


def test_the_first_of_the_k_best_is_the_best_derivation():
    grammar = make(4)
    for words in SENTENCES:
        best = best_derivation(grammar, words, "max-rule")[0]
        assert str(k_best_derivations(grammar, words, 1)[0][0][0]) == str(best)


def test_what_has_no_derivation_has_no_tree():
    data = training_trees([parse_tree("(S (A a) (B b))")] * 3)
    grammar = make_grammar(data, [random_member(data, np.random.default_rng(0))])
    assert best_derivation(grammar, ["a", "b", "a"], "max-rule") == (None, Status.GLUED, 0)
    assert k_best_derivations(grammar, ["a", "b", "a"], 3) == ([], 0)


def test_members_without_a_value_do_not_count():
    data = training_trees([parse_tree("(S (A a) (B b))")] * 3)
    member = random_member(data, np.random.default_rng(0))
    empty = Member(member.operators._replace(root=np.zeros_like(member.operators.root)), member.lexicon)
    assert str(best_derivation(make_grammar(data, [empty, member]), ["a", "b"], "max-rule")[0]) == "(S (A a) (B b))"
    assert best_derivation(make_grammar(data, [empty]), ["a", "b"], "max-rule")[0] is None
    assert k_best_derivations(make_grammar(data, [empty]), ["a", "b"], 2) == ([], 0)
