"""Bigram counts as the kernels read them, and their sums over classes.

    here               what it counts                                    shape
    Bigrams            pairs of neighbouring words, by either side       CSR, both ways
    class_table        n(c, c'): class c directly before class c'        (m, m)

Words are numbered from the most frequent on. The word that stands for all others, ``<unk>``, comes last and
always has a class of its own, the last one: it is no word, so nothing should be likened to it, and a text scored
through a file of clusters (where unknown words are simply absent) gives the same mutual information.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numba import njit

from spectragram.metrics.clusters import mutual_information

__all__ = ["Bigrams", "class_mutual_information", "class_table"]


class Bigrams(NamedTuple):
    """Counts of neighbouring words: for each word what follows it and what precedes it.

    ``following[next_starts[w]:next_starts[w + 1]]`` are the words seen after w, ``next_counts`` how often;
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
    def from_pairs(cls, first: np.ndarray, second: np.ndarray, counts: np.ndarray, n_words: int) -> Self:
        """From coordinates sorted by first, then second word, each pair once."""
        by_second = np.argsort(second, kind="stable")
        return cls(
            _starts(first, n_words),
            second.astype(np.int32),
            counts.astype(np.int64),
            _starts(second, n_words),
            first[by_second].astype(np.int32),
            counts[by_second].astype(np.int64),
            _margin(first, counts, n_words),
            _margin(second, counts, n_words),
        )

    @property
    def n_words(self) -> int:
        """Number of words, ``<unk>`` included."""
        return len(self.left)

    @property
    def total(self) -> int:
        """Number of pairs in the text."""
        return int(self.left.sum())


def _starts(ids: np.ndarray, n_words: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=n_words))]).astype(np.int64)


def _margin(ids: np.ndarray, counts: np.ndarray, n_words: int) -> np.ndarray:
    # Sums of integers in floating point are exact up to 2^53 pairs.
    return np.bincount(ids, weights=counts, minlength=n_words).astype(np.int64)


def class_table(bigrams: Bigrams, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Counts of neighbouring classes, int64, shape (n_classes, n_classes); ``labels`` is int32, one a word."""
    return _class_table(bigrams, labels, n_classes)


def class_mutual_information(bigrams: Bigrams, labels: np.ndarray) -> float:
    """Mutual information, in nats, of neighbouring classes in the text that was counted."""
    return mutual_information(class_table(bigrams, labels, int(labels.max()) + 1))


@njit(cache=True, nogil=True)
def _class_table(bigrams, labels, n_classes):  # type: ignore[no-untyped-def]
    table = np.zeros((n_classes, n_classes), np.int64)
    for word in range(labels.size):
        row = table[labels[word]]
        for i in range(bigrams.next_starts[word], bigrams.next_starts[word + 1]):
            row[labels[bigrams.following[i]]] += bigrams.next_counts[i]
    return table
