"""Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999), any order, vectorised.

    p_k(w | h) = max(c(h w) - D(c(h w)), 0) / c(h)  +  gamma(h) p_{k-1}(w | h')

The highest order uses counts, the lower ones continuation counts (how many words precede), the lowest backs off to
1/V; three discounts D for counts 1, 2 and 3+ per order; h' is h without its first word; a context never seen passes
all its mass down. Sums to one over the vocabulary for every context.

    paper      here                shape
    c(h w)     Level.counts        NgramCounts of order k
    c(h)       Level.totals        (n_contexts,), contexts sorted
    gamma(h)   Level.gammas        (n_contexts,)
    D_1..D_3+  Level.discounts     (3,)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spectragram.lm.ngrams import NgramCounts, count_ngrams, pack

__all__ = ["KneserNey", "Level"]


@dataclass(frozen=True)
class Level:
    """One order of the model: counts, and per context its total and the mass it passes down."""

    counts: NgramCounts
    contexts: np.ndarray
    totals: np.ndarray
    gammas: np.ndarray
    discounts: np.ndarray

    @classmethod
    def from_counts(cls, counts: NgramCounts) -> Self:
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
        count = self.counts.lookup(context * self.counts.n_words + word)
        discount = np.where(count > 0, self.discounts[np.minimum(count, 3) - 1], 0.0)
        own = (count - discount) / self.totals[place] + self.gammas[place] * lower
        return np.where(seen, own, lower)


def estimate_discounts(counts: np.ndarray) -> np.ndarray:
    """D_1, D_2, D_3+ from the numbers of n-grams seen one to four times.

    Corpora too small or too regular for the estimate (a class of counts is empty, or D would leave [0, k]) use
    k / 2 for that class, so that every context always keeps and passes on some mass.
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


class KneserNey:
    """An n-gram model over word ids 0 .. V-1.

    ``levels[k]`` is order k+1; the lowest is a unigram model of continuation counts.
    """

    def __init__(self, levels: list[Level], n_words: int) -> None:
        self.levels = levels
        self.n_words = n_words

    @classmethod
    def fit(cls, tokens: np.ndarray, n_words: int, order: int = 3, *, n_jobs: int = 1) -> Self:
        """Count a stream of word ids (n_tokens,) and estimate all orders."""
        counts = [count_ngrams(tokens, order, n_words, n_jobs=n_jobs)]
        while counts[-1].order > 1:
            counts.append(counts[-1].shortened())
        return cls([Level.from_counts(c) for c in reversed(counts)], n_words)

    @property
    def order(self) -> int:
        """Length of the longest n-gram."""
        return len(self.levels)

    def prob(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """p(word | context), shape (n,).

        ``contexts`` is (n, order - 1), last word nearest; an id of -1 stands for "no word there" (the start of a
        text) and, like any context never seen, leaves the decision to the orders below.
        """
        words = np.asarray(words, np.int64)
        result = np.full(len(words), 1.0 / self.n_words)
        for level in self.levels:
            length = level.counts.order - 1
            if length == 0:
                packed = np.zeros(len(words), np.int64)
            else:
                near = contexts[:, contexts.shape[1] - length :].astype(np.int64)
                packed = np.where((near < 0).any(axis=1), -1, pack(list(near.T), self.n_words))
            result = level(packed, words, result)
        return result

    def get_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain values and arrays for a model file; totals and discounts follow from the counts."""
        arrays = {}
        for level in self.levels:
            arrays[f"kn.keys{level.counts.order}"] = level.counts.keys
            arrays[f"kn.counts{level.counts.order}"] = level.counts.counts.astype(np.int32)
        return {"order": self.order, "n_words": self.n_words}, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Inverse of :meth:`get_state`; refuses keys that are not sorted n-grams over the vocabulary."""
        n_words, order = int(values["n_words"]), int(values["order"])
        levels = []
        for k in range(1, order + 1):
            keys, counts = arrays[f"kn.keys{k}"], arrays[f"kn.counts{k}"].astype(np.int64)
            if keys.shape != counts.shape or (np.diff(keys) <= 0).any() or (counts < 1).any():
                raise ValueError(f"n-grams of order {k} are not sorted counts")
            if len(keys) and not 0 <= keys[0] <= keys[-1] < n_words**k:
                raise ValueError(f"n-grams of order {k} leave the vocabulary")
            levels.append(Level.from_counts(NgramCounts(keys, counts, n_words, k)))
        return cls(levels, n_words)
