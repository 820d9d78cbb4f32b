"""Counting n-grams as sorted integer keys: mergeable, compact, searchable without hashing.

An n-gram (w_1 .. w_n) over V words is the integer  ((w_1 V + w_2) V + ...) V + w_n, so the context of a key is
``key // V``, its last word ``key % V``, and all continuations of one context stand together. Sixteen bytes hold an
n-gram and its count; sixty-three bits are enough for trigrams over two million words.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np

from spectragram.engine import map_reduce
from spectragram.errors import InputError

__all__ = ["NgramCounts", "count_ngrams", "pack"]

SHARD_TOKENS = 4_000_000
"""Tokens counted at a time; more than one such shard is worth another process."""


@dataclass(frozen=True)
class NgramCounts:
    """Distinct n-grams and how often each was seen.

    Attributes
    ----------
    keys : int64 array, shape (n,), sorted
    counts : int64 array, shape (n,)
    n_words : int
        The V of the packing.
    order : int
    """

    keys: np.ndarray
    counts: np.ndarray
    n_words: int
    order: int

    def __add__(self, other: NgramCounts) -> NgramCounts:
        """Counts of both; exact, so any grouping of shards gives the same bits."""
        keys, counts = _sum_by_key(np.concatenate([self.keys, other.keys]), np.concatenate([self.counts, other.counts]))
        return NgramCounts(keys, counts, self.n_words, self.order)

    @property
    def contexts(self) -> np.ndarray:
        """Packed context of every key, shape (n,)."""
        return self.keys // self.n_words

    @property
    def words(self) -> np.ndarray:
        """Last word of every key, shape (n,)."""
        return self.keys % self.n_words

    def lookup(self, keys: np.ndarray) -> np.ndarray:
        """Counts of any keys, 0 for those never seen; same shape as ``keys``."""
        if len(self.keys) == 0:
            return np.zeros(np.shape(keys), np.int64)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.counts[place], 0)

    def shortened(self) -> NgramCounts:
        """Continuation counts one order down: how many different words precede each (n-1)-gram."""
        suffixes, counts = np.unique(self.keys % self.n_words ** (self.order - 1), return_counts=True)
        return NgramCounts(suffixes, counts.astype(np.int64), self.n_words, self.order - 1)


def pack(columns: list[np.ndarray], n_words: int) -> np.ndarray:
    """One key per row of several aligned id arrays, first word first."""
    key = columns[0].astype(np.int64)
    for column in columns[1:]:
        key = key * n_words + column
    return key


def count_ngrams(tokens: np.ndarray, order: int, n_words: int, *, gap: int = 0, n_jobs: int = 1) -> NgramCounts:
    """Count the n-grams of one stream of word ids, in shards that overlap where their n-grams do.

    ``gap`` words are skipped between neighbours: order 2 with gap 1 counts pairs at distance two.
    """
    if n_words**order >= 2**63:
        raise InputError(f"{n_words} words are too many for n-grams of order {order}", remedy="cut the vocabulary")
    reach = (order - 1) * (gap + 1)
    n_ngrams = max(len(tokens) - reach, 0)
    cuts = np.linspace(0, n_ngrams, max(1, n_ngrams // SHARD_TOKENS) + 1).astype(np.int64)
    shards = [tokens[a : b + reach] for a, b in itertools.pairwise(cuts)]
    count = partial(_count_shard, order=order, n_words=n_words, step=gap + 1)
    return map_reduce(count, shards, n_jobs=n_jobs if len(shards) > 1 else 1)


def _count_shard(tokens: np.ndarray, order: int, n_words: int, step: int) -> NgramCounts:
    n = max(len(tokens) - (order - 1) * step, 0)
    keys = pack([tokens[i * step : i * step + n] for i in range(order)], n_words)
    distinct, counts = np.unique(keys, return_counts=True)
    return NgramCounts(distinct, counts.astype(np.int64), n_words, order)


def _sum_by_key(keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(place, weights=counts, minlength=len(distinct)).astype(np.int64)
