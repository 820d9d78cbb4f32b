"""Every learner by name, from a corpus to a model.

auto          candidates of several kinds, mixed by held-out strings (:mod:`spectragram.automata.search`)
spectral      one singular value decomposition (Balle et al. 2014)
pivot         the extreme states of the spectral automaton: probabilistic, no iterations
merge         deterministic, by merging the states of a prefix tree
em            EM from a random start
X+em          EM from the start X: spectral (clusters of its states), pivot, merge
hmm           pivot+em of a hidden Markov model: next symbol and next state are independent
ngram         interpolated k-grams; unigram and bigram for k = 1, 2

Most learners have something to choose (a number of states, the weights of a mixture). They hold out strings, choose by
them, and learn once more from all strings with that choice: :func:`learn`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from spectragram.automata.em import trees_of
from spectragram.automata.hankel import count_hankel, find_basis
from spectragram.automata.held_out import Split, hold_out
from spectragram.automata.merging import MAX_STATES, merge_states
from spectragram.automata.model import Model, Part, Weighted, string_log_probs
from spectragram.automata.ngram import Ngrams, learn_ngrams
from spectragram.automata.pivot import learn_pivot, soften
from spectragram.automata.search import choose_finalists, mix_finalists, run_alone
from spectragram.automata.settings import STARTS, Settings
from spectragram.automata.spectral import SpectralModel, learn_spectral
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus
from spectragram.engine import require_memory
from spectragram.engine.progress import Report, silent
from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_tree

__all__ = ["learn"]

COPIES = 3
"""Operators in memory at a time: the old ones, the new ones and the counts."""
RANKS = (3, 5, 8, 12, 18, 26, 40, 60, 90)
"""Numbers of states that spectral and pivot try if none is given: each about half as large again, which is finer than
held-out strings can tell apart. Chosen by hand."""
CONTEXT_SHARES = (0.0, 0.3, 0.6)
BACKOFF_SHARES = (0.001, 0.01, 0.05, 0.15, 0.3, 0.5)
USUAL_BACKOFF_SHARE = 0.05
BACKOFF_ORDER = 3
"""Shares of the state of recent symbols, and of k-grams, that spectral tries; the share of k-grams before one is
chosen; and k. Chosen by hand, not tuned."""
PIVOT_SOFTNESS = 0.01
"""Share of every move of a pivot automaton that is spread over all states, so that every string stays possible. Chosen
by hand, not tuned."""
MERGE_LEAK, MERGE_SMOOTHING = 1e-3, 0.5
"""The same for a merged automaton, and how many events the overall frequencies count as in each state. Smaller than
before EM, since the result is final. Chosen by hand, not tuned."""
IMPOSSIBLE = -1e4
"""Log-probability that an impossible held-out string counts as, so that one such string does not make all choices
equal; any value far below that of possible strings does."""

Facts = list[dict[str, Any]]
"""For each part of a model: its name, its number of states, its weight and what was chosen for it."""


def learn(
    corpus: Corpus, settings: Settings, dev: Corpus | None = None, report: Report = silent
) -> tuple[Model, Facts]:
    """Hold out strings, choose by them, and learn once more from all strings.

    ``dev`` gives strings to choose by; then nothing of the corpus is held out.
    """
    n_symbols, n_states = len(corpus.vocabulary), settings.n_states
    if n_states is not None:
        what = f"an automaton of {n_states} states over {n_symbols} symbols"
        require_memory(COPIES * 8.0 * n_symbols * n_states**2, what, "use fewer states")
    if settings.learner in WITHOUT_CHOICE:
        report()
        return WITHOUT_CHOICE[settings.learner](corpus, settings)
    if settings.learner in STARTS and not settings.early_stopping:
        return run_alone(corpus, settings, report)
    choose, finish = WITH_CHOICE.get(settings.learner, (choose_finalists, mix_finalists))
    choice = choose(hold_out(corpus, dev, settings.seed), settings, report)
    return finish(corpus, choice, settings, report)


def _alone(corpus: Corpus, part: Part, name: str, spectrum: np.ndarray | None = None) -> tuple[Model, Facts]:
    facts = [{"part": name, "states": part.n_states, "weight": 1.0}]
    return Model.of(corpus, [part], np.ones(1), spectrum), facts


def _ngram(corpus: Corpus, settings: Settings) -> tuple[Model, Facts]:
    return _alone(corpus, learn_ngrams(corpus, settings.order, discount=settings.discount), f"{settings.order}-gram")


def _merge(corpus: Corpus, settings: Settings) -> tuple[Model, Facts]:
    tree = grow_prefix_tree(corpus.tokens, corpus.offsets)
    merged = merge_states(tree, len(corpus.vocabulary), max_states=settings.n_states or MAX_STATES)
    return _alone(corpus, Weighted.probabilistic(merged.soften(MERGE_LEAK, MERGE_SMOOTHING)), "merge")


def _estimate(corpus: Corpus, settings: Settings, n_states: int) -> SpectralModel:
    """Hankel block, decomposition, automaton: Balle et al. 2014."""
    basis = find_basis(corpus, settings.basis, settings.statistic, max_length=settings.max_length)
    return learn_spectral(
        count_hankel(corpus, basis),
        n_states,
        scaled=settings.scaling != "none",
        kappa=settings.kappa,
        smallest=settings.smallest,
        seed=settings.seed,
    )


def _estimate_all_ranks(corpus: Corpus, settings: Settings) -> tuple[SpectralModel, list[int]]:
    """An estimate that can be truncated to each of the ranks to try."""
    model = _estimate(corpus, settings, settings.n_states or max(RANKS))
    tried = RANKS if settings.n_states is None else (settings.n_states,)
    return model, sorted({min(rank, model.wfa.n_states) for rank in tried})


class Shape(NamedTuple):
    """What held-out strings choose for ``spectral``."""

    rank: int
    context_share: float = 0.0
    backoff_share: float = USUAL_BACKOFF_SHARE


def _predictor(model: SpectralModel, backoff: Ngrams | None, shape: Shape, reset: bool) -> Weighted:
    cut = model.truncated(shape.rank)
    return Weighted(
        cut.wfa, cut.total, cut.contexts, cut.context_states, shape.context_share, backoff, shape.backoff_share, reset
    )


def _choose_shape(split: Split, settings: Settings, report: Report) -> Shape:
    """The rank and the share of contexts together, then the share of back-off; the smallest rank without judges.

    What the settings say is not chosen.
    """
    context_shares = _shares(settings.context_share, CONTEXT_SHARES)
    backoff_shares = _shares(settings.backoff_share, BACKOFF_SHARES)
    usual = Shape(0, context_shares[0], backoff_shares[0] if len(backoff_shares) == 1 else USUAL_BACKOFF_SHARE)
    if settings.n_states is not None and len(context_shares) == len(backoff_shares) == 1:
        report()
        return usual._replace(rank=settings.n_states)
    model, ranks = _estimate_all_ranks(split.training, settings)
    if split.judges is None:
        report()
        return usual._replace(rank=ranks[0])
    judges, backoff = split.judges, learn_ngrams(split.training, BACKOFF_ORDER)

    def score(shape: Shape) -> float:
        return _reported(judges, _predictor(model, backoff, shape, settings.reset), report)

    candidates = (usual._replace(rank=rank, context_share=share) for rank in ranks for share in context_shares)
    best = max(candidates, key=score)
    return max((best._replace(backoff_share=share) for share in backoff_shares), key=score)


def _shares(given: float | str, tried: tuple[float, ...]) -> tuple[float, ...]:
    return tried if isinstance(given, str) else (float(given),)


def _finish_spectral(corpus: Corpus, shape: Shape, settings: Settings, report: Report) -> tuple[Model, Facts]:
    model = _estimate(corpus, settings, shape.rank)
    backoff = learn_ngrams(corpus, BACKOFF_ORDER) if shape.backoff_share > 0.0 else None
    part = _predictor(model, backoff, shape, settings.reset)
    learned, facts = _alone(corpus, part, "spectral", model.singular_values)
    facts[0] |= {"context_share": shape.context_share, "backoff_share": shape.backoff_share}
    return learned, facts


def _pivot_automaton(model: SpectralModel, trees: list[PrefixTree], rank: int, settings: Settings) -> WFA:
    return soften(learn_pivot(model.truncated(rank), trees, settings.n_states or rank), PIVOT_SOFTNESS)


def _choose_rank(split: Split, settings: Settings, report: Report) -> int:
    """The rank whose pivots make held-out strings most probable; training strings judge if none could be held out."""
    training = split.training
    judges = grow_prefix_tree(training.tokens, training.offsets) if split.judges is None else split.judges
    model, ranks = _estimate_all_ranks(training, settings)
    trees = trees_of(training)

    def score(rank: int) -> float:
        return _reported(judges, Weighted.probabilistic(_pivot_automaton(model, trees, rank, settings)), report)

    return max(ranks, key=score)


def _finish_pivot(corpus: Corpus, rank: int, settings: Settings, report: Report) -> tuple[Model, Facts]:
    model = _estimate(corpus, settings, rank)
    wfa = _pivot_automaton(model, trees_of(corpus), rank, settings)
    return _alone(corpus, Weighted.probabilistic(wfa), "pivot", model.singular_values)


def _reported(judges: PrefixTree, part: Part, report: Report) -> float:
    """Mean log-probability of the held-out strings."""
    values = string_log_probs(judges, part)
    value = float(np.where(np.isfinite(values), values, IMPOSSIBLE).mean())
    report(dev=f"{value:.4f}")
    return value


WITHOUT_CHOICE: dict[str, Callable[[Corpus, Settings], tuple[Model, Facts]]] = {
    "unigram": _ngram,
    "bigram": _ngram,
    "ngram": _ngram,
    "merge": _merge,
}
WITH_CHOICE: dict[str, tuple[Callable[..., Any], Callable[..., tuple[Model, Facts]]]] = {
    "spectral": (_choose_shape, _finish_spectral),
    "pivot": (_choose_rank, _finish_pivot),
}
"""What chooses by held-out strings, and what learns from all strings with that choice; all others search."""
