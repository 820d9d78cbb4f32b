"""Forward, backward and Viterbi recursions of hidden Markov models.

    p(x_1 ... x_T) = sum over s of  pi(s_1) b_{x_1}(s_1) prod_t P(s_{t-1}, s_t) b_{x_t}(s_t)

    symbol in the text      here          shape
    pi, P                   start, moves  (m,), (m, m)
    b_x(s)                  likelihood    (r, m)        one row for each symbol, or for each place
    row of a node           row           (n,)          which row of the likelihood a node emits
    alpha_u / z_u           states        (n, m)        filtered distribution after node u
    z_u                     scales        (n,)          probability (density) of what u emits, given the nodes before
    beta_u                  backs         (n, m)        sum of backward vectors of all sequences through u

Nodes are those of a :class:`~spectragram.inference.prefix_tree.PrefixTree` whose groups mix symbols, because all steps
use the same matrix P; node 0 is the beginning and emits nothing. Sequences of symbols share their prefixes, sequences
of vectors are chains that share nothing. Each group is one matrix product.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.engine.kernels import REORDER
from spectragram.inference.chain import largest_group

__all__ = ["best_path", "filter_states", "hidden_counts"]


@njit(cache=True, nogil=True, fastmath=REORDER)
def filter_states(
    parent: np.ndarray,
    row: np.ndarray,
    groups: np.ndarray,
    start: np.ndarray,
    moves: np.ndarray,
    likelihood: np.ndarray,
    states: np.ndarray,
) -> np.ndarray:
    """Fill ``states`` (at least n, m) with filtered distributions; returns the scales (n,).

    All weights have the same type, float32 or float64. A node that is impossible has scale 0 and state 0.
    """
    m = len(start)
    before = np.empty((largest_group(groups), m), states.dtype)
    scales = np.ones(len(parent), states.dtype)
    for j in range(m):
        states[0, j] = start[j]
    for g in range(1, len(groups) - 1):
        first, stop = groups[g], groups[g + 1]
        for node in range(first, stop):
            for j in range(m):
                before[node - first, j] = states[parent[node], j]
        np.dot(before[: stop - first], moves, states[first:stop])
        for node in range(first, stop):
            if parent[node] == 0:
                for j in range(m):
                    states[node, j] = start[j]
            total = states.dtype.type(0)
            for j in range(m):
                states[node, j] *= likelihood[row[node], j]
            for j in range(m):
                total += states[node, j]
            scales[node] = total
            factor = 1 / total if total > 0 else total
            for j in range(m):
                states[node, j] *= factor
    return scales


@njit(cache=True, nogil=True, fastmath=REORDER)
def hidden_counts(
    parent: np.ndarray,
    row: np.ndarray,
    groups: np.ndarray,
    ends: np.ndarray,
    start: np.ndarray,
    moves: np.ndarray,
    transposed: np.ndarray,
    likelihood: np.ndarray,
    states: np.ndarray,
    backs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The E-step: expected starts (m,), moves (m, m), emissions of each row (r, m), and the scales (n,).

        beta_u = w_u + sum_c P (b_c beta_c / z_c)        gamma_u = alpha_u beta_u

    ``transposed`` is P'; ``states`` and ``backs`` (at least n, m) are overwritten. If every node has a row of its own,
    the emissions are the posteriors of the states at every place.
    """
    m = len(start)
    scales = filter_states(parent, row, groups, start, moves, likelihood, states)
    rows = largest_group(groups)
    before, after = np.zeros((rows, m), states.dtype), np.empty((rows, m), states.dtype)
    started, moved, emitted = np.zeros(m), np.zeros((m, m)), np.zeros(likelihood.shape)
    for node in range(len(parent)):
        for j in range(m):
            backs[node, j] = ends[node]
    for g in range(len(groups) - 2, 0, -1):
        first, stop = groups[g], groups[g + 1]
        size = stop - first
        for node in range(first, stop):
            at, up = row[node], parent[node]
            # Nothing flows back through a step of probability zero.
            factor = 1 / scales[node] if scales[node] > 0 else scales[node]
            # Loops over few arrays each, which compilers turn into wide instructions.
            for j in range(m):
                emitted[at, j] += states[node, j] * backs[node, j]
            for j in range(m):
                backs[node, j] *= factor * likelihood[at, j]
            for j in range(m):
                before[node - first, j] = states[up, j]
            if up == 0:
                for j in range(m):
                    started[j] += start[j] * backs[node, j]
                    before[node - first, j] = 0
        moved += np.dot(before[:size].T, backs[first:stop])
        np.dot(backs[first:stop], transposed, after[:size])
        for node in range(first, stop):
            up = parent[node]
            for j in range(m):
                backs[up, j] += after[node - first, j]
    return started, moved * moves, emitted, scales


@njit(cache=True, nogil=True)
def best_path(log_start: np.ndarray, log_moves: np.ndarray, log_likelihood: np.ndarray) -> tuple[np.ndarray, float]:
    """The most probable states of one sequence (Viterbi), (T,), and the logarithm of their joint probability.

    (m,), (m, m), (T, m). The first of several equally probable states is taken.
    """
    n, m = log_likelihood.shape
    came_from = np.empty((n, m), np.int64)
    scores = log_start + log_likelihood[0]
    reached = np.empty(m)
    for t in range(1, n):
        for j in range(m):
            best, value = 0, scores[0] + log_moves[0, j]
            for i in range(1, m):
                if scores[i] + log_moves[i, j] > value:
                    best, value = i, scores[i] + log_moves[i, j]
            came_from[t, j] = best
            reached[j] = value + log_likelihood[t, j]
        scores, reached = reached, scores
    path = np.empty(n, np.int64)
    path[n - 1] = scores.argmax()
    for t in range(n - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path, scores[path[n - 1]]
