"""One temperature for the probabilities of a model, fitted on held-out data (Guo et al. 2017).

q(a)  proportional to  p(a) ** (1 / T)        T > 1 makes a model less sure, T < 1 surer; the order stays

What may or may not be so, such as a bracket, has two answers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["COLDEST", "HOTTEST", "fit_temperature", "tempered", "tempered_odds"]

TEMPERATURES = (1.0, *np.geomspace(0.5, 4.0, 43).tolist())
"""Those that are tried, 1 first: steps of 5 %, which change a probability by 0.02 at most."""

COLDEST, HOTTEST = 0.1, 10.0
"""What a model file may hold: beyond it all answers are alike, or all but certain."""

SMALLEST = 1e-300
"""A guard against division by zero; any tiny value does."""


def tempered(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Distributions (n, k) at another temperature, (n, k).

    >>> tempered(np.array([[0.9, 0.1]]), 2.0).round(2).tolist()
    [[0.75, 0.25]]
    """
    if temperature == 1.0:
        return probabilities
    powers = probabilities ** (1.0 / temperature)
    return powers / np.maximum(powers.sum(axis=1, keepdims=True), SMALLEST)


def tempered_odds(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities of yes, of any shape, at another temperature; those of no are the rest.

    >>> tempered_odds(np.array([0.0, 0.1, 0.9, 1.0]), 2.0).round(9).tolist()
    [0.0, 0.25, 0.75, 1.0]
    """
    if temperature == 1.0:
        return probabilities
    yes = np.clip(probabilities, 0.0, 1.0)
    power = yes ** (1.0 / temperature)
    return power / (power + (1.0 - yes) ** (1.0 / temperature))


def fit_temperature(
    probabilities: np.ndarray, gold: np.ndarray, error: Callable[[np.ndarray, np.ndarray], float]
) -> float:
    """The temperature at which the best answers of distributions (n, k) are calibrated best; 1 where all are alike.

    Parameters
    ----------
    probabilities : array, shape (n, k)
    gold : int array, shape (n,)
        The right answers.
    error : callable
        Calibration error from the probabilities of the best answers (n,) and whether they are right, bool (n,). The
        likelihood would follow the few answers that are badly wrong.
    """
    right = probabilities.argmax(axis=1) == gold
    return min(TEMPERATURES, key=lambda t: error(tempered(probabilities, t).max(axis=1, initial=0.0), right))
