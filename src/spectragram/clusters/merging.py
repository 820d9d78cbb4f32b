"""Merge the pair of classes that costs least mutual information, again and again, exactly.

Merging classes i and j changes N I(C) by

    gain(i, j) = sum_x g(n(i,x), n(j,x)) + g(n(x,i), n(x,j))  -  g(n(i,.), n(j,.)) - g(n(.,i), n(.,j))

with g(a, b) = f(a + b) - f(a) - f(b), f(n) = n log n, and the four cells among i and j counted once. It is never
positive. The part of the margins is written in terms of their mass, W = sum_x n(i,x),

    g(n(i,.), n(j,.)) = W(i) log((n(i,.) + n(j,.)) / n(i,.)) + W(j) log((n(i,.) + n(j,.)) / n(j,.))

since in Brown's algorithm (:mod:`spectragram.clusters.brown`) words that have not entered yet count in the margin but
not in the mass. What keeps this exact and fast:

- g(a, b) = 0 if a or b is 0, so a merge of u and v affects only pairs of classes that both occur beside u or v,
  which are few while there are many classes;
- g is superadditive, so merging other classes never lowers gain(i, j). The best partner of a class is updated when a
  gain rises, and searched for again only when it was merged itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.clusters.information import TABLE, nlogn
from spectragram.engine import map_threads

__all__ = ["merge_classes"]


class Mergeable(NamedTuple):
    """Classes in slots 0 .. n_slots - 1, changed in place by the kernels.

    n, n_transposed  (n_slots, n_slots)   class bigram counts, both ways round
    gain             (n_slots, n_slots)   what merging two classes changes, N times nats; symmetric
    best, best_gain  (n_slots,)           the best partner of a class, and the gain
    left, right      (n_slots,)           margins: how often a class begins or ends a pair
    left_mass, ...   (n_slots,)           the part of the margins that is in n
    active           (n_slots,)           the slots in use are active[:n_active]
    """

    n: np.ndarray
    n_transposed: np.ndarray
    gain: np.ndarray
    best: np.ndarray
    best_gain: np.ndarray
    left: np.ndarray
    right: np.ndarray
    left_mass: np.ndarray
    right_mass: np.ndarray
    active: np.ndarray

    @classmethod
    def empty(cls, n_slots: int) -> Mergeable:
        """No class yet."""
        return cls(
            np.zeros((n_slots, n_slots), np.int64),
            np.zeros((n_slots, n_slots), np.int64),
            np.full((n_slots, n_slots), -np.inf),
            np.full(n_slots, -1),
            np.full(n_slots, -np.inf),
            np.zeros(n_slots, np.int64),
            np.zeros(n_slots, np.int64),
            np.zeros(n_slots, np.int64),
            np.zeros(n_slots, np.int64),
            np.arange(n_slots),
        )


def merge_classes(
    table: np.ndarray, n_mergeable: int, n_left: int, *, n_jobs: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Merge classes greedily until ``n_left`` of the first ``n_mergeable`` remain; later ones stay as they are.

    Parameters
    ----------
    table : int array, shape (m, m)
        How often class c stands directly before class c'. Not changed.

    Returns
    -------
    merges : int64 array, shape (n_mergeable - n_left, 2)
        Row t holds the two nodes that become node m + t; nodes below m are the given classes.
    losses : float array, shape (n_mergeable - n_left,)
        Mutual information lost by each merge, in nats.
    """
    m = len(table)
    state = Mergeable.empty(m)
    state.n[:] = table
    state.n_transposed[:] = table.T
    state.left[:] = state.left_mass[:] = table.sum(axis=1)
    state.right[:] = state.right_mass[:] = table.sum(axis=0)
    # The cost of a row is the number of rows before it, so every n-th row is a fair share.
    map_threads(lambda i: _fill_gains(state, i, n_jobs, n_mergeable, TABLE), range(n_jobs), n_jobs)
    merges, losses = _merge_down(state, n_mergeable, n_left, TABLE)
    return merges, losses / max(int(table.sum()), 1)


@njit(cache=True, nogil=True)
def _joint(table: np.ndarray, a: int, b: int) -> float:
    """g(a, b) = f(a + b) - f(a) - f(b)."""
    return nlogn(table, a + b) - nlogn(table, a) - nlogn(table, b)


