"""How far two distributions over strings are apart: exactly where that is possible, otherwise with an error.

    KL(p || q) = sum_x p(x) log(p(x) / q(x)) = -H(p) - sum_x p(x) log q(x)

The sum of p log q over all strings is exact if q is deterministic: log q(x) is then a sum over the moves that x takes,
and the expected number of visits V(i, j) of each pair of states solves the equation of
:mod:`spectragram.automata.stein`. The entropy H(p) is the same with q = p. If only one of the two is exact, the whole
is an average over strings drawn from p, corrected by how far the exact one is off on those strings.

The L1 distance sum_x |p(x) - q(x)| is the mean of |p - q| / ((p + q) / 2), which lies between 0 and 2, over strings
drawn from (p + q) / 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spectragram.automata.stein import sum_of_products
from spectragram.automata.wfa import WFA

__all__ = ["Estimate", "cross_entropy", "is_deterministic", "sampled_l1", "sampled_mean"]

DEVIATIONS = 1.96
"""Half the width of a 95 % interval of the normal distribution, in standard deviations."""
CONFIDENCE = 0.95
"""Of the bound on the L1 distance; the usual choice."""


@dataclass(frozen=True)
class Estimate:
    """A number, and how far the truth may be away.

    Attributes
    ----------
    value : float
    error : float
        0 if the value is exact. For an average over drawn strings, half the width of its 95 % interval; of the L1
        distance, a bound that holds with a probability of at least 95 % whatever the distributions (Hoeffding).
    n_strings : int
        How many strings were drawn; 0 if the value is exact.
    """

    value: float
    error: float = 0.0
    n_strings: int = 0

    def __float__(self) -> float:
        return self.value


def is_deterministic(wfa: WFA) -> bool:
    """Whether one state has an initial weight and at most one move with each symbol leaves each state."""
    return bool(np.count_nonzero(wfa.initial) == 1 and ((wfa.operators != 0).sum(axis=2) <= 1).all())


def cross_entropy(p: WFA, q: WFA) -> float:
    """-sum_x p(x) log q(x) for probabilistic automata, of which q is deterministic.

    Exact, in memory for m_p times m_q numbers; infinite if q rules out a string that p allows.
    """
    walks = (q.operators > 0).astype(np.float64)
    visits = sum_of_products(p.initial, p.operators, (q.initial > 0).astype(np.float64), walks, converges=True)
    events = visits.T @ np.column_stack([p.operators.sum(axis=2).T, p.final])  # (m_q, k + 1)
    chances = np.column_stack([q.operators.sum(axis=2).T, q.final])
    happens = events > 0
    if (happens & (chances <= 0)).any():
        return math.inf
    surprisal = -np.log(np.where(happens, chances, 1.0))
    return float((events * surprisal).sum() - math.log(float(q.initial.sum())))


def sampled_mean(values: np.ndarray, control: np.ndarray | None = None, expected: float = 0.0) -> Estimate:
    """The mean of values (n,) of independent draws, with its 95 % interval; infinite if one of them is.

    Where the mean ``expected`` of another quantity (n,) of the same draws is known, what that one is off by is used to
    correct the estimate (a control variate).
    """
    if not np.isfinite(values).all():
        return Estimate(math.inf, 0.0, len(values))
    if control is not None and math.isfinite(expected) and control.std() > 0:
        share = float(np.cov(values, control)[0, 1] / control.var(ddof=1))
        values = values - share * (control - expected)
    spread = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return Estimate(float(values.mean()), DEVIATIONS * spread, len(values))


def sampled_l1(log_p: np.ndarray, log_q: np.ndarray) -> Estimate:
    """The L1 distance from the log-probabilities (n,) of strings, half of them drawn from p and half from q."""
    larger, smaller = np.maximum(log_p, log_q), np.minimum(log_p, log_q)
    with np.errstate(invalid="ignore"):
        ratio = np.exp(np.where(np.isfinite(smaller), smaller - larger, -np.inf))
    values = 2.0 * (1.0 - ratio) / (1.0 + ratio)
    # Hoeffding: values are independent and between 0 and 2.
    bound = 2.0 * math.sqrt(math.log(2.0 / (1.0 - CONFIDENCE)) / (2.0 * len(values)))
    return Estimate(float(values.mean()), bound, len(values))
