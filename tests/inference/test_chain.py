"""Recursions over prefix trees against sums over all paths of tiny automata."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from spectragram.automata.em import expect, forward
from spectragram.automata.wfa import WFA
from spectragram.inference.chain import CANCELLED, forward_states
from spectragram.inference.prefix_tree import grow_chains, grow_prefix_tree, grow_prefix_trees, sum_along_paths
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


@pytest.mark.parametrize("mixed", [False, True])
def test_groups_have_one_symbol_and_follow_the_groups_of_their_parents(rng, mixed: bool) -> None:
    strings = [tuple(rng.integers(0, 3, rng.geometric(0.1))) for _ in range(2000)]
    tree = grow_prefix_tree(*flat(strings), mixed=mixed)
    assert tree.groups[0] == 0
    assert tree.groups[-1] == len(tree)
    sizes = np.diff(tree.groups)
    assert sizes[0] == 1
    assert sizes.min() > 0
    for first, stop in pairwise(tree.groups[1:]):
        assert (tree.parent[first:stop] < first).all()
        assert mixed or len(set(tree.symbol[first:stop])) == 1
    depths = sum_along_paths(tree.parent, np.ones(len(tree)))
    by_depth = len(set(zip(depths, tree.symbol, strict=True)))
    assert len(sizes) < 0.7 * by_depth, "fewer and larger groups than depth and symbol alone would give"


def test_chains_share_nothing() -> None:
    tree = grow_chains(np.array([0, 3, 3, 4]))
    assert len(tree) == 5
    assert tree.end_of[1] == 0
    node, places = tree.end_of[0], []
    while node > 0:
        places.append(int(tree.symbol[node]))
        node = tree.parent[node]
    assert places == [2, 1, 0]
    assert tree.symbol[tree.end_of[2]] == 3
    assert tree.parent[tree.end_of[2]] == 0


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
        CANCELLED,
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
        tree.parent, tree.symbol, tree.groups, np.array([1.0, 0.0]), operators, np.ones(2), CANCELLED,
        fallback, np.zeros(len(tree), np.int64), 0.0,
    )  # fmt: skip
    reset = np.flatnonzero(scales == 0.0)
    assert sorted(tree.symbol[reset].tolist()) == [1, 2]
    np.testing.assert_array_equal(states[reset], np.repeat(fallback, 2, axis=0))
    after = tree.end_of[0]
    np.testing.assert_allclose(states[after], fallback[0])
    assert scales[after] == pytest.approx(0.5)


def test_without_resets_a_negative_total_only_changes_the_sign() -> None:
    operators = np.array([[[-1.0, 0.0], [0.0, 3.0]]])
    tree = grow_prefix_tree(*flat([(0, 0)]))
    states, scales = forward_states(
        tree.parent, tree.symbol, tree.groups, np.array([0.8, 0.2]), operators, np.ones(2), -1.0,
        np.zeros((1, 2)), np.zeros(len(tree), np.int64), 0.0,
    )  # fmt: skip
    np.testing.assert_allclose(scales, [1.0, -0.2, 2.6 / -0.2])
    np.testing.assert_allclose(states[1:], [[4.0, -3.0], [0.8 / 2.6, 1.8 / 2.6]])


def test_a_hundred_thousand_symbols_do_not_underflow(rng) -> None:
    wfa = automaton(rng)
    string = rng.integers(0, 3, 100_000)
    tree = grow_prefix_tree(string, np.array([0, len(string)]))
    _, scales = forward(tree, wfa)
    assert np.isfinite(np.log(scales)).all()
    assert np.log(scales).sum() < -1e4
