"""How moving one word between two classes changes the mutual information, term by term.

The formula is in :mod:`spectragram.clusters.exchange`. In all kernels ``k`` is the clustering, ``s`` and ``p`` count
the neighbours of the word by class, ``itself`` is how often the word follows itself, and ``table`` holds the values of
f(n) = n log n.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.clusters.exchange_classes import Classes
from spectragram.clusters.information import Bigrams, nlogn

__all__ = ["add_gains", "by_class", "corner_gain", "loss_of_leaving", "margin_gain"]

FAR_ABOVE = 16
"""From counts so many times that of a neighbour on, two terms of a series give the gain to one part in ten thousand,
far below what decides between classes. Chosen by hand."""


@njit(cache=True, nogil=True)
def by_class(
    starts: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    word: int,
    labels: np.ndarray,
    sums: np.ndarray,
    seen: np.ndarray,
) -> tuple[int, int]:
    """Add up the neighbours of a word by class in ``sums``; ``seen`` lists the classes found.

    Returns the number of classes found and how often the word is its own neighbour.
    """
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
def add_gains(
    total: np.ndarray,
    n: np.ndarray,
    step: np.ndarray,
    large: np.ndarray,
    sums: np.ndarray,
    seen: np.ndarray,
    n_seen: int,
    skip: int,
    table: np.ndarray,
) -> None:
    """total[c] += f(n(x,c) + s(x)) - f(n(x,c)) for all classes c, summed over the neighbours x except ``skip``."""
    size = table.shape[0]
    half = size // 2
    for i in range(n_seen):
        x = seen[i]
        if x == skip:
            continue
        s = sums[x]
        if s <= step.shape[0]:
            row = step[s - 1, x]
            for c in range(total.size):
                total[c] += row[c]
        elif s >= half or (large[x] and s * (FAR_ABOVE + 1) + 1 >= size):
            counts = n[x]
            for c in range(total.size):
                total[c] += nlogn(table, counts[c] + s) - nlogn(table, counts[c])
        elif large[x]:
            _add_beyond_table(total, n[x], step[0, x], s, table)
        else:
            # No branch and no sign: the compiler gathers from the table eight classes at a time.
            u, unsigned = np.uint64(s), n[x]
            for c in range(total.size):
                count = np.uint64(unsigned[c])
                total[c] += table[count + u] - table[count]


@njit(cache=True, nogil=True, error_model="numpy")  # a check for division by zero would be a branch
def _add_beyond_table(total: np.ndarray, counts: np.ndarray, step: np.ndarray, s: int, table: np.ndarray) -> None:
    """The same where counts may leave the table.

    From n far above s, f grows by s times its slope half way, 1 + log(n + s / 2). That is the step from n to n + 1,
    1 + log(n + 1 / 2), and the logarithm of a ratio close to 1, of which two terms of the series are enough.
    """
    far = FAR_ABOVE * s + 1
    add, u = np.float32(s), np.uint64(s)
    for c in range(total.size):  # all cells as if the far ones held no more than ``far``
        count = np.uint64(min(counts[c], far))
        total[c] += table[count + u] - table[count]
    added = np.float32(table[far + s] - table[far])
    for c in range(total.size):
        x = (add - np.float32(1)) / (np.float32(2) * np.float32(counts[c]) + np.float32(1))
        total[c] += add * (step[c] + x - x * x * np.float32(0.5)) - added if counts[c] >= far else np.float32(0)


@njit(cache=True, nogil=True)
def loss_of_leaving(
    k: Classes,
    a: int,
    word: int,
    bigrams: Bigrams,
    s: np.ndarray,
    seen_s: np.ndarray,
    n_s: int,
    p: np.ndarray,
    seen_p: np.ndarray,
    n_p: int,
    itself: int,
    table: np.ndarray,
) -> float:
    """Change of the sum of f over the row, the column and the margins of class a when the word leaves it."""
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
def margin_gain(k: Classes, c: int, left: int, right: int, table: np.ndarray) -> float:
    """Change, negated, of the sum of f over the margins when a word with these margins joins class c."""
    change = nlogn(table, k.left[c] + left) - nlogn(table, k.left[c])
    return -change - nlogn(table, k.right[c] + right) + nlogn(table, k.right[c])


@njit(cache=True, nogil=True, inline="always")
def corner_gain(k: Classes, a: int, c: int, s: np.ndarray, p: np.ndarray, itself: int, table: np.ndarray) -> float:
    """Gain in the four cells where rows and columns a and c cross, less what the sums over x = c gave for them."""
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
