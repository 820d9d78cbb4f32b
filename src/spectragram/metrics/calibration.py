"""Whether probabilities mean what they say: of the choices made with probability 0.8, four fifths should be right."""

from __future__ import annotations

import numpy as np

from spectragram.errors import InputError

__all__ = ["calibration_error"]

BINS = 15
"""Intervals of probability, as in Guo et al. (2017)."""


def calibration_error(probabilities: np.ndarray, right: np.ndarray) -> float:
    """Expected calibration error, from 0 to 1.

    Choices are sorted into 15 equal intervals of probability. The error is the distance between the share that is right
    and the mean probability in an interval, averaged over all choices.

    Parameters
    ----------
    probabilities : array, shape (n,)
        What the model gives to its choices. Those that are not a number are left out: estimates that are not
        probabilities may sum to nothing that could be normalised.
    right : bool array, shape (n,)
        Whether each is right.

    Returns
    -------
    float
        0 if there are no choices.

    >>> round(calibration_error(np.array([0.9, 0.9, 0.6, 0.6]), np.array([True, True, True, False])), 3)
    0.1
    """
    chosen = np.clip(np.asarray(probabilities, np.float64), 0.0, 1.0)
    correct = np.asarray(right, bool)
    if chosen.shape != correct.shape or chosen.ndim != 1:
        raise InputError(
            f"probabilities of shape {chosen.shape} and answers of shape {correct.shape}",
            remedy="give one of each for every choice",
        )
    known = ~np.isnan(chosen)
    chosen, correct = chosen[known], correct[known]
    bins = np.minimum((chosen * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, correct - chosen, minlength=BINS)
    return float(np.abs(gaps).sum() / max(len(chosen), 1))
