"""The algebra of weighted automata, against values of strings and sums over many of them."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.automata import WFA
from spectragram.errors import InputError, RankError
from spectragram.synthetic.automata import PNFA, all_strings

STRINGS = all_strings(2, 5)


def random_wfa(rng, n_states=4, n_symbols=2) -> WFA:
    drawn = PNFA.random(n_states, n_symbols, rng=rng, mean_length=2.0)
    return WFA(drawn.initial, drawn.operators, drawn.final)


def signed_wfa(rng, n_states=3) -> WFA:
    operators = rng.normal(size=(2, n_states, n_states))
    operators *= 0.3 / np.abs(np.linalg.eigvals(operators.sum(axis=0))).max()
    return WFA(rng.normal(size=n_states), operators / 2, rng.normal(size=n_states))


def test_values_forward_and_backward_meet(rng) -> None:
    wfa = signed_wfa(rng)
    for string in STRINGS[:40]:
        for cut in range(len(string) + 1):
            assert wfa.forward(string[:cut]) @ wfa.backward(string[cut:]) == pytest.approx(wfa.value(string))


def test_operations_on_functions(rng) -> None:
    f, g = signed_wfa(rng), random_wfa(rng)
    a, b = f.values(STRINGS), g.values(STRINGS)
    np.testing.assert_allclose((f + g).values(STRINGS), a + b)
    np.testing.assert_allclose((2.5 * f).values(STRINGS), 2.5 * a)
    np.testing.assert_allclose(f.product(g).values(STRINGS), a * b)
    np.testing.assert_allclose(f.reverse().values(STRINGS), f.values([s[::-1] for s in STRINGS]))
    np.testing.assert_allclose(f.change_of_basis(rng.normal(size=(3, 3))).values(STRINGS), a)


def test_minimisation_finds_the_rank_and_keeps_the_function(rng) -> None:
    f = signed_wfa(rng)
    bloated = f + signed_wfa(rng) + 0.0 * random_wfa(rng)
    smallest = bloated.minimize()
    assert smallest.n_states == 6
    np.testing.assert_allclose(smallest.values(STRINGS), bloated.values(STRINGS), atol=1e-12)
    assert (f + -1.0 * f).minimize().n_states == 1
    assert f.minimize().n_states == 3


def test_distance_in_closed_form_is_the_sum_over_strings(rng) -> None:
    f, g = random_wfa(rng), random_wfa(rng, 3)
    many = all_strings(2, 13)
    exact = np.sqrt(((f.values(many) - g.values(many)) ** 2).sum())
    assert f.l2_distance(g) == pytest.approx(exact, rel=1e-4)
    assert f.l2_distance(f.change_of_basis(rng.normal(size=(4, 4)))) == pytest.approx(0.0, abs=1e-7)
    assert f.inner_product(g) == pytest.approx(f.values(many) @ g.values(many), rel=1e-4)


@pytest.mark.parametrize("source", ["string", "prefix", "substring"])
@pytest.mark.parametrize("target", ["string", "prefix", "substring"])
def test_lemma_3_1_both_ways(rng, source, target) -> None:
    drawn = PNFA.random(3, 2, rng=rng)
    initial, final = drawn.ends(source)
    moved = WFA(initial, drawn.operators, final).change_statistic(source, target)
    expected = [drawn.value(string, target) for string in STRINGS]
    np.testing.assert_allclose(moved.values(STRINGS), expected, atol=1e-12)


def test_what_kind_of_automaton_it_is(rng) -> None:
    pnfa = random_wfa(rng)
    tilted = pnfa.change_of_basis(rng.normal(size=(4, 4)))
    assert pnfa.is_probabilistic() and pnfa.is_stochastic() and pnfa.is_irredundant()
    assert not tilted.is_probabilistic()
    assert tilted.is_stochastic(1e-7)
    assert pnfa.total() == pytest.approx(1.0)
    assert not (2.0 * pnfa).is_stochastic()
    negative = WFA(np.array([1.0]), np.array([[[-0.5]]]), np.array([1.5]))
    assert negative.total() == pytest.approx(1.0)
    assert not negative.is_stochastic()
    endless = WFA(np.array([1.0]), np.array([[[1.0]]]), np.array([0.0]))
    assert not endless.is_irredundant()
    with pytest.raises(RankError, match="diverge"):
        endless.change_statistic("string", "prefix")


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="shapes"):
        WFA(np.ones(2), np.ones((1, 3, 3)), np.ones(2))
    with pytest.raises(InputError, match="finite"):
        WFA(np.ones(1), np.full((1, 1, 1), np.nan), np.ones(1))
    with pytest.raises(InputError, match="symbols"):
        WFA(np.ones(1), np.ones((1, 1, 1)), np.ones(1)) + WFA(np.ones(1), np.ones((2, 1, 1)), np.ones(1))
    with pytest.raises(InputError, match="choose"):
        WFA(np.ones(1), np.ones((1, 1, 1)), np.ones(1)).change_statistic("string", "suffix")  # type: ignore[arg-type]
