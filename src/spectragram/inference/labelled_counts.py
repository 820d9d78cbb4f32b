"""Expected counts of a refinement HMM whose labels are known: the E-step of its EM algorithm.

The label of every token is observed, so only the states of that label compete: a token takes m^2 operations for any
number of labels.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["expected_counts"]


@njit(cache=True, nogil=True)
def expected_counts(
    offsets: np.ndarray,
    first: int,
    stop: int,
    labels: np.ndarray,
    emissions: np.ndarray,
    initial: np.ndarray,
    transition: np.ndarray,
    final: np.ndarray,
    label_starts: np.ndarray,
    posteriors: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Posteriors of the hidden states and expected transitions of sequences ``first`` to ``stop``.

    Parameters
    ----------
    offsets : int64 (n_sequences + 1,)
    labels : int32 (n_tokens,)
    emissions : float64 (n_tokens, m)
        o(x_i | a_i, h) for the states h of the token's own label, up to a factor per token.
    initial, final : float64 (S,);  transition : float64 (S, S)
        pi(a,h), f(*|a,h), t(b,k|a,h); label a owns states ``label_starts[a]:label_starts[a + 1]``.
    posteriors : float64 (n_tokens, m)
        Filled with p(h_i | a, x); columns beyond the states of the label are not changed.

    Returns
    -------
    counts : float64 (S, S)
        Expected number of moves between states.
    log_likelihood : float
    """
    longest = 1
    for u in range(first, stop):
        longest = max(longest, offsets[u + 1] - offsets[u])
    alpha = np.zeros((longest, emissions.shape[1]))
    counts = np.zeros(transition.shape)
    log_likelihood = 0.0
    for u in range(first, stop):
        begin, end = offsets[u], offsets[u + 1]
        if begin < end:
            chain, seen = labels[begin:end], emissions[begin:end]
            log_likelihood += _forward(chain, seen, initial, transition, final, label_starts, alpha)
            _backward(chain, seen, transition, final, label_starts, alpha, counts, posteriors[begin:end])
    return counts, log_likelihood


@njit(cache=True, nogil=True)
def _forward(
    labels: np.ndarray,
    emissions: np.ndarray,
    initial: np.ndarray,
    transition: np.ndarray,
    final: np.ndarray,
    label_starts: np.ndarray,
    alpha: np.ndarray,
) -> float:
    """alpha^i_h = p(h_i | a_1..a_i, x_1..x_i), each row a distribution; returns log p(a, x)."""
    log_likelihood = 0.0
    for i in range(len(labels)):
        low, size = label_starts[labels[i]], label_starts[labels[i] + 1] - label_starts[labels[i]]
        if i == 0:
            for k in range(size):
                alpha[0, k] = initial[low + k]
        else:
            low_before, high_before = label_starts[labels[i - 1]], label_starts[labels[i - 1] + 1]
            alpha[i, :size] = 0.0
            for h in range(high_before - low_before):
                share = alpha[i - 1, h]
                for k in range(size):
                    alpha[i, k] += share * transition[low_before + h, low + k]
        total = 0.0
        for k in range(size):
            alpha[i, k] *= emissions[i, k]
            total += alpha[i, k]
        for k in range(size):
            alpha[i, k] /= total
        log_likelihood += np.log(total)
    stopping = 0.0
    last = labels[len(labels) - 1]
    for h in range(label_starts[last + 1] - label_starts[last]):
        stopping += alpha[len(labels) - 1, h] * final[label_starts[last] + h]
    return log_likelihood + np.log(stopping)


@njit(cache=True, nogil=True)
def _backward(
    labels: np.ndarray,
    emissions: np.ndarray,
    transition: np.ndarray,
    final: np.ndarray,
    label_starts: np.ndarray,
    alpha: np.ndarray,
    counts: np.ndarray,
    posteriors: np.ndarray,
) -> None:
    """Adds the expected moves to ``counts`` and fills ``posteriors`` of one sequence."""
    beta = np.zeros(emissions.shape[1])
    ahead = np.zeros(emissions.shape[1])
    for i in range(len(labels) - 1, -1, -1):
        low, size = label_starts[labels[i]], label_starts[labels[i] + 1] - label_starts[labels[i]]
        low_after, size_after = low, 0
        if i < len(labels) - 1:
            low_after = label_starts[labels[i + 1]]
            size_after = label_starts[labels[i + 1] + 1] - low_after
            for k in range(size_after):
                ahead[k] = emissions[i + 1, k] * beta[k]
        # beta^i_h = sum_k t(b,k|a,h) o(x_{i+1}|b,k) beta^{i+1}_k; alpha . beta is the scale of the pair counts.
        total = 0.0
        for h in range(size):
            value = final[low + h] if size_after == 0 else 0.0
            for k in range(size_after):
                value += transition[low + h, low_after + k] * ahead[k]
            beta[h] = value
            total += alpha[i, h] * value
        for h in range(size):
            share = alpha[i, h] / total
            for k in range(size_after):
                counts[low + h, low_after + k] += share * transition[low + h, low_after + k] * ahead[k]
            beta[h] /= total
            posteriors[i, h] = alpha[i, h] * beta[h]
