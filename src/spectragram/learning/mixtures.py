"""Weights of a linear mixture of fixed models, fitted to held-out data by EM.

    p(x) = sum_k w_k p_k(x)

The log-likelihood is concave in w, so EM finds the one optimum. Each example's likelihoods may be scaled by a common
factor, which cancels in the posterior of the models; that keeps likelihoods of long strings from underflowing.

    held_out_weights    one set of weights, from log-likelihoods
    bucket_weights      a set for each bucket of examples, drawn towards the overall weights
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["bucket_weights", "held_out_weights"]

ITERATIONS = 100
"""EM iterations for one set of weights. Chosen by hand, not tuned: EM slows down near the optimum, where little is left
to gain."""
BUCKET_ITERATIONS = 50
"""EM iterations for the weights of buckets. Chosen by hand, not tuned; pseudo-counts make EM converge faster."""
SMALLEST = 1e-300
"""A guard against division by zero; any tiny value does."""


def held_out_weights(
    log_probs: Sequence[np.ndarray], start: Sequence[float] | None = None, iterations: int = ITERATIONS
) -> np.ndarray:
    """Weights (k,) of k models that make held-out strings most probable.

    Parameters
    ----------
    log_probs : k arrays of shape (n,)
        Log-probability of every string under each model. Strings that are impossible under all models are left out.
    start : k numbers, optional
        Where EM begins, in proportion; by default all models have the same weight.
    iterations : int
        Steps of EM. Few of them leave some weight where it was at the start.

    >>> held_out_weights([np.log([0.5, 0.5]), np.log([0.1, 0.1])]).round(3).tolist()
    [1.0, 0.0]
    """
    joint = np.stack(log_probs, axis=1)
    joint = joint[np.isfinite(joint).any(axis=1)]
    n, k = joint.shape
    weights = np.full(k, 1.0 / k) if start is None else np.asarray(start) / np.sum(start)
    if n == 0:
        return weights
    likelihoods = np.exp(joint - joint.max(axis=1, keepdims=True))
    for _ in range(iterations):
        weights = _posteriors(likelihoods, weights).mean(axis=0)
    return weights / weights.sum()


def bucket_weights(probs: np.ndarray, buckets: np.ndarray, n_buckets: int, pseudo_counts: float) -> np.ndarray:
    """Weights (n_buckets, k) that make held-out examples most probable.

    Parameters
    ----------
    probs : array, shape (n, k)
        Probability of every example under each model.
    buckets : int array, shape (n,)
        The bucket of every example, 0 .. n_buckets - 1.
    n_buckets : int
    pseudo_counts : float
        Number of examples that the overall weights count as in each bucket, so that a bucket with few examples keeps
        close to them. A bucket without examples gets the overall weights.
    """
    n, k = probs.shape
    weights = np.full((n_buckets, k), 1.0 / k)
    if n == 0:
        return weights
    for _ in range(BUCKET_ITERATIONS):
        posteriors = _posteriors(probs, weights[buckets])
        overall = posteriors.mean(axis=0)
        totals = np.stack([np.bincount(buckets, column, n_buckets) for column in posteriors.T], axis=1)
        totals += pseudo_counts * overall
        size = totals.sum(axis=1, keepdims=True)
        weights = np.where(size > 0, totals / np.maximum(size, SMALLEST), overall)
    return weights


def _posteriors(likelihoods: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The E-step: probability of each model given each example, (n, k); the weights are (k,) or (n, k)."""
    joint = likelihoods * weights
    return joint / np.maximum(joint.sum(axis=1, keepdims=True), SMALLEST)
