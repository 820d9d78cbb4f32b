"""Factors of rules: fitting makes gold derivations likelier; numbers do not depend on the grammar; files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spectragram as sg
from spectragram.constituency.answers import decode
from spectragram.constituency.brackets import MBR_THRESHOLD, SpanPosteriors
from spectragram.constituency.model import Grammar
from spectragram.constituency.parsing import average_posteriors
from spectragram.constituency.rule_factors import THRESHOLD, RuleExample, RuleFactors, learn_rule_factors, scored
from spectragram.data.known_spans import SpanConstraints
from spectragram.data.trees import Tree
from spectragram.errors import ModelFileError
from spectragram.inference.chart_coarse import span_id
from spectragram.inference.rule_factors import choice_posteriors
from spectragram.synthetic.english import english_trees

TREES, NEW = english_trees(150), english_trees(180)[150:]


@pytest.fixture(scope="module")
def plain() -> sg.ConstituencyParser:
    """Two grammars, over two binarisations."""
    return sg.ConstituencyParser(4, n_models=2, max_iter=1, n_jobs=1, factors=False).fit(TREES)


@pytest.fixture(scope="module")
def complete() -> sg.ConstituencyParser:
    return sg.ConstituencyParser(2, n_models=1, max_iter=1, n_jobs=1, factors=True).fit(TREES[:110])


def examples_of(parser: sg.ConstituencyParser, factors: RuleFactors, tree: Tree) -> list[RuleExample]:
    words = tree.leaves()
    found = average_posteriors(parser.model_.grammars, words)
    gold = frozenset((i, j, label) for label, i, j in tree.children[0].spans())
    parts = (factors.example(words, found.posteriors, forest, gold, tree.tags()) for forest in found.forests)
    return [part for part in parts if part is not None]


def apply(parser: sg.ConstituencyParser, factors: RuleFactors, words: list[str]) -> SpanPosteriors:
    found = average_posteriors(parser.model_.grammars, words)
    return factors.apply(words, found.posteriors, found.forests)


def log_share(factors: RuleFactors, example: RuleExample) -> float:
    """log p(gold derivation) in its forest."""
    choices = scored(example.seen, factors.places(example.seen), factors.weights)
    forest = example.seen.forest
    total = choice_posteriors(forest, choices)[3]
    root = forest.links[np.flatnonzero(example.links)[-1], 0]  # links of the whole sentence come last
    return float(choices.edges @ example.edges + choices.links @ example.links + choices.roots[root] - total)


def test_without_weights_nothing_changes(plain: sg.ConstituencyParser) -> None:
    factors = RuleFactors.empty(10)
    for tree in NEW[:5]:
        found = average_posteriors(plain.model_.grammars, tree.leaves()).posteriors
        again = apply(plain, factors, tree.leaves())
        # Pruning for the factors leaves out a little.
        np.testing.assert_allclose(again.spans, found.spans, atol=0.02)
        np.testing.assert_allclose(again.tags, found.tags, atol=0.02)


def test_gold_derivations_have_the_brackets_of_the_tree(plain: sg.ConstituencyParser) -> None:
    for tree in NEW[:5]:
        for example in examples_of(plain, RuleFactors.empty(10), tree):
            forest = example.seen.forest
            n = len(tree.leaves())
            assert example.edges.sum() == n - 1  # binary rules
            assert example.links.sum() == 2 * n - 1  # a link for each span of a binary tree
            assert forest.links[np.flatnonzero(example.links)[-1], 0] >= forest.first_item[-2]


def test_fitting_makes_gold_derivations_likelier_and_weight_zero_does_not_count(plain: sg.ConstituencyParser) -> None:
    empty = RuleFactors.empty(1000)
    examples = [example for tree in NEW[:10] for example in examples_of(plain, empty, tree)]
    learned = learn_rule_factors(empty, examples, n_epochs=3, rng=np.random.default_rng(0))
    before, after = (sum(log_share(factors, one) for one in examples) for factors in (empty, learned))
    assert before < after <= 1e-9
    ignored = [example._replace(weight=0.0) for example in examples]
    assert not learn_rule_factors(empty, ignored, rng=np.random.default_rng(0)).weights.any()


def test_factors_change_labels_and_tags_alike(plain: sg.ConstituencyParser) -> None:
    empty, tree = RuleFactors.empty(1000), NEW[0]
    learned = learn_rule_factors(empty, examples_of(plain, empty, tree), n_epochs=20, rng=np.random.default_rng(0))
    found = apply(plain, learned, tree.leaves())
    labels, tags = plain.labels_, plain.tags_
    for label, i, j in tree.children[0].spans():
        assert found.spans[span_id(i, j), labels.index(label)] > 0.9
    assert all(row[tags.index(tag)] > 0.9 for row, tag in zip(found.tags, tree.tags(), strict=True))


def test_numbers_of_symbols_and_rules_are_the_same_in_every_grammar(plain: sg.ConstituencyParser) -> None:
    def named(grammar: Grammar) -> dict[tuple[str, ...], int]:
        names, numbers = grammar.productions.labels, grammar.numbers
        found = {(name,): number for name, number in zip(names, numbers.symbols.tolist(), strict=True)}
        for rule, number in zip(grammar.productions.binary.tolist(), numbers.binary.tolist(), strict=True):
            found[tuple(names[symbol] for symbol in rule)] = number
        return found

    right, left = (named(grammar) for grammar in plain.model_.grammars)
    fewer = sg.ConstituencyParser(2, n_models=1, max_iter=0, n_jobs=1, factors=False).fit(TREES[:40])
    part = named(fewer.model_.grammars[0])
    for other in (left, part):
        shared = right.keys() & other.keys()
        assert len(shared) > 20 and all(right[name] == other[name] for name in shared)
    assert len(set(right.values())) == len(right)


def test_the_parser_has_them_and_they_are_in_the_file(complete: sg.ConstituencyParser, tmp_path: Path) -> None:
    assert complete.model_.rule_factors is not None and complete.model_.rule_factors.weights.any()
    complete.save(tmp_path / "model.sgm")
    loaded = sg.ConstituencyParser.load(tmp_path / "model.sgm")
    sentences = [tree.leaves() for tree in NEW[:5]]
    for ours, theirs in zip(complete.marginals(sentences), loaded.marginals(sentences), strict=True):
        np.testing.assert_array_equal(ours.spans, theirs.spans)
        np.testing.assert_array_equal(ours.tags, theirs.tags)


def test_brackets_must_be_surer_with_them_than_without(complete: sg.ConstituencyParser) -> None:
    """A bracket between the two thresholds is in the tree of the grammars alone."""
    model = complete.model_
    labels = model.labels
    posteriors = SpanPosteriors(np.zeros((6, len(labels.phrases))), np.ones((3, len(labels.tags))))
    posteriors.spans[span_id(0, 3), labels.phrase_index["S"]] = 1.0
    posteriors.spans[span_id(0, 2), labels.phrase_index["NP"]] = (MBR_THRESHOLD + THRESHOLD) / 2
    given = SpanConstraints(("the", "dog", "barks"))
    assert ("NP", 0, 2) not in decode(model, posteriors, given).spans()
    assert ("NP", 0, 2) in decode(replace(model, rule_factors=None), posteriors, given).spans()


def test_weights_of_other_hash_functions_are_refused(
    complete: sg.ConstituencyParser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete.save(tmp_path / "model.sgm")
    monkeypatch.setattr("spectragram.constituency.rule_factors.VERSION", 999)
    with pytest.raises(ModelFileError, match="999"):
        sg.ConstituencyParser.load(tmp_path / "model.sgm")


def test_bad_factors_are_refused() -> None:
    good = RuleFactors.empty(10)
    for name in ("spans", "parents", "rules"):
        with pytest.raises(ValueError, match="templates"):
            replace(good, **{name: ()})
    with pytest.raises(ValueError, match="weights"):
        replace(good, weights=np.zeros(3, np.float32))
