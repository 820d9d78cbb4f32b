"""Expectation-maximisation for probabilistic automata, on prefix trees.

    E:  c(i, sigma, j) = sum_u alpha_u(i) A_sigma(i, j) beta_{u sigma}(j) / z_{u sigma}
    M:  A_sigma(i, j) = (c(i, sigma, j) + kappa q(sigma) / m) / (c(i) + kappa),    alpha_inf likewise

kappa (``prior``, in events per state) is the strength of a MAP prior around the overall frequencies q of the symbols
and of the end. It keeps every symbol possible in every state, so no string of known symbols has probability zero.

Steps are lengthened (over-relaxed) as long as the likelihood rises, which saves half of the iterations or more; what is
returned always comes from a plain step. Strings that begin alike are walked once
(:mod:`spectragram.inference.prefix_tree`), the steps of many prefixes are one matrix product, and several trees are
processed in parallel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add

import numpy as np

from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus
from spectragram.engine import Resident, map_threads
from spectragram.engine.progress import Report, silent
from spectragram.engine.scratch import Scratch
from spectragram.errors import InputError
from spectragram.inference.chain import expected_counts, forward_states
from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_trees, sum_along_paths
from spectragram.learning.em import refine

__all__ = ["Expected", "Fitted", "expect", "log_probs", "maximize", "random_start", "run_em", "trees_of"]

PRIOR = 0.3
"""Events that the prior counts as in each state. Chosen by hand, not tuned."""
CHECK_EVERY, PATIENCE = 4, 3
"""Held-out strings are scored after every fourth iteration; EM stops after three scores without progress. Chosen by
hand, not tuned."""
TOLERANCE = 1e-5
"""EM stops if the log-likelihood of a string gains less than this. Chosen by hand, not tuned."""
GROWTH, LONGEST = 1.1, 4.0
"""Each iteration lengthens EM's steps by this factor, up to this length, as long as the likelihood rises. Chosen by
hand; results hardly depend on it, since a step that went too far is taken back."""
LARGEST_RATIO = 1e3
"""A longer step changes no weight by more than this factor. Chosen by hand as a guard against overflow."""
UNSEEN = 1e-3
"""Count added to every symbol and to the end before their frequencies are estimated; any small value keeps the prior of
symbols that do not occur above zero."""
START_PRIOR = 1e-3
"""The prior of initial weights, as a share of the prior of moves: strings are fewer than symbols. Chosen by hand, not
tuned."""
TINY = 1e-300
"""A guard against division by zero; any tiny value does."""


@dataclass(frozen=True)
class Expected:
    """Expected counts: starts (m,), moves (k, m, m), stops (m,), and the log-likelihood behind them."""

    starts: np.ndarray
    moves: np.ndarray
    stops: np.ndarray
    log_likelihood: float

    def __add__(self, other: Expected) -> Expected:
        return Expected(
            self.starts + other.starts,
            self.moves + other.moves,
            self.stops + other.stops,
            self.log_likelihood + other.log_likelihood,
        )


@dataclass(frozen=True)
class Fitted:
    """An automaton, and the mean log-likelihood of training and of held-out strings on the way to it."""

    wfa: WFA
    training: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)


def trees_of(corpus: Corpus, weights: np.ndarray | None = None) -> list[PrefixTree]:
    """The strings of a corpus as prefix trees, ready for :func:`run_em`."""
    return grow_prefix_trees(corpus.tokens, corpus.offsets, weights)


def forward(tree: PrefixTree, wfa: WFA) -> tuple[np.ndarray, np.ndarray]:
    """Distribution over states after every prefix, (n, m), and the probability of its last symbol, (n,)."""
    ones = np.ones(wfa.n_states)
    return forward_states(
        tree.parent, tree.symbol, tree.groups, wfa.initial, wfa.operators, ones, 0.0,
        wfa.initial[None], np.zeros(len(tree), np.int64), 0.0,
    )  # fmt: skip


def expect(trees: Sequence[PrefixTree], wfa: WFA, *, n_jobs: int = 1, dtype: type = np.float64) -> Expected:
    """The E-step on all trees.

    ``float32`` takes 60 % of the time and changes counts by about a millionth of their size.
    """
    return EStep(trees, n_jobs, dtype)(wfa)


class EStep:
    """The E-step on the same trees again and again; with an executor they stay with its workers."""

    def __init__(self, trees: Sequence[PrefixTree], n_jobs: int = 1, dtype: type = np.float64) -> None:
        self.largest, self.dtype = max(map(len, trees)), dtype
        self.parts = Resident(partial(_expect_tree, Scratch()), trees, n_jobs)

    def __call__(self, wfa: WFA) -> Expected:
        """Expected counts of all trees."""
        parts = wfa.initial, wfa.operators, wfa.operators.transpose(0, 2, 1), wfa.final
        weights: list[np.ndarray] = [np.ascontiguousarray(part, self.dtype) for part in parts]
        total = reduce(add, self.parts(weights, (2, self.largest, wfa.n_states)))
        return replace(total, moves=total.moves * wfa.operators)


def _expect_tree(scratch: Scratch, tree: PrefixTree, weights: list[np.ndarray], shape: tuple[int, ...]) -> Expected:
    with scratch.array(shape, weights[0].dtype) as memory:
        moves, stops, starts, scales, ending = expected_counts(
            tree.parent, tree.symbol, tree.groups, tree.ends, *weights, *memory
        )
    with np.errstate(divide="ignore"):
        walking = float(tree.through[1:] @ np.log(scales[1:], dtype=np.float64))
    return Expected(starts, moves, stops, ending + walking)


def maximize(expected: Expected, prior: float = PRIOR, *, tied: bool = False) -> WFA:
    """The M-step: the most probable automaton given the expected counts.

    ``tied`` makes it a hidden Markov model: in every state the next symbol and the next state are independent. Both are
    smoothed, symbols towards q and targets towards the uniform distribution, before they are multiplied.
    """
    m = len(expected.stops)
    frequencies = np.append(expected.moves.sum(axis=(1, 2)), expected.stops.sum()) + UNSEEN
    frequencies /= frequencies.sum()
    moves = expected.moves + (prior * frequencies[:-1] / m)[:, None, None]
    if tied:
        moves = _independent(moves)
    stops = expected.stops + prior * frequencies[-1]
    leaving = moves.sum(axis=(0, 2)) + stops
    # A state that nothing reaches and no prior fills stops at once.
    unused = leaving <= 0.0
    stops[unused], leaving[unused] = 1.0, 1.0
    starts = expected.starts + START_PRIOR * prior / m
    return WFA(starts / starts.sum(), moves / leaving[None, :, None], stops / leaving)


def _independent(moves: np.ndarray) -> np.ndarray:
    """c(i, sigma, j) -> c(i, sigma, .) c(i, ., j) / c(i, ., .), the counts of a hidden Markov model."""
    by_symbol, by_target = moves.sum(axis=2), moves.sum(axis=0)
    share = by_target / np.maximum(by_target.sum(axis=1, keepdims=True), TINY)
    return by_symbol[:, :, None] * share


def log_probs(trees: Sequence[PrefixTree], wfa: WFA, *, n_jobs: int = 1) -> list[np.ndarray]:
    """Log-probability of every string, tree by tree in the order of ``end_of``."""

    def one_tree(tree: PrefixTree) -> np.ndarray:
        states, scales = forward(tree, wfa)
        with np.errstate(divide="ignore"):
            walking = sum_along_paths(tree.parent, np.log(scales))
            return walking[tree.end_of] + np.log(states[tree.end_of] @ wfa.final)

    return map_threads(one_tree, trees, n_jobs)


def run_em(
    trees: Sequence[PrefixTree],
    start: WFA,
    *,
    max_iter: int = 100,
    prior: float = PRIOR,
    tied: bool = False,
    tolerance: float = TOLERANCE,
    over_relaxed: bool = True,
    held_out: Sequence[PrefixTree] | None = None,
    n_jobs: int = 1,
    dtype: type = np.float64,
    report: Report = silent,
) -> Fitted:
    """Improve an automaton until the mean log-likelihood gains less than ``tolerance``, in at most ``max_iter`` steps.

    Without ``over_relaxed`` every step is a plain one. ``dtype`` is that of the E-step, see :func:`expect`.

    With ``held_out`` strings, training stops when they become no more probable, and the automaton under which they were
    most probable is returned.
    """
    n_strings = sum(float(tree.ends.sum()) for tree in trees)
    if not n_strings > 0:
        raise InputError("no strings to learn from", remedy="give at least one")
    judge = None if held_out is None else partial(mean_log_prob, held_out, n_jobs=n_jobs)
    found = refine(
        _steps(trees, start, n_strings, prior, tied, LONGEST if over_relaxed else 1.0, n_jobs, dtype),
        start=start,
        max_iter=max_iter,
        judge=judge,
        judge_start=False,
        patience=PATIENCE,
        check_every=CHECK_EVERY,
        tolerance=tolerance,
        report=report,
    )
    return Fitted(found.model, found.log_likelihoods, found.scores)


def _steps(
    trees: Sequence[PrefixTree],
    start: WFA,
    n_strings: float,
    prior: float,
    tied: bool,
    longest: float,
    n_jobs: int,
    dtype: type,
) -> Iterator[tuple[WFA, float] | None]:
    """EM iterations with longer and longer steps; yields the result of each plain step and a log-likelihood per string.

    The log-likelihood is that of the automaton from which the step started. If a longer step went too far, its E-step
    is wasted (None) and EM continues from the plain step, which cannot lower the likelihood.
    """
    wfa = plain = start
    stretch, best = 1.0, -np.inf
    expect_all = EStep(trees, n_jobs, dtype)
    while True:
        expected = expect_all(wfa)
        log_likelihood = expected.log_likelihood / n_strings
        if not log_likelihood >= best and wfa is not plain:
            wfa, stretch = plain, 1.0
            yield None
            continue
        plain = maximize(expected, prior, tied=tied)
        stretch = min(stretch * GROWTH, longest)
        wfa, best = _stretched(wfa, plain, stretch) if stretch > 1.0 else plain, log_likelihood
        yield plain, log_likelihood


def _stretched(old: WFA, new: WFA, stretch: float) -> WFA:
    """A step beyond the M-step in its direction: old (new / old)^stretch, normalised."""

    def further(before: np.ndarray, after: np.ndarray) -> np.ndarray:
        ratio = after / np.maximum(before, TINY)
        return after * np.clip(ratio, 1.0 / LARGEST_RATIO, LARGEST_RATIO) ** (stretch - 1.0)

    moves, stops = further(old.operators, new.operators), further(old.final, new.final)
    starts = further(old.initial, new.initial)
    leaving = moves.sum(axis=(0, 2)) + stops
    return WFA(starts / starts.sum(), moves / leaving[None, :, None], stops / leaving)


def mean_log_prob(trees: Sequence[PrefixTree], wfa: WFA, *, n_jobs: int = 1) -> float:
    """Mean log-probability of a string; strings count with their weights."""
    total = weight = 0.0
    for tree, values in zip(trees, log_probs(trees, wfa, n_jobs=n_jobs), strict=True):
        share = tree.ends[tree.end_of] / np.maximum(np.bincount(tree.end_of, minlength=len(tree))[tree.end_of], 1)
        total += float(share @ values) if len(values) else 0.0
        weight += float(tree.ends.sum())
    return total / weight


def random_start(trees: Sequence[PrefixTree], n_states: int, n_symbols: int, rng: np.random.Generator) -> WFA:
    """An automaton with random moves around the frequencies of the symbols."""
    stops = sum(float(tree.ends.sum()) for tree in trees)
    counts = np.zeros(n_symbols)
    for tree in trees:
        counts += np.bincount(tree.symbol[1:], tree.through[1:], minlength=n_symbols)
    frequencies = (counts + 0.1) / (counts.sum() + stops + 0.1 * n_symbols)  # 0.1: no symbol starts at zero
    weights = rng.gamma(1.0, size=(n_symbols, n_states, n_states)) * frequencies[:, None, None]
    final = np.full(n_states, 1.0 - frequencies.sum())
    operators = weights / weights.sum(axis=(0, 2))[None, :, None] * (1.0 - final)[None, :, None]
    return WFA(np.full(n_states, 1.0 / n_states), operators, final)
