"""What moving one word between two classes changes in the mutual information, term by term.

The formula stands in :mod:`spectragram.clusters.exchange`; ``k`` is its table of classes, ``s`` and ``p`` the word's
neighbours by class, ``itself`` how often the word follows itself, ``table`` the values of f(n) = n log n.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.clusters.nlogn import nlogn

__all__ = ["add_gains", "by_class", "corner_gain", "loss_of_leaving", "margin_gain"]


@njit(cache=True, nogil=True)
def by_class(starts, words, counts, word, labels, sums, seen):  # type: ignore[no-untyped-def]
    """Add up a word's neighbours by class; returns how many classes are in ``seen``, and the word itself."""
    n_seen = 0
    itself = 0
    for i in range(starts[word], starts[word + 1]):
        if words[i] == word:
            itself = counts[i]
            continue
        c = labels[words[i]]
        if sums[c] == 0:
            seen[n_seen] = c
            n_seen += 1
        sums[c] += counts[i]
    return n_seen, itself


@njit(cache=True, nogil=True)
def add_gains(total, n, step, large, sums, seen, n_seen, skip, table):  # type: ignore[no-untyped-def]
    """total[c] += f(n(x,c) + s(x)) - f(n(x,c)) for all classes c, summed over the neighbours x but ``skip``."""
    half = np.uint64(table.shape[0] // 2)
    for i in range(n_seen):
        x = seen[i]
        if x == skip:
            continue
        s = np.uint64(sums[x])
        counts = n[x]
        if s == 1:
            row = step[x]
            for c in range(total.size):
                total[c] += row[c]
        elif large[x] or s >= half:
            for c in range(total.size):
                total[c] += nlogn(table, counts[c] + sums[x]) - nlogn(table, counts[c])
        else:
            # No branch and no sign: the compiler gathers from the table eight classes at a time.
            for c in range(total.size):
                count = np.uint64(counts[c])
                total[c] += table[count + s] - table[count]


@njit(cache=True, nogil=True)
def loss_of_leaving(k, a, word, bigrams, s, seen_s, n_s, p, seen_p, n_p, itself, table):  # type: ignore[no-untyped-def]
    """What taking the word out of class a changes in the sum of f over its row, column and margins."""
    change = 0.0
    for i in range(n_s):
        x = seen_s[i]
        if x != a:
            change += nlogn(table, k.n[a, x] - s[x]) - nlogn(table, k.n[a, x])
    for i in range(n_p):
        x = seen_p[i]
        if x != a:
            change += nlogn(table, k.n[x, a] - p[x]) - nlogn(table, k.n[x, a])
    change += nlogn(table, k.n[a, a] - s[a] - p[a] - itself) - nlogn(table, k.n[a, a])
    change -= nlogn(table, k.left[a] - bigrams.left[word]) - nlogn(table, k.left[a])
    return change - (nlogn(table, k.right[a] - bigrams.right[word]) - nlogn(table, k.right[a]))


@njit(cache=True, nogil=True, inline="always")
def margin_gain(k, c, left, right, table):  # type: ignore[no-untyped-def]
    """What adding a word with these margins to class c changes in the sum of f over the margins, negated."""
    change = nlogn(table, k.left[c] + left) - nlogn(table, k.left[c])
    return -change - nlogn(table, k.right[c] + right) + nlogn(table, k.right[c])


@njit(cache=True, nogil=True, inline="always")
def corner_gain(k, a, c, s, p, itself, table):  # type: ignore[no-untyped-def]
    """The four cells where rows and columns a and c cross, less what the sums over x = c said of them."""
    s_c, p_c = s[c], p[c]
    cc, ac, ca = k.n[c, c], k.n[a, c], k.n[c, a]
    gain = 0.0
    if s_c > 0:
        gain -= nlogn(table, cc + s_c) - nlogn(table, cc) + nlogn(table, ac - s_c) - nlogn(table, ac)
    if p_c > 0:
        gain -= nlogn(table, cc + p_c) - nlogn(table, cc) + nlogn(table, ca - p_c) - nlogn(table, ca)
    if s_c + p_c + itself > 0:
        gain += nlogn(table, cc + s_c + p_c + itself) - nlogn(table, cc)
    if s_c != p[a]:
        gain += nlogn(table, ac - s_c + p[a]) - nlogn(table, ac)
    if p_c != s[a]:
        gain += nlogn(table, ca - p_c + s[a]) - nlogn(table, ca)
    return gain
