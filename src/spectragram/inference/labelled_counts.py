"""Expected counts of a refinement HMM whose labels are known: the E-step of its EM algorithm.

The label of every token is observed, so only the states of that label compete: m^2 operations a token, whatever
the number of labels.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["expected_counts"]


@njit(cache=True, nogil=True)
def expected_counts(  # type: ignore[no-untyped-def]
    offsets, first, stop, labels, emissions, initial, transition, final, label_starts, posteriors
):
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
        Filled with p(h_i | a, x); columns past the label's states stay as they are.

    Returns
    -------
    counts : float64 (S, S)
        Expected number of moves between states.
    log_likelihood : float
    """
    n_states = len(initial)
    counts = np.zeros((n_states, n_states))
    longest = 1
    for u in range(first, stop):
        longest = max(longest, offsets[u + 1] - offsets[u])
    m = emissions.shape[1]
    alpha = np.zeros((longest, m))
    beta = np.zeros(m)
    ahead = np.zeros(m)
    log_likelihood = 0.0
    for u in range(first, stop):
        begin, length = offsets[u], offsets[u + 1] - offsets[u]
        for i in range(length):
            b = labels[begin + i]
            low, size = label_starts[b], label_starts[b + 1] - label_starts[b]
            if i == 0:
                for k in range(size):
                    alpha[0, k] = initial[low + k]
            else:
                a = labels[begin + i - 1]
                alpha[i, :size] = 0.0
                for h in range(label_starts[a + 1] - label_starts[a]):
                    share = alpha[i - 1, h]
                    for k in range(size):
                        alpha[i, k] += share * transition[label_starts[a] + h, low + k]
            total = 0.0
            for k in range(size):
                alpha[i, k] *= emissions[begin + i, k]
                total += alpha[i, k]
            for k in range(size):
                alpha[i, k] /= total
            log_likelihood += np.log(total)
        last = labels[begin + length - 1] if length else 0
        total = 0.0
        for h in range(label_starts[last + 1] - label_starts[last] if length else 0):
            beta[h] = final[label_starts[last] + h]
            total += alpha[length - 1, h] * beta[h]
        if length:
            log_likelihood += np.log(total)
        for i in range(length - 1, -1, -1):
            a = labels[begin + i]
            low, size = label_starts[a], label_starts[a + 1] - label_starts[a]
            if i < length - 1:
                # beta^i_h = sum_k t(b,k|a,h) o(x_{i+1}|b,k) beta^{i+1}_k; alpha . beta is the scale of the pair counts.
                b = labels[begin + i + 1]
                low_b, size_b = label_starts[b], label_starts[b + 1] - label_starts[b]
                for k in range(size_b):
                    ahead[k] = emissions[begin + i + 1, k] * beta[k]
                total = 0.0
                for h in range(size):
                    value = 0.0
                    for k in range(size_b):
                        value += transition[low + h, low_b + k] * ahead[k]
                    beta[h] = value
                    total += alpha[i, h] * value
                for h in range(size):
                    share = alpha[i, h] / total
                    for k in range(size_b):
                        counts[low + h, low_b + k] += share * transition[low + h, low_b + k] * ahead[k]
            for h in range(size):
                beta[h] /= total
                posteriors[begin + i, h] = alpha[i, h] * beta[h]
    return counts, log_likelihood
