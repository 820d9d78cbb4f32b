"""Gibbs sampling against expected counts, Dirichlet means and a known automaton."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from spectragram.automata import Automaton
from spectragram.automata.em import Expected, expect, log_probs, random_start, run_em, trees_of
from spectragram.automata.held_out import hold_out
from spectragram.automata.sampler_search import FINISHED, Sampler, choose_samplers, finish_samplers
from spectragram.automata.sampling import CONCENTRATIONS, Chain, Prior, _draw, draw_states, start_chain, sweep_cost
from spectragram.automata.settings import settings_of
from spectragram.automata.wfa import WFA
from spectragram.engine.progress import silent
from spectragram.inference.prefix_tree import grow_prefix_tree
from spectragram.synthetic.automata import PNFA


def automaton(rng, n_states: int = 3) -> WFA:
    drawn = PNFA.random(n_states, 2, rng=rng)
    return WFA(drawn.initial, drawn.operators, drawn.final)


def test_drawn_counts_are_right_on_average(rng) -> None:
    """A thousand copies of each string: their mean is the posterior, which enumeration checks in test_chain."""
    wfa = automaton(rng)
    tokens, offsets = np.array([0, 1, 1, 0, 1]), np.array([0, 2, 2, 5])
    tree = grow_prefix_tree(tokens, offsets, np.full(3, 1000.0))
    memory = np.empty((len(tree), 3), np.float32)
    draws = [draw_states([tree], wfa, memory, np.random.default_rng(seed)) for seed in range(20)]
    exact = expect([tree], wfa)
    for name in ("starts", "moves", "stops"):
        mean = np.mean([getattr(draw, name) for draw in draws], axis=0)
        # Five standard errors of a mean over 20,000 strings.
        np.testing.assert_allclose(mean, getattr(exact, name), atol=5 * 1000 * 3**0.5 * 0.5 / 20_000**0.5)
    assert all(draw.stops.sum() == 3000 and draw.moves.sum() == 5000 for draw in draws)
    assert any((a.moves != b.moves).any() for a, b in pairwise(draws))


def test_impossible_strings_are_left_out() -> None:
    wfa = WFA([1.0], [[[0.5]], [[0.0]]], [0.5])
    tree = grow_prefix_tree(np.array([0, 1]), np.array([0, 1, 2]))
    drawn = draw_states([tree], wfa, np.empty((len(tree), 1), np.float32), np.random.default_rng(0))
    assert drawn.stops.sum() == 1.0
    assert drawn.moves.tolist() == [[[1.0]], [[0.0]]]


@pytest.mark.parametrize("family", list(CONCENTRATIONS))
def test_weights_are_drawn_around_their_mean(family: str, rng) -> None:
    counts = Expected(
        rng.integers(0, 9, 3) * 1.0, rng.integers(0, 30, (2, 3, 3)) * 1.0, rng.integers(1, 30, 3) * 1.0, 0.0
    )
    prior = Prior(family, 0.3, 0.7)
    mean = prior.mean(counts)
    assert mean.is_probabilistic()
    draws = [prior.draw(counts, rng) for _ in range(4000)]
    assert all(draw.is_probabilistic() for draw in draws[:20])
    np.testing.assert_allclose(np.mean([draw.operators for draw in draws], axis=0), mean.operators, atol=0.012)
    np.testing.assert_allclose(np.mean([draw.final for draw in draws], axis=0), mean.final, atol=0.012)
    if family == "tied":
        shares = mean.operators / mean.operators.sum(axis=2, keepdims=True)
        np.testing.assert_allclose(shares[0], shares[1])


def test_zero_shapes_do_not_divide_by_zero(rng) -> None:
    """Gamma variables of tiny shape underflow to zero, all of them at once in a state that was never visited."""
    counts = Expected(np.array([1.0, 0.0]), np.zeros((2, 2, 2)), np.array([1.0, 0.0]), 0.0)
    for family in CONCENTRATIONS:
        drawn = Prior(family, 1e-4, 0.5).draw(counts, rng)
        assert np.isfinite(drawn.operators).all()


def test_an_average_predicts_better_than_em(rng) -> None:
    truth = PNFA.random(4, 3, rng=rng)
    train, test = truth.sample(300, rng), truth.sample(2000, rng)
    trees = [grow_prefix_tree(train.tokens, train.offsets)]
    judges = [grow_prefix_tree(test.tokens, test.offsets)]
    start = random_start(trees, 10, 3, rng)
    em = run_em(trees, start, max_iter=50, prior=0.0).wfa
    chain = start_chain(em, "joint").run(trees, 200, np.random.default_rng(0))
    assert len(chain.averages) == 4 and all(average.is_probabilistic() for average in chain.averages)
    sampler = Sampler("two", (chain, start_chain(em, "joint")), rng)
    each = [np.exp(log_probs(judges, average)[0]) for average in (*chain.averages, em)]
    np.testing.assert_allclose(np.exp(sampler.log_probs(judges[0])), np.mean(each, axis=0))
    assert sampler.log_probs(judges[0]).mean() > log_probs(judges, em)[0].mean() + 0.02


def test_a_chain_goes_on_where_it_stopped_and_seeds_decide(rng) -> None:
    tree = grow_prefix_tree(rng.integers(0, 2, 200), np.arange(0, 201, 5))
    start = start_chain(automaton(rng), "factored")
    once, again, other = (start.run([tree], 6, np.random.default_rng(seed)).averages[0].operators for seed in (3, 3, 4))
    np.testing.assert_array_equal(once, again)
    assert (other != once).any()
    further = start.run([tree], 6, np.random.default_rng(3)).run([tree], 6, np.random.default_rng(5))
    assert (further.averages[0].operators != once).any()


def test_samplers_start_at_random_and_from_candidates_and_the_best_go_on(rng) -> None:
    split = hold_out(PNFA.random(4, 3, rng=rng).sample(300, rng), None, 0)
    settings = settings_of(Automaton(n_jobs=1))
    effort = replace(settings.effort, sampled_sizes=(4, 10_000), samplers=2, sampling=1e7)
    settings = replace(settings, effort=effort)
    trees = trees_of(split.training)
    starts = [(f"start {n}", ("joint", "factored"), random_start(trees, n, 3, rng)) for n in (2, 3)]
    chosen = choose_samplers(starts, trees, trees, split, settings, silent)
    assert len(chosen) == 2 and chosen[0].score >= chosen[1].score
    scores = [sampler.log_probs(split.judges).mean() for sampler in chosen]
    np.testing.assert_allclose([sampler.score for sampler in chosen], scores)
    (at_random,) = choose_samplers([], trees, trees, split, settings, silent)  # 10,000 states are too many
    assert at_random.name == "factored random 4" and at_random.averages[0].n_states == 4
    before = at_random.averages[0].operators.copy()
    finished, again = (finish_samplers([at_random], [0.3], trees, settings)[0] for _ in range(2))
    assert (finished.averages[0].operators != before).any()
    np.testing.assert_array_equal(at_random.averages[0].operators, before)
    np.testing.assert_array_equal(finished.averages[-1].operators, again.averages[-1].operators)
    assert (finished.averages[0].operators != finished.averages[-1].operators).any()  # two chains
    none = replace(settings, effort=replace(effort, sampling=0.0))
    assert choose_samplers(starts, trees, trees, split, none, silent) == []


def test_samplers_with_more_weight_run_longer_and_as_two_chains(rng, monkeypatch) -> None:
    trees = trees_of(PNFA.random(3, 2, rng=rng).sample(50, rng))
    samplers = [Sampler("one", (start_chain(automaton(rng), "joint"),), rng) for _ in range(3)]
    swept: list[int] = []
    monkeypatch.setattr(Chain, "run", lambda chain, trees, sweeps, rng: swept.append(sweeps) or chain)
    settings = settings_of(Automaton(n_jobs=1))
    budget = 300 / FINISHED * sweep_cost(trees, samplers[0].chains[0].weights)
    settings = replace(settings, effort=replace(settings.effort, sampling=budget))
    finished = finish_samplers(samplers, [0.4, 0.2, 0.0], trees, settings)
    assert swept == pytest.approx([100, 100, 100], abs=1)
    assert [len(sampler.chains) for sampler in finished] == [2, 1]
    assert finish_samplers([], [], trees, settings) == []


@pytest.mark.parametrize("n_states", [1, 7, 8, 9, 20, 40])  # below, at and beyond the width of a block
def test_a_state_is_drawn_by_its_share_of_the_product(n_states: int, rng: np.random.Generator) -> None:
    left, right = rng.random((2, n_states)), rng.random((3, n_states))
    right[2, rng.random(n_states) < 0.5] = 0.0
    shares = np.cumsum(left[1] * right[2])
    if not shares[-1]:
        assert _draw(left, 1, right, 2, 0.5) == -1
        return
    for chance in rng.random(200):
        assert _draw(left, 1, right, 2, chance) == np.searchsorted(shares, chance * shares[-1])
