"""Marginals of labels in a refinement HMM whose labels and pairs of labels have log-linear factors.

    p(a, h | x)  ~  pi(a_1,h_1)  prod_i o(x_i|a_i,h_i) exp s(i,a_i)
                    prod_i t(a_{i+1},h_{i+1}|a_i,h_i) exp w(a_i,a_{i+1})  f(*|a_N,h_N)

Most labels are impossible at most tokens. Unlike :mod:`spectragram.inference.labelled_chain`, which multiplies whole
matrices for many sequences at once, this goes through one sequence at a time and visits the states of possible labels
only: with c of l labels possible, a token costs (c/l)^2 of that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.token_factors import label_pair_scores, token_places, token_scores

__all__ = ["Chain", "Tokens", "factored_marginals", "label_sequences"]


class Chain(NamedTuple):
    """A refinement HMM without its emissions.

    initial (S,); transition (S, S) and its transpose; final (S,); starts (l + 1,): where the states of labels begin.
    """

    initial: np.ndarray
    transition: np.ndarray
    transposed: np.ndarray
    final: np.ndarray
    starts: np.ndarray


class Tokens(NamedTuple):
    """All that the model sees of the tokens of a corpus.

    types (n,) int: columns (c, n_types) int64 holds in column ``types[i]`` what the templates of factors see of token
    i; rows (n,) int: vectors (n_rows, S) holds in row ``rows[i]`` o(x_i|a,h), and possible (n_rows, l) bool the labels
    that the token may have, at least one.
    """

    types: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    vectors: np.ndarray
    possible: np.ndarray


@njit(cache=True, nogil=True)
def label_sequences(
    chain: Chain,
    tokens: Tokens,
    atoms: np.ndarray,
    table: np.ndarray,
    offsets: np.ndarray,
    first: int,
    stop: int,
    allowed: np.ndarray,
    marginals: np.ndarray,
    log_sums: np.ndarray,
) -> None:
    """Write p(a_i = a | x) of the sequences first .. stop - 1 into ``marginals`` (n_tokens, l).

    The logarithms of the sums over all labels and states go into ``log_sums`` (n_sequences,). atoms (t, a, 2) int64 are
    the templates, table (2^b,) float32 their weights; offsets (n_sequences + 1,) int64; allowed (n_tokens, l) bool: the
    labels that each token may have, or (0, l) if nothing is known about any. A token of which no allowed label is
    possible may have any of those that are allowed.
    """
    types, columns, rows, vectors, possible = tokens
    n_labels = possible.shape[1]
    pairs = np.exp(label_pair_scores(n_labels, table))
    for u in range(first, stop):
        begin, end = offsets[u], offsets[u + 1]
        if begin == end:
            continue
        own = np.empty((end - begin, n_labels), np.bool_)
        for i in range(begin, end):
            some = False
            for l in range(n_labels):
                own[i - begin, l] = possible[rows[i], l] and (len(allowed) == 0 or allowed[i, l])
                some |= own[i - begin, l]
            if len(allowed) and not some:
                for l in range(n_labels):
                    own[i - begin, l] = allowed[i, l]
        scores = token_scores(token_places(columns, types[begin:end], atoms, len(table)), own, table)
        found, _, log_sums[u] = factored_marginals(chain, vectors, rows[begin:end], scores, pairs)
        for i in range(begin, end):
            for l in range(n_labels):
                marginals[i, l] = found[i - begin, l]


@njit(cache=True, nogil=True)
def factored_marginals(
    chain: Chain, vectors: np.ndarray, rows: np.ndarray, scores: np.ndarray, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Marginals of one sequence of n tokens.

    vectors (n_rows, S) and rows (n,): o(x_i|a,h) is ``vectors[rows[i]]``; scores (n, l), -inf for labels that are
    impossible, with at least one possible label in each row; pairs (l, l): exp w.

    Returns p(a_i = a | x) of shape (n, l), the expected number of each pair of neighbouring labels (l, l), and the
    logarithm of the sum over all labels and states. If that sum is zero, all of them are zeros and the logarithm -inf.
    """
    initial, transition, transposed, final, starts = chain
    n, n_labels = scores.shape
    labels, n_possible = _possible_labels(scores)
    potentials = np.zeros((n, len(initial)))
    log_sum = 0.0
    for i in range(n):
        top = -np.inf
        for a in range(n_labels):
            top = max(top, scores[i, a])
        log_sum += top
        for k in range(n_possible[i]):
            a = labels[i, k]
            factor = np.exp(scores[i, a] - top)
            for s in range(starts[a], starts[a + 1]):
                potentials[i, s] = vectors[rows[i], s] * factor
    alpha, log_scale = _forward(potentials, labels, n_possible, pairs, initial, transition, starts)
    marginals, expected = np.zeros((n, n_labels)), np.zeros((n_labels, n_labels))
    total = _backward(potentials, alpha, labels, n_possible, pairs, transposed, final, starts, marginals, expected)
    if not total > 0.0 or not np.isfinite(log_scale):
        return np.zeros((n, n_labels)), np.zeros((n_labels, n_labels)), -np.inf
    return marginals, expected, log_sum + log_scale + np.log(total)


