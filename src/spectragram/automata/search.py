"""The default learner: many starts, few survivors, one mixture.

Which automaton suits a corpus is not known in advance: a deterministic one, a small one with soft moves, a large one.
Candidates of several kinds and sizes are therefore started from spectral estimates and from state merging, improved by
a few EM iterations, and scored on held-out strings; after each round the better half goes on. Gibbs samplers start at
random and from the survivors (:mod:`spectragram.automata.sampler_search`). Survivors, averages of samplers and k-grams
are mixed with the weights that make held-out strings most probable, and finished on all strings.

Work is limited by a number of floating-point operations, not by a clock, so the same corpus gives the same model on
every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from spectragram.automata.em import log_probs, random_start, run_em, trees_of
from spectragram.automata.hankel import count_hankel, find_basis
from spectragram.automata.held_out import Split, sample_strings
from spectragram.automata.merging import merge_states
from spectragram.automata.model import Model, Part, Weighted, string_log_probs
from spectragram.automata.ngram import learn_ngrams
from spectragram.automata.pivot import cluster_start, learn_pivot, soften
from spectragram.automata.sampler_search import Sampler, choose_samplers, finish_samplers
from spectragram.automata.settings import Effort, Settings
from spectragram.automata.spectral import SpectralModel, learn_spectral
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus
from spectragram.engine import map_threads
from spectragram.engine.progress import Report
from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_tree
from spectragram.learning.mixtures import held_out_weights

__all__ = ["Finalists", "choose_finalists", "mix_finalists", "run_alone"]

FAR_BEHIND = 0.03
"""The best candidate of a kind goes on if its log-probability is at most this share worse than the best of all. Chosen
by hand, not tuned."""
LEAST_WEIGHT = 0.02
"""Parts that get less weight from held-out strings are dropped. Chosen by hand: they hardly change predictions."""
AHEAD = 10.0
"""How much more weight samplers have before held-out strings decide: what they say about parts that are almost equally
good is mostly chance. Chosen among 1, 10, 30 and 100 on PAutomaC 1, 3, 21, 25, 31, 37 and 43 with their solutions in
view."""
ITERATIONS = 300
"""EM iterations for the weights of a mixture. Few leave weight with poor parts, many follow a few held-out strings:
chosen among 100, 300 and 1000 on the same problems, with their solutions in view."""
FAMILIES_OF_KIND = {"hmm": ("tied",), "merge": ("factored",)}
"""Families of priors with which samplers start from candidates of a kind; from all others, joint and factored ones."""
LAST_ITERATIONS = 4
"""EM iterations on all strings in the end, and the fewest that a budget pays for. Chosen by hand, not tuned: only a
tenth of the strings is new."""


@dataclass(frozen=True)
class Candidate:
    """An automaton on trial: its kind of start, its name, and the mean log-probability of held-out strings."""

    kind: str
    name: str
    wfa: WFA
    score: float = -np.inf

    @property
    def tied(self) -> bool:
        """Whether it is a hidden Markov model."""
        return self.kind == "hmm"


@dataclass(frozen=True)
class Finalists:
    """What held-out strings decided: automata, samplers and orders of k-grams, and their weights in this order."""

    candidates: tuple[Candidate, ...]
    samplers: tuple[Sampler, ...]
    orders: tuple[int, ...]
    weights: np.ndarray


def choose_finalists(split: Split, settings: Settings, report: Report) -> Finalists:
    """Try many candidates; held-out strings choose the best and weight them."""
    if split.judges is None:
        return _undecided(split.training)
    effort = settings.effort
    explored = sample_strings(split.training, effort.explored_tokens, split.rng)
    explored_trees = trees_of(explored)
    candidates = _starts(split.training, explored, explored_trees, effort, split.rng)
    candidates = _rounds(candidates, explored_trees, split.judges, settings, report)
    trees = trees_of(split.training)
    finalists: list[Candidate] = []
    for candidate in candidates:
        budget = effort.budget / len(candidates)
        fitted = run_em(
            trees,
            candidate.wfa,
            max_iter=_affordable(trees, candidate.wfa.n_states, budget, settings.max_iter),
            **_em_settings(settings),
            tied=candidate.tied,
            held_out=[split.judges],
            dtype=np.float32,
            n_jobs=settings.n_jobs,
            report=report,
        )
        score = float(log_probs([split.judges], fitted.wfa)[0].mean())
        finalists.append(replace(candidate, wfa=fitted.wfa, score=score))
    best_first = sorted(finalists, key=lambda finalist: -finalist.score)
    starts = [
        (finalist.name, FAMILIES_OF_KIND.get(finalist.kind, ("joint", "factored")), finalist.wfa)
        for finalist in best_first
    ]
    samplers = choose_samplers(starts, explored_trees, trees, split, settings, report)
    judged = [log_probs([split.judges], finalist.wfa)[0] for finalist in finalists]
    judged += [sampler.log_probs(split.judges) for sampler in samplers]
    judged += [string_log_probs(split.judges, learn_ngrams(split.training, order)) for order in effort.orders]
    start = [1.0] * len(finalists) + [AHEAD] * len(samplers) + [1.0] * len(effort.orders)
    weights = held_out_weights(judged, start, ITERATIONS)
    return Finalists(tuple(finalists), tuple(samplers), effort.orders, weights)


def mix_finalists(
    corpus: Corpus, chosen: Finalists, settings: Settings, report: Report
) -> tuple[Model, list[dict[str, Any]]]:
    """Learn once more from all strings, without the parts that hardly count; also returns facts about each part."""
    weights = chosen.weights
    least = min(LEAST_WEIGHT, float(weights.max()))
    trees = trees_of(corpus)
    found: list[tuple[str, Part, float]] = []
    for candidate, weight in zip(chosen.candidates, weights, strict=False):
        if weight >= least:
            fitted = run_em(
                trees,
                candidate.wfa,
                max_iter=LAST_ITERATIONS,
                **_em_settings(settings),
                tied=candidate.tied,
                n_jobs=settings.n_jobs,
                report=report,
            )
            found.append((candidate.name, Weighted.probabilistic(fitted.wfa), weight))
    rest = weights[len(chosen.candidates) :]
    kept = [pair for pair in zip(chosen.samplers, rest, strict=False) if pair[1] >= least]
    finished = finish_samplers([sampler for sampler, _ in kept], [weight for _, weight in kept], trees, settings)
    for sampler, (_, weight) in zip(finished, kept, strict=True):
        averages = sampler.averages
        found += [(sampler.name, Weighted.probabilistic(wfa), weight / len(averages)) for wfa in averages]
        report()
    for order, weight in zip(chosen.orders, rest[len(chosen.samplers) :], strict=True):
        if weight >= least:
            found.append((f"{order}-gram", learn_ngrams(corpus, order), weight))
    shares = np.array([weight for *_, weight in found])
    shares /= shares.sum()
    facts = [
        {"part": name, "states": part.n_states, "weight": round(float(share), 4)}
        for (name, part, _), share in zip(found, shares, strict=True)
    ]
    return Model.of(corpus, [part for _, part, _ in found], shares), facts


def run_alone(corpus: Corpus, settings: Settings, report: Report) -> tuple[Model, list[dict[str, Any]]]:
    """EM on all strings from one start of one size, until ``max_iter`` or the tolerance stops it: as in the paper."""
    trees, rng = trees_of(corpus), np.random.default_rng(settings.seed)
    candidate = _starts(corpus, corpus, trees, settings.effort, rng)[-1]
    fitted = run_em(
        trees,
        candidate.wfa,
        max_iter=settings.max_iter,
        tied=candidate.tied,
        n_jobs=settings.n_jobs,
        report=report,
        **_em_settings(settings),
    )
    part = Weighted.probabilistic(fitted.wfa)
    facts = {"part": candidate.name, "states": part.n_states, "weight": 1.0, "iterations": len(fitted.training)}
    return Model.of(corpus, [part], np.ones(1)), [facts]


def _em_settings(settings: Settings) -> dict[str, Any]:
    return {"prior": settings.prior, "tolerance": settings.tolerance, "over_relaxed": settings.over_relaxed}


def _undecided(corpus: Corpus) -> Finalists:
    """If nothing can be held out: a merged automaton and a bigram, with equal weights."""
    tree = grow_prefix_tree(corpus.tokens, corpus.offsets)
    merged = merge_states(tree, len(corpus.vocabulary)).soften()
    return Finalists((Candidate("merge", "merge", merged),), (), (2,), np.array([0.5, 0.5]))


def _rounds(
    candidates: list[Candidate],
    trees: Sequence[PrefixTree],
    judges: PrefixTree,
    settings: Settings,
    report: Report,
) -> list[Candidate]:
    def improve(candidate: Candidate, iterations: int) -> Candidate:
        fitted = run_em(
            trees, candidate.wfa, max_iter=iterations, tied=candidate.tied, dtype=np.float32, **_em_settings(settings)
        )
        score = float(log_probs([judges], fitted.wfa)[0].mean())
        report(dev=f"{score:.4f}")
        return replace(candidate, wfa=fitted.wfa, score=score)

    rounds, n_finalists = settings.effort.rounds, settings.effort.finalists
    for round_, iterations in enumerate(rounds, start=1):
        # The largest first, so that no thread has a long one left when the others are done.
        candidates = sorted(candidates, key=lambda candidate: -candidate.wfa.n_states)
        improved = map_threads(partial(improve, iterations=iterations), candidates, settings.n_jobs)
        candidates = _survivors(improved, n_finalists if round_ == len(rounds) else (len(improved) + 1) // 2)
    return candidates


def _survivors(candidates: list[Candidate], n: int) -> list[Candidate]:
    """The best ``n``, and the best of every kind that is not far behind, since kinds converge at different speeds."""
    ordered = sorted(candidates, key=lambda candidate: -candidate.score)
    best_of_kind = {candidate.kind: candidate for candidate in reversed(ordered)}
    good_enough = ordered[0].score - FAR_BEHIND * abs(ordered[0].score)
    return [c for i, c in enumerate(ordered) if i < n or (best_of_kind[c.kind] is c and c.score > good_enough)]


def _starts(
    training: Corpus, explored: Corpus, trees: Sequence[PrefixTree], effort: Effort, rng: np.random.Generator
) -> list[Candidate]:
    """Merging is fast and needs all strings; the others start from the explored sample."""
    n_symbols = len(training.vocabulary)
    starts = []
    if "merge" in effort.kinds:
        whole = grow_prefix_tree(training.tokens, training.offsets)
        merged = merge_states(whole, n_symbols, max_states=2 * max(effort.sizes))
        starts.append(Candidate("merge", "merge", merged.soften()))
    if "random" in effort.kinds:
        starts += [Candidate("random", f"random {n}", random_start(trees, n, n_symbols, rng)) for n in effort.sizes]
    if not {"pivot", "hmm", "cluster"} & set(effort.kinds):
        return starts
    for basis in effort.bases:
        largest = learn_spectral(count_hankel(explored, find_basis(explored, basis)), max(effort.sizes))
        for size in effort.sizes:
            starts += _spectral_starts(largest.truncated(size), trees, size, basis, effort, rng)
    # A corpus of low rank gives the same start for several sizes.
    return list({candidate.name: candidate for candidate in starts}.values())


def _spectral_starts(
    model: SpectralModel,
    trees: Sequence[PrefixTree],
    size: int,
    basis: int,
    effort: Effort,
    rng: np.random.Generator,
) -> list[Candidate]:
    starts = []
    if {"pivot", "hmm"} & set(effort.kinds):
        wfa = soften(learn_pivot(model, trees, size))
        if "pivot" in effort.kinds:
            starts.append(Candidate("pivot", f"pivot {wfa.n_states}, basis {basis}", wfa))
        if "hmm" in effort.kinds and basis == effort.bases[-1]:
            starts.append(Candidate("hmm", f"hmm {wfa.n_states}", wfa))
    if "cluster" in effort.kinds:
        wfa = soften(cluster_start(model, trees, size, rng))
        starts.append(Candidate("cluster", f"cluster {wfa.n_states}, basis {basis}", wfa))
    return starts


def _affordable(trees: Sequence[PrefixTree], n_states: int, budget: float, max_iter: int) -> int:
    """EM iterations for ``budget`` operations; forward, backward and counts each take 2 m^2 operations for a node."""
    cost = 6.0 * sum(map(len, trees)) * n_states**2
    return int(np.clip(budget / cost, LAST_ITERATIONS, max_iter))
