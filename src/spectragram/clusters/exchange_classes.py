"""A clustering of words and the sums that go with it, kept up to date as words move.

What a word would gain in each class is a sum of rows f(n + s) - f(n), f(n) = n log n, over the classes beside it. Those
for small s, which are nearly all of them, are kept as matrices in single precision. Words that move change counts at
once and leave a note of the cells; :func:`refresh` brings the matrices up to date for a whole block of words, in which
a cell has often changed several times.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numba import njit

from spectragram.clusters.information import Bigrams, class_table, nlogn

__all__ = ["Classes", "refresh", "relabel"]

MOST_STEPS = 16
"""Rows f(n + s) - f(n) are kept for s up to this. In 20 million tokens, six of seven classes beside a word that is the
1000th by frequency stand beside it so many times at most, and all of those beside the 20,000th."""

STEP_BYTES = 1 << 27
"""Most that all such matrices may take (134 MB), unless one alone takes more: sixteen fit up to 1024 classes. Chosen
by hand."""

LONG_TEXT = 10**7
"""Different pairs from which on more than one such matrix is kept: with fewer, they save nothing. Chosen by hand."""


class Classes(NamedTuple):
    """A clustering and the sums that go with it; the kernels change them in place.

    n, n_transposed         (m, m)        how often class c precedes class x; transposed too, for contiguous rows
    step, step_transposed   (k, m, m)     f(n + s) - f(n) for s = 1 .. k in single precision
    stale                   (m, m)        cells of n that have changed since their steps were computed
    stale_cells, n_stale    (...), (1,)   the same as a list of c * m + x, and its length
    left, right             (m,)          margins of n
    size                    (m,)          number of words in each class
    large                   (m,)          whether a count of the class may leave the table of f when it is doubled
    labels                  (n_words,)    class of each word
    """

    labels: np.ndarray
    n: np.ndarray
    n_transposed: np.ndarray
    step: np.ndarray
    step_transposed: np.ndarray
    stale: np.ndarray
    stale_cells: np.ndarray
    n_stale: np.ndarray
    left: np.ndarray
    right: np.ndarray
    size: np.ndarray
    large: np.ndarray

    @classmethod
    def start(cls, bigrams: Bigrams, labels: np.ndarray, n_classes: int, table: np.ndarray, at_once: int) -> Self:
        """The sums of a clustering in which ``at_once`` words may move before steps are brought up to date.

        ``labels`` are copied; ``table`` holds the values of f that are looked up.
        """
        m = n_classes
        labels = np.array(labels, np.int32)
        n = class_table(bigrams, labels, m)
        n_steps = min(MOST_STEPS, STEP_BYTES // (8 * m * m)) if len(bigrams.following) >= LONG_TEXT else 1
        step = np.empty((max(n_steps, 1), m, m), np.float32)
        _fill_steps(n, step, table)
        return cls(
            labels=labels,
            n=n,
            n_transposed=np.ascontiguousarray(n.T),
            step=step,
            step_transposed=np.ascontiguousarray(step.transpose(0, 2, 1)),
            stale=np.zeros((m, m), np.bool_),
            stale_cells=np.empty(min(m * m, at_once * (4 * m + 2)), np.int64),  # what so many words may touch
            n_stale=np.zeros(1, np.int64),
            left=n.sum(axis=1),
            right=n.sum(axis=0),
            size=np.bincount(labels, minlength=m),
            large=np.maximum(n.max(axis=1), n.max(axis=0)) >= len(table) // 2,
        )


@njit(cache=True, nogil=True, inline="always")
def _step(table: np.ndarray, count: int, s: int) -> np.float32:
    return np.float32(nlogn(table, count + s) - nlogn(table, count))


@njit(cache=True, nogil=True)
def _fill_steps(n: np.ndarray, step: np.ndarray, table: np.ndarray) -> None:
    for i in range(step.shape[0]):
        for row in range(n.shape[0]):
            for column in range(n.shape[1]):
                step[i, row, column] = _step(table, n[row, column], i + 1)


@njit(cache=True, nogil=True)
def refresh(k: Classes, first: int, stride: int, table: np.ndarray) -> None:
    """Bring steps up to date in cells first, first + stride, ... of the list; the list stays as it is."""
    m = k.left.size
    for at in range(first, k.n_stale[0], stride):
        row, column = k.stale_cells[at] // m, k.stale_cells[at] % m
        for i in range(k.step.shape[0]):
            step = _step(table, k.n[row, column], i + 1)
            k.step[i, row, column] = step
            k.step_transposed[i, column, row] = step
        k.stale[row, column] = False


@njit(cache=True, nogil=True)
def relabel(
    bigrams: Bigrams,
    k: Classes,
    word: int,
    a: int,
    c: int,
    s: np.ndarray,
    seen_s: np.ndarray,
    n_s: int,
    p: np.ndarray,
    seen_p: np.ndarray,
    n_p: int,
    itself: int,
    table: np.ndarray,
) -> None:
    """Move a word from class a to class c and update all sums but the steps."""
    for i in range(n_s):
        x = seen_s[i]
        _add_to_cell(k, a, x, -s[x], table)
        # Neighbours in class a stay there when the word leaves: its pairs with them are now between c and a.
        _add_to_cell(k, c, x, s[x], table)
    for i in range(n_p):
        x = seen_p[i]
        _add_to_cell(k, x, a, -p[x], table)
        _add_to_cell(k, x, c, p[x], table)
    _add_to_cell(k, a, a, -itself, table)
    _add_to_cell(k, c, c, itself, table)
    k.left[a] -= bigrams.left[word]
    k.left[c] += bigrams.left[word]
    k.right[a] -= bigrams.right[word]
    k.right[c] += bigrams.right[word]
    k.size[a] -= 1
    k.size[c] += 1
    k.labels[word] = c


@njit(cache=True, nogil=True)
def _add_to_cell(k: Classes, row: int, column: int, change: int, table: np.ndarray) -> None:
    count = k.n[row, column] + change
    k.n[row, column] = count
    k.n_transposed[column, row] = count
    if not k.stale[row, column]:
        k.stale[row, column] = True
        k.stale_cells[k.n_stale[0]] = row * k.left.size + column
        k.n_stale[0] += 1
    if count >= table.shape[0] // 2:
        k.large[row] = True
        k.large[column] = True
