"""Recursions over prefix trees against sums over all paths of tiny automata."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spectragram.automata.em import expect, forward
from spectragram.automata.wfa import WFA
from spectragram.inference.chain import forward_states
from spectragram.inference.prefix_tree import grow_prefix_tree, grow_prefix_trees, sum_along_paths
from spectragram.synthetic.automata import PNFA

STRINGS = [(0, 1), (0, 1), (0, 1, 1), (1,), (), (2, 0, 2), (0, 1, 1)]


def flat(strings):
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in strings])])
    return np.array([symbol for s in strings for symbol in s], np.int64), offsets


def automaton(rng) -> WFA:
    drawn = PNFA.random(3, 3, rng=rng)
    return WFA(drawn.initial, drawn.operators, drawn.final)


def brute_force(wfa: WFA, strings):
    """Expected counts by enumerating every path of states."""
    m = wfa.n_states
    starts, stops, moves, likelihood = np.zeros(m), np.zeros(m), np.zeros_like(wfa.operators), 0.0
    for string in strings:
        weights = {}
        for path in product(range(m), repeat=len(string) + 1):
            weight = wfa.initial[path[0]] * wfa.final[path[-1]]
            for symbol, i, j in zip(string, path[:-1], path[1:], strict=True):
                weight *= wfa.operators[symbol, i, j]
            weights[path] = weight
        total = sum(weights.values())
        likelihood += np.log(total)
        for path, weight in weights.items():
            starts[path[0]] += weight / total
            stops[path[-1]] += weight / total
            for symbol, i, j in zip(string, path[:-1], path[1:], strict=True):
                moves[symbol, i, j] += weight / total
    return starts, moves, stops, likelihood


def test_the_tree_holds_every_prefix_once_and_all_weight() -> None:
    tree = grow_prefix_tree(*flat(STRINGS))
    prefixes = {s[:n] for s in STRINGS for n in range(len(s) + 1)}
    assert len(tree) == len(prefixes)
    assert (tree.parent[1:] < np.arange(1, len(tree))).all()
    spelled = [()]
    for node in range(1, len(tree)):
        spelled.append((*spelled[tree.parent[node]], int(tree.symbol[node])))
    assert set(spelled) == prefixes
    for i, string in enumerate(STRINGS):
        assert spelled[tree.end_of[i]] == string
    for node, prefix in enumerate(spelled):
        assert tree.ends[node] == STRINGS.count(prefix)
        assert tree.through[node] == sum(s[: len(prefix)] == prefix for s in STRINGS)
    for g in range(1, len(tree.groups) - 1):
        nodes = range(tree.groups[g], tree.groups[g + 1])
        assert len({(len(spelled[node]), spelled[node][-1]) for node in nodes}) == 1


def test_weights_and_several_trees_change_nothing_in_the_sums(rng) -> None:
    strings = [tuple(rng.integers(0, 3, rng.integers(0, 9))) for _ in range(300)]
    weights = rng.integers(1, 4, 300).astype(float)
    wfa = automaton(rng)
    one = expect([grow_prefix_tree(*flat(strings), weights)], wfa)
    many_trees = grow_prefix_trees(*flat(strings), weights, tokens_per_tree=200)
    assert len(many_trees) > 3
    many = expect(many_trees, wfa, n_jobs=2)
    repeated = expect(
        [grow_prefix_tree(*flat([s for s, w in zip(strings, weights, strict=True) for _ in range(int(w))]))], wfa
    )
    for other in (many, repeated):
        np.testing.assert_allclose(other.moves, one.moves, atol=1e-9)
        np.testing.assert_allclose(other.stops, one.stops, atol=1e-9)
        np.testing.assert_allclose(other.log_likelihood, one.log_likelihood)


def test_expected_counts_equal_the_sum_over_all_paths(rng) -> None:
    wfa = automaton(rng)
    found = expect([grow_prefix_tree(*flat(STRINGS))], wfa)
    starts, moves, stops, likelihood = brute_force(wfa, STRINGS)
    np.testing.assert_allclose(found.starts, starts, atol=1e-12)
    np.testing.assert_allclose(found.moves, moves, atol=1e-12)
    np.testing.assert_allclose(found.stops, stops, atol=1e-12)
    np.testing.assert_allclose(found.log_likelihood, likelihood)


def test_scales_multiply_to_prefix_probabilities(rng) -> None:
    wfa = automaton(rng)
    tree = grow_prefix_tree(*flat(STRINGS))
    states, scales = forward(tree, wfa)
    logs = sum_along_paths(tree.parent, np.log(scales))
    for i, string in enumerate(STRINGS):
        exact = wfa.forward(string)
        np.testing.assert_allclose(np.exp(logs[tree.end_of[i]]) * states[tree.end_of[i]], exact, rtol=1e-10)


def test_a_change_of_basis_changes_no_scale(rng) -> None:
    wfa = automaton(rng)
    M = rng.normal(size=(3, 3))
    tilted = wfa.change_of_basis(M)
    tree = grow_prefix_tree(*flat(STRINGS))
    zeros = np.zeros(len(tree), np.int64)
    total = np.linalg.solve(M, np.ones(3))
    _, expected = forward(tree, wfa)
    _, scales = forward_states(
        tree.parent,
        tree.symbol,
        tree.groups,
        tilted.initial,
        tilted.operators,
        total,
        True,
        tilted.initial[None],
        zeros,
        0.0,
    )
    np.testing.assert_allclose(scales, expected, rtol=1e-8)


def test_impossible_and_negative_steps_reset_the_state() -> None:
    operators = np.array([[[0.5, 0.0], [0.0, 0.5]], [[0.0, 0.0], [0.0, 0.0]], [[-1.0, 0.0], [0.0, -1.0]]])
    tree = grow_prefix_tree(*flat([(0, 1, 0), (2,)]))
    fallback = np.array([[0.25, 0.75]])
    states, scales = forward_states(
        tree.parent, tree.symbol, tree.groups, np.array([1.0, 0.0]), operators, np.ones(2), True,
        fallback, np.zeros(len(tree), np.int64), 0.0,
    )  # fmt: skip
    reset = np.flatnonzero(scales == 0.0)
    assert sorted(tree.symbol[reset].tolist()) == [1, 2]
    np.testing.assert_array_equal(states[reset], np.repeat(fallback, 2, axis=0))
    after = tree.end_of[0]
    np.testing.assert_allclose(states[after], fallback[0])
    assert scales[after] == pytest.approx(0.5)


def test_a_hundred_thousand_symbols_do_not_underflow(rng) -> None:
    wfa = automaton(rng)
    string = rng.integers(0, 3, 100_000)
    tree = grow_prefix_tree(string, np.array([0, len(string)]))
    _, scales = forward(tree, wfa)
    assert np.isfinite(np.log(scales)).all()
    assert np.log(scales).sum() < -1e4
