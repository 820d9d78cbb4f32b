"""The default learner: many starts, few survivors, one mixture.

Which automaton suits a corpus is not known beforehand: a deterministic one, one of few states with soft moves, one of
many. So candidates of several kinds and sizes are started from spectral estimates and from state merging, improved by
a few EM iterations, and judged on strings held out from training; the best half goes on, twice. The survivors are
mixed with the weights that held-out strings give them, and finished on all strings.

Work is limited by a budget of floating-point operations, not by a clock: the same corpus gives the same model anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from spectragram.automata.em import PRIOR, log_probs, random_start, run_em, trees_of
from spectragram.automata.hankel import count_hankel, find_basis
from spectragram.automata.merging import merge_states
from spectragram.automata.model import Mixture, Part, Weighted, string_log_probs
from spectragram.automata.ngram import Ngrams, learn_ngrams
from spectragram.automata.pivot import learn_pivot
from spectragram.automata.spectral import SpectralModel, learn_spectral
from spectragram.automata.starts import cluster_start, soften
from spectragram.automata.strings import hold_out, sample_strings
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus
from spectragram.engine import map_threads
from spectragram.engine.progress import Report, silent
from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_tree
from spectragram.learning.mixtures import held_out_weights

__all__ = ["EFFORTS", "Effort", "search"]

FEW_STRINGS = 20
"""Below this nothing can be held out."""
FAR_BEHIND = 0.03
"""Share of its log-probability by which a kind may trail the best and still go on."""
LEAST_WEIGHT = 0.02
"""Parts that held-out strings give less are dropped."""


@dataclass(frozen=True)
class Effort:
    """How hard to look, and where.

    Attributes
    ----------
    kinds : starts tried: "merge", "pivot", "cluster" (of spectral states), "random"; "hmm" is "pivot" with next symbol
        and next state independent
    sizes : numbers of states tried
    bases : sizes of the Hankel bases that the starts come from
    rounds : EM iterations of each round; after each the better half of the candidates stays
    finalists : how many are mixed
    explored_tokens : the rounds use a sample of about this many tokens
    budget : floating-point operations for the finalists' last iterations
    orders : k-gram models that join the mixture
    """

    kinds: tuple[str, ...] = ("merge", "pivot", "hmm")
    sizes: tuple[int, ...] = (5, 12, 24, 40, 64)
    bases: tuple[int, ...] = (500, 2000)
    rounds: tuple[int, ...] = (12, 24)
    finalists: int = 4
    explored_tokens: int = 150_000
    budget: float = 3e11
    orders: tuple[int, ...] = (2, 4)


EFFORTS = {
    "fast": Effort(
        kinds=("merge", "pivot"),
        sizes=(16, 40),
        bases=(500,),
        rounds=(12,),
        finalists=1,
        explored_tokens=100_000,
        budget=5e10,
        orders=(2, 3),
    ),
    "default": Effort(),
    "best": Effort(
        sizes=(5, 8, 14, 20, 30, 45, 64, 90),
        bases=(500, 2000),
        rounds=(20, 40, 60),
        finalists=6,
        explored_tokens=500_000,
        budget=3e12,
        orders=(2, 3, 5),
    ),
}


@dataclass(frozen=True)
class Candidate:
    """An automaton on trial: where it came from and how well it does on held-out strings (mean log-probability)."""

    kind: str
    name: str
    wfa: WFA
    score: float = -np.inf

    @property
    def tied(self) -> bool:
        """Whether it is a hidden Markov model."""
        return self.kind == "hmm"


def search(
    corpus: Corpus,
    effort: Effort,
    *,
    dev: Corpus | None = None,
    seed: int = 0,
    prior: float = PRIOR,
    max_iter: int = 100,
    n_jobs: int = 1,
    report: Report = silent,
) -> tuple[Mixture, list[dict[str, object]]]:
    """Learn a mixture from a corpus; also returns what was found out about each part.

    ``dev`` are strings to judge by; without them some of the corpus are held out, and used in the end.
    """
    if len(corpus) < FEW_STRINGS and dev is None:
        return _tiny_model(corpus, prior, report)
    rng = np.random.default_rng(seed)
    training, held_out = hold_out(corpus, rng) if dev is None else (corpus, dev)
    judges = grow_prefix_tree(held_out.tokens, held_out.offsets)
    explored = sample_strings(training, effort.explored_tokens, rng)
    explored_trees = trees_of(explored)
    candidates = _starts(training, explored, explored_trees, effort, rng)
    candidates = _rounds(candidates, explored_trees, judges, effort, prior, n_jobs, report)
    trees = trees_of(training)
    finalists: list[Candidate] = []
    for candidate in candidates:
        iterations = _affordable(trees, candidate.wfa.n_states, effort.budget / len(candidates), max_iter)
        fitted = run_em(
            trees,
            candidate.wfa,
            max_iter=iterations,
            prior=prior,
            tied=candidate.tied,
            held_out=[judges],
            n_jobs=n_jobs,
            report=report,
        )
        finalists.append(replace(candidate, wfa=fitted.wfa))
    parts: list[Part] = [Weighted.probabilistic(finalist.wfa) for finalist in finalists]
    parts += [learn_ngrams(training, order) for order in effort.orders]
    weights = held_out_weights([string_log_probs(judges, part) for part in parts])
    return _finish(corpus, finalists, effort.orders, weights, prior, n_jobs, report)


def _rounds(
    candidates: list[Candidate],
    trees: Sequence[PrefixTree],
    judges: PrefixTree,
    effort: Effort,
    prior: float,
    n_jobs: int,
    report: Report,
) -> list[Candidate]:
    def improve(candidate: Candidate, iterations: int) -> Candidate:
        fitted = run_em(trees, candidate.wfa, max_iter=iterations, prior=prior, tied=candidate.tied)
        score = float(log_probs([judges], fitted.wfa)[0].mean())
        report(dev=f"{score:.4f}")
        return replace(candidate, wfa=fitted.wfa, score=score)

    for round_, iterations in enumerate(effort.rounds, start=1):
        # The largest first, so that no thread is left with a long one in the end.
        candidates = sorted(candidates, key=lambda candidate: -candidate.wfa.n_states)
        improved = map_threads(partial(improve, iterations=iterations), candidates, n_jobs)
        last = round_ == len(effort.rounds)
        candidates = _survivors(improved, effort.finalists if last else (len(improved) + 1) // 2)
    return candidates


def _survivors(candidates: list[Candidate], n: int) -> list[Candidate]:
    """The best ``n``, and the best of every kind that is not far behind: kinds converge at different speeds."""
    ordered = sorted(candidates, key=lambda candidate: -candidate.score)
    best_of_kind = {candidate.kind: candidate for candidate in reversed(ordered)}
    good_enough = ordered[0].score - FAR_BEHIND * abs(ordered[0].score)
    return [c for i, c in enumerate(ordered) if i < n or (best_of_kind[c.kind] is c and c.score > good_enough)]


def _starts(
    training: Corpus, corpus: Corpus, trees: Sequence[PrefixTree], effort: Effort, rng: np.random.Generator
) -> list[Candidate]:
    """Merging is quick and needs all strings; the others start from the explored sample."""
    n_symbols = len(corpus.vocabulary)
    starts = []
    if "merge" in effort.kinds:
        whole = grow_prefix_tree(training.tokens, training.offsets)
        merged = merge_states(whole, n_symbols, max_states=2 * max(effort.sizes))
        starts.append(Candidate("merge", "merge", merged.to_wfa()))
    if "random" in effort.kinds:
        starts += [Candidate("random", f"random {n}", random_start(trees, n, n_symbols, rng)) for n in effort.sizes]
    if not {"pivot", "hmm", "cluster"} & set(effort.kinds):
        return starts
    for basis in effort.bases:
        largest = learn_spectral(count_hankel(corpus, find_basis(corpus, basis)), max(effort.sizes))
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


def _finish(
    corpus: Corpus,
    finalists: list[Candidate],
    orders: tuple[int, ...],
    weights: np.ndarray,
    prior: float,
    n_jobs: int,
    report: Report,
) -> tuple[Mixture, list[dict[str, object]]]:
    """Drop what hardly counts and learn the rest once more from all strings, the held-out ones included."""
    least = min(LEAST_WEIGHT, float(weights.max()))
    trees = trees_of(corpus)
    names: list[str] = []
    parts: list[Part] = []
    for finalist, weight in zip(finalists, weights, strict=False):
        if weight >= least:
            fitted = run_em(
                trees, finalist.wfa, max_iter=4, prior=prior, tied=finalist.tied, n_jobs=n_jobs, report=report
            )
            names.append(finalist.name)
            parts.append(Weighted.probabilistic(fitted.wfa))
    for order, weight in zip(orders, weights[len(finalists) :], strict=True):
        if weight >= least:
            names.append(f"{order}-gram")
            parts.append(learn_ngrams(corpus, order))
    shares = weights[weights >= least] / weights[weights >= least].sum()
    facts: list[dict[str, object]] = [
        {"part": name, "states": _size(part), "weight": round(float(share), 4)}
        for name, part, share in zip(names, parts, shares, strict=True)
    ]
    return Mixture(tuple(parts), shares), facts


def _size(part: Part) -> int:
    return (
        part.wfa.n_states
        if isinstance(part, Weighted)
        else len(part.contexts.parent)
        if isinstance(part, Ngrams)
        else 0
    )


def _tiny_model(corpus: Corpus, prior: float, report: Report) -> tuple[Mixture, list[dict[str, object]]]:
    """Too little to hold anything out: a bigram and a merged automaton, half and half."""
    tree = grow_prefix_tree(corpus.tokens, corpus.offsets)
    merged = merge_states(tree, len(corpus.vocabulary)).to_wfa()
    fitted = run_em([tree], merged, max_iter=4, prior=prior, report=report).wfa
    parts: tuple[Part, ...] = (Weighted.probabilistic(fitted), learn_ngrams(corpus, 2))
    facts = [
        {"part": name, "states": _size(part), "weight": 0.5}
        for name, part in zip(("merge", "2-gram"), parts, strict=True)
    ]
    return Mixture(parts, np.array([0.5, 0.5])), facts


def _affordable(trees: Sequence[PrefixTree], n_states: int, budget: float, max_iter: int) -> int:
    """EM iterations for ``budget`` operations: forward, backward and counts are 2 m^2 each per node."""
    cost = 6.0 * sum(map(len, trees)) * n_states**2
    return int(np.clip(budget / cost, 4, max_iter))
