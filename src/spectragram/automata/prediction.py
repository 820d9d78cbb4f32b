"""What a trained model says about the strings of a corpus, shard by shard, and strings drawn from it.

Each shard becomes a prefix tree, which is predicted at once and reduced to what was asked for before the next one is
looked at, so memory stays bounded however long the corpus is. Shards do not depend on the number of threads, so
results do not either. They go to the workers of an executor if there is one (:mod:`spectragram.engine.cluster`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from spectragram import engine
from spectragram.automata.held_out import require_strings
from spectragram.automata.model import Model
from spectragram.data.corpus import Corpus
from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_tree
from spectragram.learning.measures import entropy_bits
from spectragram.metrics import pautomac_scores, string_scores

__all__ = ["Predicted", "draw_strings", "evaluate_strings", "map_shards"]

SHARD_TOKENS = 200_000
"""Tokens of a shard. Chosen by hand: large enough for fast matrix products, small enough to stay in memory."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Predicted:
    """What a model says about some strings.

    A string of T symbols has T + 1 *events*: each of its symbols and its end. Arrays over events go string by string.

    Attributes
    ----------
    tree : PrefixTree
        All prefixes of the strings; a symbol outside the alphabet is ``n_symbols`` there.
    offsets : int64 array, shape (n_strings + 1,)
        Events of string i are ``offsets[i]`` to ``offsets[i + 1] - 1``.
    distributions : array, shape (n_nodes, n_symbols + 1)
        What follows each prefix; the last column is the end of the string.
    unknown_rate : float
        Probability that a symbol, if there is one, is outside the alphabet.
    open : bool
        Whether the symbols of the alphabet leave room for others, see :class:`~spectragram.automata.model.Model`.
    """

    tree: PrefixTree
    offsets: np.ndarray
    distributions: np.ndarray
    unknown_rate: float
    open: bool

    @cached_property
    def _nodes(self) -> np.ndarray:
        """The prefix before each event, shape (n_events,)."""
        return _nodes_before(self.tree.parent, self.tree.end_of, self.offsets)

    def _by_string(self, events: np.ndarray) -> list[np.ndarray]:
        return np.split(events, self.offsets[1:-1])

    def next_distributions(self) -> np.ndarray:
        """Distribution of what follows each string: symbols, others if there is room for them, the end."""
        return self._opened(self.distributions[self.tree.end_of])

    def entropies(self) -> list[np.ndarray]:
        """For each string of T symbols, the entropy in bits of what follows its first 0, ..., T symbols."""
        return self._by_string(entropy_bits(self._opened(self.distributions))[self._nodes])

    def _opened(self, distributions: np.ndarray) -> np.ndarray:
        """With a column for symbols outside the alphabet before that of the end, if there is room for them."""
        if not self.open:
            return distributions
        symbols, end = distributions[:, :-1], distributions[:, -1:]
        return np.hstack([(1.0 - self.unknown_rate) * symbols, self.unknown_rate * (1.0 - end), end])

    @cached_property
    def event_log_probs(self) -> np.ndarray:
        """Log-probability of every event given those before it, (n_events,); others are not spelled."""
        tree, end = self.tree, self.distributions.shape[1] - 1
        following = np.full(len(self._nodes), end)
        inner = np.ones(len(self._nodes), np.bool_)
        inner[self.offsets[1:] - 1] = False  # events that are symbols
        later = np.ones(len(self._nodes), np.bool_)
        later[self.offsets[:-1]] = False  # prefixes that are not empty
        following[inner] = tree.symbol[self._nodes[later]]
        with np.errstate(divide="ignore"):
            log_probs = np.log(self.distributions[self._nodes, following])
            unknown = inner & (following == end)
            log_probs[unknown] = np.log(self.unknown_rate)
            if self.open:
                log_probs[inner & ~unknown] += np.log1p(-self.unknown_rate)
                log_probs[unknown] += np.log(np.maximum(1.0 - self.distributions[self._nodes[unknown], end], 0.0))
        return log_probs

    def log_probs(self) -> np.ndarray:
        """Log-probability of each string, its end included, (n_strings,)."""
        return np.add.reduceat(self.event_log_probs, self.offsets[:-1])

    def steps(self) -> list[np.ndarray]:
        """For each string of T symbols, the log-probability of its T + 1 events."""
        return self._by_string(self.event_log_probs)

    def best_events(self) -> list[np.ndarray]:
        """For each string, the most probable symbol (or end) in place of each event."""
        return self._by_string(self.distributions.argmax(axis=1)[self._nodes])

    def n_wrong(self) -> float:
        """Number of events that were not the most probable ones; a symbol outside the alphabet never is."""
        tree, end = self.tree, self.distributions.shape[1] - 1
        best = self.distributions.argmax(axis=1)
        # A symbol outside the alphabet has the number of the end's column, but predicting the end there is wrong.
        missed = (best[tree.parent[1:]] != tree.symbol[1:]) | (tree.symbol[1:] == end)
        return float(tree.through[1:] @ missed + tree.ends @ (best != end))


