"""Scores of models of strings: next-symbol error, perplexities, and the score of the PAutomaC competition."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from spectragram.errors import InputError
from spectragram.metrics.ratios import paired, percent

__all__ = ["next_symbol_error", "pautomac_scores", "perplexity", "string_scores"]


def next_symbol_error(
    strings: Iterable[Sequence[Hashable]], predicted: Iterable[Sequence[Hashable]], *, stop: Hashable
) -> float:
    """Percentage of wrong predictions of the next symbol, the WER of Balle et al. 2014, section 5.

    A string of length t makes t + 1 events: each symbol given the true prefix before it, and the end given
    all of it. All events of all strings weigh the same.

    Parameters
    ----------
    strings : iterable of sequences
    predicted : iterable of sequences, each one longer than its string
        Entry i is the prediction after the first i symbols.
    stop : what a prediction of the end looks like (anything that is no symbol)

    >>> next_symbol_error(["ab", ""], ["ac$", "a"], stop="$")
    50.0
    """
    n_wrong = n_events = 0
    for number, (string, guesses) in enumerate(paired(strings, predicted, "strings"), start=1):
        if len(guesses) != len(string) + 1:
            raise InputError(
                f"string {number}: {len(guesses)} predictions for {len(string)} symbols",
                remedy="predict one symbol after each prefix, the empty and the whole one included",
            )
        n_wrong += sum(a != b for a, b in zip(string, guesses, strict=False)) + (guesses[-1] != stop)
        n_events += len(guesses)
    return percent(n_wrong, n_events)


def perplexity(log_probs: ArrayLike, n_events: int | None = None) -> float:
    """``exp(-sum(log_probs) / n_events)``; events are the entries unless their number is given.

    ``log_probs`` are natural logarithms; minus infinity (probability zero) makes the perplexity infinite.
    """
    values = np.asarray(log_probs, np.float64).ravel()
    n = len(values) if n_events is None else n_events
    if not n:
        raise InputError("no log-probabilities to score", remedy="give at least one")
    if np.isnan(values).any() or (values == np.inf).any():
        first = int(np.flatnonzero(np.isnan(values) | (values == np.inf))[0])
        raise InputError(
            f"log-probability {first + 1} is {values[first]}", remedy="give natural logarithms below infinity"
        )
    with np.errstate(over="ignore"):
        return float(np.exp(-values.sum() / n))


def string_scores(log_probs: ArrayLike, lengths: ArrayLike) -> dict[str, float]:
    """Perplexities of a model of strings.

    Parameters
    ----------
    log_probs : shape (n_strings,), natural logarithm of the probability of each string
    lengths : shape (n_strings,), its number of symbols

    Returns
    -------
    dict
        ``perplexity_symbol`` (a string of length t is t + 1 events, its end being one),
        ``perplexity_string``, ``strings``.
    """
    values, n_symbols = np.asarray(log_probs, np.float64), np.asarray(lengths, np.int64)
    if values.shape != n_symbols.shape:
        raise InputError(f"{values.size} log-probabilities for {n_symbols.size} strings", remedy="give one for each")
    return {
        "perplexity_symbol": perplexity(values, int(n_symbols.sum()) + n_symbols.size),
        "perplexity_string": perplexity(values),
        "strings": n_symbols.size,
    }


def pautomac_scores(solution: ArrayLike, predicted: ArrayLike) -> dict[str, float]:
    """The competition's perplexity, both sides first renormalised over the test set, and its lower bound.

        score = 2 ^ -sum_x p(x) log2 q(x),   p = solution / its sum,   q = predicted / its sum

    Parameters
    ----------
    solution, predicted : shape (n_strings,)
        Probability of each test string under the true model and under the candidate, in the order of the test
        file, repeated strings included.

    Returns
    -------
    dict
        ``pautomac`` (infinite if a string the solution allows has no positive prediction), ``pautomac_bound``
        (what predicting the solution scores) and ``nonpositive``, the number of predictions at or below zero.
    """
    p, q = np.asarray(solution, np.float64), np.asarray(predicted, np.float64)
    if p.shape != q.shape:
        raise InputError(f"{q.size} predictions for {p.size} strings", remedy="give one for each")
    if not p.size:
        raise InputError("no strings to score", remedy="give at least one")
    for name, values in (("solution", p), ("prediction", q)):
        if not np.isfinite(values).all():
            first = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InputError(f"{name} {first + 1} is {values[first]}", remedy="give probabilities, not logarithms")
    if (p < 0).any() or not p.any():
        raise InputError("a solution with negative or only zero values", remedy="give the true probabilities")
    return {
        "pautomac": _cross_perplexity(p, q),
        "pautomac_bound": _cross_perplexity(p, p),
        "nonpositive": int((q <= 0).sum()),
    }


def _cross_perplexity(p: np.ndarray, q: np.ndarray) -> float:
    allowed = p > 0
    if (q[allowed] <= 0).any():
        return float("inf")
    # Predictions at or below zero carry no mass in the sum that normalises q.
    log_q = np.log2(q[allowed]) - np.log2(q[q > 0].sum())
    return float(2.0 ** -(p[allowed] / p.sum() * log_q).sum())
