"""Probabilistic automata against enumeration of paths and strings."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.synthetic._chance import Outcomes, draw_rows, weakest_correlation
from spectragram.synthetic.automata import PNFA, all_strings


@pytest.fixture
def automaton(rng: np.random.Generator) -> PNFA:
    """Three states, two symbols, strings short enough to enumerate nearly all of them."""
    return PNFA.random(3, 2, rng=rng, mean_length=1.0)


def probability_over_paths(automaton: PNFA, string: tuple[int, ...]) -> float:
    total = 0.0
    for path in product(range(automaton.n_states), repeat=len(string) + 1):
        p = automaton.initial[path[0]] * automaton.final[path[-1]]
        for symbol, (i, j) in zip(string, pairwise(path), strict=True):
            p *= automaton.operators[symbol, i, j]
        total += p
    return total


def occurrences(string: tuple[int, ...], part: tuple[int, ...]) -> int:
    return sum(string[i : i + len(part)] == part for i in range(len(string) - len(part) + 1))


def test_probability_is_the_sum_over_paths(automaton: PNFA) -> None:
    for string in all_strings(2, 4):
        assert automaton.probability(string) == pytest.approx(probability_over_paths(automaton, string), rel=1e-12)


def test_all_strings_and_the_tail_add_up_to_one(automaton: PNFA) -> None:
    for length in (0, 3, 8):
        short = sum(automaton.probability(string) for string in all_strings(2, length))
        longer = automaton.initial @ np.linalg.matrix_power(automaton.total, length + 1) @ np.ones(3)
        assert short + longer == pytest.approx(1, abs=1e-12)


def test_prefix_substring_and_length_against_enumeration(rng: np.random.Generator) -> None:
    automaton = PNFA.random(3, 2, rng=rng, mean_length=0.5)
    strings = all_strings(2, 12)
    p = automaton.forward(strings) @ automaton.final
    # Bound on the contribution of longer strings: a part occurs at most length + 1 times in a string.
    mass = [automaton.initial @ np.linalg.matrix_power(automaton.total, n) @ automaton.final for n in range(200)]
    lost = sum((n + 1) * mass[n] for n in range(13, 200))
    assert lost < 1e-3
    for part in all_strings(2, 2):
        starting = sum(q for q, s in zip(p, strings, strict=True) if s[: len(part)] == part)
        counted = sum(q * occurrences(s, part) for q, s in zip(p, strings, strict=True))
        assert 0 <= automaton.prefix_probability(part) - starting <= lost
        assert 0 <= automaton.expected_count(part) - counted <= lost
    assert 0 <= automaton.mean_length() - p @ [len(s) for s in strings] <= lost


@pytest.mark.parametrize("statistic", ["string", "prefix", "substring"])
def test_hankel_blocks_hold_the_values_of_joined_strings(automaton: PNFA, statistic: str) -> None:
    prefixes, suffixes = all_strings(2, 2), [(1,), (), (0, 1, 1)]
    block = automaton.hankel(prefixes, suffixes, statistic=statistic)
    shifted = automaton.hankel(prefixes, suffixes, statistic=statistic, symbol=1)
    for i, u in enumerate(prefixes):
        for j, v in enumerate(suffixes):
            assert block[i, j] == pytest.approx(automaton.value(u + v, statistic), rel=1e-12)
            assert shifted[i, j] == pytest.approx(automaton.value((*u, 1, *v), statistic), rel=1e-12)
    assert np.linalg.matrix_rank(block, tol=1e-12) == 3


def test_an_hmm_is_an_automaton(rng: np.random.Generator) -> None:
    initial, stop = rng.dirichlet(np.ones(3)), np.array([0.2, 0.5, 0.3])
    transition, emission = draw_rows(3, 3, 0.3, rng), draw_rows(3, 4, 0.3, rng)
    automaton = PNFA.from_hmm(initial, transition, emission, stop)
    for string in [(), (2,), (0, 3), (1, 1, 2)]:
        p = 0.0
        for path in product(range(3), repeat=len(string) + 1):
            q = initial[path[0]] * stop[path[-1]]
            for x, i, j in zip(string, path, path[1:], strict=False):
                q *= (1 - stop[i]) * emission[i, x] * transition[i, j]
            p += q
        assert automaton.probability(string) == pytest.approx(p, rel=1e-12)


def test_samples_have_the_frequencies_of_the_model(automaton: PNFA, rng: np.random.Generator) -> None:
    n = 100_000
    corpus = automaton.sample(n, rng)
    assert len(corpus) == n
    found: dict[tuple[int, ...], int] = {}
    for string in map(tuple, corpus):
        found[string] = found.get(string, 0) + 1
    for string in all_strings(2, 4):
        p = automaton.probability(string)
        assert abs(found.get(string, 0) / n - p) < 5 * np.sqrt(p * (1 - p) / n)
    lengths = np.diff(corpus.offsets)
    assert abs(lengths.mean() - automaton.mean_length()) < 5 * lengths.std() / np.sqrt(n)
    np.testing.assert_array_equal(corpus.vocabulary.counts, np.bincount(corpus.tokens, minlength=2))


def test_one_seed_one_sample(automaton: PNFA) -> None:
    first, second, other = (automaton.sample(50, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.tokens, second.tokens)
    assert first.tokens.tolist() != other.tokens.tolist()


@pytest.mark.parametrize(
    ("n_states", "n_symbols", "conditioning"), [(2, 2, 0.3), (5, 4, 0.1), (6, 2, 0.005), (1, 1, 1)]
)
def test_random_automata_are_as_well_conditioned_as_asked(
    n_states: int, n_symbols: int, conditioning: float, rng: np.random.Generator
) -> None:
    automaton = PNFA.random(n_states, n_symbols, rng=rng, conditioning=conditioning)
    assert automaton.conditioning() >= conditioning * (1 - 1e-9)
    strings = all_strings(n_symbols, 3)
    # An independent check: the Hankel block has full rank.
    block = automaton.hankel(strings, strings)
    assert np.linalg.svd(block, compute_uv=False)[n_states - 1] > 1e-8


@pytest.mark.parametrize("length", [0.1, 1.0, 30.0])
def test_strings_are_as_long_as_asked(length: float, rng: np.random.Generator) -> None:
    assert PNFA.random(4, 3, rng=rng, mean_length=length, conditioning=0).mean_length() == pytest.approx(length)


def test_impossible_conditioning_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match=r"reached conditioning 0\.99; .*fewer states"):
        PNFA.random(6, 2, rng=rng, conditioning=0.99)


def test_parameters_that_are_not_probabilities_are_refused() -> None:
    one, half = np.ones(1), np.array([[[0.5]]])
    with pytest.raises(InputError, match="add up to 1"):
        PNFA(one, half, np.array([0.4]))
    with pytest.raises(InputError, match="add up to 1"):
        PNFA(np.array([2.0, -1.0]), np.full((1, 2, 2), 0.25), np.full(2, 0.5))
    with pytest.raises(InputError, match="never end"):
        PNFA(one, np.ones((1, 1, 1)), np.zeros(1))
    with pytest.raises(InputError, match="shapes"):
        PNFA(one, half, np.array([0.5, 0.5]))


def test_outcomes_of_probability_zero_are_never_drawn(rng: np.random.Generator) -> None:
    outcomes = Outcomes(np.array([[0.0, 0.5, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]]))
    drawn = outcomes.draw(np.repeat([0, 1], 10_000), rng)
    assert set(drawn[:10_000]) == {1, 2}
    assert set(drawn[10_000:]) == {0}


def test_weakest_correlation_is_that_of_the_scaled_table(rng: np.random.Generator) -> None:
    left, right = rng.random((6, 3)), rng.random((5, 3))
    table = left @ right.T
    scaled = table / np.sqrt(np.outer(table.sum(axis=1), table.sum(axis=0)))
    values = np.linalg.svd(scaled, compute_uv=False)
    assert values[0] == pytest.approx(1, rel=1e-12)
    assert weakest_correlation(left, right) == pytest.approx(values[2], rel=1e-9)
    assert weakest_correlation(left[:2], right) == 0
