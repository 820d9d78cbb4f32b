"""The head-automata chart against the sum over every projective tree of short sentences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spectragram.data.projectivity import find_tree_problem, is_projective
from spectragram.inference.headed import (
    LEFT,
    RIGHT,
    best_heads,
    clear_heads,
    inside_outside,
    list_arcs,
    sibling_inside_outside,
)
from spectragram.inference.sibling_factors import gold_triples
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


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_probable_heads_that_are_a_tree_are_the_best_tree(n: int) -> None:
    """Of all ways to give each word a most probable head, those that are trees are told from all others."""
    trees = set(projective_trees(n))
    for heads in itertools.product(range(n + 1), repeat=n):
        if any(head == word + 1 for word, head in enumerate(heads)):
            continue
        roots, arcs = np.full(n, 0.1), np.full((2, n, n), 0.1)
        for word, head in enumerate(heads):
            if head:
                arcs[int(head - 1 < word), head - 1, abs(head - 1 - word)] = 0.6
            else:
                roots[word] = 0.6
        found = tuple(clear_heads(roots, arcs))
        assert found == (heads if heads in trees else (-1,) * n)
        assert heads not in trees or tuple(best_heads(np.log(roots), np.log(arcs))) == heads


def test_heads_that_are_equally_probable_are_not_clear() -> None:
    roots, arcs = np.array([0.6, 0.2, 0.2]), np.full((2, 3, 3), 0.2)
    arcs[RIGHT, 0, 1] = arcs[RIGHT, 0, 2] = 0.6
    assert clear_heads(roots, arcs).tolist() == [0, 1, 1]
    arcs[RIGHT, 1, 1] = 0.6  # the third word's other neighbour
    assert clear_heads(roots, arcs).tolist() == [-1, -1, -1]
    assert clear_heads(np.full(1, np.nan), np.zeros((2, 1, 1))).tolist() == [-1]


def test_listed_arcs_come_by_head_and_distance_and_their_pairs_are_numbered() -> None:
    possible = np.zeros((2, 4, 4), bool)
    possible[RIGHT, 0, [1, 3]] = possible[LEFT, 3, [1, 2, 3]] = True
    possible[RIGHT, 2, 3] = True  # beyond the sentence
    listed = list_arcs(possible)
    assert listed.distances.tolist() == [1, 2, 3, 1, 3]
    assert listed.starts.tolist() == [[0, 0, 0, 0, 3], [3, 5, 5, 5, 5]]
    assert listed.places[LEFT, 3].tolist() == [-1, 0, 1, 2]
    assert listed.places[RIGHT, 0].tolist() == [-1, 3, -1, 4]
    assert np.diff(listed.pairs).tolist() == [1, 2, 3, 1, 2]


@pytest.mark.parametrize("seed", range(4))
def test_siblings_and_missing_arcs_count_as_in_the_enumeration(seed: int) -> None:
    """Pairs of neighbouring modifiers, first and last ones, in trees of some of the arcs."""
    n = 5 if seed else 4
    model, symbols, root, arc_scores, stop_scores = random_problem(n, seed=20 + seed)
    rng = np.random.default_rng(seed)
    possible = rng.random((2, n, n)) < 0.8
    listed = list_arcs(possible)
    pair_scores, last_scores = rng.normal(size=listed.pairs[-1]), rng.normal(size=len(listed.distances))
    z = 0.0
    sums = np.zeros(n), np.zeros((2, n, n)), np.zeros((2, n, n)), np.zeros(len(pair_scores)), np.zeros(len(last_scores))
    for heads in projective_trees(n):
        arcs = [(int(head - 1 < j), head - 1, abs(head - 1 - j)) for j, head in enumerate(heads) if head]
        if not all(possible[arc] for arc in arcs):
            continue
        pairs, lasts = gold_triples(np.array(heads), listed)
        weight = weight_of_tree(symbols.tolist(), heads, root, model, arc_scores, stop_scores)
        weight *= np.exp(pairs @ pair_scores + lasts @ last_scores)
        z += weight
        sums[0][heads.index(0)] += weight
        for arc in arcs:
            sums[1][arc] += weight
        for word, (left, right) in enumerate(far_ends(heads)):
            sums[2][LEFT, word, left] += weight
            sums[2][RIGHT, word, right] += weight
        sums[3][pairs > 0] += weight
        sums[4][lasts > 0] += weight
    automata = (np.array(array, np.float64, order="C") for array in (model.initial, model.operators, model.final))
    given = symbols, root, *automata, arc_scores, stop_scores
    sign, log_z, *found = sibling_inside_outside(*given, listed, pair_scores, last_scores)
    assert (sign, log_z) == (1.0, pytest.approx(np.log(z), abs=1e-10))
    for mine, theirs in zip(found, sums, strict=True):
        np.testing.assert_allclose(mine, theirs / z, atol=1e-12)


def test_the_neighbours_of_a_tree_are_found() -> None:
    """Word 2 has word 1 on its left, and words 3 and 5 on its right; word 5 has word 4."""
    heads = np.array([2, 0, 2, 5, 2])
    listed = list_arcs(np.ones((2, 5, 5), bool))
    pairs, lasts = gold_triples(heads, listed)
    ends = {(d, i, int(listed.distances[e])) for d, i, e in arcs_of(listed) if lasts[e]}
    assert ends == {(LEFT, 1, 1), (RIGHT, 1, 3), (LEFT, 4, 1)}
    third, fifth = listed.places[RIGHT, 1, 1], listed.places[RIGHT, 1, 3]
    # 3 is a first modifier; 5 follows 3, the first arc of the list, not 4.
    assert pairs[listed.pairs[third] : listed.pairs[third + 1]].tolist() == [1.0]
    assert pairs[listed.pairs[fifth] : listed.pairs[fifth + 1]].tolist() == [0.0, 1.0, 0.0]
    assert pairs.sum() == 4.0


def arcs_of(listed):
    """Direction, head and number of every listed arc."""
    return [
        (d, i, e)
        for d in range(2)
        for i in range(listed.starts.shape[1] - 1)
        for e in range(listed.starts[d, i], listed.starts[d, i + 1])
    ]


def test_arcs_that_make_no_tree_are_told():
    assert best_heads(np.zeros(3), np.full((2, 3, 3), -np.inf)).tolist() == [-1, -1, -1]
    assert best_heads(np.full(2, -np.inf), np.zeros((2, 2, 2))).tolist() == [-1, -1]