@njit(cache=True, nogil=True)
def row_gains(k: Mergeable, u: int, partners: np.ndarray, n_partners: int, table: np.ndarray) -> None:
    """gain(u, j) for all j in ``partners[:n_partners]``, written to row u only."""
    row = k.gain[u]
    for q in range(n_partners):
        j = partners[q]
        row[j] = _corner(k.n, u, j, table) - margin_cost(k, u, j)
    _add_joint(row, k.n[u], k.n_transposed, partners, n_partners, table)
    _add_joint(row, k.n_transposed[u], k.n, partners, n_partners, table)


@njit(cache=True, nogil=True)
def margin_cost(k: Mergeable, i: int, j: int) -> float:
    """Cost of merging i and j in the terms of the margins; classes without any mass cost nothing."""
    cost = 0.0
    for margin, mass in ((k.left, k.left_mass), (k.right, k.right_mass)):
        both = margin[i] + margin[j]
        if mass[i] > 0:
            cost += mass[i] * np.log(both / margin[i])
        if mass[j] > 0:
            cost += mass[j] * np.log(both / margin[j])
    return cost


@njit(cache=True, nogil=True)
def _add_joint(
    row: np.ndarray,
    counts: np.ndarray,
    counts_of_others: np.ndarray,
    partners: np.ndarray,
    n_partners: int,
    table: np.ndarray,
) -> None:
    """row[j] += sum_x g(counts[x], counts_of_others[x, j]) for the partners j."""
    stop = 0
    for q in range(n_partners):
        stop = max(stop, partners[q] + 1)
    sums = np.zeros(stop)
    for q in range(n_partners):
        sums[partners[q]] = row[partners[q]]
    joint = np.empty(stop)
    for x in range(counts.size):
        if counts[x] > 0:
            _joint_row(joint, counts[x], counts_of_others[x, :stop], table)
            for j in range(stop):
                sums[j] += joint[j]
    for q in range(n_partners):
        row[partners[q]] = sums[partners[q]]


@njit(cache=True, nogil=True)
def _joint_row(joint: np.ndarray, a: int, counts: np.ndarray, table: np.ndarray) -> None:
    """joint[j] = g(a, counts[j]). No branch and no sign, so that the compiler gathers eight at a time."""
    f_a = nlogn(table, a)
    add, last = np.uint64(a), np.uint64(table.shape[0] - 1)
    largest = 0
    for j in range(joint.size):
        b = np.uint64(counts[j])
        joint[j] = table[min(add + b, last)] - f_a - table[min(b, last)]
        largest = max(largest, counts[j])
    if a + largest >= table.shape[0]:
        for j in range(joint.size):
            if a + counts[j] >= table.shape[0]:
                joint[j] = nlogn(table, a + counts[j]) - f_a - nlogn(table, counts[j])


@njit(cache=True, nogil=True)
def _corner(n: np.ndarray, i: int, j: int, table: np.ndarray) -> float:
    """Change when the four cells among i and j become one, less what the sums over x gave for them."""
    ii, ij, ji, jj = n[i, i], n[i, j], n[j, i], n[j, j]
    change = nlogn(table, ii + ij + ji + jj)
    change -= nlogn(table, ii) + nlogn(table, ij) + nlogn(table, ji) + nlogn(table, jj)
    change -= _joint(table, ii, ji) + _joint(table, ij, jj)
    return change - _joint(table, ii, ij) - _joint(table, ji, jj)


@njit(cache=True, nogil=True)
def _fill_gains(k: Mergeable, first: int, stride: int, n_mergeable: int, table: np.ndarray) -> None:
    """Rows first, first + stride, ... of the gains, below the diagonal."""
    for i in range(first, n_mergeable, stride):
        row_gains(k, i, k.active, i, table)


@njit(cache=True, nogil=True)
def improve(k: Mergeable, i: int, j: int, gain: float) -> None:
    """Set gain(i, j), and make each the best partner of the other where it is."""
    k.gain[i, j] = gain
    k.gain[j, i] = gain
    if gain > k.best_gain[i]:
        k.best_gain[i] = gain
        k.best[i] = j
    if gain > k.best_gain[j]:
        k.best_gain[j] = gain
        k.best[j] = i


@njit(cache=True, nogil=True)
def best_pair(k: Mergeable, n_active: int) -> tuple[int, int]:
    """The two classes whose merge costs least, lower slot first."""
    u = k.active[0]
    for q in range(1, n_active):
        if k.best_gain[k.active[q]] > k.best_gain[u]:
            u = k.active[q]
    return min(u, k.best[u]), max(u, k.best[u])


