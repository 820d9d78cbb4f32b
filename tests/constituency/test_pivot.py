"""The pivot learner: exact recovery where the pivot assumption holds."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.constituency import ConstituencyParser
from spectragram.constituency.pivot import recover_parameters
from spectragram.metrics import bracket_scores
from spectragram.synthetic.english import english_trees
from spectragram.synthetic.lpcfg import LatentPCFG


def best_permutations(grammar: LatentPCFG, words: np.ndarray, pi: np.ndarray) -> list[np.ndarray]:
    """For two states: the order of the learned states of each label that fits the true grammar better."""
    orders = []
    for a in range(grammar.n_labels):
        if a < grammar.n_interminals:
            truth, found = grammar.root[a], pi[a]
        else:
            truth, found = grammar.lexical[a - grammar.n_interminals], words[a].T
        straight = np.abs(truth - found).sum() <= np.abs(truth - found[::-1]).sum()
        orders.append(np.array([0, 1] if straight else [1, 0]))
    return orders


def test_parameters_are_recovered_from_exact_moments(rng):
    grammar = LatentPCFG.random(2, 3, 6, 2, rng=rng, pivot=True)
    moments = grammar.moments()
    lexical = np.full((grammar.n_labels, grammar.n_words), -1)
    for p in range(grammar.n_preterminals):
        lexical[grammar.n_interminals + p] = len(grammar.rules) + p * grammar.n_words + np.arange(grammar.n_words)
    visits = grammar.visits().sum(axis=1)
    t, q, pi = recover_parameters(
        grammar.rules, moments.inside_outside, moments.binary, lexical, visits / visits.sum(), 2
    )
    order = best_permutations(grammar, q, pi)
    for p in range(grammar.n_preterminals):
        a = grammar.n_interminals + p
        np.testing.assert_allclose(q[a][:, order[a]].T, grammar.lexical[p], atol=1e-6)
    for a in range(grammar.n_interminals):
        np.testing.assert_allclose(pi[a][order[a]], grammar.root[a], atol=1e-6)
    for r, (a, b, c) in enumerate(grammar.rules):
        np.testing.assert_allclose(t[r][np.ix_(order[a], order[b], order[c])], grammar.binary[r], atol=2e-3)


@pytest.mark.parametrize("learner", ["pivot", "pivot+em"])
def test_pivot_models_parse_better_than_a_plain_grammar(learner):
    trees, held_out = english_trees(500), english_trees(600)[500:]
    sentences = [tree.leaves() for tree in held_out]
    scores = [
        bracket_scores(held_out, ConstituencyParser(4, name, preset="fast").fit(trees).predict(sentences))["f1"]
        for name in ("pcfg", learner)
    ]
    assert scores[1] > scores[0] + 1.0
