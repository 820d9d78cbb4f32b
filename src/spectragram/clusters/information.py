"""Mutual information of neighbouring classes, from integer counts as the kernels read them.

    here               what it is                                        shape
    Bigrams            pairs of neighbouring words, by either side       CSR, both ways
    class_table        n(c, c'): class c directly before class c'        (m, m)
    nlogn              f(n) = n log n

With N pairs, class bigram counts n(c, c') and margins n(c, .), n(., c'),

    N I(C) = sum f(n(c,c')) - sum f(n(c,.)) - sum f(n(.,c')) + f(N)

so every change of a clustering is a sum of differences of f. Most counts are small: their f comes from a table.

Words are numbered by decreasing frequency. ``<unk>``, which stands for all other words, comes last and always has a
class of its own, the last one. It is not a word, so no word should share its class. And a text that is scored through
a file of clusters, from which unknown words are simply absent, gives the same mutual information.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numba import njit

from spectragram.engine import release, scratch_array
from spectragram.learning.counts import TupleCounts
from spectragram.metrics.clusters import mutual_information

__all__ = ["TABLE", "Bigrams", "class_mutual_information", "class_table", "nlogn", "nlogn_array"]

TABLE_SIZE = 1 << 16
"""Values of f that are looked up rather than computed (half a megabyte). Chosen by hand: nearly all counts of class
bigrams are smaller, and the table still fits a processor's second-level cache."""


BYTES_PER_PAIR = 16
"""A neighbour and a count, both ways."""

PAIRS_AT_ONCE = 1 << 25
"""Pairs on disk that are read before they may leave memory again, 270 MB. Chosen by hand: reading them takes a hundred
times as long as mapping them again."""


def nlogn_array(n: np.ndarray) -> np.ndarray:
    """The values n log n of an array of natural numbers, 0 at 0; same shape."""
    return n * np.log(np.maximum(n, 1))


TABLE = nlogn_array(np.arange(TABLE_SIZE, dtype=np.float64))
"""f(0), f(1), ...: passed to the kernels, since each would otherwise freeze a copy."""


@njit(cache=True, nogil=True)
def nlogn(table: np.ndarray, n: int) -> float:
    """The value n log n of a natural number, 0 at 0."""
    if n < table.shape[0]:
        return table[n]
    return n * np.log(n)


class Bigrams(NamedTuple):
    """Counts of neighbouring words: for each word what follows it and what precedes it.

    ``following[next_starts[w]:next_starts[w + 1]]`` are the words seen after w and ``next_counts`` how often;
    likewise ``preceding``. ``left`` and ``right`` are the margins: how often a word begins or ends a pair.
    """

    next_starts: np.ndarray
    following: np.ndarray
    next_counts: np.ndarray
    previous_starts: np.ndarray
    preceding: np.ndarray
    previous_counts: np.ndarray
    left: np.ndarray
    right: np.ndarray

    @classmethod
    def from_counts(cls, pairs: TupleCounts, memory: int | None = None) -> Self:
        """From counts of pairs of words; on disk if they would take more than ``memory`` bytes."""
        n_pairs, n_words = len(pairs.keys), pairs.n_ids
        on_disk = memory is not None and BYTES_PER_PAIR * n_pairs > memory
        make = scratch_array if on_disk else np.zeros
        at_once = max(n_pairs, 1) if memory is None else memory // (2 * BYTES_PER_PAIR)
        # Twice the largest count must fit, since exchange adds to counts.
        small = all(int(pairs.counts[part].max()) < 2**30 for part in _parts(pairs, at_once))
        counted = np.int32 if small else np.int64
        kinds = (np.int32, counted, np.int32, counted)
        following, next_counts, preceding, previous_counts = (np.asarray(make(n_pairs, kind)) for kind in kinds)
        starts = np.zeros((2, n_words + 1), np.int64)
        margins = np.zeros((2, n_words), np.int64)
        for part in _parts(pairs, at_once):
            keys, counts = np.asarray(pairs.keys[part]), np.asarray(pairs.counts[part])
            _by_first(keys, counts, n_words, starts, following[part], next_counts[part], margins)
            release(following, next_counts)
        np.cumsum(starts, axis=1, out=starts)
        free = starts[1].copy()
        first = 0
        while first < n_words:  # as many words at a time as have so many pairs
            stop = max(first + 1, int(np.searchsorted(starts[1], starts[1, first] + at_once, side="right")) - 1)
            for part in _parts(pairs, at_once):
                keys, counts = np.asarray(pairs.keys[part]), np.asarray(pairs.counts[part])
                _by_second(keys, counts, n_words, first, stop, free, preceding, previous_counts)
            release(preceding, previous_counts)
            first = stop
        return cls(starts[0], following, next_counts, starts[1], preceding, previous_counts, margins[0], margins[1])

    def release(self) -> None:
        """Keep nothing in memory of what was read of pairs on disk."""
        release(self.following, self.next_counts, self.preceding, self.previous_counts)

    def stretches(self, first: int, stop: int) -> Iterator[tuple[int, int]]:
        """Words from ``first`` to ``stop`` in parts that have some millions of pairs, which are then released."""
        pairs = self.next_starts + self.previous_starts
        while first < stop:
            end = int(np.searchsorted(pairs, pairs[first] + PAIRS_AT_ONCE, side="right")) - 1
            end = min(max(end, first + 1), stop)
            yield first, end
            self.release()
            first = end

    @property
    def n_words(self) -> int:
        """Number of words, ``<unk>`` included."""
        return len(self.left)

    @property
    def total(self) -> int:
        """Number of pairs in the text."""
        return int(self.left.sum())