@njit(cache=True, nogil=True)
def _possible_labels(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The possible labels of each token, in the first columns of (n, l), and their number (n,)."""
    n, n_labels = scores.shape
    labels, n_possible = np.empty((n, n_labels), np.int64), np.zeros(n, np.int64)
    for i in range(n):
        for a in range(n_labels):
            if scores[i, a] > -np.inf:
                labels[i, n_possible[i]] = a
                n_possible[i] += 1
    return labels, n_possible


@njit(cache=True, nogil=True)
def _forward(
    potentials: np.ndarray,
    labels: np.ndarray,
    n_possible: np.ndarray,
    pairs: np.ndarray,
    initial: np.ndarray,
    transition: np.ndarray,
    starts: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Forward weights (n, S), the token's own potential included, with rows that sum to one; and the log of scales."""
    n, n_states = potentials.shape
    alpha = np.zeros((n, n_states))
    log_scale = 0.0
    for i in range(n):
        total = 0.0
        for l in range(n_possible[i]):
            b = labels[i, l]
            reached = alpha[i, starts[b] : starts[b + 1]]
            if i == 0:
                for j in range(len(reached)):
                    reached[j] = initial[starts[b] + j]
            else:
                for k in range(n_possible[i - 1]):
                    a = labels[i - 1, k]
                    for s in range(starts[a], starts[a + 1]):
                        weight = alpha[i - 1, s] * pairs[a, b]
                        row = transition[s, starts[b] : starts[b + 1]]
                        for j in range(len(reached)):
                            reached[j] += weight * row[j]
            own = potentials[i, starts[b] : starts[b + 1]]
            for j in range(len(reached)):
                reached[j] *= own[j]
                total += reached[j]
        log_scale += np.log(total)
        if total > 0.0:
            for l in range(n_possible[i]):
                for s in range(starts[labels[i, l]], starts[labels[i, l] + 1]):
                    alpha[i, s] /= total
    return alpha, log_scale


@njit(cache=True, nogil=True)
def _backward(
    potentials: np.ndarray,
    alpha: np.ndarray,
    labels: np.ndarray,
    n_possible: np.ndarray,
    pairs: np.ndarray,
    transposed: np.ndarray,
    final: np.ndarray,
    starts: np.ndarray,
    marginals: np.ndarray,
    expected: np.ndarray,
) -> float:
    """Fill in ``marginals`` (n, l), add to ``expected`` (l, l), and return the sum of alpha * final at the end."""
    n, n_labels = marginals.shape
    beta = final.copy()  # of the token behind; only the states of its possible labels count
    before = np.zeros_like(beta)
    mass = np.zeros((n_labels, n_labels))
    message = np.zeros(len(beta))
    last = 0.0
    for k in range(n_possible[n - 1]):
        a = labels[n - 1, k]
        for s in range(starts[a], starts[a + 1]):
            marginals[n - 1, a] += alpha[n - 1, s] * final[s]
        last += marginals[n - 1, a]
    if not last > 0.0:
        return 0.0
    for a in range(n_labels):
        marginals[n - 1, a] /= last
    for i in range(n - 1, 0, -1):
        total, largest = 0.0, 0.0
        for k in range(n_possible[i - 1]):
            a = labels[i - 1, k]
            size = starts[a + 1] - starts[a]
            forward = alpha[i - 1, starts[a] : starts[a + 1]]
            reached = before[starts[a] : starts[a + 1]]
            reached[:] = 0.0
            for l in range(n_possible[i]):
                b = labels[i, l]
                message[:size] = 0.0
                for s in range(starts[b], starts[b + 1]):
                    weight = beta[s] * potentials[i, s] * pairs[a, b]
                    row = transposed[s, starts[a] : starts[a + 1]]
                    for j in range(size):
                        message[j] += weight * row[j]
                mass[a, b] = 0.0
                for j in range(size):
                    reached[j] += message[j]
                    mass[a, b] += forward[j] * message[j]
                total += mass[a, b]
            for j in range(size):
                largest = max(largest, reached[j])
        if not total > 0.0:
            return 0.0
        for k in range(n_possible[i - 1]):
            a = labels[i - 1, k]
            for l in range(n_possible[i]):
                share = mass[a, labels[i, l]] / total
                expected[a, labels[i, l]] += share
                marginals[i - 1, a] += share
            for s in range(starts[a], starts[a + 1]):
                beta[s] = before[s] / largest
    return last
