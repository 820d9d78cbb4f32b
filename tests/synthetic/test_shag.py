"""Split head-automata grammars against enumeration of dependency trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from spectragram.data.projectivity import find_tree_problem, is_projective
from spectragram.errors import InputError
from spectragram.synthetic.automata import all_strings
from spectragram.synthetic.shag import LEFT, RIGHT, HeadAutomata, modifier_sequences


@pytest.fixture
def grammar(rng: np.random.Generator) -> HeadAutomata:
    return HeadAutomata.random(2, 2, rng=rng, mean_modifiers=0.6)


def all_trees(n_symbols: int, n_words: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield all projective trees over all sentences of ``n_words`` words."""
    shapes = [
        heads
        for heads in product(range(n_words + 1), repeat=n_words)
        if find_tree_problem(heads) is None and is_projective(heads)
    ]
    yield from product(product(range(n_symbols), repeat=n_words), shapes)


def test_modifiers_go_outwards() -> None:
    #  5 <- 6 <- (root) -> 7 -> 8, and 9 below 7 too
    words, heads = [5, 6, 7, 8, 9], [2, 0, 2, 3, 3]
    found = {(head, direction): modifiers for head, direction, modifiers in modifier_sequences(words, heads)}
    assert found[6, LEFT] == [5]
    assert found[6, RIGHT] == [7]
    assert found[7, RIGHT] == [8, 9]
    assert modifier_sequences([1, 2, 3], [3, 3, 0])[4] == (3, LEFT, [2, 1])


def test_probability_multiplies_the_sequences(grammar: HeadAutomata) -> None:
    # Words 0 1 1; the second is the root and has one modifier on each side, the others have none.
    def p(head: int, direction: int, *modifiers: int) -> float:
        return grammar.automaton(head, direction).probability(modifiers)

    by_hand = grammar.root[1] * p(1, LEFT, 0) * p(1, RIGHT, 1)
    by_hand *= p(0, LEFT) * p(0, RIGHT) * p(1, LEFT) * p(1, RIGHT)
    assert grammar.probability([0, 1, 1], [2, 0, 2]) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("heads", [(3, 4, 0, 3), (0, 0), (2, 1), (1, 0), (0, 5)])
def test_heads_that_are_not_a_projective_tree_have_probability_zero(
    grammar: HeadAutomata, heads: tuple[int, ...]
) -> None:
    assert grammar.probability((0,) * len(heads), heads) == 0


def test_trees_of_each_size_have_the_mass_that_the_size_should_have(grammar: HeadAutomata) -> None:
    largest = 4
    size = np.zeros((2, largest + 1))  # P(a tree below the symbol has n words)
    side = np.zeros((2, 2, largest + 1))  # the same for its modifiers on one side
    for n in range(1, largest + 1):
        for direction, head in product((LEFT, RIGHT), range(2)):
            automaton = grammar.automaton(head, direction)
            states = np.zeros((n, 2))
            states[0] = automaton.initial
            for t in range(1, n):
                for s, j in product(range(2), range(1, t + 1)):
                    states[t] += size[s, j] * states[t - j] @ automaton.operators[s]
            side[direction, head, n - 1] = states[n - 1] @ automaton.final
        for head in range(2):
            size[head, n] = side[LEFT, head, :n] @ side[RIGHT, head, :n][::-1]
        enumerated = sum(grammar.probability(*tree) for tree in all_trees(2, n))
        assert enumerated == pytest.approx(grammar.root @ size[:, n], rel=1e-12)


def test_a_hundred_thousand_trees_have_the_right_frequencies(grammar: HeadAutomata, rng: np.random.Generator) -> None:
    n = 100_000
    words, heads = grammar.sample(n, rng)
    assert len(words) == n
    found: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for i, sentence in enumerate(words):
        if len(sentence) <= 3:
            found[tuple(sentence), tuple(heads[words.offsets[i] : words.offsets[i + 1]])] += 1
    for size in (1, 2, 3):
        for tree in all_trees(2, size):
            p = grammar.probability(*tree)
            assert abs(found[tree] / n - p) < 5 * np.sqrt(p * (1 - p) / n)
    lengths = np.diff(words.offsets)
    spread = 5 * lengths.std() / np.sqrt(n)
    assert abs(lengths.mean() - 1 / (1 - 0.6)) < spread
    np.testing.assert_allclose(words.vocabulary.counts / n, grammar.expected_words(), atol=spread)


def test_large_trees_are_projective_and_follow_the_automata(rng: np.random.Generator) -> None:
    grammar = HeadAutomata.random(3, 2, rng=rng, mean_modifiers=0.95)
    words, heads = grammar.sample(400, rng)
    found: Counter[tuple[int, ...]] = Counter()
    total = 0
    for i, sentence in enumerate(words):
        tree = heads[words.offsets[i] : words.offsets[i + 1]]
        assert find_tree_problem(tree) is None
        assert is_projective(tree)
        for head, direction, modifiers in modifier_sequences(sentence, tree):
            if (head, direction) == (1, LEFT):
                found[tuple(modifiers)] += 1
                total += 1
    assert np.diff(words.offsets).max() > 50
    automaton = grammar.automaton(1, LEFT)
    for modifiers in all_strings(3, 2):
        p = automaton.probability(modifiers)
        assert abs(found[modifiers] / total - p) < 5 * np.sqrt(p * (1 - p) / total)


def test_random_grammars_are_as_well_conditioned_as_asked(rng: np.random.Generator) -> None:
    grammar = HeadAutomata.random(3, 2, rng=rng, conditioning=0.1)
    assert grammar.conditioning() >= 0.1
    strings = all_strings(3, 2)
    for direction, head in product((LEFT, RIGHT), range(3)):
        block = grammar.automaton(head, direction).hankel(strings, strings)
        assert np.linalg.matrix_rank(block, tol=1e-6) == 2
    np.testing.assert_allclose(grammar.offspring.sum(axis=1), 0.8)


def test_wrong_parameters_are_refused(grammar: HeadAutomata, rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="add up to 1"):
        HeadAutomata(grammar.root * 2, grammar.initial, grammar.operators, grammar.final)
    with pytest.raises(InputError, match="shapes"):
        HeadAutomata(grammar.root, grammar.initial[0], grammar.operators, grammar.final)
    half = np.full((2, 1, 1, 1, 1), 0.6)
    with pytest.raises(InputError, match="without end"):
        HeadAutomata(np.ones(1), np.ones((2, 1, 1)), half, 1 - half[..., 0, 0])
    with pytest.raises(InputError, match="mean_modifiers=1"):
        HeadAutomata.random(2, 2, rng=rng, mean_modifiers=1)
