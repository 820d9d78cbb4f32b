"""Expectation-maximisation (Baum-Welch) for hidden Markov models.

    E:  c(s) of starts, c(s, s') of moves, posteriors gamma of the states         inference.hidden_markov
    M:  pi, P and B are the counts plus ``prior`` events, normalised; means and covariances are weighted averages

Sequences of symbols are prefix trees, so common beginnings are walked once; sequences of vectors are chains. The E-step
computes in float32, which takes about 60 % of the time and changes counts by a millionth of their size; sums are
float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from spectragram.data.number_sequences import NumberSequences
from spectragram.engine import Resident
from spectragram.engine.scratch import Scratch
from spectragram.hmm.emissions import Categorical, Gaussian
from spectragram.hmm.model import Model
from spectragram.inference.hidden_markov import hidden_counts
from spectragram.inference.prefix_tree import PrefixTree, grow_chains, grow_prefix_trees

__all__ = ["EStep", "Expected", "Prepared", "maximize", "prepare", "steps"]

TOKENS_PER_TREE = 30_000
"""Symbols of a tree: few enough for the cache, enough for large groups. The fastest of six sizes from 5,000 to
400,000 (50 states)."""
FLOOR = 1e-3
"""Share of the overall variance that is added to all variances, so that no state shrinks to a point. Chosen by hand."""
TINY = 1e-300
"""A guard against division by zero; any tiny value does."""


@dataclass(frozen=True)
class Prepared:
    """Sequences ready for EM: trees that share prefixes, or chains; and what estimates need to know of the data."""

    data: NumberSequences
    trees: list[PrefixTree]
    n_symbols: int
    floor: np.ndarray

    @property
    def n_sequences(self) -> int:
        """Sequences with at least one observation."""
        return int((np.diff(self.data.offsets) > 0).sum())


@dataclass(frozen=True)
class Expected:
    """Expected starts (m,), moves (m, m), emissions (symbols or places, m), and the log-likelihood."""

    starts: np.ndarray
    moves: np.ndarray
    emitted: np.ndarray
    log_likelihood: float

    def __add__(self, other: Expected) -> Expected:
        return Expected(
            self.starts + other.starts,
            self.moves + other.moves,
            self.emitted + other.emitted,
            self.log_likelihood + other.log_likelihood,
        )


def prepare(data: NumberSequences, n_symbols: int | None = None) -> Prepared:
    """Trees of symbols or chains of vectors."""
    if data.discrete:
        size = max(int(data.values.max()) + 1, n_symbols or 0)
        trees = grow_prefix_trees(data.values, data.offsets, tokens_per_tree=TOKENS_PER_TREE, mixed=True)
        return Prepared(data, trees, size, np.zeros(0))
    return Prepared(data, [grow_chains(data.offsets)], 0, FLOOR * np.maximum(data.values.var(axis=0), TINY))


class EStep:
    """The E-step on the same sequences again and again; with an executor they stay with its workers."""

    def __init__(self, prepared: Prepared, n_jobs: int = 1, dtype: type = np.float32) -> None:
        self.prepared, self.dtype = prepared, dtype
        self.largest = max(map(len, prepared.trees))
        self.parts = Resident(partial(_expect_tree, Scratch()), prepared.trees, n_jobs)

    def __call__(self, model: Model) -> Expected:
        """Expected counts of all sequences."""
        if isinstance(model.emissions, Categorical):
            likelihood, offset = model.emissions.table.T, np.zeros(self.prepared.n_symbols)
        else:
            likelihood, offset = model.scaled_likelihood(self.prepared.data.values)
        parts = model.start, model.moves, model.moves.T, likelihood
        weights: list[np.ndarray] = [np.ascontiguousarray(part, self.dtype) for part in parts]
        return reduce(Expected.__add__, self.parts(weights, offset, (2, self.largest, model.n_states)))


def _expect_tree(
    scratch: Scratch, tree: PrefixTree, weights: list[np.ndarray], offset: np.ndarray, shape: tuple[int, ...]
) -> Expected:
    with scratch.array(shape, weights[0].dtype) as memory:
        starts, moves, emitted, scales = hidden_counts(
            tree.parent, tree.symbol, tree.groups, tree.ends, *weights, *memory
        )
    with np.errstate(divide="ignore"):
        steps = np.log(scales[1:], dtype=np.float64) + offset[tree.symbol[1:]]
    return Expected(starts, moves, emitted, float(tree.through[1:] @ steps))


def maximize(prepared: Prepared, expected: Expected, prior: float, full: bool) -> Model:
    """The M-step: ``prior`` events, spread evenly, are added to the starts and to the moves of each state."""
    m = len(expected.starts)
    starts, moves = expected.starts + prior / m, expected.moves + prior / m
    leaving = moves.sum(axis=1, keepdims=True)
    moves = np.where(leaving > 0, moves / np.maximum(leaving, TINY), 1.0 / m)
    if prepared.data.discrete:
        return Model(starts / starts.sum(), moves, Categorical.estimate(expected.emitted.T, prior))
    gaussian = Gaussian.estimate(prepared.data.values, expected.emitted, full, prepared.floor)
    return Model(starts / starts.sum(), moves, gaussian)


def steps(prepared: Prepared, model: Model, prior: float, full: bool, n_jobs: int) -> Iterator[tuple[Model, float]]:
    """EM iterations: each model, and the log-likelihood of an observation under the one before."""
    expect = EStep(prepared, n_jobs)
    while True:
        expected = expect(model)
        model = maximize(prepared, expected, prior, full)
        yield model, expected.log_likelihood / len(prepared.data.values)
