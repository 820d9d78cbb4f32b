"""Forward and backward recursions of weighted automata over a prefix tree.

    f(x_1 ... x_T) = alpha_1' A_{x_1} ... A_{x_T} alpha_inf

    symbol in the text             here          shape
    alpha_1, A_sigma, alpha_inf    initial, operators, final    (m,), (k, m, m), (m,)
    alpha_u / z_u                  states        (n_nodes, m)   forward vector of prefix u, scaled: state . total = 1
    z_u                            scales        (n_nodes,)     f_p(u) = product of z along the path to u
    total                          total         (m,)           weight of "anything may follow"; f_p(u) = alpha_u total
    beta_u                         backs         (n_nodes, m)   sum of backward vectors of all strings through u

For probabilistic automata total is 1 everywhere and z_{u sigma} = P(sigma | u). Estimated operators can make z zero or
negative: then the state is *reset* to the one stored for the recent symbols, and the scale of the step is 0. The paper
has no such rule and divides by z whatever its sign.
Each group of nodes is one matrix product, so BLAS does most of the work; the kernels release the GIL.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.engine.kernels import REORDER

__all__ = ["CANCELLED", "expected_counts", "filter_prefixes", "forward_states", "largest_group"]

CANCELLED = 1e-6
"""``least`` for automata with negative weights: a total that is a smaller share of its absolute terms is noise.

Chosen by hand, not tuned.
"""


@njit(cache=True, nogil=True)
def largest_group(groups: np.ndarray) -> int:
    """The largest number of nodes in a group of a prefix tree; groups (g + 1,) int64 hold where each begins."""
    largest = 0
    for g in range(len(groups) - 1):
        largest = max(largest, groups[g + 1] - groups[g])
    return largest


@njit(cache=True, nogil=True, fastmath=REORDER)
def forward_states(
    parent: np.ndarray,
    symbol: np.ndarray,
    groups: np.ndarray,
    initial: np.ndarray,
    operators: np.ndarray,
    total: np.ndarray,
    least: float,
    fallback: np.ndarray,
    fallback_of: np.ndarray,
    fallback_share: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Scaled forward vectors of all nodes of a prefix tree.

    (n,), (n,), (g + 1,) int64; (m,), (k, m, m), (m,); least: a state is reset if its total is not above zero or below
    this share of its absolute terms, and if it is negative, states are never reset unless their total is zero; fallback
    (c, m), rows with total 1; fallback_of (n,) int64, the row for each node; fallback_share: the share of it mixed into
    every state but the first.
    Returns states (n, m) and scales (n,); a scale of 0 marks a reset.
    """
    n, m = len(parent), len(initial)
    states = np.empty((n, m))
    scales = np.ones(n)
    scales[0] = np.dot(initial, total)
    usable = scales[0] > 0 or (least < 0.0 and scales[0] != 0.0)
    for j in range(m):
        states[0, j] = initial[j] / scales[0] if usable else fallback[fallback_of[0], j]
    before = np.empty((largest_group(groups), m))
    for g in range(1, len(groups) - 1):
        first, stop = groups[g], groups[g + 1]
        _gather(states, parent, first, stop, before)
        np.dot(before[: stop - first], operators[symbol[first]], states[first:stop])
        for node in range(first, stop):
            scale, size = 0.0, 0.0
            for j in range(m):
                scale += states[node, j] * total[j]
            if least > 0.0:
                for j in range(m):
                    size += abs(states[node, j] * total[j])
            recent = fallback_of[node]
            usable = (scale > 0.0 and scale >= least * size) or (least < 0.0 and scale < 0.0)
            if not usable:
                scales[node] = 0.0
                for j in range(m):
                    states[node, j] = fallback[recent, j]
                continue
            scales[node] = scale
            factor = (1.0 - fallback_share) / scale
            for j in range(m):
                states[node, j] *= factor
            if fallback_share > 0.0:
                for j in range(m):
                    states[node, j] += fallback_share * fallback[recent, j]
    return states, scales


