"""What every score shares: percentages, F1, and walking gold and prediction side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

from spectragram.errors import InputError

__all__ = ["f1", "paired", "paired_tokens", "percent"]

Gold = TypeVar("Gold")
Predicted = TypeVar("Predicted")


def percent(part: float, whole: float) -> float:
    """``100 * part / whole``; nothing out of nothing is 0, as EVALB and conlleval print it."""
    return 100.0 * part / whole if whole else 0.0


def f1(precision: float, recall: float) -> float:
    """Harmonic mean, on the scale of its arguments."""
    total = precision + recall
    return 2.0 * precision * recall / total if total else 0.0


def paired(gold: Iterable[Gold], predicted: Iterable[Predicted], what: str) -> Iterator[tuple[Gold, Predicted]]:
    """Walk both together; a different number of items, or none at all, is an :class:`InputError`."""
    missing = object()
    n_pairs = 0
    for a, b in zip_longest(gold, predicted, fillvalue=missing):
        if a is missing or b is missing:
            short, long = ("gold", "predicted") if a is missing else ("predicted", "gold")
            raise InputError(
                f"{n_pairs} {short} {what}, but more {long} ones",
                remedy="give one prediction for each gold item, in the same order",
            )
        n_pairs += 1
        yield a, b  # type: ignore[misc]
    if not n_pairs:
        raise InputError(f"no {what} to score", remedy="give at least one")


def paired_tokens(
    gold: Iterable[Sequence[Gold]], predicted: Iterable[Sequence[Predicted]], what: str
) -> Iterator[list[tuple[Gold, Predicted]]]:
    """Sentence by sentence, the pairs of tokens; ``what`` names the predicted things in the error."""
    for number, (a, b) in enumerate(paired(gold, predicted, "sentences"), start=1):
        if len(a) != len(b):
            raise InputError(
                f"sentence {number}: {len(b)} {what} for {len(a)} tokens",
                remedy="give one for each token",
            )
        yield list(zip(a, b, strict=True))
