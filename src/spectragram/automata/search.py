"""The default learner: many starts, few survivors, one mixture.

Which automaton suits a corpus is not known beforehand: a deterministic one, one of few states with soft moves, one of
many. So candidates of several kinds and sizes are started from spectral estimates and from state merging, improved by
a few EM iterations, and judged on strings held out from training; the best half goes on, twice. The survivors are
mixed with the weights that held-out strings give them, and finished on all strings.

Work is limited by a budget of floating-point operations, not by a clock: the same corpus gives the same model anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.automata.em import PRIOR, log_probs, random_start, run_em, trees_of
from spectragram.automata.hankel import count_hankel, find_basis
from spectragram.automata.merging import merge_states
from spectragram.automata.model import Mixture, Part, Weighted, mixture_weights, string_log_probs
from spectragram.automata.ngram import Ngrams, learn_ngrams
from spectragram.automata.pivot import learn_pivot
from spectragram.automata.spectral import learn_spectral
from spectragram.automata.starts import cluster_start, soften
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus
from spectragram.inference.prefix_tree import PrefixTree, gather_strings, grow_prefix_tree

__all__ = ["Effort", "hold_out", "search", "take"]

HELD_OUT_SHARE = 0.1
MAX_HELD_OUT = 5000
FEW_STRINGS = 20
"""Below this nothing can be held out."""
LEAST_WEIGHT = 0.02
"""Parts that held-out strings give less are dropped."""


@dataclass(frozen=True)
class Effort:
    """How hard to look, and where.

    Attributes
    ----------
    kinds : starts tried: "merge", "pivot", "cluster" (of spectral states), "random"
    sizes : numbers of states tried
    bases : sizes of the Hankel bases that the starts come from
    rounds : EM iterations of each round; after each the better half of the candidates stays
    finalists : how many are mixed
    explored_tokens : the rounds use a sample of about this many tokens
    budget : floating-point operations for the finalists' last iterations
    orders : k-gram models that join the mixture
    """

    kinds: tuple[str, ...] = ("merge", "pivot")
    sizes: tuple[int, ...] = (5, 12, 24, 40, 64)
    bases: tuple[int, ...] = (500, 2000)
    rounds: tuple[int, ...] = (16, 30)
    finalists: int = 3
    explored_tokens: int = 150_000
    budget: float = 2.5e11
    orders: tuple[int, ...] = (2, 4)


EFFORTS = {
    "fast": Effort(
        sizes=(16, 40), bases=(500,), rounds=(12,), finalists=1, explored_tokens=100_000, budget=5e10, orders=(2, 3)
    ),
    "default": Effort(),
    "best": Effort(
        sizes=(5, 8, 14, 20, 30, 45, 64, 90),
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

    name: str
    wfa: WFA
    score: float = -np.inf


def search(
    corpus: Corpus,
    effort: Effort,
    *,
    dev: Corpus | None = None,
    seed: int = 0,
    prior: float = PRIOR,
    max_iter: int = 100,
    n_jobs: int = 1,
    report: Callable[..., None] = lambda *_, **__: None,
) -> tuple[Mixture, list[dict[str, object]]]:
    """Learn a mixture from a corpus; also returns what was found out about each part.

    ``dev`` are strings to judge by; without them some of the corpus are held out, and used in the end.
    """
    if len(corpus) < FEW_STRINGS and dev is None:
        return _tiny_model(corpus, prior)
    rng = np.random.default_rng(seed)
    training, held_out = hold_out(corpus, rng) if dev is None else (corpus, dev)
    judges = grow_prefix_tree(held_out.tokens, held_out.offsets)
    explored = _sample(training, effort.explored_tokens, rng)
    candidates = _rounds(explored, judges, effort, rng, prior, n_jobs, report)[: effort.finalists]
    trees = trees_of(training)
    finalists = []
    for candidate in candidates:
        iterations = _affordable(trees, candidate.wfa.n_states, effort.budget / len(candidates), max_iter)
        fitted = run_em(
            trees, candidate.wfa, max_iter=iterations, prior=prior, held_out=[judges], n_jobs=n_jobs, report=report
        )
        finalists.append(Candidate(candidate.name, fitted.wfa, fitted.held_out[-1]))
    grams: list[Part] = [learn_ngrams(training, order) for order in effort.orders]
    parts: list[Part] = [Weighted.probabilistic(f.wfa) for f in finalists] + grams
    weights = mixture_weights([string_log_probs(judges, part) for part in parts])
    names = [f.name for f in finalists] + [f"{order}-gram" for order in effort.orders]
    return _finish(corpus, parts, names, weights, prior, n_jobs)


def _rounds(
    corpus: Corpus,
    judges: PrefixTree,
    effort: Effort,
    rng: np.random.Generator,
    prior: float,
    n_jobs: int,
    report: Callable[..., None],
) -> list[Candidate]:
    trees = trees_of(corpus)
    candidates = _starts(corpus, trees, effort, rng)
    for iterations in effort.rounds:
        improved = []
        for candidate in candidates:
            wfa = run_em(trees, candidate.wfa, max_iter=iterations, prior=prior, n_jobs=n_jobs).wfa
            score = float(log_probs([judges], wfa)[0].mean())
            improved.append(Candidate(candidate.name, wfa, score))
            report(candidate=candidate.name, score=f"{score:.4f}")
        improved.sort(key=lambda candidate: -candidate.score)
        candidates = improved[: max(effort.finalists, (len(improved) + 1) // 2)]
    return candidates


def _starts(corpus: Corpus, trees: Sequence[PrefixTree], effort: Effort, rng: np.random.Generator) -> list[Candidate]:
    n_symbols = len(corpus.vocabulary)
    starts = []
    if "merge" in effort.kinds:
        whole = grow_prefix_tree(corpus.tokens, corpus.offsets)
        merged = merge_states(whole, n_symbols, max_states=2 * max(effort.sizes))
        starts.append(Candidate("merge", merged.to_wfa()))
    if "random" in effort.kinds:
        starts += [Candidate(f"random {n}", random_start(trees, n, n_symbols, rng)) for n in effort.sizes]
    if not {"pivot", "cluster"} & set(effort.kinds):
        return starts
    for basis in effort.bases:
        largest = learn_spectral(count_hankel(corpus, find_basis(corpus, basis)), max(effort.sizes))
        for size in effort.sizes:
            model = largest.truncated(size)
            if "pivot" in effort.kinds:
                wfa = learn_pivot(model, trees, size)
                starts.append(Candidate(f"pivot {wfa.n_states}, basis {basis}", soften(wfa)))
            if "cluster" in effort.kinds:
                wfa = cluster_start(model, trees, size, rng)
                starts.append(Candidate(f"cluster {wfa.n_states}, basis {basis}", soften(wfa)))
    # A corpus of low rank gives the same start for several sizes.
    return list({candidate.name: candidate for candidate in starts}.values())


def _finish(
    corpus: Corpus, parts: list[Part], names: list[str], weights: np.ndarray, prior: float, n_jobs: int
) -> tuple[Mixture, list[dict[str, object]]]:
    """Drop what hardly counts and learn the rest once more from all strings, the held-out ones included."""
    kept = np.flatnonzero(weights >= min(LEAST_WEIGHT, weights.max()))
    trees = trees_of(corpus)
    finished: list[Part] = []
    for i in kept:
        part = parts[i]
        if isinstance(part, Weighted):
            finished.append(Weighted.probabilistic(run_em(trees, part.wfa, max_iter=4, prior=prior, n_jobs=n_jobs).wfa))
        else:
            finished.append(learn_ngrams(corpus, int(names[i].split("-")[0])))
    shares = weights[kept] / weights[kept].sum()
    facts = [
        {"part": names[i], "states": _size(part), "weight": round(float(share), 4)}
        for i, part, share in zip(kept, finished, shares, strict=True)
    ]
    return Mixture(tuple(finished), shares), facts


def _size(part: Part) -> int:
    return (
        part.wfa.n_states
        if isinstance(part, Weighted)
        else len(part.contexts.parent)
        if isinstance(part, Ngrams)
        else 0
    )


def _tiny_model(corpus: Corpus, prior: float) -> tuple[Mixture, list[dict[str, object]]]:
    """Too little to hold anything out: a bigram and a merged automaton, half and half."""
    tree = grow_prefix_tree(corpus.tokens, corpus.offsets)
    merged = merge_states(tree, len(corpus.vocabulary)).to_wfa()
    fitted = run_em([tree], merged, max_iter=4, prior=prior).wfa
    parts: tuple[Part, ...] = (Weighted.probabilistic(fitted), learn_ngrams(corpus, 2))
    facts = [
        {"part": name, "states": _size(part), "weight": 0.5}
        for name, part in zip(("merge", "2-gram"), parts, strict=True)
    ]
    return Mixture(parts, np.array([0.5, 0.5])), facts


def hold_out(corpus: Corpus, rng: np.random.Generator) -> tuple[Corpus, Corpus]:
    """Split at random: strings to learn from, and a tenth (at most 5000) to judge by."""
    order = rng.permutation(len(corpus))
    n = min(MAX_HELD_OUT, max(1, round(HELD_OUT_SHARE * len(corpus))))
    return take(corpus, order[n:]), take(corpus, order[:n])


def take(corpus: Corpus, chosen: np.ndarray) -> Corpus:
    """The chosen strings as a corpus of their own."""
    tokens, offsets = gather_strings(corpus.tokens, corpus.offsets, chosen)
    return Corpus(tokens.astype(np.int32), offsets, corpus.vocabulary)


def _sample(corpus: Corpus, n_tokens: int, rng: np.random.Generator) -> Corpus:
    """Strings at random, of about ``n_tokens`` tokens together."""
    if corpus.n_tokens <= n_tokens:
        return corpus
    order = rng.permutation(len(corpus))
    n = int(np.searchsorted(np.cumsum(np.diff(corpus.offsets)[order]), n_tokens)) + 1
    return take(corpus, order[:n])


def _affordable(trees: Sequence[PrefixTree], n_states: int, budget: float, max_iter: int) -> int:
    """EM iterations for ``budget`` operations: forward, backward and counts are 2 m^2 each per node."""
    cost = 6.0 * sum(map(len, trees)) * n_states**2
    return int(np.clip(budget / cost, 4, max_iter))
