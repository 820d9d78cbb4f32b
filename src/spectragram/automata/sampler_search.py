"""Which Gibbs samplers join the mixture of the default learner: several start, the better ones go on.

A sampler that starts from a random automaton with more states than are needed finds better automata than one that
starts from spectral pivots or from the result of EM, where it is stuck (measured on PAutomaC 17 and 31). It needs
hundreds of sweeps for that, so it has a budget of its own, which it spends on a sample of the strings. From the
candidates of EM start samplers too, since they may be right: state merging finds deterministic automata. Held-out
strings choose which samplers go on with all strings.

Samplers that run side by side get the same number of operations, so large ones make fewer sweeps.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spectragram.automata.em import log_probs, random_start
from spectragram.automata.held_out import Split
from spectragram.automata.sampling import Chain, start_chain, sweep_cost
from spectragram.automata.settings import Settings
from spectragram.automata.wfa import WFA
from spectragram.engine import map_threads
from spectragram.engine.progress import Report
from spectragram.inference.prefix_tree import PrefixTree

__all__ = ["Sampler", "Start", "choose_samplers", "finish_samplers"]

RANDOM, TRIED, CHOSEN, FINISHED = 0.35, 0.15, 0.2, 0.3
"""Shares of the budget of sampling: for samplers that start at random and for those that start from candidates, for the
best of them on all strings that are not held out, and for these on all strings. Chosen by hand, not tuned."""
LEAST_SWEEPS, MOST_SWEEPS = 25, 600
"""Fewer sweeps say nothing about a sampler, so fewer samplers are tried instead; more hardly change averages. Chosen by
hand, not tuned."""
TOKENS_PER_EVENT = 10.0
"""Samplers start at random only with so few states that there are this many tokens for each state and symbol. Chosen by
hand: small corpora do not determine more."""

Start = tuple[str, tuple[str, ...], WFA]
"""A candidate of EM: its name, the families of priors with which samplers start from it, and its automaton."""


@dataclass(frozen=True)
class Sampler:
    """A Gibbs sampler on trial, and the mean log-probability of held-out strings under its average."""

    name: str
    chain: Chain
    rng: np.random.Generator
    score: float = -np.inf


def choose_samplers(
    starts: Sequence[Start],
    explored: Sequence[PrefixTree],
    trees: Sequence[PrefixTree],
    split: Split,
    settings: Settings,
    report: Report,
) -> list[Sampler]:
    """Start samplers at random and from candidates (the best first); the better ones run longer and are returned."""
    effort, judges = settings.effort, split.judges
    assert judges is not None
    if not effort.sampling:
        return []

    def judged(samplers: list[Sampler], trees: Sequence[PrefixTree], share: float) -> list[Sampler]:
        scored = []
        for sampler in _run(samplers, trees, share * effort.sampling, settings.n_jobs):
            score = float(log_probs([judges], sampler.chain.average)[0].mean())
            report(dev=f"{score:.4f}")
            scored.append(replace(sampler, score=score))
        return sorted(scored, key=lambda sampler: -sampler.score)

    tried = judged(_from_random(explored, split, settings), explored, RANDOM)
    tried += judged(_from_candidates(starts, trees, split, settings), trees, TRIED)
    best = sorted(tried, key=lambda sampler: -sampler.score)[: effort.samplers]
    return judged(best, trees, CHOSEN)


def finish_samplers(samplers: list[Sampler], trees: Sequence[PrefixTree], settings: Settings) -> list[Sampler]:
    """The samplers that held-out strings gave weight to go on with all strings."""
    return _run(samplers, trees, FINISHED * settings.effort.sampling, settings.n_jobs)


def _from_random(explored: Sequence[PrefixTree], split: Split, settings: Settings) -> list[Sampler]:
    n_symbols = len(split.training.vocabulary)
    found = []
    for size in settings.effort.sampled_sizes:
        if size * (n_symbols + 1) * TOKENS_PER_EVENT <= split.training.n_tokens:
            (rng,) = split.rng.spawn(1)
            start = random_start(explored, size, n_symbols, rng)
            found.append(Sampler(f"factored random {size}", start_chain(start, "factored"), rng))
    return found


def _from_candidates(
    starts: Sequence[Start], trees: Sequence[PrefixTree], split: Split, settings: Settings
) -> list[Sampler]:
    """Samplers that start from candidates, as many as the budget pays for, but at least two."""
    found: list[Sampler] = []
    paid = 0.0
    for name, families, wfa in starts:
        for family in families:
            paid += LEAST_SWEEPS * sweep_cost(trees, wfa)
            if len(found) < 2 or paid <= TRIED * settings.effort.sampling:
                (rng,) = split.rng.spawn(1)
                found.append(Sampler(f"{family} {name}", start_chain(wfa, family), rng))
    return found


def _run(samplers: list[Sampler], trees: Sequence[PrefixTree], budget: float, n_jobs: int) -> list[Sampler]:
    """Each sampler goes on with its share of the budget."""

    def run(sampler: Sampler) -> Sampler:
        cost = sweep_cost(trees, sampler.chain.weights)
        sweeps = int(np.clip(budget / len(samplers) / cost, LEAST_SWEEPS, MOST_SWEEPS))
        rng = copy.deepcopy(sampler.rng)  # what held-out strings chose stays as it is
        return replace(sampler, chain=sampler.chain.run(trees, sweeps, rng), rng=rng)

    return map_threads(run, samplers, n_jobs)
