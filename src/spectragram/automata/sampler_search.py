"""Which Gibbs samplers join the mixture of the default learner: several start, the better ones go on.

A sampler that starts from a random automaton with more states than are needed finds better automata than one that
starts from spectral pivots or from the result of EM, where it is stuck (measured on PAutomaC 17 and 31). It needs
hundreds of sweeps for that, so it has a budget of its own, which it spends on a sample of the strings. From the
candidates of EM start samplers too, since they may be right: state merging finds deterministic automata. Held-out
strings choose which samplers go on with all strings, and how long: most of them improve for hundreds of sweeps.

A sampler is one chain, or several that have gone apart: then a sampler that gets most of the work still keeps more than
one core busy.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from spectragram.automata.em import log_probs, random_start
from spectragram.automata.held_out import Split
from spectragram.automata.sampling import Chain, start_chain, sweep_cost
from spectragram.automata.settings import Settings
from spectragram.automata.wfa import WFA
from spectragram.engine import map_threads
from spectragram.engine.progress import Report
from spectragram.inference.prefix_tree import PrefixTree
from spectragram.learning.mixtures import held_out_weights

__all__ = ["Sampler", "Start", "choose_samplers", "finish_samplers"]

RANDOM, TRIED, CHOSEN, LEADING, FINISHED = 0.15, 0.12, 0.18, 0.2, 0.4
"""What is spent, in budgets of sampling: on samplers that start at random and on those that start from candidates, on
the best of them with all strings that are not held out, on these again by their weights, and on all that count with all
strings. Chosen by hand, not tuned."""
LEAST_SHARE, MOST_SHARE = 0.1, 0.5
"""A sampler with a smaller share of the work does not go on before the end, one with a larger share goes on as two
chains. Chosen by hand, for two cores."""
LEAST_SWEEPS, MOST_SWEEPS = 25, 1000
"""Fewer sweeps say nothing about a sampler, so fewer samplers are tried instead; more hardly change averages. Chosen by
hand, not tuned."""
TOKENS_PER_EVENT = 10.0
"""Samplers start at random only with so few states that there are this many tokens for each state and symbol. Chosen by
hand: small corpora do not determine more."""

Start = tuple[str, tuple[str, ...], WFA]
"""A candidate of EM: its name, the families of priors with which samplers start from it, and its automaton."""


@dataclass(frozen=True)
class Sampler:
    """A Gibbs sampler on trial, and the mean log-probability of held-out strings under its averages."""

    name: str
    chains: tuple[Chain, ...]
    rng: np.random.Generator
    score: float = -np.inf

    @property
    def averages(self) -> list[WFA]:
        """Of all blocks of all chains: parts of a mixture in equal shares."""
        return [average for chain in self.chains for average in chain.averages]

    def log_probs(self, tree: PrefixTree) -> np.ndarray:
        """Log-probability of every string under the mixture of the averages, in the order of ``end_of``."""
        return np.logaddexp.reduce([log_probs([tree], wfa)[0] for wfa in self.averages]) - np.log(len(self.averages))


Task = tuple[Sampler, Sequence[PrefixTree], float]
"""A sampler, the strings it goes on with, and how many operations it may spend."""


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

    def judged(tasks: list[Task]) -> list[Sampler]:
        scored = []
        for sampler in _run(tasks, settings.n_jobs):
            score = float(sampler.log_probs(judges).mean())
            report(dev=f"{score:.4f}")
            scored.append(replace(sampler, score=score))
        return sorted(scored, key=lambda sampler: -sampler.score)

    tasks = _shared(_from_random(explored, split, settings), explored, RANDOM * effort.sampling)
    tasks += _shared(_from_candidates(starts, trees, split, settings), trees, TRIED * effort.sampling)
    best = judged(_shared(judged(tasks)[: effort.samplers], trees, CHOSEN * effort.sampling))
    shares = held_out_weights([sampler.log_probs(judges) for sampler in best])
    shares = np.where(shares >= min(LEAST_SHARE, shares.max()), shares, 0.0)
    leading = judged(_weighted(best, shares, trees, LEADING * effort.sampling))
    rest = [sampler for sampler, share in zip(best, shares, strict=True) if not share]
    return sorted(leading + rest, key=lambda sampler: -sampler.score)


def finish_samplers(
    samplers: Sequence[Sampler], weights: Sequence[float], trees: Sequence[PrefixTree], settings: Settings
) -> list[Sampler]:
    """The samplers that held-out strings gave weight to go on with all strings, the heavier ones longer."""
    tasks = _weighted(samplers, np.asarray(weights), trees, FINISHED * settings.effort.sampling)
    return _run(tasks, settings.n_jobs)


def _from_random(explored: Sequence[PrefixTree], split: Split, settings: Settings) -> list[Sampler]:
    n_symbols = len(split.training.vocabulary)
    found = []
    for size in settings.effort.sampled_sizes:
        if size * (n_symbols + 1) * TOKENS_PER_EVENT <= split.training.n_tokens:
            (rng,) = split.rng.spawn(1)
            start = random_start(explored, size, n_symbols, rng)
            found.append(Sampler(f"factored random {size}", (start_chain(start, "factored"),), rng))
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
                found.append(Sampler(f"{family} {name}", (start_chain(wfa, family),), rng))
    return found


def _shared(samplers: Sequence[Sampler], trees: Sequence[PrefixTree], budget: float) -> list[Task]:
    """The same budget for each sampler, so large ones make fewer sweeps."""
    return [(sampler, trees, budget / len(samplers)) for sampler in samplers]


def _weighted(
    samplers: Sequence[Sampler], weights: np.ndarray, trees: Sequence[PrefixTree], budget: float
) -> list[Task]:
    """A share of the budget by weight, none for a weight of zero; two chains for those with most of the work."""
    tasks = []
    for sampler, weight in zip(samplers, weights, strict=True):
        share = weight / np.sum(weights)
        if share > MOST_SHARE and len(sampler.chains) == 1:
            sampler = replace(sampler, chains=2 * sampler.chains)
        if share:
            tasks.append((sampler, trees, float(share * budget)))
    return tasks


def _run(tasks: Sequence[Task], n_jobs: int) -> list[Sampler]:
    """Each sampler goes on; its chains share its budget."""
    samplers, work = [], []
    for sampler, trees, budget in tasks:
        rng = copy.deepcopy(sampler.rng)  # what held-out strings chose stays as it is
        affordable = budget / len(sampler.chains) / sweep_cost(trees, sampler.chains[0].weights)
        sweeps = int(np.clip(affordable, LEAST_SWEEPS, MOST_SWEEPS))
        rngs = rng.spawn(len(sampler.chains))
        work += [(chain, trees, sweeps, own) for chain, own in zip(sampler.chains, rngs, strict=True)]
        samplers.append(replace(sampler, rng=rng))
    done = iter(map_threads(lambda item: item[0].run(*item[1:]), work, n_jobs))
    return [replace(sampler, chains=tuple(islice(done, len(sampler.chains)))) for sampler in samplers]
