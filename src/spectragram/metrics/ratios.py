"""Helpers shared by all scores: percentages, F1, rates, and iteration over pairs of gold and prediction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

from spectragram.errors import InputError

__all__ = ["f1", "paired", "paired_tokens", "per_second", "percent"]

SHORTEST = 1e-9
"""A guard against division by zero where a clock shows no time; any tiny value does."""

Gold = TypeVar("Gold")
Predicted = TypeVar("Predicted")


def percent(part: float, whole: float) -> float:
    """``100 * part / whole``, or 0 if ``whole`` is 0, as EVALB and conlleval print it."""
    return 100.0 * part / whole if whole else 0.0


def per_second(n: int, seconds: float) -> float:
    """Items per second, rounded to one digit: the speed that every ``evaluate`` reports.

    >>> per_second(50, 0.3)
    166.7
    """
    return round(n / max(seconds, SHORTEST), 1)


def f1(precision: float, recall: float) -> float:
    """The harmonic mean of precision and recall, on the same scale, or 0 if both are 0."""
    total = precision + recall
    return 2.0 * precision * recall / total if total else 0.0


def paired(gold: Iterable[Gold], predicted: Iterable[Predicted], what: str) -> Iterator[tuple[Gold, Predicted]]:
    """Yield pairs of items; raise :class:`InputError` if the numbers of items differ or there are none."""
    missing = object()
    n_pairs = 0
    for a, b in zip_longest(gold, predicted, fillvalue=missing):
        if a is missing or b is missing:
            short, long = ("gold", "predicted") if a is missing else ("predicted", "gold")
            raise InputError(
                f"there are {n_pairs} {short} {what} but more {long} ones",
                remedy="give one prediction for each gold item, in the same order",
            )
        n_pairs += 1
        yield a, b  # type: ignore[misc]
    if not n_pairs:
        raise InputError(f"there are no {what} to score", remedy="give at least one")


def paired_tokens(
    gold: Iterable[Sequence[Gold]], predicted: Iterable[Sequence[Predicted]], what: str
) -> Iterator[list[tuple[Gold, Predicted]]]:
    """Yield the pairs of tokens of each sentence; ``what`` names the predicted items in error messages."""
    for number, (a, b) in enumerate(paired(gold, predicted, "sentences"), start=1):
        if len(a) != len(b):
            raise InputError(
                f"sentence {number} has {len(b)} {what} for {len(a)} tokens",
                remedy="give one for each token",
            )
        yield list(zip(a, b, strict=True))