@njit(cache=True, nogil=True)
def _nodes_before(parent: np.ndarray, end_of: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The nodes on the path to each ``end_of``, the root first: (n_strings,), (n_strings + 1,) -> (offsets[-1],)."""
    nodes = np.empty(offsets[-1], np.int64)
    for i in range(len(end_of)):
        node = end_of[i]
        for event in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            nodes[event] = node
            node = parent[node]
    return nodes


def map_shards(
    model: Model, corpus: Corpus, reduce: Callable[[Predicted], Result], *, n_jobs: int | None = 1
) -> tuple[list[Result], int]:
    """``reduce`` the predictions for each shard of a corpus, in order; also returns the number of repaired values."""
    tokens = np.where(corpus.tokens < 0, model.n_symbols, corpus.tokens)
    known = Corpus(tokens.astype(np.int32), corpus.offsets, corpus.vocabulary)
    parts = known.shards(max(1, corpus.n_tokens // SHARD_TOKENS)) if len(corpus) else []
    shards = [(part.tokens, part.offsets) for part in parts]
    found = engine.map_shards(_predict_shard, shards, model, reduce, n_jobs=n_jobs)
    return [result for result, _ in found], sum(n for _, n in found)


def _predict_shard(
    shard: tuple[np.ndarray, np.ndarray], model: Model, reduce: Callable[[Predicted], Result]
) -> tuple[Result, int]:
    tokens, offsets = shard
    tree = grow_prefix_tree(tokens, offsets)
    distributions, _, n_negative = model.predict(tree)
    events = offsets + np.arange(len(offsets))
    return reduce(Predicted(tree, events, distributions, model.unknown_rate, model.open)), n_negative


def _scored(part: Predicted) -> tuple[float, np.ndarray]:
    return part.n_wrong(), part.log_probs()


def evaluate_strings(
    model: Model, corpus: Corpus, *, solution: ArrayLike | None = None, n_jobs: int | None = 1
) -> dict[str, Any]:
    """The scores of :meth:`spectragram.automata.Automaton.evaluate`."""
    require_strings(corpus)
    found, n_negative = map_shards(model, corpus, _scored, n_jobs=n_jobs)
    log_probs = np.concatenate([part for _, part in found])
    scores: dict[str, Any] = {
        "wer": 100.0 * sum(wrong for wrong, _ in found) / (corpus.n_tokens + len(corpus)),
        **string_scores(log_probs, np.diff(corpus.offsets)),
        "unknown": int((corpus.tokens < 0).sum()),
        "negative": n_negative,
    }
    if solution is None:
        return scores
    # The score is normalised, so a common factor changes nothing; this one keeps long strings above zero.
    return scores | pautomac_scores(solution, np.exp(log_probs - log_probs.max()))


def draw_strings(
    model: Model, n: int, rng: np.random.Generator, max_length: int, prefix: Sequence[int] = ()
) -> list[list[int]]:
    """Draw ``n`` strings that begin with ``prefix`` symbol by symbol, all at the same time.

    They are cut after ``max_length`` symbols.
    """
    strings: list[list[int]] = [list(prefix) for _ in range(n)]
    active = list(range(n)) if max_length > len(prefix) else []
    while active:
        offsets = np.concatenate([[0], np.cumsum([len(strings[i]) for i in active])])
        tokens = np.array([symbol for i in active for symbol in strings[i]], np.int64)
        tree = grow_prefix_tree(tokens, offsets)
        chances = model.predict(tree)[0][tree.end_of].cumsum(axis=1)
        end = chances.shape[1] - 1
        drawn = (rng.random(len(active))[:, None] * chances[:, -1:] >= chances).sum(axis=1)
        continued = [(i, symbol) for i, symbol in zip(active, drawn.tolist(), strict=True) if symbol < end]
        for i, symbol in continued:
            strings[i].append(symbol)
        active = [i for i, _ in continued if len(strings[i]) < max_length]
    return strings
