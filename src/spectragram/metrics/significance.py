"""Whether one system is better than another on the same data, or was lucky."""

from __future__ import annotations

import numpy as np

from spectragram.errors import InputError

__all__ = ["paired_randomization"]

TRIALS = 10_000
"""Random assignments of signs: enough to tell p = 0.01 from 0.013."""
TRIALS_AT_A_TIME = 256
"""A bound on memory; results do not depend on it."""


def paired_randomization(
    first: np.ndarray, second: np.ndarray, *, n_trials: int = TRIALS, random_state: int = 0
) -> float:
    """Two-sided p-value of the difference between two systems by random exchange of their answers.

    If the systems were equally good, each unit (a sentence, an utterance) could as well have got the other's answer, so
    differences have random signs. p is the share of such assignments whose sum is at least as far from zero as the one
    that was seen.

    Parameters
    ----------
    first, second : arrays, shape (n,)
        Scores of both systems on each unit, such as numbers of right tokens. Units should be independent of each other;
        neighbouring frames or words are not, sentences nearly are.
    n_trials, random_state : int

    >>> paired_randomization(np.array([5, 7, 6, 8, 7, 9, 6, 8]), np.array([4, 5, 5, 6, 6, 7, 5, 7])) < 0.02
    True
    """
    difference = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    if difference.ndim != 1 or not len(difference):
        raise InputError(f"scores of shape {difference.shape}", remedy="give one score of each system for every unit")
    rng = np.random.default_rng(random_state)
    seen, at_least = abs(float(difference.sum())), 0
    for start in range(0, n_trials, TRIALS_AT_A_TIME):
        signs = rng.choice([-1.0, 1.0], (min(TRIALS_AT_A_TIME, n_trials - start), len(difference)))
        at_least += int((np.abs(signs @ difference) >= seen * (1.0 - 1e-12)).sum())  # up to rounding
    return (at_least + 1) / (n_trials + 1)
