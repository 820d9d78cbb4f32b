"""Brown's algorithm (Brown et al. 1992) as in figure 1 of Stratos et al. (2014): m + 1 active classes, greedy merges.

The m most frequent words start as classes of their own. Then, from the next most frequent word to the last, the
word becomes class m + 1 and the two classes whose merge costs least are merged. As in Liang's implementation, pairs
with words that have not entered yet are left out of the sums, while the margins are those of the whole corpus.

It is the baseline for the other learners; its time grows with n m^2.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.clusters.information import TABLE, Bigrams, nlogn
from spectragram.clusters.merging import Mergeable, absorb, best_pair, find_best, join, row_gains

__all__ = ["brown_classes"]


def brown_classes(bigrams: Bigrams, n_classes: int, n_words: int) -> np.ndarray:
    """Classes 0 .. n_classes - 1 of words 0 .. n_words - 1, int32; words must be sorted by frequency.

    Later words (``<unk>``) are context from the start, in a slot that is never merged.
    """
    slots = np.full(bigrams.n_words, -1, np.int32)
    slots[n_words:] = n_classes + 1
    _brown(bigrams, Mergeable.empty(n_classes + 2), slots, n_classes, n_words, TABLE)
    return np.unique(slots[:n_words], return_inverse=True)[1].astype(np.int32)


@njit(cache=True, nogil=True)
def _brown(bigrams: Bigrams, k: Mergeable, slots: np.ndarray, n_classes: int, n_words: int, table: np.ndarray) -> None:
    beside = np.empty(k.left.size, np.int64)
    n_active = 0
    for word in range(n_words):
        u = k.active[n_active]
        _enter(bigrams, k, slots, word, u)
        _update_others(k, u, n_active, table)
        row_gains(k, u, k.active, n_active, table)
        join(k, u, n_active)
        n_active += 1
        if n_active > n_classes:
            u, v = best_pair(k, n_active)
            n_active = absorb(k, u, v, n_active, beside, table)
            join(k, u, n_active)
            n_active += 1
            for earlier in range(word + 1):
                if slots[earlier] == v:
                    slots[earlier] = u


@njit(cache=True, nogil=True)
def _enter(bigrams: Bigrams, k: Mergeable, slots: np.ndarray, word: int, u: int) -> None:
    """Put a word into the free slot u and count its pairs with words that entered before it."""
    slots[word] = u
    for i in range(bigrams.next_starts[word], bigrams.next_starts[word + 1]):
        x = slots[bigrams.following[i]]
        if x >= 0:
            k.n[u, x] += bigrams.next_counts[i]
            k.left_mass[u] += bigrams.next_counts[i]
            k.right_mass[x] += bigrams.next_counts[i]
    for i in range(bigrams.previous_starts[word], bigrams.previous_starts[word + 1]):
        x = slots[bigrams.preceding[i]]
        if x >= 0 and bigrams.preceding[i] != word:
            k.n[x, u] += bigrams.previous_counts[i]
            k.left_mass[x] += bigrams.previous_counts[i]
            k.right_mass[u] += bigrams.previous_counts[i]
    for x in range(k.left.size):
        k.n_transposed[u, x] = k.n[x, u]
        k.n_transposed[x, u] = k.n[u, x]
    k.left[u] = bigrams.left[word]
    k.right[u] = bigrams.right[word]


@njit(cache=True, nogil=True)
def _update_others(k: Mergeable, u: int, n_active: int, table: np.ndarray) -> None:
    """Update the gains of other classes i, j: g(n(i,u), n(j,u)) for the new neighbour u, less the cost of more mass."""
    for q in range(n_active):
        i = k.active[q]
        before_i, after_i = k.n[i, u], k.n[u, i]
        for r in range(q):
            j = k.active[r]
            before_j, after_j = k.n[j, u], k.n[u, j]
            if before_i + after_i + before_j + after_j == 0:
                continue
            left, right = k.left[i] + k.left[j], k.right[i] + k.right[j]
            change = 0.0
            if before_i > 0 and before_j > 0:
                change += nlogn(table, before_i + before_j) - nlogn(table, before_i) - nlogn(table, before_j)
            if after_i > 0 and after_j > 0:
                change += nlogn(table, after_i + after_j) - nlogn(table, after_i) - nlogn(table, after_j)
            if before_i > 0:
                change -= before_i * np.log(left / k.left[i])
            if before_j > 0:
                change -= before_j * np.log(left / k.left[j])
            if after_i > 0:
                change -= after_i * np.log(right / k.right[i])
            if after_j > 0:
                change -= after_j * np.log(right / k.right[j])
            k.gain[i, j] += change
            k.gain[j, i] += change
    # Gains may have fallen, so the best partners are searched for again.
    for q in range(n_active):
        find_best(k, k.active[q], n_active)
