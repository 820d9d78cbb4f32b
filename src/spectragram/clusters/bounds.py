"""Appendix C of Stratos et al. (2014): how well Omega is estimated from i.i.d. pairs of words.

    N >= c kappa_m(Omega)^2 log(n / delta) max(n_1, n_2, 1 / u_min, 1 / v_min) / eps^2
    then  ||Omega^ - Omega|| / sigma_m(Omega) <= eps  with probability 1 - delta

    n_1   max over x of  sum_x' P(x, x') / (P(x) P(x'))     n_2 the same with x and x' exchanged

The constant c is an absolute one that the paper does not compute.
"""

from __future__ import annotations

import numpy as np

__all__ = ["omega_error_bound", "pairs_needed"]


def _factor(B: np.ndarray, n_states: int, delta: float) -> float:
    u, v = B.sum(axis=1), B.sum(axis=0)
    lifts = B / np.outer(u, v)
    sigma = np.linalg.svd(B / np.sqrt(np.outer(u, v)), compute_uv=False)
    widest = max(lifts.sum(axis=1).max(), lifts.sum(axis=0).max(), 1.0 / u.min(), 1.0 / v.min())
    return float((sigma[0] / sigma[n_states - 1]) ** 2 * np.log(len(B) / delta) * widest)


def pairs_needed(B: np.ndarray, n_states: int, *, epsilon: float, delta: float = 0.05, constant: float = 1.0) -> float:
    """N for pairs of words with probabilities B, (n, n), of a model with ``n_states`` clusters."""
    return constant * _factor(B, n_states, delta) / epsilon**2


def omega_error_bound(
    B: np.ndarray, n_states: int, n_pairs: float, *, delta: float = 0.05, constant: float = 1.0
) -> float:
    """epsilon after so many pairs."""
    return float(np.sqrt(constant * _factor(B, n_states, delta) / n_pairs))
