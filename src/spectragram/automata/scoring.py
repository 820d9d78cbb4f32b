"""What a trained mixture says about the strings of a corpus, shard by shard.

Each shard becomes a prefix tree, is predicted at once, and reduced to what is asked for before the next one: memory
stays flat however long the corpus is. Shards do not depend on the number of threads, so neither do results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from spectragram.automata.model import Mixture, Weighted
from spectragram.automata.strings import count_unknown, require_strings
from spectragram.data.corpus import Corpus
from spectragram.engine import map_threads
from spectragram.errors import RankError
from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_tree
from spectragram.metrics import pautomac_scores, string_scores

__all__ = ["Predicted", "evaluate_strings", "map_shards", "predict_tree", "unknown_cost"]

SHARD_TOKENS = 200_000

Result = TypeVar("Result")


@dataclass(frozen=True)
class Predicted:
    """What follows every prefix of a tree.

    Attributes
    ----------
    tree : the prefixes; a symbol outside the alphabet is ``n_symbols`` there
    distributions : shape (n_nodes, n_symbols + 1), the end last
    prefix_log_probs : shape (n_nodes,), symbols outside the alphabet passed over
    n_negative : negative scores and states without sense that had to be repaired
    """

    tree: PrefixTree
    distributions: np.ndarray
    prefix_log_probs: np.ndarray
    n_negative: int

    def next_distributions(self) -> np.ndarray:
        """What follows each string, (n_strings, n_symbols + 1)."""
        return self.distributions[self.tree.end_of]

    def as_prefixes(self) -> np.ndarray:
        """Log-probability that a string begins so, (n_strings,)."""
        return self.prefix_log_probs[self.tree.end_of]

    def as_strings(self) -> np.ndarray:
        """Log-probability of each string, its end included, (n_strings,)."""
        with np.errstate(divide="ignore"):
            return self.as_prefixes() + np.log(self.distributions[self.tree.end_of, -1])

    def best_paths(self) -> list[np.ndarray]:
        """The most probable symbol (or end) after every prefix of each string, the empty one first."""
        best = self.distributions.argmax(axis=1)
        paths = []
        for end in self.tree.end_of.tolist():
            path = [end]
            while path[-1] > 0:
                path.append(int(self.tree.parent[path[-1]]))
            paths.append(best[path[::-1]])
        return paths

    def n_wrong(self) -> float:
        """Symbols and ends that were not the most probable one; a symbol outside the alphabet never is."""
        tree, end = self.tree, self.distributions.shape[1] - 1
        best = self.distributions.argmax(axis=1)
        # An unknown symbol has the number of the end's column: to predict the end there is wrong all the same.
        missed = (best[tree.parent[1:]] != tree.symbol[1:]) | (tree.symbol[1:] == end)
        return float(tree.through[1:] @ missed + tree.ends @ (best != end))


def predict_tree(mixture: Mixture, tree: PrefixTree) -> Predicted:
    """Predict what follows every prefix of a tree."""
    for part in mixture.parts:
        if isinstance(part, Weighted) and not np.isfinite(part.total).all():
            raise RankError("the sum of the function over all strings diverges: it has values but no probabilities")
    return Predicted(tree, *mixture.predict(tree))


def map_shards(
    mixture: Mixture, corpus: Corpus, reduce: Callable[[Predicted], Result], *, n_jobs: int = 1
) -> tuple[list[Result], int]:
    """``reduce`` what is predicted for each part of a corpus, in order; also the number of repaired values."""

    def one_shard(shard: Corpus) -> tuple[Result, int]:
        predicted = predict_tree(mixture, grow_prefix_tree(shard.tokens, shard.offsets))
        return reduce(predicted), predicted.n_negative

    tokens = np.where(corpus.tokens < 0, mixture.n_symbols, corpus.tokens)
    known = Corpus(tokens.astype(np.int32), corpus.offsets, corpus.vocabulary)
    shards = known.shards(max(1, corpus.n_tokens // SHARD_TOKENS)) if len(corpus) else []
    found = map_threads(one_shard, shards, n_jobs)
    return [result for result, _ in found], sum(n for _, n in found)


def unknown_cost(corpus: Corpus, rate: float) -> np.ndarray:
    """Log-probability of the symbols outside the alphabet in each string, (n_strings,); ``rate`` is that of one."""
    unknown = count_unknown(corpus)
    each = np.log(rate) if rate > 0 else -np.inf
    return np.where(unknown > 0, np.maximum(unknown, 1) * each, 0.0)


def evaluate_strings(
    mixture: Mixture, corpus: Corpus, unknown_rate: float, *, solution: ArrayLike | None = None, n_jobs: int = 1
) -> dict[str, Any]:
    """The scores of :meth:`spectragram.automata.Automaton.evaluate`."""
    require_strings(corpus)
    found, n_negative = map_shards(mixture, corpus, lambda part: (part.n_wrong(), part.as_strings()), n_jobs=n_jobs)
    log_probs = np.concatenate([part for _, part in found]) + unknown_cost(corpus, unknown_rate)
    scores: dict[str, Any] = {
        "wer": 100.0 * sum(wrong for wrong, _ in found) / (corpus.n_tokens + len(corpus)),
        **string_scores(log_probs, np.diff(corpus.offsets)),
        "unknown": int((corpus.tokens < 0).sum()),
        "negative": n_negative,
    }
    if solution is None:
        return scores
    # The score renormalises: a common factor keeps long strings above zero.
    return scores | pautomac_scores(solution, np.exp(log_probs - log_probs.max()))
