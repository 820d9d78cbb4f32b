"""Scores of models of strings: next-symbol error, perplexity and the score of the PAutomaC competition."""

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
    """Percentage of wrong predictions of the next symbol, the WER of Balle et al. (2014), section 5.

    A string of length t has t + 1 events: each symbol given the true prefix before it, and the end given the whole
    string. All events of all strings have the same weight.

    Parameters
    ----------
    strings : iterable of sequences
    predicted : iterable of sequences
        Each sequence is one longer than its string; entry i is the prediction after the first i symbols.
    stop : hashable
        The value that predicts the end; it must not be a symbol.

    >>> next_symbol_error(["ab", ""], ["ac$", "a"], stop="$")
    50.0
    """
    n_wrong = n_events = 0
    for number, (string, guesses) in enumerate(paired(strings, predicted, "strings"), start=1):
        if len(guesses) != len(string) + 1:
            raise InputError(
                f"string {number} has {len(guesses)} predictions for {len(string)} symbols",
                remedy="predict one symbol after each prefix, including the empty prefix and the whole string",
            )
        n_wrong += sum(a != b for a, b in zip(string, guesses, strict=False)) + (guesses[-1] != stop)
        n_events += len(guesses)
    return percent(n_wrong, n_events)


def perplexity(log_probs: ArrayLike, n_events: int | None = None) -> float:
    """``exp(-sum(log_probs) / n_events)``, where ``n_events`` is the number of entries unless it is given.

    ``log_probs`` are natural logarithms. If one of them is minus infinity (probability zero), the perplexity is
    infinite.
    """
    values = np.asarray(log_probs, np.float64).ravel()
    n = len(values) if n_events is None else n_events
    if not n:
        raise InputError("there are no log-probabilities to score", remedy="give at least one")
    if np.isnan(values).any() or (values == np.inf).any():
        first = int(np.flatnonzero(np.isnan(values) | (values == np.inf))[0])
        raise InputError(
            f"log-probability {first + 1} is {values[first]}", remedy="give natural logarithms of probabilities"
        )
    with np.errstate(over="ignore"):
        return float(np.exp(-values.sum() / n))


def string_scores(log_probs: ArrayLike, lengths: ArrayLike) -> dict[str, float]:
    """Perplexities of a model of strings.

    Parameters
    ----------
    log_probs : array, shape (n_strings,)
        Natural logarithm of the probability of each string.
    lengths : int array, shape (n_strings,)
        Number of symbols in each string.

    Returns
    -------
    dict
        ``perplexity_symbol`` (a string of length t has t + 1 events, its symbols and its end), ``perplexity_string``
        and ``strings``.
    """
    values, n_symbols = np.asarray(log_probs, np.float64), np.asarray(lengths, np.int64)
    if values.shape != n_symbols.shape:
        raise InputError(
            f"there are {values.size} log-probabilities for {n_symbols.size} strings", remedy="give one for each string"
        )
    return {
        "perplexity_symbol": perplexity(values, int(n_symbols.sum()) + n_symbols.size),
        "perplexity_string": perplexity(values),
        "strings": n_symbols.size,
    }


def pautomac_scores(solution: ArrayLike, predicted: ArrayLike) -> dict[str, float]:
    """The perplexity of the PAutomaC competition and its lower bound; both sides are normalised over the test set.

        score = 2 ^ -sum_x p(x) log2 q(x),   p = solution / its sum,   q = predicted / its sum

    Parameters
    ----------
    solution, predicted : arrays, shape (n_strings,)
        Probability of each test string under the true model and under the candidate, in the order of the test file,
        including repeated strings.

    Returns
    -------
    dict
        ``pautomac`` (infinite if a string that is possible under the solution has no positive prediction),
        ``pautomac_bound`` (the score of the solution itself) and ``nonpositive``, the number of predictions that are
        zero or negative.
    """
    p, q = np.asarray(solution, np.float64), np.asarray(predicted, np.float64)
    if p.shape != q.shape:
        raise InputError(f"there are {q.size} predictions for {p.size} strings", remedy="give one for each string")
    if not p.size:
        raise InputError("there are no strings to score", remedy="give at least one")
    for name, values in (("solution", p), ("prediction", q)):
        if not np.isfinite(values).all():
            first = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InputError(f"{name} {first + 1} is {values[first]}", remedy="give probabilities, not logarithms")
    if (p < 0).any() or not p.any():
        raise InputError(
            "the solution has negative values or only zeros", remedy="give the probabilities under the true model"
        )
    return {
        "pautomac": _cross_perplexity(p, q),
        "pautomac_bound": _cross_perplexity(p, p),
        "nonpositive": int((q <= 0).sum()),
    }


def _cross_perplexity(p: np.ndarray, q: np.ndarray) -> float:
    allowed = p > 0
    if (q[allowed] <= 0).any():
        return float("inf")
    # Predictions that are zero or negative are left out of the sum that normalises q.
    log_q = np.log2(q[allowed]) - np.log2(q[q > 0].sum())
    return float(2.0 ** -(p[allowed] / p.sum() * log_q).sum())
