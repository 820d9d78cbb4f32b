"""The algebra of weighted automata, against values of strings and sums over many of them."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.automata import WFA
from spectragram.errors import InputError, RankError
from spectragram.synthetic.automata import PNFA, all_strings

STRINGS = all_strings(2, 5)


def random_wfa(rng, n_states=4, n_symbols=2, conditioning=0.02) -> WFA:
    drawn = PNFA.random(n_states, n_symbols, rng=rng, mean_length=2.0, conditioning=conditioning)
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


def cuts(string, parts):
    """All ways to cut a string into this many parts, which may be empty."""
    if parts == 1:
        return [[string]]
    return [[string[:i], *rest] for i in range(len(string) + 1) for rest in cuts(string[i:], parts - 1)]


def test_concatenation_sums_over_cuts(rng) -> None:
    f, g = signed_wfa(rng), random_wfa(rng)
    expected = [sum(f.value(u) * g.value(v) for u, v in cuts(string, 2)) for string in STRINGS]
    np.testing.assert_allclose(f.concatenate(g).values(STRINGS), expected, atol=1e-12)


def test_star_sums_over_all_cuts(rng) -> None:
    f = signed_wfa(rng)
    f = f * (0.05 / max(abs(f.value(())), 1e-9))
    short = STRINGS[:15]
    # f(empty)^n falls so fast that eight parts are enough beside those that hold symbols.
    expected = [
        (not string) + sum(np.prod([f.value(u) for u in parts]) for n in range(1, 10) for parts in cuts(string, n))
        for string in short
    ]
    np.testing.assert_allclose(f.star().values(short), expected, rtol=1e-6)
    twice = f.concatenate(f.star()) + WFA(np.ones(1), np.zeros((2, 1, 1)), np.ones(1))  # 1 + f f* = f*
    assert twice.is_equivalent(f.star())
    with pytest.raises(RankError, match="star diverges"):
        (f * (1.0 / f.value(()))).star()


def test_a_shortest_counterexample(rng) -> None:
    f = signed_wfa(rng, 4)
    same = f.change_of_basis(rng.normal(size=(4, 4))) + 0.0 * random_wfa(rng)
    assert f.is_equivalent(same) and same.is_equivalent(f)
    # One string of six symbols has another value; all others agree.
    odd = np.zeros((2, 7, 7))
    for i, symbol in enumerate((0, 1, 1, 0, 1, 0)):
        odd[symbol, i, i + 1] = 1.0
    changed = same + WFA(np.eye(7)[0], odd, 1e-3 * np.eye(7)[6])
    assert f.counterexample(changed) == (0, 1, 1, 0, 1, 0)
    for other in (f * 1.001, random_wfa(rng), f + random_wfa(rng)):
        found = f.counterexample(other)
        gaps = np.abs(f.values(STRINGS) - other.values(STRINGS)) > 1e-7
        assert found is not None
        assert len(found) == len(STRINGS[int(np.argmax(gaps))])
    growing = WFA(np.array([1.0, 0.0]), np.array([[[1.0, 1.0], [0.0, 1.0]]] * 2), np.array([0.0, 1.0]))  # lengths
    assert growing.is_equivalent(growing.change_of_basis(rng.normal(size=(2, 2))))
    assert growing.counterexample(growing * 1.01) == (0,)


def test_sums_of_products_without_their_matrix(rng, monkeypatch) -> None:
    from spectragram.automata import stein

    f, g = random_wfa(rng, 25, conditioning=0.0), random_wfa(rng, 22, conditioning=0.0)
    shape = f.initial, f.operators, g.initial, g.operators
    found, sure = stein.sum_of_products(*shape), stein.sum_of_products(*shape, converges=True)
    endless = WFA(f.initial, f.operators / f.spectral_radius() * 1.5, f.final)
    with pytest.raises(RankError, match="diverge"):
        stein.sum_of_products(endless.initial, endless.operators, endless.initial, endless.operators)
    monkeypatch.setattr(stein, "DENSE", 10**6)
    exact = stein.sum_of_products(*shape)
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(sure, exact, rtol=1e-9, atol=1e-14)


def test_distances_of_large_automata(rng, monkeypatch) -> None:
    from spectragram.automata import wfa as module

    f, g = (
        random_wfa(rng, 60, conditioning=0.0),
        random_wfa(rng, 50, conditioning=0.0),
    )  # 3000 unknowns: the matrix would take 72 MB
    large = f.l2_distance(g)
    monkeypatch.setattr(module, "MINIMISED", 1000)
    assert large == pytest.approx(f.l2_distance(g), rel=1e-6)


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
