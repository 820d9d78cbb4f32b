"""Forward and backward recursions of weighted automata over a prefix tree.

    f(x_1 ... x_T) = alpha_1' A_{x_1} ... A_{x_T} alpha_inf

    symbol in the text             here          shape
    alpha_1, A_sigma, alpha_inf    initial, operators, final    (m,), (k, m, m), (m,)
    alpha_u / z_u                  states        (n_nodes, m)   forward vector of prefix u, scaled: state . total = 1
    z_u                            scales        (n_nodes,)     f_p(u) = product of z along the path to u
    total                          total         (m,)           weight of "anything may follow"; f_p(u) = alpha_u total
    beta_u                         backs         (n_nodes, m)   sum of backward vectors of all strings through u

For probabilistic automata total is 1 everywhere and z_{u sigma} = P(sigma | u). Estimated operators can make z zero or
negative: then the state is *reset* to the one stored for the recent symbols, and the scale of the step is 0.
Each group of nodes is one matrix product, so BLAS does most of the work; the kernels release the GIL.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["expected_counts", "forward_states"]

CANCELLED = 1e-6
"""A state is reset if its total is less than this share of the absolute terms of the sum: the rest is noise.

Chosen by hand, not tuned.
"""

CHUNK = 512
"""Steps whose counts are summed in one product; small enough for the cache."""


@njit(cache=True, nogil=True)
def forward_states(
    parent: np.ndarray,
    symbol: np.ndarray,
    groups: np.ndarray,
    initial: np.ndarray,
    operators: np.ndarray,
    total: np.ndarray,
    signed: bool,
    fallback: np.ndarray,
    fallback_of: np.ndarray,
    fallback_share: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Scaled forward vectors of all nodes of a prefix tree.

    (n,), (n,), (g + 1,) int64; (m,), (k, m, m), (m,); signed: whether weights may be negative; fallback (c, m), rows
    with total 1; fallback_of (n,) int64, the row for each node; fallback_share: the share of it mixed into every
    state but the first.
    Returns states (n, m) and scales (n,); a scale of 0 marks a reset.
    """
    n, m = len(parent), len(initial)
    states = np.empty((n, m))
    scales = np.ones(n)
    scales[0] = np.dot(initial, total)
    states[0] = initial / scales[0] if scales[0] > 0 else fallback[fallback_of[0]]
    for g in range(1, len(groups) - 1):
        first, stop = groups[g], groups[g + 1]
        before = np.empty((stop - first, m))
        for node in range(first, stop):
            before[node - first] = states[parent[node]]
        np.dot(before, operators[symbol[first]], states[first:stop])
        scales[first:stop] = np.dot(states[first:stop], total)
        for node in range(first, stop):
            state = states[node]
            if signed:
                size = 0.0
                for j in range(m):
                    size += abs(state[j] * total[j])
                if scales[node] < CANCELLED * size:
                    scales[node] = 0.0
            if not scales[node] > 0.0:
                scales[node] = 0.0
                state[:] = fallback[fallback_of[node]]
                continue
            factor = 1.0 / scales[node]
            for j in range(m):
                state[j] *= factor
            if fallback_share > 0.0:
                recent = fallback[fallback_of[node]]
                for j in range(m):
                    state[j] = (1.0 - fallback_share) * state[j] + fallback_share * recent[j]
    return states, scales


@njit(cache=True, nogil=True)
def expected_counts(
    parent: np.ndarray,
    symbol: np.ndarray,
    groups: np.ndarray,
    by_symbol: np.ndarray,
    ends: np.ndarray,
    states: np.ndarray,
    scales: np.ndarray,
    transposed: np.ndarray,
    final: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """How often a probabilistic automaton uses each weight on the strings of a tree (the E-step).

        beta_u = w_u alpha_inf / (alpha_u . alpha_inf) + sum_sigma A_sigma beta_{u sigma} / z_{u sigma}

    ``states`` and ``scales`` are those of :func:`forward_states`; ``transposed`` (k, m, m) holds A_sigma'.
    Returns moves (k, m, m), to be multiplied by the operators; stops (m,); starts (m,); and the log-likelihood of
    ending, sum_u w_u log(alpha_u . alpha_inf). Strings of probability zero are left out.
    """
    n, m = states.shape
    moves = np.zeros_like(transposed)
    stops = np.zeros(m)
    backs = np.zeros((n, m))
    log_likelihood = 0.0
    for node in range(n):
        if ends[node] > 0.0:
            chance = np.dot(states[node], final)
            if chance > 0.0:
                log_likelihood += ends[node] * np.log(chance)
                for j in range(m):
                    backs[node, j] = ends[node] / chance * final[j]
                    stops[j] += states[node, j] * backs[node, j]
            else:
                log_likelihood = -np.inf
    for g in range(len(groups) - 2, 0, -1):
        first, stop = groups[g], groups[g + 1]
        for node in range(first, stop):
            # Nothing flows back through a step of probability zero.
            factor = 1.0 / scales[node] if scales[node] > 0.0 else 0.0
            for j in range(m):
                backs[node, j] *= factor
        above = np.dot(backs[first:stop], transposed[symbol[first]])
        for node in range(first, stop):
            up = backs[parent[node]]
            for j in range(m):
                up[j] += above[node - first, j]
    # All steps with one symbol at a time, since groups are too small for fast products.
    before = np.empty((CHUNK, m))
    after = np.empty((CHUNK, m))
    first = 0
    while first < len(by_symbol):
        sigma, size = symbol[by_symbol[first]], 0
        while size < CHUNK and first + size < len(by_symbol) and symbol[by_symbol[first + size]] == sigma:
            before[size] = states[parent[by_symbol[first + size]]]
            after[size] = backs[by_symbol[first + size]]
            size += 1
        moves[sigma] += np.dot(before[:size].T, after[:size])
        first += size
    return moves, stops, states[0] * backs[0], log_likelihood
