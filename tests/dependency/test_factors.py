"""Surface factors: their gradient by enumeration of all trees, their training, their templates."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from spectragram.data.projectivity import find_tree_problem, is_projective
from spectragram.dependency import DependencyParser
from spectragram.dependency.crossing import lift_trees
from spectragram.dependency.encoding import Alphabet
from spectragram.dependency.factor_training import learn_factors
from spectragram.dependency.factors import Factors, Templates, arc_templates, usable_letters
from spectragram.dependency.features import gold_pairs
from spectragram.dependency.gates import Gates
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.labels import Labels, learn_labels
from spectragram.dependency.tree_templates import TreeTemplates, label_templates, pair_templates
from spectragram.inference.headed import inside_outside
from spectragram.inference.pair_factors import step_pairs
from spectragram.learning.factors import start_weights
from spectragram.synthetic import english_dependencies

TREES = english_dependencies(40, seed=3)
ALPHABET = Alphabet.of(TREES)
ENCODED = ALPHABET.encode(TREES)
HEADS = lift_trees(TREES).heads
LETTERS = usable_letters(ALPHABET, words=True)
GRAMMAR = DependencyParser(2, max_iter=2, factors=False).fit(TREES).grammar_


def log_weight(grammar: Grammar, columns: np.ndarray, heads: tuple[int, ...], factors: Factors) -> float:
    """The definition: automata of every word on its modifiers, factors of every arc and end of a half."""
    tags, n = columns[0], len(heads)
    total = 0.0
    for word, head in enumerate(heads):
        total += np.log(grammar.root[tags[word]]) if head == 0 else 0.0
        below = [other for other in range(n) if heads[other] == word + 1]
        for direction in range(2):
            mine = sorted((o for o in below if (o > word) == bool(direction)), key=lambda other: abs(other - word))
            total += np.log(grammar.automaton(tags[word], direction).value([tags[other] for other in mine]))
    arcs, stops = factors.scores([columns], [None])[0]
    gold_arcs, gold_stops = gold_pairs(np.array(heads))
    return float(total + (arcs * gold_arcs).sum() + (stops * gold_stops).sum())


def all_trees(n: int) -> list[tuple[int, ...]]:
    return [
        heads
        for heads in itertools.product(range(n + 1), repeat=n)
        if find_tree_problem(heads) is None and is_projective(heads)
    ]


def test_the_gradient_is_that_of_the_likelihood_over_all_trees() -> None:
    number = int(np.argmin([abs(len(tree) - 4) for tree in TREES]))
    columns = ENCODED.columns(number)
    # A tree that the automata find unlikely, so that the gradient is large.
    gold = all_trees(columns.shape[1])[-1]
    assert 3 <= len(gold) <= 5
    rng = np.random.default_rng(0)
    empty = Factors.empty(LETTERS, 10)
    arcs, stops = (rng.normal(size=empty.arc_weights.size).astype(np.float32) * 0.1 for _ in range(2))
    factors = empty.with_weights(arcs, stops)
    trees = all_trees(len(gold))

    def log_likelihood(tried: Factors) -> float:
        weights = np.array([log_weight(GRAMMAR, columns, tree, tried) for tree in trees])
        return log_weight(GRAMMAR, columns, gold, tried) - float(np.logaddexp.reduce(weights))

    # With a huge damping every step is proportional to the gradient.
    steps = start_weights(np.zeros_like(arcs))
    steps.squares[:] = 1e12
    tags = columns[0]
    _, _, _, marginals, _ = inside_outside(
        tags,
        np.log(GRAMMAR.root[tags]),
        GRAMMAR.initial,
        GRAMMAR.operators,
        GRAMMAR.final,
        *factors.scores([columns], [None])[0],
    )
    step_pairs(factors.arc_templates.pairs(columns), gold_pairs(np.array(gold))[0] - marginals, steps, 1.0, 1)
    found = steps.table.astype(np.float64) * 1e6
    h = np.float32(2.0**-8)
    for place in np.argsort(-np.abs(found))[:6]:
        above, below = arcs.copy(), arcs.copy()
        above[place] += h
        below[place] -= h
        difference = log_likelihood(replace(factors, arc_weights=above)) - log_likelihood(
            replace(factors, arc_weights=below)
        )
        assert found[place] == pytest.approx(difference / (2 * float(h)), abs=5e-3)
    assert np.abs(found).max() > 0.05


def test_training_learns_the_trees_and_threads_do_not_show() -> None:
    empty = Factors.empty(LETTERS, len(HEADS))
    one, epochs = learn_factors(empty, GRAMMAR, ENCODED, HEADS, n_epochs=2, rng=np.random.default_rng(0), n_jobs=1)
    two, _ = learn_factors(empty, GRAMMAR, ENCODED, HEADS, n_epochs=2, rng=np.random.default_rng(0), n_jobs=3)
    assert epochs == 2
    np.testing.assert_array_equal(one.arc_weights, two.arc_weights)
    np.testing.assert_array_equal(one.stop_weights, two.stop_weights)
    assert not empty.arc_weights.any(), "the start is left alone"
    assert one.arc_weights.any()
    assert one.stop_weights.any()


def test_a_judge_sees_factors_and_chooses_the_epoch() -> None:
    empty = Factors.empty("t", len(HEADS))
    seen: list[Factors] = []

    def judge(factors: Factors) -> float:
        seen.append(factors)
        return [1.0, 3.0, 2.0][len(seen) - 1]

    best, epochs = learn_factors(empty, GRAMMAR, ENCODED, HEADS, n_epochs=3, rng=np.random.default_rng(0), judge=judge)
    assert epochs == 2
    np.testing.assert_array_equal(best.arc_weights, seen[1].arc_weights)


def test_templates_look_at_the_rows_they_may_look_at() -> None:
    assert usable_letters(ALPHABET, words=True) == "towmsc"
    assert usable_letters(ALPHABET, words=False) == "toc"
    for family in (arc_templates, label_templates, pair_templates):
        few, many = family("to").listed, family("towmsfk=").listed
        assert 0 < len(few) < len(many)
        assert not any(set(template) & set("wmsfk=") for template in few if family is arc_templates)
    assert any("=" in template for template in label_templates("tfk=").listed)
    assert not any("=" in template for template in label_templates("tfk").listed)
    assert not any(atom[1] in "wms" for one in label_templates("tfk").listed for atom in one.replace("*", "").split())


def test_odd_templates_are_refused() -> None:
    for listed in ((), ("t0",), ("t0 | t0 | t0",), ("x0 | t0",), ("t | t0",)):
        with pytest.raises(ValueError):
            Templates(listed, 1)
    for listed in ((), ("t0",), ("mx0",), ("xt0",), ("mt",)):
        with pytest.raises(ValueError):
            TreeTemplates(listed)


def learned_labels(given: list[str]) -> Labels:
    return learn_labels(given, ENCODED, HEADS, len(ALPHABET.tags), LETTERS, n_epochs=3, rng=np.random.default_rng(0))


def test_labels_are_learned_and_survive_their_state() -> None:
    labels = learned_labels([label for tree in TREES for label in tree.deprels])
    restored = Labels.from_state(*labels.to_state())
    right = total = 0
    for number, tree in enumerate(TREES):
        columns, heads = ENCODED.columns(number), tree.heads.astype(np.int64)
        predicted, _ = labels.predict(columns, heads)
        assert predicted == restored.predict(columns, heads)[0]
        right += sum(mine == gold for mine, gold in zip(predicted, tree.deprels, strict=True))
        total += len(tree)
    assert right > 0.95 * total
    assert labels.candidates.any(axis=1).all(), "every tag has a candidate"


def test_words_without_a_label_are_passed_over() -> None:
    full = [label for tree in TREES for label in tree.deprels]
    holes = ["_" if i % 5 == 0 else label for i, label in enumerate(full)]
    labels = learned_labels(holes)
    assert "_" not in labels.names
    assert labels.root == "root"
    assert np.isfinite(labels.weights).all()
    none = learned_labels(["_"] * len(full))
    assert (none.names, none.root) == (("_",), "_")


def test_gates_whose_tables_differ_in_size_are_refused() -> None:
    """One look finds the place in both tables, so a shorter one would be left."""
    tables = np.zeros(16, np.float32), np.zeros(32, np.float32)
    assert Gates(tables[0], tables[0]).arcs.size == 16
    with pytest.raises(ValueError, match="16 and 32 weights"):
        Gates(*tables)
