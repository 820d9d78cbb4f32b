"""Distances between distributions and their most probable strings, against sums over all strings up to a length."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.automata import WFA, Automaton
from spectragram.automata.best_strings import most_probable
from spectragram.automata.comparison import cross_entropy, is_deterministic, sampled_mean
from spectragram.errors import InputError, RankError
from spectragram.synthetic.automata import all_strings

MANY = all_strings(2, 13)
GOING_ON = 0.4
"""Strings are so short that those of up to 13 symbols are nearly all."""


def pnfa(rng, n_states=3) -> WFA:
    chances = rng.dirichlet(np.ones(2 * n_states), n_states).reshape(n_states, 2, n_states) * GOING_ON
    return WFA(rng.dirichlet(np.ones(n_states)), chances.transpose(1, 0, 2), np.full(n_states, 1.0 - GOING_ON))


def pdfa(rng, n_states=3) -> WFA:
    chances = rng.dirichlet(np.ones(3), n_states) * GOING_ON + [0.0, 0.0, 1.0 - GOING_ON]
    operators = np.zeros((2, n_states, n_states))
    for state in range(n_states):
        for symbol in range(2):
            operators[symbol, state, rng.integers(n_states)] = chances[state, symbol]
    return WFA(np.eye(n_states)[rng.integers(n_states)], operators, chances[:, 2])


def late(rng) -> WFA:
    """Strings of three symbols are more probable than shorter ones."""
    operators = np.zeros((2, 4, 4))
    for state in range(3):
        operators[:, state, state + 1] = 0.98 * rng.dirichlet(np.ones(2))
    operators[:, 3, 3] = 0.1
    return WFA(np.eye(4)[0], operators, np.array([0.02, 0.02, 0.02, 0.8]))


@pytest.mark.parametrize("seed", range(5))
def test_cross_entropy_with_a_deterministic_automaton_is_exact(seed) -> None:
    rng = np.random.default_rng(seed)
    p, q = pdfa(rng), pdfa(rng, 4)
    for left in (p, pnfa(rng)):
        a, b = left.values(MANY), q.values(MANY)
        assert cross_entropy(left, q) == pytest.approx(-(a * np.log(b)).sum(), rel=2e-4)
    models = Automaton.from_wfa(p), Automaton.from_wfa(q)
    a, b = p.values(MANY), q.values(MANY)
    exact = models[0].kl_divergence(models[1])
    assert exact.error == exact.n_strings == 0
    assert float(exact) == pytest.approx((a * np.log(a / b)).sum(), rel=2e-4)
    assert float(models[0].kl_divergence(models[0])) == pytest.approx(0.0, abs=1e-12)


def test_what_q_rules_out_is_infinitely_far_away(rng) -> None:
    p = pdfa(rng)
    only_zeros = WFA(np.ones(1), np.array([[[0.5]], [[0.0]]]), np.array([0.5]))
    assert cross_entropy(p, only_zeros) == np.inf
    assert cross_entropy(only_zeros, p) < np.inf
    assert Automaton.from_wfa(p).kl_divergence(Automaton.from_wfa(only_zeros)).value == np.inf


def test_sampled_distances_hold_their_bounds(rng) -> None:
    p, q = pnfa(rng), pnfa(rng, 4)
    f, g = Automaton.from_wfa(p), Automaton.from_wfa(q)
    a, b = p.values(MANY), q.values(MANY)
    kl, l1 = f.kl_divergence(g, 4000), f.l1_distance(g, 4000)
    assert kl.n_strings == l1.n_strings == 4000
    assert abs(kl.value - (a * np.log(a / b)).sum()) < 2 * kl.error < 0.2
    assert abs(l1.value - np.abs(a - b).sum()) < l1.error < 0.05
    assert f.l1_distance(f, 100).value == pytest.approx(0.0, abs=1e-12)
    apart = Automaton.from_wfa(WFA(np.ones(1), np.array([[[0.0]], [[0.5]]]), np.array([0.5])))
    other = Automaton.from_wfa(WFA(np.ones(1), np.array([[[0.5]], [[0.0]]]), np.array([0.5])))
    assert apart.l1_distance(other, 1000).value == pytest.approx(1.0, abs=0.1)  # all but the empty string: 1/2 + 1/2
    # If one of them is deterministic, its exact part makes the estimate more precise.
    r = pdfa(rng)
    h, c = Automaton.from_wfa(r), r.values(MANY)
    for left, right, true in ((h, g, (c * np.log(c / b)).sum()), (f, h, (a * np.log(a / c)).sum())):
        found = left.kl_divergence(right, 4000)
        drawn = left.sample(4000)
        plain = sampled_mean(left.log_prob(drawn) - right.log_prob(drawn))
        assert abs(found.value - true) < 2 * found.error < 2 * plain.error


def test_models_over_other_orders_and_alphabets_are_compared(rng) -> None:
    p, q = pnfa(rng), pnfa(rng)
    f = Automaton.from_wfa(p, ["a", "b"])
    swapped = Automaton.from_wfa(WFA(p.initial, p.operators[::-1], p.final), ["b", "a"])
    assert f.l2_distance(swapped) == pytest.approx(0.0, abs=1e-7)
    assert f.counterexample(swapped) is None
    assert f.l1_distance(swapped, 100).value == pytest.approx(0.0, abs=1e-9)
    g = Automaton.from_wfa(q, ["a", "b"])
    assert f.l2_distance(g) == pytest.approx(p.l2_distance(q))
    other = Automaton.from_wfa(p, ["a", "c"])
    assert f.counterexample(other) in (["b"], ["c"])
    with pytest.raises(InputError, match="3 symbols"):
        Automaton.from_wfa(p, "abc")


@pytest.mark.parametrize("seed", range(6))
def test_the_most_probable_strings(seed) -> None:
    rng = np.random.default_rng(seed)
    wfa = [pnfa(rng), pdfa(rng, 4), late(rng)][seed % 3]
    values = wfa.values(MANY)
    order = np.argsort(-values, kind="stable")[:40]
    found = most_probable(wfa, 40)
    np.testing.assert_allclose([value for _, value in found], values[order], rtol=1e-12)
    np.testing.assert_allclose(wfa.values([string for string, _ in found]), values[order], rtol=1e-12)
    assert len({string for string, _ in found}) == 40


def test_the_most_probable_strings_of_a_model(rng) -> None:
    model = Automaton(learner="merge+em", preset="fast", n_jobs=1).fit(["a b", "a b a b", "a"] * 20)
    (best, value), *_ = model.most_probable(3)
    assert best in (["a"], ["a", "b"], ["a", "b", "a", "b"])
    assert value == pytest.approx(np.exp(model.log_prob([best]))[0])
    assert most_probable(WFA(np.ones(1), np.zeros((1, 1, 1)), np.ones(1)), 5) == [((), 1.0)]  # there is no second one
    with pytest.raises(InputError, match="probabilities"):
        most_probable(pnfa(rng).change_of_basis(rng.normal(size=(3, 3))), 1)
    flat = WFA(np.ones(1), np.full((50, 1, 1), 0.0199), np.array([0.005]))
    with pytest.raises(RankError, match="max_expanded"):
        most_probable(flat, 1000, max_expanded=100)


def test_samples_that_begin_with_a_prefix(rng) -> None:
    wfa = pnfa(rng)
    model = Automaton.from_wfa(wfa, ["a", "b"])
    drawn = model.sample(4000, prefix=["b", "a"])
    assert all(string[:2] == ["b", "a"] for string in drawn)
    ended = np.mean([len(string) == 2 for string in drawn])
    total = wfa.change_statistic("string", "prefix").value([1, 0])
    assert ended == pytest.approx(wfa.value([1, 0]) / total, abs=0.03)
    assert model.sample(2, prefix=["a", "a"], max_length=1) == [["a", "a"]] * 2
    with pytest.raises(InputError, match="outside"):
        model.sample(1, prefix=["c"])
    assert is_deterministic(pdfa(rng)) and not is_deterministic(wfa)


def test_a_given_automaton_is_a_model(rng, tmp_path) -> None:
    wfa = pnfa(rng)
    model = Automaton.from_wfa(wfa, [("x", 0), ("x", 1)])
    model.save(tmp_path / "model")
    loaded = Automaton.load(tmp_path / "model")
    strings = [[("x", symbol) for symbol in string] for string in all_strings(2, 4)]
    np.testing.assert_allclose(np.exp(loaded.log_prob(strings)), wfa.values(all_strings(2, 4)), rtol=1e-9)
    tilted = Automaton.from_wfa(wfa.change_of_basis(rng.normal(size=(3, 3))), [("x", 0), ("x", 1)])
    np.testing.assert_allclose(tilted.log_prob(strings), loaded.log_prob(strings), atol=1e-6)
