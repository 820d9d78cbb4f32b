"""Counts of tuples of ids (pairs of words, n-grams) as sorted integer keys: compact, mergeable, searchable.

A tuple (w_1 .. w_k) over V ids is packed into the integer ((w_1 V + w_2) V + ...) V + w_k. So ``key % V`` is its last
id, ``key // V`` the tuple before it, and all tuples that begin alike stand together. Sixteen bytes hold a tuple and
its count; 63 bits are enough for triples over two million words.

Sorted counts are canonical (the same data gives the same arrays, however it was cut into parts), and two of them are
added by one linear merge.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from numba import njit

from spectragram.engine import current_executor, file_arrays, map_reduce, release
from spectragram.errors import InputError

__all__ = ["RunningCounts", "TupleCounts", "count_ngrams", "pack"]

KEYS_PER_RUN = 1 << 22
"""Keys collected before they are sorted (4 million, 32 MB). Chosen by hand: sorting runs of this size is as fast per
key as sorting smaller ones, and the memory does not matter beside that of the counts."""

BYTES_PER_KEY = 16
"""A key and its count."""

SHARD_TOKENS = 4_000_000
"""Tokens counted at a time. Chosen by hand: fewer are counted before another process has started."""


@dataclass(frozen=True)
class TupleCounts:
    """Distinct tuples of ids and how often each occurred.

    Attributes
    ----------
    keys : int64 array, shape (n,)
        Packed tuples, sorted, each once.
    counts : int64 array, shape (n,)
    n_ids : int
        The V of the packing: ids are 0 .. n_ids - 1.
    order : int
        Length of the tuples.
    """

    keys: np.ndarray
    counts: np.ndarray
    n_ids: int
    order: int

    @classmethod
    def from_keys(cls, keys: np.ndarray, n_ids: int, order: int = 2) -> Self:
        """Count packed tuples that come in any order.

        >>> TupleCounts.from_keys(np.array([7, 3, 7]), n_ids=4).counts.tolist()
        [1, 2]
        """
        keys = np.sort(keys)
        first = _first_of_each(keys)
        return cls(keys[first], np.diff(np.append(first, len(keys))).astype(np.int64), n_ids, order)

    @classmethod
    def from_weighted_keys(cls, keys: np.ndarray, counts: np.ndarray, n_ids: int, order: int = 2) -> Self:
        """Add up the counts of equal keys, which come in any order."""
        by_key = np.argsort(keys, kind="stable")
        keys = keys[by_key]
        first = _first_of_each(keys)
        return cls(keys[first], np.add.reduceat(counts[by_key], first) if len(first) else counts[:0], n_ids, order)

    @classmethod
    def from_arrays(cls, keys: np.ndarray, counts: np.ndarray, n_ids: int, order: int = 2) -> Self:
        """Counts from a file; raises ``ValueError`` for arrays that cannot be such counts."""
        counts = counts.astype(np.int64)
        if keys.ndim != 1 or keys.shape != counts.shape or (np.diff(keys) <= 0).any() or (counts < 1).any():
            raise ValueError(f"tuples of length {order} are not sorted counts")
        if len(keys) and not 0 <= keys[0] <= keys[-1] < n_ids**order:
            raise ValueError(f"tuples of length {order} leave the vocabulary")
        return cls(keys, counts, n_ids, order)

    def __add__(self, other: TupleCounts) -> TupleCounts:
        """The counts of both; exact, so any grouping of parts gives the same bits."""
        if not len(other.keys):
            return self
        keys = np.empty(len(self.keys) + len(other.keys), np.int64)
        counts = np.empty(len(keys), np.int64)
        n = _merge_sorted(self.keys, self.counts, other.keys, other.counts, keys, counts)
        return TupleCounts(keys[:n].copy(), counts[:n].copy(), self.n_ids, self.order)

    @property
    def contexts(self) -> np.ndarray:
        """All ids of each tuple but the last, packed, shape (n,); for pairs these are the first ids."""
        return self.keys // self.n_ids

    @property
    def words(self) -> np.ndarray:
        """The last id of each tuple, shape (n,)."""
        return self.keys % self.n_ids

    def slices(self) -> Iterator[slice]:
        """Stretches of the arrays that are small enough to be copied."""
        return (slice(first, first + KEYS_PER_RUN) for first in range(0, len(self.keys), KEYS_PER_RUN))

    def lookup(self, keys: np.ndarray) -> np.ndarray:
        """Counts of any keys, 0 for those that never occurred; same shape as ``keys``."""
        if len(self.keys) == 0:
            return np.zeros(np.shape(keys), np.int64)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.counts[place], 0)


class RunningCounts:
    """Counts keys that arrive in blocks, in memory that grows with the distinct keys only.

    Keys are collected, sorted and counted a few million at a time. The sorted runs are merged whenever the last is at
    least half as long as the one before it, so each key is touched a logarithmic number of times.

    Where runs and their merging would take more than ``memory`` bytes, they are written to temporary files, and the
    result is merged from there, range by range, into an array in a file.
    """

    def __init__(self, n_ids: int, order: int = 2, memory: int | None = None) -> None:
        self.n_ids = n_ids
        self.order = order
        self.memory = memory
        self._blocks: list[np.ndarray] = []
        self._n_waiting = 0
        self._runs: list[TupleCounts] = []
        self._on_disk: list[TupleCounts] = []

    def add(self, keys: np.ndarray) -> None:
        """Count a block of packed tuples."""
        self._blocks.append(keys)
        self._n_waiting += len(keys)
        if self._n_waiting >= KEYS_PER_RUN:
            self._sort_waiting()

    def _sort_waiting(self) -> None:
        keys = np.concatenate([np.empty(0, np.int64), *self._blocks])
        self._blocks.clear()
        self._n_waiting = 0
        self.add_counts(TupleCounts.from_keys(keys, self.n_ids, self.order))

    def add_counts(self, counts: TupleCounts) -> None:
        """Add what was counted elsewhere."""
        self._runs.append(counts)
        while len(self._runs) > 1 and len(self._runs[-2].keys) < 2 * len(self._runs[-1].keys):
            self._merge_last_two()
        # Merging takes as much again.
        if self.memory is not None and 2 * BYTES_PER_KEY * sum(len(run.keys) for run in self._runs) > self.memory:
            self._spill()

    def _merge_last_two(self) -> None:
        last = self._runs.pop()
        self._runs[-1] = self._runs[-1] + last

    def _spill(self) -> None:
        while len(self._runs) > 1:
            self._merge_last_two()
        self._on_disk.append(self._filed([self._runs.pop()]))

    def result(self) -> TupleCounts:
        """The counts of everything that was added."""
        self._sort_waiting()
        if not self._on_disk:
            while len(self._runs) > 1:
                self._merge_last_two()
            return self._runs[0]
        runs = [*self._on_disk, *self._runs]
        self._on_disk, self._runs = [self._filed(_ranges(runs, (self.memory or 0) // (4 * BYTES_PER_KEY)))], []
        return self._on_disk[0]

    def _filed(self, parts: Iterable[TupleCounts]) -> TupleCounts:
        keys, counts = file_arrays((part.keys, part.counts) for part in parts)
        return TupleCounts(keys, counts, self.n_ids, self.order)


def _ranges(runs: Sequence[TupleCounts], most: int) -> Iterator[TupleCounts]:
    """The sum of sorted counts, range by range of keys, each of about ``most`` keys of all runs together."""
    step = max(1, most // (4 * len(runs)))
    marks = np.sort(np.concatenate([run.keys[::step].copy() for run in runs]))
    ends = [*marks[:: max(1, most // step)][1:].tolist(), None]
    first = [0] * len(runs)
    for end in ends:
        stop = [len(run.keys) if end is None else int(np.searchsorted(run.keys, end)) for run in runs]
        merged = TupleCounts(np.empty(0, np.int64), np.empty(0, np.int64), runs[0].n_ids, runs[0].order)
        for run, a, b in zip(runs, first, stop, strict=True):
            merged = merged + TupleCounts(np.asarray(run.keys[a:b]), np.asarray(run.counts[a:b]), run.n_ids, run.order)
        first = stop
        release(*(array for run in runs for array in (run.keys, run.counts)))
        yield merged


def pack(columns: Sequence[np.ndarray], n_ids: int) -> np.ndarray:
    """One key for each row of several aligned arrays of ids, first ids first, int64.

    >>> pack([np.array([1, 2]), np.array([0, 3])], 10).tolist()
    [10, 23]
    """
    if n_ids ** len(columns) >= 2**63:
        raise InputError(
            f"{n_ids} words are too many for n-grams of length {len(columns)}",
            remedy="keep fewer words or use shorter n-grams",
        )
    key = columns[0].astype(np.int64)
    for column in columns[1:]:
        key = key * n_ids + column
    return key


def count_ngrams(
    tokens: np.ndarray, order: int, n_ids: int, *, gap: int = 0, n_jobs: int = 1, memory: int | None = None
) -> TupleCounts:
    """Count the n-grams of one stream of ids, in shards that overlap where their n-grams do.

    Parameters
    ----------
    tokens : int array, shape (n_tokens,)
    order : int
        Length of the n-grams.
    n_ids : int
        Ids are 0 .. n_ids - 1.
    gap : int
        Number of tokens skipped between neighbours: order 2 with gap 1 counts pairs at distance two.
    n_jobs : int
        Processes that count, without an executor (:func:`~spectragram.engine.working_on`); one is enough for a shard.
    memory : int, optional
        Counts that take more bytes go to temporary files (:class:`RunningCounts`).
    """
    reach = (order - 1) * (gap + 1)
    n_ngrams = max(len(tokens) - reach, 0)
    cuts = np.linspace(0, n_ngrams, max(1, n_ngrams // SHARD_TOKENS) + 1).astype(np.int64)
    shards = [tokens[a : b + reach] for a, b in itertools.pairwise(cuts)]
    count = partial(_count_shard, order=order, n_ids=n_ids, step=gap + 1)
    several = len(shards) > 1
    executor = current_executor() if several else None
    running = RunningCounts(n_ids, order, memory)
    map_reduce(count, shards, merge=_added, initial=running, n_jobs=n_jobs if several else 1, executor=executor)
    return running.result()


def _added(running: RunningCounts, counts: TupleCounts) -> RunningCounts:
    running.add_counts(counts)
    return running


def _count_shard(tokens: np.ndarray, order: int, n_ids: int, step: int) -> TupleCounts:
    n = max(len(tokens) - (order - 1) * step, 0)
    keys = pack([tokens[i * step : i * step + n] for i in range(order)], n_ids)
    return TupleCounts.from_keys(keys, n_ids, order)


def _first_of_each(keys: np.ndarray) -> np.ndarray:
    """Where each distinct key begins in a sorted array."""
    return np.flatnonzero(np.concatenate([[len(keys) > 0], keys[1:] != keys[:-1]])[: len(keys)])


@njit(cache=True, nogil=True)
def _merge_sorted(
    keys_a: np.ndarray,
    counts_a: np.ndarray,
    keys_b: np.ndarray,
    counts_b: np.ndarray,
    keys: np.ndarray,
    counts: np.ndarray,
) -> int:
    """Write the union of two sorted counts to ``keys`` and ``counts``; returns its length."""
    i = j = n = 0
    while i < keys_a.size or j < keys_b.size:
        if j == keys_b.size or (i < keys_a.size and keys_a[i] < keys_b[j]):
            keys[n], counts[n] = keys_a[i], counts_a[i]
            i += 1
        elif i == keys_a.size or keys_b[j] < keys_a[i]:
            keys[n], counts[n] = keys_b[j], counts_b[j]
            j += 1
        else:
            keys[n], counts[n] = keys_a[i], counts_a[i] + counts_b[j]
            i += 1
            j += 1
        n += 1
    return n
