"""What a trained model says about the strings of a corpus, shard by shard, and strings drawn from it.

Each shard becomes a prefix tree, which is predicted at once and reduced to what was asked for before the next one is
looked at, so memory stays bounded however long the corpus is. Shards do not depend on the number of threads, so
results do not either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from spectragram.automata.held_out import require_strings
from spectragram.automata.model import Model
from spectragram.data.corpus import Corpus
from spectragram.engine import map_threads
from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_tree
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
    prefix_log_probs : array, shape (n_nodes,)
        Log-probability of each prefix; symbols outside the alphabet cost nothing.
    unknown_cost : float
        Log-probability of a symbol outside the alphabet.
    """

    tree: PrefixTree
    offsets: np.ndarray
    distributions: np.ndarray
    prefix_log_probs: np.ndarray
    unknown_cost: float

    @cached_property
    def _nodes(self) -> np.ndarray:
        """The prefix before each event, shape (n_events,)."""
        return _nodes_before(self.tree.parent, self.tree.end_of, self.offsets)

    @cached_property
    def _unknown(self) -> np.ndarray:
        """Number of symbols outside the alphabet in the prefix before each event, shape (n_events,)."""
        passed = (self.tree.symbol[self._nodes] == self.distributions.shape[1] - 1).astype(np.int64)
        so_far = np.cumsum(passed)
        first = self.offsets[:-1]  # the empty prefix, which passes nothing
        return so_far - np.repeat(so_far[first], np.diff(self.offsets))

    def _by_string(self, events: np.ndarray) -> list[np.ndarray]:
        return np.split(events, self.offsets[1:-1])

    def next_distributions(self) -> np.ndarray:
        """Distribution of what follows each string, (n_strings, n_symbols + 1)."""
        return self.distributions[self.tree.end_of]

    def log_probs(self) -> np.ndarray:
        """Log-probability of each string, its end included, (n_strings,)."""
        end_of = self.tree.end_of
        with np.errstate(divide="ignore"):
            known = self.prefix_log_probs[end_of] + np.log(self.distributions[end_of, -1])
        return known + _times(self._unknown[self.offsets[1:] - 1], self.unknown_cost)

    def prefixes(self) -> list[np.ndarray]:
        """For each string of T symbols, the log-probability that a string begins with its first 0, ..., T symbols."""
        values = self.prefix_log_probs[self._nodes] + _times(self._unknown, self.unknown_cost)
        values[self.offsets[:-1]] = 0.0  # every string begins with the empty one; weights sum to 1 up to rounding only
        return self._by_string(values)

    def surprisals(self) -> list[np.ndarray]:
        """For each string of T symbols, minus the binary logarithm of the probability of its T + 1 events."""
        tree, end = self.tree, self.distributions.shape[1] - 1
        following = np.full(len(self._nodes), end)
        inner = np.ones(len(self._nodes), np.bool_)
        inner[self.offsets[1:] - 1] = False  # events that are symbols
        later = np.ones(len(self._nodes), np.bool_)
        later[self.offsets[:-1]] = False  # prefixes that are not empty
        following[inner] = tree.symbol[self._nodes[later]]
        with np.errstate(divide="ignore"):
            log_probs = np.log(self.distributions[self._nodes, following])
        log_probs[inner & (following == end)] = self.unknown_cost
        return self._by_string(-log_probs / np.log(2.0))

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


def _times(counts: np.ndarray, cost: float) -> np.ndarray:
    """``counts * cost``, where no symbols cost nothing even if the cost is infinite."""
    return np.where(counts > 0, np.maximum(counts, 1) * cost, 0.0)


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
    unknown_cost = float(np.log(model.unknown_rate)) if model.unknown_rate > 0 else -np.inf

    def one_shard(shard: Corpus) -> tuple[Result, int]:
        tree = grow_prefix_tree(shard.tokens, shard.offsets)
        events = shard.offsets + np.arange(len(shard.offsets))
        distributions, prefix_log_probs, n_negative = model.predict(tree)
        return reduce(Predicted(tree, events, distributions, prefix_log_probs, unknown_cost)), n_negative

    tokens = np.where(corpus.tokens < 0, model.n_symbols, corpus.tokens)
    known = Corpus(tokens.astype(np.int32), corpus.offsets, corpus.vocabulary)
    shards = known.shards(max(1, corpus.n_tokens // SHARD_TOKENS)) if len(corpus) else []
    found = map_threads(one_shard, shards, n_jobs)
    return [result for result, _ in found], sum(n for _, n in found)


def evaluate_strings(
    model: Model, corpus: Corpus, *, solution: ArrayLike | None = None, n_jobs: int | None = 1
) -> dict[str, Any]:
    """The scores of :meth:`spectragram.automata.Automaton.evaluate`."""
    require_strings(corpus)
    found, n_negative = map_shards(model, corpus, lambda part: (part.n_wrong(), part.log_probs()), n_jobs=n_jobs)
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
