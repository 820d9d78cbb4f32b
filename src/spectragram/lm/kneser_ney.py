"""Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999), any order, vectorised.

    p_k(w | h) = max(c(h w) - D(c(h w)), 0) / c(h)  +  gamma(h) p_{k-1}(w | h')

The highest order uses counts, the lower ones continuation counts (how many different words precede), and the lowest
backs off to 1/V. Each order has three discounts D, for counts of 1, 2 and 3 or more; h' is h without its first word. A
context that was never seen passes all its mass down. The probabilities sum to one for every context.

    paper      here                shape
    c(h w)     Level.counts        TupleCounts of order k
    c(h)       Level.totals        (n_contexts,), contexts sorted
    gamma(h)   Level.gammas        (n_contexts,)
    D_1..D_3+  Level.discounts     (3,)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spectragram.estimator import State
from spectragram.learning.counts import TupleCounts, count_ngrams, pack

__all__ = ["KneserNey", "Level"]


@dataclass(frozen=True)
class Level:
    """One order of the model: counts, and for each context its total and the mass it passes down."""

    counts: TupleCounts
    contexts: np.ndarray
    totals: np.ndarray
    gammas: np.ndarray
    discounts: np.ndarray

    @classmethod
    def from_counts(cls, counts: TupleCounts) -> Self:
        """Discounts from the counts of counts; contexts in one pass over the sorted keys."""
        discounts = estimate_discounts(counts.counts)
        contexts, start = np.unique(counts.contexts, return_index=True)
        totals = np.add.reduceat(counts.counts, start) if len(start) else np.zeros(0, np.int64)
        taken = discounts[np.minimum(counts.counts, 3) - 1]
        gammas = np.add.reduceat(taken, start) / totals if len(start) else np.zeros(0)
        return cls(counts, contexts, totals, gammas, discounts)

    def __call__(self, context: np.ndarray, word: np.ndarray, lower: np.ndarray) -> np.ndarray:
        """p_k of words after packed contexts, given p_{k-1}; all of shape (n,)."""
        if len(self.contexts) == 0:
            return lower
        place = np.minimum(np.searchsorted(self.contexts, context), len(self.contexts) - 1)
        seen = self.contexts[place] == context
        count = self.counts.lookup(context * self.counts.n_ids + word)
        discount = np.where(count > 0, self.discounts[np.minimum(count, 3) - 1], 0.0)
        own = (count - discount) / self.totals[place] + self.gammas[place] * lower
        return np.where(seen, own, lower)

    def next(self, context: int, lower: np.ndarray) -> np.ndarray:
        """p_k of all words after one packed context, given p_{k-1}; both of shape (n_words,)."""
        place = int(np.searchsorted(self.contexts, context))
        if place == len(self.contexts) or self.contexts[place] != context:
            return lower
        n_words = self.counts.n_ids
        first, stop = np.searchsorted(self.counts.keys, [context * n_words, (context + 1) * n_words])
        counts = self.counts.counts[first:stop]
        result = self.gammas[place] * lower
        discounts = self.discounts[np.minimum(counts, 3) - 1]
        result[self.counts.keys[first:stop] % n_words] += (counts - discounts) / self.totals[place]
        return result


def estimate_discounts(counts: np.ndarray) -> np.ndarray:
    """D_1, D_2, D_3+ from the numbers of n-grams seen one to four times.

    In a corpus too small or too regular for the estimate (no n-gram has some count, or D would leave [0, k]), D is
    k / 2 for that count, so that every context keeps some mass and passes some on.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)[1:5].astype(float)
    y = n[0] / max(n[0] + 2 * n[1], 1.0)
    discounts = np.array([0.5, 1.0, 1.5])
    for k in (1, 2, 3):
        if n[k - 1] > 0 and n[k] > 0:
            estimate = k - (k + 1) * y * n[k] / n[k - 1]
            if 0 < estimate < k:
                discounts[k - 1] = estimate
    return discounts


def continuation_counts(ngrams: TupleCounts) -> TupleCounts:
    """How many different words precede each n-gram that is one word shorter."""
    suffixes = ngrams.keys % ngrams.n_ids ** (ngrams.order - 1)
    return TupleCounts.from_keys(suffixes, ngrams.n_ids, ngrams.order - 1)


class KneserNey:
    """An n-gram model over word ids 0 .. V-1.

    ``levels[k]`` is order k + 1; the lowest is a unigram model of continuation counts.
    """

    def __init__(self, levels: list[Level], n_words: int) -> None:
        self.levels = levels
        self.n_words = n_words

    @classmethod
    def fit(cls, tokens: np.ndarray, n_words: int, order: int = 3, *, n_jobs: int = 1) -> Self:
        """Count a stream of word ids (n_tokens,) and estimate all orders."""
        counts = [count_ngrams(tokens, order, n_words, n_jobs=n_jobs)]
        while counts[-1].order > 1:
            counts.append(continuation_counts(counts[-1]))
        return cls([Level.from_counts(c) for c in reversed(counts)], n_words)

    @property
    def order(self) -> int:
        """Length of the longest n-gram."""
        return len(self.levels)

    def prob(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """p(word | context), shape (n,).

        ``contexts`` has shape (n, at least order - 1), the nearest word last. An id of -1 means that there is no word
        (the start of a text) and, like any context that was never seen, leaves the decision to the orders below.
        """
        words = np.asarray(words, np.int64)
        result = np.full(len(words), 1.0 / self.n_words)
        for level in self.levels:
            result = level(self._packed(contexts, level.counts.order - 1), words, result)
        return result

    def next(self, context: np.ndarray) -> np.ndarray:
        """p(. | context) of all words after one context (at least order - 1,), shape (n_words,)."""
        result = np.full(self.n_words, 1.0 / self.n_words)
        for level in self.levels:
            result = level.next(int(self._packed(context[np.newaxis], level.counts.order - 1)[0]), result)
        return result

    def _packed(self, contexts: np.ndarray, length: int) -> np.ndarray:
        """The nearest ``length`` words of contexts (n, at least length), packed, (n,); -1 where one is missing."""
        if length == 0:
            return np.zeros(len(contexts), np.int64)
        near = contexts[:, contexts.shape[1] - length :].astype(np.int64)
        return np.where((near < 0).any(axis=1), -1, pack(list(near.T), self.n_words))

    def to_state(self) -> State:
        """Plain values and arrays for a model file; totals and discounts follow from the counts."""
        arrays = {}
        for level in self.levels:
            arrays[f"keys{level.counts.order}"] = level.counts.keys
            # Counts of real text fit, and there are as many as n-grams.
            arrays[f"counts{level.counts.order}"] = level.counts.counts.astype(np.int32)
        return {"order": self.order, "n_words": self.n_words}, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Inverse of :meth:`to_state`; raises ``ValueError`` for arrays that are not counts of n-grams."""
        n_words, order = int(values["n_words"]), int(values["order"])
        counts = [
            TupleCounts.from_arrays(arrays[f"keys{k}"], arrays[f"counts{k}"], n_words, k) for k in range(1, order + 1)
        ]
        return cls([Level.from_counts(c) for c in counts], n_words)
