"""Functions on strings that are asked in batches, remember their answers, and count them.

A *value* oracle gives a number for a string. A *next* oracle gives the distribution of what follows a string: k + 1
probabilities, the end last. From these the probability of a prefix is a product,

    f_p(x_1 ... x_T) = prod_i p(x_i | x_1 ... x_{i-1})

so the answers for all prefixes of a string give T (k + 1) numbers for T queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from spectragram.data.symbols import spell
from spectragram.errors import InputError, RankError

__all__ = ["NextOracle", "Oracle", "ValueOracle", "oracle_of"]

String = tuple[int, ...]
Asked = Callable[[list[String]], np.ndarray]
LONGEST = 200
"""Strings drawn from an oracle are cut after this many symbols. Chosen by hand, so that an oracle that never ends a
string does not use up its queries."""
SUM_TOLERANCE = 1e-3
"""How far the probabilities of a next oracle may sum from 1. Chosen by hand: networks in half precision pass."""


class Oracle:
    """Answers (a row of numbers for each string), never asked for twice."""

    def __init__(self, function: Asked, width: int, max_queries: int, spelled: Callable[[String], str]) -> None:
        self.function, self.width, self.max_queries, self.spelled = function, width, max_queries, spelled
        self.answers: dict[String, np.ndarray] = {}

    @property
    def n_queries(self) -> int:
        """Number of different strings that were asked for."""
        return len(self.answers)

    def rows(self, strings: Sequence[String]) -> np.ndarray:
        """The answers for strings, shape (n_strings, width); new ones are asked for in one call."""
        new = [string for string in dict.fromkeys(strings) if string not in self.answers]
        if len(self.answers) + len(new) > self.max_queries:
            raise RankError(
                f"{self.max_queries} queries are not enough: allow more (max_queries), a larger tolerance if the "
                "function is noisy, or ask for an approximation (n_states)"
            )
        if new:
            found = np.asarray(self.function(new), np.float64)
            enough = found.size == len(new) * self.width
            if not enough or found.shape[:1] != (len(new),):
                what = f"an array of shape {found.shape}" if enough else f"{found.size} numbers"
                raise InputError(
                    f"the function returned {what} for {len(new)} strings",
                    remedy=f"it must return {self.width} for each string",
                )
            found = found.reshape(len(new), self.width)
            wrong = ~np.isfinite(found).all(axis=1)
            if wrong.any():
                first = int(wrong.argmax())
                raise InputError(
                    f"the function returned {found[first].min()} for {self.spelled(new[first])!r}",
                    remedy="it must return finite numbers for every string",
                )
            self.answers.update(zip(new, found, strict=True))
        return np.array([self.answers[string] for string in strings]).reshape(len(strings), self.width)

    def values(self, strings: Sequence[String]) -> np.ndarray:
        """The function whose automaton is learned, shape (n_strings,)."""
        raise NotImplementedError


class ValueOracle(Oracle):
    """An oracle that gives the value of a string."""

    def values(self, strings: Sequence[String]) -> np.ndarray:
        """The value of each string, shape (n_strings,)."""
        return self.rows(strings)[:, 0]


class NextOracle(Oracle):
    """An oracle that gives the distribution of what follows a string."""

    def rows(self, strings: Sequence[String]) -> np.ndarray:
        """The distributions, shape (n_strings, k + 1), the end last."""
        found = super().rows(strings)
        wrong = (found.min(axis=1, initial=0.0) < 0) | (np.abs(found.sum(axis=1) - 1.0) > SUM_TOLERANCE)
        if wrong.any():
            string = self.spelled(strings[int(wrong.argmax())])
            raise InputError(
                f"the probabilities of what follows {string!r} are not a distribution",
                remedy="return a probability for every symbol and, last, for the end; they sum to 1",
            )
        return found / found.sum(axis=1, keepdims=True)

    def values(self, strings: Sequence[String]) -> np.ndarray:
        """The probability that a string begins with each of these, shape (n_strings,)."""
        needed = list(dict.fromkeys(string[:i] for string in strings for i in range(len(string))))
        chances = dict(zip(needed, self.rows(needed), strict=True)) if needed else {}
        return np.array(
            [
                np.prod([chances[string[:i]][symbol] for i, symbol in enumerate(string)], initial=1.0)
                for string in strings
            ]
        )

    def draw(self, n: int, rng: np.random.Generator, max_length: int = LONGEST) -> list[String]:
        """Strings drawn from the oracle, symbol by symbol."""
        strings: list[String] = [()] * n
        active = list(range(n))
        while active:
            chances = self.rows([strings[i] for i in active]).cumsum(axis=1)
            drawn = (rng.random(len(active))[:, None] >= chances[:, :-1]).sum(axis=1)
            going_on = [(i, int(s)) for i, s in zip(active, drawn, strict=True) if s < self.width - 1]
            for i, symbol in going_on:
                strings[i] = (*strings[i], symbol)
            active = [i for i, _ in going_on if len(strings[i]) < max_length]
        return strings


def oracle_of(
    function: Callable[..., Any], words: Sequence[Any], kind: str, *, batched: bool, max_queries: int
) -> Oracle:
    """An oracle over the numbers of symbols from a function of tuples of symbols, or of lists of such tuples."""
    if not words:
        raise InputError("an empty alphabet", remedy="give at least one symbol")

    def asked(strings: list[String]) -> np.ndarray:
        spelled = [tuple(words[symbol] for symbol in string) for string in strings]
        answers = function(spelled) if batched else [function(string) for string in spelled]
        try:
            return np.asarray(answers, np.float64)
        except (TypeError, ValueError) as trouble:
            raise InputError(
                f"the function returned what is not an array of numbers ({trouble})",
                remedy="it must return as many numbers for every string",
            ) from None

    def spelled(string: String) -> str:
        return " ".join(spell(words[symbol]) for symbol in string)

    if kind == "next":
        return NextOracle(asked, len(words) + 1, max_queries, spelled)
    return ValueOracle(asked, 1, max_queries, spelled)
