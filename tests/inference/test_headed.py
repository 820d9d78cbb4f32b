"""The head-automata chart against the sum over every projective tree of short sentences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spectragram.data.projectivity import find_tree_problem, is_projective
from spectragram.inference.headed import LEFT, RIGHT, best_heads, inside_outside
from spectragram.synthetic.shag import HeadAutomata, modifier_sequences


def chart(symbols, root, initial, operators, final, arc_scores, stop_scores):
    """The kernel, with every array in the one layout that it is compiled for."""
    arrays = (np.array(array, np.float64, order="C") for array in (initial, operators, final))
    return inside_outside(symbols, root, *arrays, arc_scores, stop_scores)


def projective_trees(n: int) -> list[tuple[int, ...]]:
    trees = itertools.product(range(n + 1), repeat=n)
    return [heads for heads in trees if find_tree_problem(heads) is None and is_projective(heads)]


def far_ends(heads: tuple[int, ...]) -> list[tuple[int, int]]:
    """Distance from each word to the first and last word below it."""
    n = len(heads)
    ends = []
    for word in range(n):
        below = [j for j in range(n) if word in ancestors(j, heads)]
        ends.append((word - min(below), max(below) - word))
    return ends


def ancestors(word: int, heads: tuple[int, ...]) -> list[int]:
    path = [word]
    while heads[path[-1]]:
        path.append(heads[path[-1]] - 1)
    return path


def weight_of_tree(symbols, heads, root, model, arc_scores, stop_scores) -> float:
    total = 1.0
    for word, head in enumerate(heads):
        if head == 0:
            total *= np.exp(root[word])
        else:
            total *= np.exp(arc_scores[int(head - 1 < word), head - 1, abs(head - 1 - word)])
    for word, (left, right) in enumerate(far_ends(heads)):
        total *= np.exp(stop_scores[LEFT, word, left] + stop_scores[RIGHT, word, right])
    for head, direction, modifiers in modifier_sequences(symbols, heads):
        total *= model.automaton(head, direction).probability(modifiers)
    return total


def enumerated(symbols, root, model, arc_scores, stop_scores):
    """Z and marginals by listing every tree."""
    n = len(symbols)
    roots, arcs, stops = np.zeros(n), np.zeros((2, n, n)), np.zeros((2, n, n))
    z = 0.0
    for heads in projective_trees(n):
        weight = weight_of_tree(symbols, heads, root, model, arc_scores, stop_scores)
        z += weight
        for word, head in enumerate(heads):
            if head == 0:
                roots[word] += weight
            else:
                arcs[int(head - 1 < word), head - 1, abs(head - 1 - word)] += weight
        for word, (left, right) in enumerate(far_ends(heads)):
            stops[LEFT, word, left] += weight
            stops[RIGHT, word, right] += weight
    return z, roots / z, arcs / z, stops / z


def random_problem(n: int, seed: int, n_symbols: int = 3, n_states: int = 2):
    rng = np.random.default_rng(seed)
    model = HeadAutomata.random(n_symbols, n_states, rng=rng)
    symbols = rng.integers(n_symbols, size=n)
    return model, symbols, rng.normal(size=n), rng.normal(size=(2, n, n)), rng.normal(size=(2, n, n))


def test_there_are_as_many_projective_trees_as_known() -> None:
    # Trees with one root word: A006013, binom(3n - 2, n - 1) / n.
    assert [len(projective_trees(n)) for n in (1, 2, 3, 4, 5)] == [1, 2, 7, 30, 143]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_all_ones_count_the_trees(n: int) -> None:
    ones = np.ones((2, 1, 1)), np.ones((2, 1, 1, 1, 1)), np.ones((2, 1, 1))
    flat = np.zeros((2, n, n))
    sign, log_z, roots, _, _ = chart(np.zeros(n, np.int64), np.zeros(n), *ones, flat, flat)
    assert sign == 1.0
    assert np.exp(log_z) == pytest.approx(len(projective_trees(n)), rel=1e-12)
    assert roots.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_marginals_equal_those_of_enumeration(n: int) -> None:
    model, symbols, root, arc_scores, stop_scores = random_problem(n, seed=n)
    z, roots, arcs, stops = enumerated(symbols.tolist(), root, model, arc_scores, stop_scores)
    found = chart(symbols, root, model.initial, model.operators, model.final, arc_scores, stop_scores)
    assert found[0] == 1.0
    assert found[1] == pytest.approx(np.log(z), abs=1e-10)
    np.testing.assert_allclose(found[2], roots, atol=1e-12)
    np.testing.assert_allclose(found[3], arcs, atol=1e-12)
    np.testing.assert_allclose(found[4], stops, atol=1e-12)


def test_a_change_of_basis_with_negative_weights_changes_nothing() -> None:
    model, symbols, root, arc_scores, stop_scores = random_problem(5, seed=9)
    M = np.array([[1.0, -2.0], [0.5, 1.5]])
    inverse = np.linalg.inv(M)
    other = model.initial @ M, inverse @ model.operators @ M, model.final @ inverse.T
    plain = chart(symbols, root, model.initial, model.operators, model.final, arc_scores, stop_scores)
    turned = chart(symbols, root, *other, arc_scores, stop_scores)
    for a, b in zip(plain, turned, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e6])
def test_long_sentences_neither_vanish_nor_overflow(factor: float) -> None:
    model, symbols, root, arc_scores, stop_scores = random_problem(300, seed=4)
    scaled = model.operators * factor
    sign, log_z, roots, arcs, stops = chart(symbols, root, model.initial, scaled, model.final, arc_scores, stop_scores)
    assert sign == 1.0
    assert np.isfinite(log_z)
    heads_of = roots.copy()
    for i, j in itertools.permutations(range(300), 2):
        heads_of[j] += arcs[int(i < j), i, abs(i - j)]
    np.testing.assert_allclose(heads_of, 1.0, atol=1e-6)
    np.testing.assert_allclose(stops.sum(axis=2), 1.0, atol=1e-6)


def test_impossible_sentences_are_reported() -> None:
    model, symbols, root, arc_scores, stop_scores = random_problem(3, seed=1)
    nothing = np.zeros_like(model.final)
    sign, log_z, roots, arcs, _ = chart(symbols, root, model.initial, model.operators, nothing, arc_scores, stop_scores)
    assert sign == 0.0
    assert log_z == -np.inf
    assert not roots.any()
    assert not arcs.any()


@pytest.mark.parametrize("seed", range(6))
def test_decoding_finds_the_best_of_all_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 1 + seed % 5
    root, arcs = rng.normal(size=n), rng.normal(size=(2, n, n))

    def score(heads: tuple[int, ...]) -> float:
        return sum(
            root[j] if head == 0 else arcs[int(head - 1 < j), head - 1, abs(head - 1 - j)]
            for j, head in enumerate(heads)
        )

    assert tuple(best_heads(root, arcs)) == max(projective_trees(n), key=score)
