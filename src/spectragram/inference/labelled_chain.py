"""Marginals of labels in a refinement HMM (Stratos et al. 2013, figure 2), for many sequences at once.

    paper      here                               shape
    c_a^1      initial                            (n_dims,)            all labels one after the other
    C^{b|a}    transition                         (n_pairs, n_dims)
    C^{*|a}    final                              (n_pairs,)
    c_x^a      observations                       (n_tokens, n_observed)
    mu(a, i)   marginals                          (n_tokens, n_labels)

A label owns a run of state dimensions and a run of observation dimensions. The tensor C^{b|a}(c_x^a) is bilinear
in the state and in the observation vector of label a, so it acts on their products: pair q multiplies observation
dimension ``pair_observed[q]`` with state dimension ``pair_state[q]``. A probabilistic model (states are states,
the observation vector holds o(x|a,h)) needs the diagonal pairs only; a spectral one needs all pairs within a label.

With the misprint of figure 2 corrected, for i = 1 .. N-1 and back:

    alpha^1 = c^1               alpha^{i+1} = C(c_{x_i}) alpha^i
    beta^N  = C*(c_{x_N})       beta^i      = beta^{i+1} C(c_{x_i})         mu(a,i) = beta_a^i . alpha_a^i

Sequences of similar length advance together, so every step is one matrix product. Each vector is divided by a
positive number, which changes neither the ratios of marginals nor their signs. Estimated operators can make the
estimate of p(x) negative; then the signs of all marginals of a token are wrong, not of single ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

__all__ = ["ChainOperators", "batches", "best_legal_path", "diagonal_operators", "forward_backward", "k_best_paths"]

TOKENS_A_BATCH = 4096
"""Enough tokens for the speed of matrix products, few enough for the cache. Chosen by hand, not tuned."""


@dataclass(frozen=True)
class ChainOperators:
    """Operators of a refinement HMM; see the table above.

    ``pair_state`` is sorted and holds every state dimension at least once; ``label_starts`` (n_labels + 1,) are the
    runs of state dimensions of the labels.
    """

    initial: np.ndarray
    transition: np.ndarray
    final: np.ndarray
    pair_observed: np.ndarray
    pair_state: np.ndarray
    label_starts: np.ndarray


def diagonal_operators(
    initial: np.ndarray, transition: np.ndarray, final: np.ndarray, label_starts: np.ndarray
) -> ChainOperators:
    """Operators of a probabilistic model (proposition 4.1): (S,), (S, S), (S,) with a state's label from the runs."""
    states = np.arange(len(initial))
    return ChainOperators(initial, transition, final, states, states, label_starts)


