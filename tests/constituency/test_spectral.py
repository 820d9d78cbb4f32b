"""Exact recovery from exact moments, consistency from samples."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.constituency import ConstituencyParser
from spectragram.constituency.spectral import recover_operators
from spectragram.data.trees import Tree
from spectragram.inference.chart_forest import forest_posteriors
from spectragram.inference.chart_prune import coarse_forest
from spectragram.inference.chart_rules import make_operators, make_rules, make_weights
from spectragram.inference.fixed_tree import BINARY, LEXICAL, Nodes, tree_values
from spectragram.synthetic.lpcfg import LatentPCFG


def nodes_of(grammar: LatentPCFG, derivation) -> tuple[Nodes, list[tuple[int, int]]]:
    """A skeletal tree in arrays, and (label, word) of its lexical nodes."""
    kind, symbol, rule, left, right, lexical = [], [], [], [], [], []
    stack: list[int] = []
    for number in reversed(list(derivation)):
        if number < len(grammar.rules):
            kind.append(BINARY)
            symbol.append(grammar.rules[number, 0])
            rule.append(number)
            left.append(stack.pop())
            right.append(stack.pop())
        else:
            p, word = divmod(number - len(grammar.rules), grammar.n_words)
            kind.append(LEXICAL)
            symbol.append(grammar.n_interminals + p)
            rule.append(len(lexical))
            left.append(-1)
            right.append(-1)
            lexical.append((grammar.n_interminals + p, word))
        stack.append(len(kind) - 1)
    as32 = [np.array(part, np.int32) for part in (symbol, rule, left, right)]
    kept = np.ones(len(kind), np.uint8)
    return Nodes(np.array(kind, np.int8), *as32, kept, np.array([0, len(kind)], np.int64), np.ones(1)), lexical


def exact_operators(grammar: LatentPCFG):
    rules = make_rules(grammar.rules, np.zeros((0, 2)), grammar.n_labels)
    moments = grammar.moments()
    lexical = np.zeros((grammar.n_labels, grammar.n_words, moments.lexical.shape[2]))
    lexical[grammar.n_interminals :] = moments.lexical
    root = np.zeros((grammar.n_labels, moments.root.shape[1]))
    root[: grammar.n_interminals] = moments.root
    return rules, *recover_operators(rules, moments.inside_outside, moments.binary, lexical, root, grammar.n_states)


@pytest.mark.parametrize("n_states", [1, 2, 3])
def test_tree_probabilities_are_recovered_from_exact_moments(rng, n_states):
    grammar = LatentPCFG.random(2, 3, 6, n_states, rng=rng)
    _, operators, vectors = exact_operators(grammar)
    corpus = grammar.sample(40, rng)
    for derivation in corpus:
        nodes, lexical = nodes_of(grammar, derivation)
        rows = np.array([vectors[label, word] for label, word in lexical])
        sign, log_value = tree_values(operators, rows, nodes)
        assert sign[0] == 1.0
        assert np.exp(log_value[0]) == pytest.approx(grammar.probability(derivation), rel=1e-8)


def test_marginals_are_recovered_from_exact_moments(rng):
    grammar = LatentPCFG.random(2, 3, 6, 2, rng=rng)
    rules, operators, vectors = exact_operators(grammar)
    m = grammar.n_states
    true_root = np.zeros((grammar.n_labels, m))
    true_root[: grammar.n_interminals] = grammar.root
    truth = make_operators(
        rules, operators.n_states, grammar.binary.ravel(), np.zeros(0), np.ones(grammar.n_labels * m), true_root.ravel()
    )
    true_vectors = np.zeros((grammar.n_labels, grammar.n_words, m))
    true_vectors[grammar.n_interminals :] = grammar.lexical.swapaxes(1, 2)
    words = [0, 3, 5, 1, 2]
    tags = np.arange(grammar.n_interminals, grammar.n_labels, dtype=np.int32)
    weights = make_weights(
        rules,
        grammar.binary.sum(axis=(2, 3)).mean(axis=1),
        np.zeros(0),
        np.ones(grammar.n_labels),
        true_root.sum(axis=1),
    )
    starts = np.arange(0, len(words) * len(tags) + 1, len(tags), dtype=np.int32)
    forest = coarse_forest(rules, weights, (starts, np.tile(tags, len(words)), np.ones(starts[-1])), 0.0)
    assert forest is not None
    found = []
    for model, table in ((truth, true_vectors), (operators, vectors)):
        lexical = [
            table[symbol, words[forest.spans[span, 0]]]
            for symbol, top, span in forest.items
            if not top and forest.spans[span, 1] - forest.spans[span, 0] == 1
        ]
        found.append(forest_posteriors(rules, forest, model, np.concatenate(lexical)))
    assert found[1].log_value == pytest.approx(found[0].log_value, abs=1e-8)
    np.testing.assert_allclose(found[1].items, found[0].items, atol=1e-8)
    np.testing.assert_allclose(found[1].edges, found[0].edges, atol=1e-8)


@pytest.mark.slow
def test_marginals_from_samples_come_closer_with_more_trees(rng):
    grammar = LatentPCFG.random(2, 4, 8, 2, rng=rng)
    corpus = grammar.sample(6200, rng)
    trees: list[Tree] = [grammar.to_tree(derivation) for derivation in corpus]
    sentences = [tree.leaves() for tree in trees[:200] if 3 <= len(tree.leaves()) <= 9][:60]
    reference = ConstituencyParser(2, "spectral", preset="fast", noise=0.0).fit(trees[200:])

    def distance(n_trees: int) -> float:
        parser = ConstituencyParser(2, "spectral", preset="fast", noise=0.0).fit(trees[200 : 200 + n_trees])
        ours, theirs = parser.marginals(sentences), reference.marginals(sentences)
        labels, other = parser.labels_, reference.labels_
        assert labels == other
        return float(np.mean([np.abs(a.spans - b.spans).max() for a, b in zip(ours, theirs, strict=True)]))

    errors = [distance(n) for n in (60, 600, 3000)]
    assert errors[2] < errors[1] < errors[0]
