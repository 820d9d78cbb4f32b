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

from typing import NamedTuple, Self

import numpy as np
from numba import njit

from spectragram.engine import scratch_array
from spectragram.learning.counts import TupleCounts
from spectragram.metrics.clusters import mutual_information

__all__ = ["TABLE", "Bigrams", "class_mutual_information", "class_table", "nlogn", "nlogn_array"]

TABLE_SIZE = 1 << 16
"""Values of f that are looked up rather than computed (half a megabyte). Chosen by hand: nearly all counts of class
bigrams are smaller, and the table still fits a processor's second-level cache."""


BYTES_PER_PAIR = 16
"""A neighbour and a count, both ways."""


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
        # Twice the largest count must fit, since exchange adds to counts.
        small = n_pairs == 0 or int(pairs.counts.max()) < 2**30
        counted = np.int32 if small else np.int64
        kinds = (np.int32, counted, np.int32, counted)
        following, next_counts, preceding, previous_counts = (np.asarray(make(n_pairs, kind)) for kind in kinds)
        starts = np.zeros((2, n_words + 1), np.int64)
        margins = np.zeros((2, n_words), np.int64)
        keys, counts = np.asarray(pairs.keys), np.asarray(pairs.counts)
        _both_ways(keys, counts, n_words, starts, following, next_counts, preceding, previous_counts, margins)
        return cls(starts[0], following, next_counts, starts[1], preceding, previous_counts, margins[0], margins[1])

    @property
    def n_words(self) -> int:
        """Number of words, ``<unk>`` included."""
        return len(self.left)

    @property
    def total(self) -> int:
        """Number of pairs in the text."""
        return int(self.left.sum())


@njit(cache=True, nogil=True)
def _both_ways(
    keys: np.ndarray,
    counts: np.ndarray,
    n_words: int,
    starts: np.ndarray,
    following: np.ndarray,
    next_counts: np.ndarray,
    preceding: np.ndarray,
    previous_counts: np.ndarray,
    margins: np.ndarray,
) -> None:
    """Write sorted pairs by their first and, after one counting sort, by their second word."""
    for i in range(len(keys)):
        first, second = keys[i] // n_words, keys[i] % n_words
        following[i] = second
        next_counts[i] = counts[i]
        starts[0, first + 1] += 1
        starts[1, second + 1] += 1
        margins[0, first] += counts[i]
        margins[1, second] += counts[i]
    for word in range(n_words):
        starts[0, word + 1] += starts[0, word]
        starts[1, word + 1] += starts[1, word]
    free = starts[1].copy()
    for i in range(len(keys)):
        first, second = keys[i] // n_words, keys[i] % n_words
        preceding[free[second]] = first
        previous_counts[free[second]] = counts[i]
        free[second] += 1


def class_table(bigrams: Bigrams, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Counts of neighbouring classes, int64, shape (n_classes, n_classes); ``labels`` is the class of each word."""
    return _class_table(bigrams, labels, n_classes)


def class_mutual_information(bigrams: Bigrams, labels: np.ndarray) -> float:
    """Mutual information, in nats, of neighbouring classes in the text that was counted."""
    return mutual_information(class_table(bigrams, labels, int(labels.max()) + 1))


@njit(cache=True, nogil=True)
def _class_table(bigrams: Bigrams, labels: np.ndarray, n_classes: int) -> np.ndarray:
    table = np.zeros((n_classes, n_classes), np.int64)
    for word in range(labels.size):
        row = table[labels[word]]
        for i in range(bigrams.next_starts[word], bigrams.next_starts[word + 1]):
            row[labels[bigrams.following[i]]] += bigrams.next_counts[i]
    return table