def batches(offsets: np.ndarray, tokens: int = TOKENS_A_BATCH) -> list[np.ndarray]:
    """Group non-empty sequences of similar length, longest first: arrays of sequence numbers."""
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 0]
    groups = []
    start = 0
    while start < len(order):
        size = max(1, tokens // int(lengths[order[start]]))
        groups.append(order[start : start + size])
        start += size
    return groups


def forward_backward(
    operators: ChainOperators,
    offsets: np.ndarray,
    group: np.ndarray,
    observations: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unnormalised marginals of the sequences in ``group``, one of those that :func:`batches` returns.

    Parameters
    ----------
    operators : ChainOperators
    offsets : int array, shape (n_sequences + 1,)
        Sequence u is tokens ``offsets[u]:offsets[u + 1]``.
    group : int array
        Numbers of sequences, longest first.
    observations : function of token numbers (n,) that returns their vectors, shape (n, n_observed)

    Returns
    -------
    tokens : int array, shape (n,)
    marginals : array, shape (n, n_labels)
        Row j belongs to ``tokens[j]``; each row up to a positive factor. They are not normalised, and estimated
        operators can make them negative.
    log_values : array, shape (len(group),)
        log |p(x)| of each sequence.
    """
    starts, lengths = offsets[group], np.diff(offsets)[group]
    n_steps = int(lengths[0])
    # Step t advances the sequences longer than t: a prefix of the group.
    active = np.searchsorted(-lengths, -np.arange(n_steps), side="left")
    rows = np.concatenate([[0], np.cumsum(active)])
    tokens = np.concatenate([starts[: active[t]] + t for t in range(n_steps)])
    observed = np.take(observations(tokens), operators.pair_observed, axis=1)

    alpha = np.empty((len(tokens), len(operators.initial)))
    alpha[: active[0]] = operators.initial
    log_scale = np.zeros(len(group))
    for t in range(1, n_steps):
        before = slice(rows[t - 1], rows[t - 1] + active[t])
        weighted = observed[before] * np.take(alpha[before], operators.pair_state, axis=1)
        alpha[rows[t] : rows[t + 1]], scale = _scaled(weighted @ operators.transition)
        log_scale[: active[t]] += np.log(scale)

    beta = _backward(operators, observed, active, rows)
    products = alpha * beta
    marginals = np.add.reduceat(products, operators.label_starts[:-1], axis=1)
    last = rows[lengths - 1] + np.arange(len(group))
    finals = observed[last] * np.take(alpha[last], operators.pair_state, axis=1) @ operators.final
    with np.errstate(divide="ignore"):
        log_values = np.log(np.abs(finals)) + log_scale
    return tokens, marginals, log_values


def _backward(operators: ChainOperators, observed: np.ndarray, active: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """beta of every token, each up to a positive factor."""
    n_steps = len(active)
    segments = np.flatnonzero(np.diff(operators.pair_state, prepend=-1))
    beta = np.empty((len(observed), len(operators.initial)))
    for t in range(n_steps - 1, -1, -1):
        going_on = active[t + 1] if t + 1 < n_steps else 0
        weights = np.empty((active[t], len(operators.pair_state)))
        weights[going_on:] = operators.final  # these sequences end here
        if going_on:
            weights[:going_on] = beta[rows[t + 1] : rows[t + 1] + going_on] @ operators.transition.T
        weights *= observed[rows[t] : rows[t + 1]]
        beta[rows[t] : rows[t + 1]], _ = _scaled(np.add.reduceat(weights, segments, axis=1))
    return beta


def _scaled(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows divided by their largest magnitude, and those magnitudes (1 for a row of zeros)."""
    scale = np.abs(vectors).max(axis=1)
    scale[scale == 0] = 1.0
    return vectors / scale[:, None], scale


@njit(cache=True, nogil=True)
def best_legal_path(
    offsets: np.ndarray, scores: np.ndarray, may_follow: np.ndarray, may_start: np.ndarray
) -> np.ndarray:
    """Labels of each sequence with the largest sum of scores such that every label may follow the one before.

    (n_sequences + 1,), (n_tokens, n_labels), (n_labels, n_labels) bool, (n_labels,) bool -> (n_tokens,) int32.
    If no legal label exists, any label is allowed in that step.
    """
    n_tokens, n_labels = scores.shape
    path = np.empty(n_tokens, np.int32)
    back = np.empty((n_tokens, n_labels), np.int32)
    best = np.empty(n_labels)
    following = np.empty(n_labels)
    for u in range(len(offsets) - 1):
        start, stop = offsets[u], offsets[u + 1]
        if start == stop:
            continue
        for b in range(n_labels):
            best[b] = scores[start, b] if may_start[b] else -np.inf
        if best.max() == -np.inf:
            for b in range(n_labels):
                best[b] = scores[start, b]
        for i in range(start + 1, stop):
            leader = np.argmax(best)
            for b in range(n_labels):
                before = -1
                for a in range(n_labels):
                    if may_follow[a, b] and best[a] > -np.inf and (before < 0 or best[a] > best[before]):
                        before = a
                back[i, b] = leader if before < 0 else before
                following[b] = -np.inf if before < 0 else best[before] + scores[i, b]
            if following.max() == -np.inf:
                for b in range(n_labels):
                    following[b] = best[leader] + scores[i, b]
            best, following = following, best
        path[stop - 1] = np.argmax(best)
        for i in range(stop - 1, start, -1):
            path[i - 1] = back[i, path[i]]
    return path


@njit(cache=True, nogil=True)
def k_best_paths(
    scores: np.ndarray, may_follow: np.ndarray, may_start: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` sequences of labels with the largest sums of scores, fewer if there are not so many.

    (n, l), -inf for what is ruled out, (l, l) bool, (l,) bool -> (m, n) int32 and their sums (m,), largest first.
    """
    n, n_labels = scores.shape
    best = np.full((n, n_labels, k), -np.inf)
    back = np.zeros((n, n_labels, k, 2), np.int32)
    for a in range(n_labels):
        if may_start[a]:
            best[0, a, 0] = scores[0, a]
    ends = np.full(k, -np.inf)
    last = np.zeros((k, 2), np.int32)
    for i in range(1, n + 1):
        for b in range(n_labels) if i < n else range(1):
            values, origins = (best[i, b], back[i, b]) if i < n else (ends, last)
            if i < n and scores[i, b] == -np.inf:
                continue
            for a in range(n_labels):
                if i < n and not may_follow[a, b]:
                    continue
                for rank in range(k):
                    value = best[i - 1, a, rank]
                    if not value > values[k - 1]:
                        break
                    at = k - 1
                    while at > 0 and values[at - 1] < value:
                        values[at] = values[at - 1]
                        origins[at] = origins[at - 1]
                        at -= 1
                    values[at] = value
                    origins[at, 0], origins[at, 1] = a, rank
            if i < n:
                values += scores[i, b]
    found = int((ends > -np.inf).sum())
    paths = np.zeros((found, n), np.int32)
    for r in range(found):
        label, rank = last[r]
        for i in range(n - 1, -1, -1):
            paths[r, i] = label
            label, rank = back[i, label, rank]
    return paths, ends[:found]
