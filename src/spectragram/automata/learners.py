"""Every learner by name, from a corpus to something that predicts.

auto          candidates of several kinds, mixed by held-out strings (:mod:`spectragram.automata.search`)
spectral      one singular value decomposition (Balle et al. 2014)
pivot         the extreme states of the spectral automaton: probabilistic, no iterations
merge         deterministic, by merging the states of a prefix tree
em            EM from a random start
X+em          EM from the start X: spectral (clusters of its states), pivot, merge
hmm           pivot+em of a hidden Markov model: next symbol and next state are independent
ngram         interpolated k-grams; unigram and bigram for k = 1, 2
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spectragram.automata.em import trees_of
from spectragram.automata.hankel import Basis, count_hankel, find_basis
from spectragram.automata.merging import merge_states
from spectragram.automata.model import Mixture, Part, Weighted, string_log_probs
from spectragram.automata.ngram import learn_ngrams
from spectragram.automata.pivot import learn_pivot
from spectragram.automata.search import EFFORTS, FEW_STRINGS, search
from spectragram.automata.settings import STARTS, Settings
from spectragram.automata.spectral import SpectralModel, learn_spectral
from spectragram.automata.starts import soften
from spectragram.automata.strings import hold_out
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus
from spectragram.engine import require_memory
from spectragram.engine.progress import Report, silent
from spectragram.inference.prefix_tree import grow_prefix_tree

__all__ = ["Learned", "learn"]

COPIES = 3
"""Operators held at a time: the old ones, the new and the counts."""
RANKS = (3, 5, 8, 12, 18, 26, 40, 60, 90)
"""Numbers of states tried where none is given, for spectral and pivot."""
CONTEXT_SHARES = (0.0, 0.3, 0.6)
BACKOFF_SHARES = (0.001, 0.01, 0.05, 0.15, 0.3, 0.5)
BACKOFF_ORDER = 3


@dataclass(frozen=True)
class Learned:
    """A model, facts about its parts, and the singular values behind it where there are any."""

    mixture: Mixture
    facts: list[dict[str, Any]]
    spectrum: np.ndarray


def learn(corpus: Corpus, settings: Settings, dev: Corpus | None = None, report: Report = silent) -> Learned:
    """Train the learner that the settings name; ``dev`` are strings to choose by, instead of some of the corpus."""
    name = settings.learner
    if settings.n_states is not None:
        n_bytes = COPIES * 8.0 * len(corpus.vocabulary) * settings.n_states**2
        require_memory(n_bytes, f"n_states={settings.n_states}", "use fewer states")
    if name in ("unigram", "bigram", "ngram"):
        order = {"unigram": 1, "bigram": 2}.get(name, settings.order)
        grams = learn_ngrams(corpus, order)
        report()
        return _alone(grams, f"{order}-gram", len(grams.contexts.parent))
    if name == "spectral":
        return _spectral(corpus, settings, dev, report)
    if name == "pivot":
        return _pivot(corpus, settings, dev, report)
    if name == "merge":
        tree = grow_prefix_tree(corpus.tokens, corpus.offsets)
        merged = merge_states(tree, len(corpus.vocabulary), max_states=settings.n_states or 200)
        report()
        return _alone(Weighted.probabilistic(merged.to_wfa(leak=1e-3, smoothing=0.5)), "merge", merged.n_states)
    effort = EFFORTS[settings.preset]
    if name in STARTS:
        effort = replace(effort, kinds=(STARTS[name],), finalists=1, orders=())
    if settings.n_states is not None:
        effort = replace(effort, sizes=(settings.n_states,))
    mixture, facts = search(
        corpus,
        effort,
        dev=dev,
        seed=settings.seed,
        prior=settings.prior,
        max_iter=settings.max_iter,
        n_jobs=settings.n_jobs,
        report=report,
    )
    return Learned(mixture, facts, np.zeros(0))


def _alone(part: Part, name: str, n_states: int) -> Learned:
    facts = [{"part": name, "states": n_states, "weight": 1.0}]
    return Learned(Mixture((part,), np.ones(1)), facts, np.zeros(0))


def _estimate(corpus: Corpus, settings: Settings) -> SpectralModel:
    basis = settings.basis
    if not isinstance(basis, Basis):
        basis = find_basis(corpus, basis, settings.statistic)
    return learn_spectral(count_hankel(corpus, basis), settings.n_states or max(RANKS), seed=settings.seed)


def _ranks(settings: Settings, model: SpectralModel) -> list[int]:
    if settings.n_states is not None:
        return [min(settings.n_states, model.wfa.n_states)]
    return sorted({min(rank, model.wfa.n_states) for rank in RANKS})


def _spectral(corpus: Corpus, settings: Settings, dev: Corpus | None, report: Report) -> Learned:
    """Rank, reset and back-off by held-out strings, then once more from all strings."""
    if len(corpus) < FEW_STRINGS and dev is None:
        model = _estimate(corpus, settings)
        rank = _ranks(settings, model)[0]
        part = _predictor(model.truncated(rank), learn_ngrams(corpus, BACKOFF_ORDER), 0.0, BACKOFF_SHARES[2])
        report()
        return replace(_alone(part, "spectral", part.wfa.n_states), spectrum=model.singular_values)
    training, held_out = hold_out(corpus, np.random.default_rng(settings.seed)) if dev is None else (corpus, dev)
    judges = grow_prefix_tree(held_out.tokens, held_out.offsets)
    model, backoff = _estimate(training, settings), learn_ngrams(training, BACKOFF_ORDER)

    def score(rank: int, context_share: float, backoff_share: float) -> float:
        predictor = _predictor(model.truncated(rank), backoff, context_share, backoff_share)
        value = float(string_log_probs(judges, predictor).mean())
        report(dev=f"{value:.4f}")
        return value

    usual = BACKOFF_SHARES[2]
    choices = [(rank, share) for rank in _ranks(settings, model) for share in CONTEXT_SHARES]
    rank, context_share = max(choices, key=lambda choice: score(choice[0], choice[1], usual))
    backoff_share = max(BACKOFF_SHARES, key=lambda share: score(rank, context_share, share))
    if dev is None:
        model, backoff = _estimate(corpus, replace(settings, n_states=rank)), learn_ngrams(corpus, BACKOFF_ORDER)
    part = _predictor(model.truncated(rank), backoff, context_share, backoff_share)
    learned = _alone(part, "spectral", part.wfa.n_states)
    learned.facts[0] |= {"context_share": context_share, "backoff_share": backoff_share}
    return replace(learned, spectrum=model.singular_values)


def _predictor(model: SpectralModel, backoff: Any, context_share: float, backoff_share: float) -> Weighted:
    return Weighted(model.wfa, model.total, model.contexts, model.context_states, context_share, backoff, backoff_share)


def _pivot(corpus: Corpus, settings: Settings, dev: Corpus | None, report: Report) -> Learned:
    """The rank by held-out strings (by the corpus itself where it is small), then once more from all strings."""
    training, held_out = corpus, corpus if dev is None else dev
    if dev is None and len(corpus) >= FEW_STRINGS:
        training, held_out = hold_out(corpus, np.random.default_rng(settings.seed))
    judges = grow_prefix_tree(held_out.tokens, held_out.offsets)
    model, trees = _estimate(training, settings), trees_of(training)

    def automaton(rank: int) -> WFA:
        # A touch of softness keeps every string possible.
        return soften(learn_pivot(model.truncated(rank), trees, settings.n_states or rank), 0.01)

    def score(rank: int) -> float:
        values = string_log_probs(judges, Weighted.probabilistic(automaton(rank)))
        value = float(np.maximum(values, -1e4).mean())
        report(dev=f"{value:.4f}")
        return value

    rank = max(_ranks(settings, model), key=score)
    if training is not corpus:
        model, trees = _estimate(corpus, replace(settings, n_states=rank)), trees_of(corpus)
    part = Weighted.probabilistic(automaton(rank))
    learned = _alone(part, "pivot", part.wfa.n_states)
    return replace(learned, spectrum=model.singular_values)