def _parts(pairs: TupleCounts, at_once: int) -> Iterator[slice]:
    """Pairs in their order, some at a time; what was read of them is released."""
    for start in range(0, len(pairs.keys), at_once):
        yield slice(start, start + at_once)
        release(pairs.keys, pairs.counts)


@njit(cache=True, nogil=True)
def _by_first(
    keys: np.ndarray,
    counts: np.ndarray,
    n_words: int,
    starts: np.ndarray,
    following: np.ndarray,
    next_counts: np.ndarray,
    margins: np.ndarray,
) -> None:
    """Write sorted pairs as they are, by their first word, and count those of each word on both sides."""
    for i in range(len(keys)):
        first, second = keys[i] // n_words, keys[i] % n_words
        following[i] = second
        next_counts[i] = counts[i]
        starts[0, first + 1] += 1
        starts[1, second + 1] += 1
        margins[0, first] += counts[i]
        margins[1, second] += counts[i]


@njit(cache=True, nogil=True)
def _by_second(
    keys: np.ndarray,
    counts: np.ndarray,
    n_words: int,
    from_word: int,
    to_word: int,
    free: np.ndarray,
    preceding: np.ndarray,
    previous_counts: np.ndarray,
) -> None:
    """Write pairs whose second word is one of a range where ``free`` says, by a counting sort."""
    for i in range(len(keys)):
        first, second = keys[i] // n_words, keys[i] % n_words
        if from_word <= second < to_word:
            preceding[free[second]] = first
            previous_counts[free[second]] = counts[i]
            free[second] += 1


def class_table(bigrams: Bigrams, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Counts of neighbouring classes, int64, shape (n_classes, n_classes); ``labels`` is the class of each word."""
    table = np.zeros((n_classes, n_classes), np.int64)
    for first, stop in bigrams.stretches(0, len(labels)):
        _add_to_class_table(bigrams, labels, first, stop, table)
    return table


def class_mutual_information(bigrams: Bigrams, labels: np.ndarray) -> float:
    """Mutual information, in nats, of neighbouring classes in the text that was counted."""
    return mutual_information(class_table(bigrams, labels, int(labels.max()) + 1))


@njit(cache=True, nogil=True)
def _add_to_class_table(bigrams: Bigrams, labels: np.ndarray, first: int, stop: int, table: np.ndarray) -> None:
    for word in range(first, stop):
        row = table[labels[word]]
        for i in range(bigrams.next_starts[word], bigrams.next_starts[word + 1]):
            row[labels[bigrams.following[i]]] += bigrams.next_counts[i]
