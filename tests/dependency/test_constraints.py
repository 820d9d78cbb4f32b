"""Parsing around known heads against the enumeration of every tree that agrees with them."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

from spectragram.data import Sentence
from spectragram.data.known_heads import HeadConstraints, lifted_words, with_known_heads
from spectragram.data.projectivity import find_tree_problem, is_projective, projectivize
from spectragram.dependency import DependencyParser
from spectragram.dependency.members import Member
from spectragram.errors import InputError, ParameterError
from spectragram.inference.headed import list_arcs
from spectragram.inference.headed_kbest import k_best_heads
from spectragram.inference.sibling_factors import gold_triples
from spectragram.synthetic import english_dependencies

TREES = english_dependencies(120, seed=3)


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    fitted = DependencyParser(n_states=2, n_models=2, n_epochs=1, max_iter=3, n_jobs=1).fit(TREES)
    fitted.model_ = replace(fitted.model_, temperature=1.0)  # marginals as the enumeration has them
    return fitted


def all_trees(n: int) -> np.ndarray:
    every = itertools.product(range(n + 1), repeat=n)
    return np.array([h for h in every if find_tree_problem(h) is None and is_projective(h)], np.int32)


def weight(member: Member, columns: np.ndarray, heads: np.ndarray) -> float:
    """The weight of one tree: automata run over its modifier sequences, times its factors."""
    grammar, tags, n = member.grammar, columns[0], len(heads)
    arcs, stops = member.scores([columns], [None])[0]
    total = 1.0
    below = [{j for j in range(n) if i in _above(heads, j)} for i in range(n)]
    for i in range(n):
        if heads[i] == 0:
            total *= grammar.root[tags[i]]
        else:
            h = heads[i] - 1
            total *= np.exp(arcs[int(i > h), h, abs(i - h)])
        for d in range(2):
            mine = sorted((j for j in range(n) if heads[j] == i + 1 and (j > i) == bool(d)), key=lambda j: abs(j - i))
            state = grammar.initial[d, tags[i]]
            for j in mine:
                state = state @ grammar.operators[d, tags[i], tags[j]]
            far = max(below[i]) - i if d else i - min(below[i])
            total *= float(state @ grammar.final[d, tags[i]]) * np.exp(stops[d, i, far])
    listed = list_arcs(np.ones((2, n, n), bool))
    assert member.factors is not None
    assert member.factors.siblings is not None
    scores = member.factors.siblings.scores(columns, listed)
    neighbours = gold_triples(np.array(heads, np.int64), listed)
    return total * np.exp(sum(float(a @ b) for a, b in zip(scores, neighbours, strict=True)))


def _above(heads: np.ndarray, word: int) -> list[int]:
    path = [word]
    while heads[path[-1]]:
        path.append(heads[path[-1]] - 1)
    return path


def sentence(n: int, head: str = "", misc: str = "", deprel: str = "") -> Sentence:
    tags = ["DT", "NN", "VBD", "NN", "RB"][:n]
    columns = {"xpos": tags, "upos": ["DET", "NOUN", "VERB", "NOUN", "ADV"][:n]}
    given = {"head": head, "misc": misc, "deprel": deprel}
    columns |= {name: text.split() for name, text in given.items() if text}
    return Sentence.from_words(["the", "dog", "saw", "cats", "often"][:n], **columns)


CASES = [
    ("_ _ _ _", "_ _ _ _"),
    ("_ _ 0 _", "_ _ _ _"),
    ("2 _ _ 3", "_ _ _ _"),
    ("_ _ _ _", "_ NotHead=0,3 _ NotHead=2"),
    ("4 _ _ _", "_ NotHead=1 SpaceAfter=No|NotHead=0 _"),
    ("2 3 0 3", "_ _ _ _"),
]


@pytest.mark.parametrize(("head", "misc"), CASES)
def test_everything_equals_enumeration_of_the_trees_that_agree(parser: DependencyParser, head: str, misc: str) -> None:
    given = sentence(4, head, misc)
    allowed = HeadConstraints.of(given).allowed
    trees = all_trees(4)
    trees = trees[allowed[np.arange(4), trees].all(axis=1)]
    columns = parser.model_.alphabet.encode([given]).columns(0)
    shares = []
    for member in parser.model_.members:
        weights = np.array([weight(member, columns, tree) for tree in trees])
        shares.append(weights / weights.sum())
    expected = np.mean(shares, axis=0)

    marginals = np.zeros((4, 5))
    for tree, share in zip(trees, expected, strict=True):
        marginals[np.arange(4), tree] += share
    np.testing.assert_allclose(parser.marginals([given], constrained=True)[0], marginals, atol=1e-10)

    listed = parser.kbest([given], len(trees) + 5, constrained=True)[0]
    assert len(listed) == len(trees)
    values = {tuple(tree.heads.tolist()): value for tree, value in listed}
    found = [values[tuple(tree.tolist())] for tree in trees]
    np.testing.assert_allclose(np.exp(found), expected, atol=1e-10)
    assert [value for _, value in listed] == sorted(values.values(), reverse=True)

    sure = parser.confidence([given], constrained=True)[0]
    heads = sure.sentence.heads
    risk = np.log(np.maximum(marginals, 1e-30))[np.arange(4), trees].sum(axis=1)
    assert heads.tolist() == trees[risk.argmax()].tolist(), "the least expected number of errors"
    np.testing.assert_allclose(sure.heads, marginals[np.arange(4), heads], atol=1e-10)
    assert sure.tree == pytest.approx(np.exp(values[tuple(heads.tolist())]))
    assert parser.predict([given], constrained=True)[0] == sure.sentence


def test_heads_of_the_data_are_ignored_unless_asked_for(parser: DependencyParser) -> None:
    odd = sentence(4, "4 4 4 0")
    assert parser.predict([odd], constrained=True)[0].heads.tolist() == [4, 4, 4, 0]
    assert parser.predict([odd])[0].heads.tolist() != [4, 4, 4, 0]


def test_known_relations_are_kept_and_tell_about_the_root(parser: DependencyParser) -> None:
    given = sentence(4, deprel="_ obj _ root")
    parsed = parser.confidence([given], constrained=True)[0]
    assert parsed.sentence.deprels[1] == "obj"
    assert parsed.sentence.heads[3] == 0
    assert parsed.relations[1] == 1.0
    assert parser.predict([sentence(4, deprel="_ new:one _ _")], constrained=True)[0].deprels[1] == "new:one"
    assert (parser.marginals([given], constrained=True)[0][1, 0]) == 0.0


@pytest.mark.parametrize("heads", ["3 4 0 3", "_ 4 _ 1", "3 4 _ _", "3 1 0 2 1", "4 5 0 _ 3", "_ 1 _ 2 0", "3 0 5 2 _"])
def test_crossing_heads_are_kept_whole(parser: DependencyParser, heads: str) -> None:
    given = sentence(len(heads.split()), heads)
    parsed = parser.predict([given], constrained=True)[0]
    assert find_tree_problem(parsed.heads) is None
    known = given.heads >= 0
    assert (parsed.heads[known] == given.heads[known]).all()
    rows = parser.marginals([given], constrained=True)[0]
    assert (rows[known, given.heads[known]] == 1.0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)


def test_every_set_of_known_heads_of_short_sentences_gives_a_tree_with_them() -> None:
    for heads in itertools.product(range(-1, 5), repeat=4):
        known = np.array(heads)
        if any(head == word for word, head in enumerate(heads, 1)) or (known == 0).sum() > 1:
            continue
        if find_tree_problem(np.where(known < 0, 0, known)) and "cycle" in str(
            find_tree_problem(np.where(known < 0, 0, known))
        ):
            continue
        lifted = lifted_words(known)
        kept = known.copy()
        kept[np.array(lifted, int) - 1] = -1
        fitting = [tree for tree in all_trees(4) if ((kept < 0) | (tree == kept)).all()]
        assert fitting, f"{heads}: no projective tree has {kept}"
        for tree in fitting:
            found = with_known_heads(tree, known)
            assert find_tree_problem(found) is None, (heads, tree)
            assert (found[known >= 0] == known[known >= 0]).all()


def test_whole_trees_are_lifted_as_in_training() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        heads = rng.integers(0, 7, 6)
        if find_tree_problem(heads) is None and not is_projective(heads):
            changed = np.flatnonzero(projectivize(heads)[0] != heads) + 1
            assert set(changed.tolist()) & set(lifted_words(heads))


@pytest.mark.parametrize(
    ("head", "misc", "message"),
    [
        ("2 1 _ _", "_ _ _ _", "word 1 (the) of the sentence 'the dog saw cats': its heads form a cycle"),
        (
            "0 0 _ _",
            "_ _ _ _",
            "word 2 (dog) of the sentence 'the dog saw cats': a second root: word 1 has head 0 already",
        ),
        ("9 _ _ _", "_ _ _ _", "word 1 (the) of the sentence 'the dog saw cats': head 9 is outside 0..4"),
        ("2 _ _ _", "NotHead=2 _ _ _", "word 1 (the) of the sentence 'the dog saw cats': its head 2 is ruled out"),
        (
            "_ _ _ _",
            "NotHead=0,2,3,4 _ _ _",
            "word 1 (the) of the sentence 'the dog saw cats': all heads are ruled out",
        ),
        ("_ _ _ _", "NotHead=9 _ _ _", "word 1 (the) of the sentence 'the dog saw cats': 'NotHead=9' in MISC"),
        ("_ _ _ _", "NotHead=x _ _ _", "word 1 (the) of the sentence 'the dog saw cats': 'NotHead=x' in MISC"),
        ("_ _ _ _", "NotHead=0 NotHead=0 NotHead=0 NotHead=0", "no tree is left for the sentence 'the dog saw cats'"),
    ],
)
def test_contradictions_name_the_word(parser: DependencyParser, head: str, misc: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parser.predict([sentence(4, head, misc)], constrained=True)


def test_k_must_be_a_number(parser: DependencyParser) -> None:
    for k in (0, True, 1.5):
        with pytest.raises(ParameterError):
            parser.kbest(TREES[:1], k)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_k_best_trees_are_those_of_enumeration(n: int) -> None:
    rng = np.random.default_rng(n)
    roots, arcs = rng.normal(size=n), rng.normal(size=(2, n, n))
    arcs[rng.random(arcs.shape) < 0.2] = -np.inf
    every = all_trees(n)
    scores = np.array([_score(tree, roots, arcs) for tree in every])
    order = np.argsort(-scores)[: (scores > -np.inf).sum()]
    for k in (1, 3, 7, len(every) + 2):
        heads, values = k_best_heads(roots, arcs, k)
        np.testing.assert_allclose(values, scores[order[:k]], atol=1e-12)
        assert [tuple(row) for row in heads] == [tuple(every[i]) for i in order[:k]]


def _score(tree: np.ndarray, roots: np.ndarray, arcs: np.ndarray) -> float:
    words = [
        roots[i] if head == 0 else arcs[int(i > head - 1), head - 1, abs(i - head + 1)] for i, head in enumerate(tree)
    ]
    return float(sum(words))