@njit(cache=True, nogil=True, fastmath=REORDER)
def expected_counts(
    parent: np.ndarray,
    symbol: np.ndarray,
    groups: np.ndarray,
    ends: np.ndarray,
    initial: np.ndarray,
    operators: np.ndarray,
    transposed: np.ndarray,
    final: np.ndarray,
    states: np.ndarray,
    backs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """How often a probabilistic automaton uses each weight on the strings of a tree (the E-step).

        beta_u = w_u alpha_inf / (alpha_u . alpha_inf) + sum_sigma A_sigma beta_{u sigma} / z_{u sigma}

    ``transposed`` (k, m, m) holds A_sigma'; ``states`` and ``backs`` (at least n, m) are overwritten, so that many
    trees can use the same memory. All weights have one type, float32 or float64; sums over nodes are float64.
    Returns moves (k, m, m), to be multiplied by the operators; stops (m,); starts (m,); the scales (n,) and the
    log-likelihood of ending, sum_u w_u log(alpha_u . alpha_inf). Strings of probability zero are left out.
    """
    n, m = len(parent), len(initial)
    rows = largest_group(groups)
    before, after = np.empty((rows, m), states.dtype), np.empty((rows, m), states.dtype)
    scales = filter_prefixes(parent, symbol, groups, initial, operators, states)
    moves, stops = np.zeros(transposed.shape), np.zeros(m)
    log_likelihood = _end(states, ends, final, backs, stops, n)
    for g in range(len(groups) - 2, 0, -1):
        first, stop = groups[g], groups[g + 1]
        size, sigma = stop - first, symbol[first]
        for node in range(first, stop):
            # Nothing flows back through a step of probability zero.
            factor = 1 / scales[node] if scales[node] > 0 else scales[node]
            for j in range(m):
                backs[node, j] *= factor
        _gather(states, parent, first, stop, before)
        own = moves[sigma]
        own += np.dot(before[:size].T, backs[first:stop])
        np.dot(backs[first:stop], transposed[sigma], after[:size])
        for node in range(first, stop):
            up = parent[node]
            for j in range(m):
                backs[up, j] += after[node - first, j]
    return moves, stops, (states[0] * backs[0]).astype(np.float64), scales, log_likelihood


@njit(cache=True, nogil=True)
def filter_prefixes(
    parent: np.ndarray,
    symbol: np.ndarray,
    groups: np.ndarray,
    initial: np.ndarray,
    operators: np.ndarray,
    states: np.ndarray,
) -> np.ndarray:
    """Fill ``states`` (at least n, m) with the forward vectors of a probabilistic automaton; returns the scales (n,).

    The same as :func:`forward_states` without signs and resets, in the type of the weights, float32 or float64. A
    prefix of probability zero has scale 0 and state 0.
    """
    before = np.empty((largest_group(groups), len(initial)), states.dtype)
    scales = np.ones(len(parent), states.dtype)
    for j in range(len(initial)):
        states[0, j] = initial[j]
    for g in range(1, len(groups) - 1):
        first, stop = groups[g], groups[g + 1]
        _gather(states, parent, first, stop, before)
        np.dot(before[: stop - first], operators[symbol[first]], states[first:stop])
        _normalise(states, scales, first, stop)
    return scales


@njit(cache=True, nogil=True)
def _gather(states: np.ndarray, parent: np.ndarray, first: int, stop: int, before: np.ndarray) -> None:
    """The states of the parents of nodes ``first`` to ``stop - 1``, one after the other."""
    for node in range(first, stop):
        for j in range(states.shape[1]):
            before[node - first, j] = states[parent[node], j]


@njit(cache=True, nogil=True, fastmath=REORDER)
def _normalise(states: np.ndarray, scales: np.ndarray, first: int, stop: int) -> None:
    """Scale the rows to total 1; a row without weight stays zero."""
    for node in range(first, stop):
        total = states.dtype.type(0)
        for j in range(states.shape[1]):
            total += states[node, j]
        scales[node] = total
        factor = 1 / total if total > 0 else total
        for j in range(states.shape[1]):
            states[node, j] *= factor


@njit(cache=True, nogil=True, fastmath=REORDER)
def _end(
    states: np.ndarray, ends: np.ndarray, final: np.ndarray, backs: np.ndarray, stops: np.ndarray, n: int
) -> float:
    """Start the backward vectors with the strings that end at each node; counts of stops, log-likelihood of ending."""
    log_likelihood = 0.0
    for node in range(n):
        if not ends[node] > 0.0:
            backs[node] = 0
            continue
        chance = states.dtype.type(0)
        for j in range(len(final)):
            chance += states[node, j] * final[j]
        log_likelihood += ends[node] * np.log(chance) if chance > 0 else -np.inf
        factor = states.dtype.type(ends[node]) / chance if chance > 0 else states.dtype.type(0)
        for j in range(len(final)):
            backs[node, j] = factor * final[j]
            stops[j] += states[node, j] * backs[node, j]
    return log_likelihood
