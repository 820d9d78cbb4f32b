"""Weights of hashed features: where a feature lies in the table, the score of labels, steps of AdaGrad.

A feature is a 64-bit key. It is not looked up in a dictionary; its hash is its place in a table of 2^b weights. Two
features may share a place. With a few places for each feature that occurs this costs nothing that can be measured.

    score(i, a) = sum_t  w[place(key_t(i), a)]                        label a of item i, whatever the items are

Kernels that know the items (:mod:`spectragram.inference.pair_factors`: pairs of words) make the keys; the tables, and
how they are trained, are in :mod:`spectragram.learning.factors`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = [
    "MIX",
    "SMALLEST_STEP",
    "STIR",
    "VERSION",
    "Weights",
    "find_place",
    "label_scores",
    "step_labels",
    "step_weight",
    "table_shift",
]

VERSION = 1
"""Version of the hash functions, for model files. Raise it whenever a feature gets another place in the table."""
MIX = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, the usual multiplier for spreading bits (Knuth, volume 3, section 6.4)."""
STIR = np.uint64(0xC2B2AE3D27D4EB4F)
"""A second odd multiplier, one of the primes of xxHash; it keeps sums of keys from cancelling."""
SMALLEST_STEP = 1e-3
"""Gradients below this are not worth the memory traffic. Chosen by hand, not tuned."""


class Weights(NamedTuple):
    """Weights in training, all (2^b,) float32.

    table: the weights; squares: sums of squared gradients; summed: steps times the time they were made at, so that
    table - summed / now is the average over time.
    """

    table: np.ndarray
    squares: np.ndarray
    summed: np.ndarray


@njit(cache=True, nogil=True)
def table_shift(table: np.ndarray) -> np.uint64:
    """How far keys are shifted to the right to become places in a table of 2^b weights: 64 - b."""
    return np.uint64(64 - int(np.log2(len(table)) + 0.5))


@njit(cache=True, nogil=True, inline="always")
def find_place(key: np.uint64, shift: np.uint64) -> np.int64:
    """Where the feature with this key lies in a table of 2^(64 - shift) weights."""
    key = (key ^ (key >> np.uint64(32))) * MIX
    return np.int64(key >> shift)


@njit(cache=True, nogil=True)
def step_weight(
    table: np.ndarray, squares: np.ndarray, summed: np.ndarray, place: np.int64, g: float, rate: float, now: int
) -> None:
    """One step of AdaGrad on one weight, along its gradient g."""
    squares[place] += g * g
    step = rate * g / np.sqrt(squares[place])
    table[place] += step
    summed[place] += step * now


@njit(cache=True, nogil=True)
def label_scores(keys: np.ndarray, candidates: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Score of every candidate label of every item.

    keys (n, t) uint64, the features of each item; candidates (n, l) bool; table (2^b,) float32.
    Returns (n, l); -inf for labels that are not candidates.
    """
    n, n_labels = candidates.shape
    shift = table_shift(table)
    scores = np.full((n, n_labels), -np.inf)
    for i in range(n):
        for label in range(n_labels):
            if candidates[i, label]:
                total = 0.0
                for t in range(keys.shape[1]):
                    total += table[find_place((keys[i, t] ^ np.uint64(label + 1)) * STIR, shift)]
                scores[i, label] = total
    return scores


@njit(cache=True, nogil=True)
def step_labels(keys: np.ndarray, gradient: np.ndarray, weights: Weights, rate: float, now: int) -> None:
    """Climb along the gradient (n, l) of the scores of labels by AdaGrad, changing ``weights``; keys (n, t)."""
    table, squares, summed = weights
    n, n_labels = gradient.shape
    shift = table_shift(table)
    for i in range(n):
        for label in range(n_labels):
            g = gradient[i, label]
            if abs(g) > SMALLEST_STEP:
                for t in range(keys.shape[1]):
                    place = find_place((keys[i, t] ^ np.uint64(label + 1)) * STIR, shift)
                    step_weight(table, squares, summed, place, g, rate, now)
