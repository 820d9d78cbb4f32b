"""Raise the mutual information by moving words, one at a time, to the class where they gain most.

Moving word w from class a to class c changes only rows and columns a and c of the class table. With
s(x), p(x) how often w is followed / preceded by a word of class x other than w itself, the gain is

    sum_x f(n(c,x) + s(x)) - f(n(c,x)) + f(n(a,x) - s(x)) - f(n(a,x))      and the same for p
    - [f(n(c,.) + n(w,.)) - f(n(c,.)) + f(n(a,.) - n(w,.)) - f(n(a,.))]    and the same for n(.,c)

with f(n) = n log n, where the four cells (a,a), (a,c), (c,a), (c,c) are counted once
(:mod:`spectragram.clusters.exchange_gains`).

Two steps make this fast. *Propose* finds the best class for each word of a block while nothing moves: it only
reads, so threads share the block. Where s(x) = 1, which is most of the time, f(n + 1) - f(n) comes from a
matrix kept up to date, so a whole row of classes is one vector addition; single precision is enough to rank
classes. In long text larger s have such matrices too (:mod:`spectragram.clusters.exchange_classes`). *Move* then
goes through the block in order, computes each gain again, exactly and after all earlier moves, and moves the words
that gain. The result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from spectragram.clusters.exchange_classes import Classes, refresh, relabel
from spectragram.clusters.exchange_gains import (
    add_gains,
    by_class,
    corner_gain,
    loss_of_leaving,
    margin_gain,
)
from spectragram.clusters.information import TABLE, Bigrams, nlogn
from spectragram.engine import Threads
from spectragram.engine.progress import Report, silent

__all__ = ["exchange"]

BLOCK = 128
"""Words proposed together. Chosen by hand: enough to keep several threads busy, few enough that most proposals are
still right when their turn comes."""

SMALLEST_GAIN = 1e-6
"""Smallest gain, in nats times the number of pairs, for which a word moves. A guard: smaller gains are rounding errors,
and words could move in circles."""


def exchange(
    bigrams: Bigrams,
    labels: np.ndarray,
    *,
    n_classes: int,
    n_movable: int,
    n_open: int | None = None,
    first: int = 0,
    max_passes: int = 10,
    tolerance: float = 1e-4,
    n_jobs: int = 1,
    report: Report = silent,
    after_pass: Callable[[np.ndarray, list[float]], object] | None = None,
) -> tuple[np.ndarray, list[float]]:
    """Refine a clustering; every pass over the words raises the mutual information.

    Parameters
    ----------
    bigrams : Bigrams
    labels : int array, shape (n_words,)
        Classes to start from, 0 .. n_classes - 1, none of them empty. Not changed.
    n_classes, n_movable : int
        Words n_movable and later (``<unk>``) stay where they are, in the last classes, which no other word enters.
        No class that words can enter is ever emptied.
    n_open : int, optional
        Words enter classes 0 .. n_open - 1 only, and those that are in another one must leave it. By default every
        word that stays has a class of its own.
    first : int
        Words before this one stay where they are as well.
    max_passes, tolerance
        Stop after ``max_passes`` passes, or when one raises the mutual information by less than ``tolerance`` nats.
    n_jobs : int
        Threads to use; the result does not depend on it.
    report : Report
        Told how many words were looked at.
    after_pass : function of labels and gains, optional
        Called after each pass, for instance to keep them.

    Returns
    -------
    labels : int32 array, shape (n_words,)
    gains : list of float
        By how much each pass raised the mutual information, in nats.
    """
    if n_open is None:
        n_open = n_classes - (bigrams.n_words - n_movable)
    classes = Classes.start(bigrams, labels, n_classes, TABLE, BLOCK)
    proposals = np.empty(n_movable, np.int32)
    gains: list[float] = []
    with Threads(n_jobs) as threads:
        for _ in range(max_passes):
            gain = 0.0
            for begin, end in bigrams.stretches(first, n_movable):
                for start in range(begin, end, BLOCK):
                    stop = min(start + BLOCK, end)
                    _propose_block(bigrams, classes, start, stop, n_open, proposals, threads)
                    gain += _move(bigrams, classes, start, stop, n_open, proposals, TABLE, SMALLEST_GAIN)
                    _refresh(classes, threads)
                    report(stop - start)
            gains.append(gain / bigrams.total)
            if after_pass is not None:
                after_pass(classes.labels, gains)
            if gains[-1] < tolerance:
                break
    return classes.labels, gains


def _propose_block(
    bigrams: Bigrams,
    classes: Classes,
    first: int,
    stop: int,
    n_open: int,
    proposals: np.ndarray,
    threads: Threads,
) -> None:
    # Thread i takes every n-th word, starting at i, since frequent words, which come first, take longest.
    n = threads.n_jobs
    threads.map(lambda i: _propose(bigrams, classes, first + i, stop, n, n_open, TABLE, proposals), range(n))


def _refresh(classes: Classes, threads: Threads) -> None:
    n = threads.n_jobs
    threads.map(lambda i: refresh(classes, i, n, TABLE), range(n))
    classes.n_stale[0] = 0


@njit(cache=True, nogil=True)
def _propose(
    bigrams: Bigrams,
    k: Classes,
    first: int,
    stop: int,
    stride: int,
    n_open: int,
    table: np.ndarray,
    proposals: np.ndarray,
) -> None:
    """Write the best class of words first, first + stride, ... to ``proposals``; k is only read."""
    m = k.left.size
    s = np.zeros(m, np.int64)
    p = np.zeros(m, np.int64)
    seen_s = np.empty(m, np.int64)
    seen_p = np.empty(m, np.int64)
    total = np.empty(m, np.float32)
    for word in range(first, stop, stride):
        a = k.labels[word]
        proposals[word] = a
        if k.size[a] == 1 and a < n_open:
            continue
        n_s, itself = by_class(bigrams.next_starts, bigrams.following, bigrams.next_counts, word, k.labels, s, seen_s)
        n_p, _ = by_class(
            bigrams.previous_starts, bigrams.preceding, bigrams.previous_counts, word, k.labels, p, seen_p
        )
        total[:] = 0
        add_gains(total, k.n_transposed, k.step_transposed, k.large, s, seen_s, n_s, a, table)
        add_gains(total, k.n, k.step, k.large, p, seen_p, n_p, a, table)
        leaving = loss_of_leaving(k, a, word, bigrams, s, seen_s, n_s, p, seen_p, n_p, itself, table)
        among_own = s[a] + p[a] + itself > 0
        best = 0.0 if a < n_open else -np.inf
        for c in range(n_open):
            if c != a:
                gain = total[c] + leaving + margin_gain(k, c, bigrams.left[word], bigrams.right[word], table)
                if among_own or s[c] + p[c] > 0:
                    gain += corner_gain(k, a, c, s, p, itself, table)
                if gain > best:
                    best = gain
                    proposals[word] = c
        _forget(s, seen_s, n_s)
        _forget(p, seen_p, n_p)


@njit(cache=True, nogil=True)
def _forget(sums: np.ndarray, seen: np.ndarray, n_seen: int) -> None:
    for i in range(n_seen):
        sums[seen[i]] = 0


@njit(cache=True, nogil=True)
def _move(
    bigrams: Bigrams,
    k: Classes,
    first: int,
    stop: int,
    n_open: int,
    proposals: np.ndarray,
    table: np.ndarray,
    smallest_gain: float,
) -> float:
    """Move words whose proposal still gains, and those that must move; returns the gains, nats times the pairs."""
    m = k.left.size
    s = np.zeros(m, np.int64)
    p = np.zeros(m, np.int64)
    seen_s = np.empty(m, np.int64)
    seen_p = np.empty(m, np.int64)
    gained = 0.0
    for word in range(first, stop):
        a = k.labels[word]
        c = proposals[word]
        if a == c or (k.size[a] == 1 and a < n_open):
            continue
        n_s, itself = by_class(bigrams.next_starts, bigrams.following, bigrams.next_counts, word, k.labels, s, seen_s)
        n_p, _ = by_class(
            bigrams.previous_starts, bigrams.preceding, bigrams.previous_counts, word, k.labels, p, seen_p
        )
        gain = loss_of_leaving(k, a, word, bigrams, s, seen_s, n_s, p, seen_p, n_p, itself, table)
        gain += margin_gain(k, c, bigrams.left[word], bigrams.right[word], table)
        gain += corner_gain(k, a, c, s, p, itself, table)
        for i in range(n_s):
            x = seen_s[i]
            if x != a:
                gain += nlogn(table, k.n[c, x] + s[x]) - nlogn(table, k.n[c, x])
        for i in range(n_p):
            x = seen_p[i]
            if x != a:
                gain += nlogn(table, k.n[x, c] + p[x]) - nlogn(table, k.n[x, c])
        if gain > smallest_gain or a >= n_open:
            relabel(bigrams, k, word, a, c, s, seen_s, n_s, p, seen_p, n_p, itself, table)
            gained += gain
        _forget(s, seen_s, n_s)
        _forget(p, seen_p, n_p)
    return gained