@njit(cache=True, nogil=True)
def _raise_others(
    k: Mergeable, n: np.ndarray, u: int, v: int, n_active: int, beside: np.ndarray, table: np.ndarray
) -> None:
    """Raise the gains of pairs of other classes i, j, whose neighbours u and v become one.

    ``n[u, i]`` are the counts of i beside u in one direction.
    """
    n_beside = 0
    with_u, with_v = n[u], n[v]
    for q in range(n_active):
        if with_u[k.active[q]] + with_v[k.active[q]] > 0:
            beside[n_beside] = k.active[q]
            n_beside += 1
    for p in range(n_beside):
        i = beside[p]
        i_u, i_v = with_u[i], with_v[i]
        own_i = nlogn(table, i_u) + nlogn(table, i_v) - nlogn(table, i_u + i_v)
        for q in range(p):
            j = beside[q]
            j_u, j_v = with_u[j], with_v[j]
            change = own_i + nlogn(table, j_u) + nlogn(table, j_v) - nlogn(table, j_u + j_v)
            change += nlogn(table, i_u + i_v + j_u + j_v)
            change -= nlogn(table, i_u + j_u) + nlogn(table, i_v + j_v)
            if change > 0.0:
                # As in improve, which costs ten times as much as all this when it is called: k holds ten arrays.
                gain = k.gain[i, j] + change
                k.gain[i, j] = gain
                k.gain[j, i] = gain
                if gain > k.best_gain[i] or gain > k.best_gain[j]:
                    improve(k, i, j, gain)


@njit(cache=True, nogil=True)
def _add_counts(k: Mergeable, u: int, v: int) -> None:
    """Add the counts of class v to class u."""
    for n in (k.n, k.n_transposed):
        for x in range(n.shape[0]):
            n[u, x] += n[v, x]
            n[v, x] = 0
        for x in range(n.shape[0]):
            n[x, u] += n[x, v]
            n[x, v] = 0
    for margin in (k.left, k.right, k.left_mass, k.right_mass):
        margin[u] += margin[v]
        margin[v] = 0


@njit(cache=True, nogil=True)
def absorb(k: Mergeable, u: int, v: int, n_active: int, beside: np.ndarray, table: np.ndarray) -> int:
    """Class u becomes u + v and slot v the first free one; row u of the gains is filled, partners are not yet set.

    Returns the number of other active classes; u follows them in ``active``, then v.
    """
    kept = 0
    for q in range(n_active):
        if k.active[q] != u and k.active[q] != v:
            k.active[kept] = k.active[q]
            kept += 1
    k.active[kept] = u
    k.active[kept + 1] = v
    _raise_others(k, k.n, u, v, kept, beside, table)
    _raise_others(k, k.n_transposed, u, v, kept, beside, table)
    _add_counts(k, u, v)
    for q in range(kept):
        i = k.active[q]
        if k.best[i] == u or k.best[i] == v:
            find_best(k, i, kept)
    row_gains(k, u, k.active, kept, table)
    return kept


@njit(cache=True, nogil=True)
def find_best(k: Mergeable, i: int, n_active: int) -> None:
    k.best_gain[i] = -np.inf
    k.best[i] = -1
    for q in range(n_active):
        j = k.active[q]
        if j != i and k.gain[i, j] > k.best_gain[i]:
            k.best_gain[i] = k.gain[i, j]
            k.best[i] = j


@njit(cache=True, nogil=True)
def join(k: Mergeable, u: int, n_active: int) -> None:
    """Make class u, whose row of gains is complete, a partner of the active classes."""
    k.best_gain[u] = -np.inf
    k.best[u] = -1
    for q in range(n_active):
        improve(k, u, k.active[q], k.gain[u, k.active[q]])


@njit(cache=True, nogil=True)
def _merge_down(k: Mergeable, n_mergeable: int, n_left: int, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    for i in range(n_mergeable):
        for j in range(i):
            improve(k, i, j, k.gain[i, j])
    n_merges = n_mergeable - n_left
    merges = np.empty((n_merges, 2), np.int64)
    losses = np.empty(n_merges)
    node = np.arange(k.left.size)
    beside = np.empty(k.left.size, np.int64)
    n_active = n_mergeable
    for t in range(n_merges):
        u, v = best_pair(k, n_active)
        merges[t, 0] = node[u]
        merges[t, 1] = node[v]
        losses[t] = -k.best_gain[u]
        node[u] = k.left.size + t
        n_active = absorb(k, u, v, n_active, beside, table)
        join(k, u, n_active)
        n_active += 1
    return merges, losses
