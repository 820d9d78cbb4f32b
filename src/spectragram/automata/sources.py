"""Models that are not learned from strings: of automata that were built or read, and of functions that are asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np

from spectragram.automata.extraction import Search, basis_of, extract, typical_strings
from spectragram.automata.held_out import known_only
from spectragram.automata.model import Model, Weighted
from spectragram.automata.oracles import NextOracle, oracle_of
from spectragram.automata.repair import repaired
from spectragram.automata.report import Extraction, report_on
from spectragram.automata.wfa import WFA, Statistic
from spectragram.data.corpus import Vocabulary
from spectragram.data.inputs import Strings, as_strings
from spectragram.data.symbols import Symbol, plain_symbol
from spectragram.errors import InputError
from spectragram.estimator import RUN_TIME, Estimator

__all__ = ["FromElsewhere"]


class FromElsewhere(Estimator):
    """Constructors of :class:`~spectragram.automata.Automaton`."""

    model_: Model
    extraction_: Extraction
    """How the automaton was extracted from a function."""

    if TYPE_CHECKING:

        def __init__(self, n_states: int | None = None, *, random_state: int = 0) -> None: ...

    @classmethod
    def from_wfa(cls, wfa: WFA, alphabet: Sequence[Symbol] | None = None) -> Self:
        """The model of a weighted automaton, which was built, computed or read from a file.

        ``alphabet`` names the symbols of the operators in order; by default they are the numbers 0, 1, ...
        """
        vocabulary = Vocabulary(list(range(wfa.n_symbols) if alphabet is None else map(plain_symbol, alphabet)))
        if len(vocabulary) != wfa.n_symbols:
            raise InputError(
                f"{len(vocabulary)} symbols for an automaton over {wfa.n_symbols}", remedy="name each symbol once"
            )
        model = Model((Weighted.of_function(wfa),), np.ones(1), vocabulary, 0.0, np.zeros(0))
        return cls(wfa.n_states)._given(model, {"learner": "given"})

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        alphabet: Sequence[Symbol],
        *,
        n_states: int | None = None,
        oracle: str = "value",
        batched: bool = False,
        statistic: Statistic = "string",
        basis: int | Mapping[str, Any] | None = None,
        strings: Strings | None = None,
        weighting: str | None = None,
        tolerance: float = 1e-8,
        max_queries: int = 100_000,
        min_length: int = 2,
        compared: int = 200,
        random_state: int = 0,
    ) -> Self:
        """Learn the automaton of any function on strings (a network, a language model, a simulator) by calling it.

        ``extraction_`` of the result reports its size, the number of queries, the singular values and how well it
        agrees with the function. Values are given by :meth:`value`; probabilities need a function whose sum over all
        strings converges, or a next oracle.

        Parameters
        ----------
        function : callable
            Takes a tuple of symbols and returns a finite number; of a next oracle, k + 1 probabilities: of every symbol
            of the alphabet, in order, and of the end.
        alphabet : sequence of hashable symbols
        n_states : int, optional
            Most states of the automaton; by default it has as many as the function needs. If that is not enough for a
            next oracle, averages over recent pasts are mixed in (:mod:`spectragram.automata.repair`).
        oracle : {"value", "next"}
            What the function gives.
        batched : bool
            Whether the function takes a list of tuples and returns as many numbers, or rows of numbers.
        statistic : {"string", "prefix", "substring"}
            What a value is: the weight of a string, of all strings with that prefix, or the expected number of
            occurrences of a substring. A next oracle needs none.
        basis : int or dict, optional
            By default prefixes and suffixes are found by growing them where they add to the rank and where random
            strings show errors. A number: that many of the most frequent ones in ``strings``, or in strings drawn from
            a next oracle. A dictionary: your own ``prefixes`` and ``suffixes``.
        strings : strings, optional
            Typical strings, for the basis and for the report.
        weighting : {"relative", "frequency", "absolute"}, optional
            How rows and columns of the Hankel block are scaled: to the same length, so that improbable strings count as
            much as probable ones; by the square roots of their totals, so that frequent strings count more; not at all.
            The default is ``frequency`` for a next oracle with a number as ``basis``, otherwise ``relative``.
        tolerance : float
            Singular values below this share of the largest are treated as noise. The default is for functions that are
            exact up to rounding.
        max_queries : int
            If this many queries are not enough, a RankError is raised, or with ``n_states`` an approximation is made of
            those that were.
        min_length : int
            All prefixes and suffixes up to this length are looked at first, as long as there are at most 64 of them.
        compared : int
            How many random strings, and how many from a next oracle, the report compares; 0 if queries are expensive.
        random_state : int
            Seed of the strings that are drawn.
        """
        if weighting is None:
            weighting = "frequency" if oracle == "next" and isinstance(basis, int) else "relative"
        for name, value, choices in (
            ("oracle", oracle, ("value", "next")),
            ("statistic", statistic, get_args(Statistic)),
            ("weighting", weighting, ("relative", "frequency", "absolute")),
        ):
            cls._choose(name, value, choices)
        model = cls(n_states, random_state=random_state)
        model._check_whole("n_states")
        model._check_whole("random_state", 0, or_else=())
        vocabulary = Vocabulary(list(map(plain_symbol, alphabet)))
        asked = oracle_of(function, vocabulary.words, oracle, batched=batched, max_queries=max_queries)
        given = [] if strings is None else [tuple(x.tolist()) for x in known_only(as_strings(strings, vocabulary))]
        search = Search(n_states, tolerance, min_length, weighting, random_state)
        drawn = [] if n_states is basis is None else typical_strings(asked, random_state)
        found = extract(asked, len(vocabulary), search, basis_of(basis, given or drawn, vocabulary))
        part = Weighted.of_function(found.wfa, "prefix" if oracle == "next" else statistic)
        if isinstance(asked, NextOracle) and drawn and not found.is_exact:
            part = repaired(part, asked, drawn)
        learned = Model((part,), np.ones(1), vocabulary, 0.0, found.singular_values)
        model.extraction_ = report_on(learned, asked, found, given, compared, random_state)
        return model._given(learned, {"learner": "function", "queries": model.extraction_.n_queries})

    def _given(self, model: Model, facts: dict[str, Any]) -> Self:
        """This estimator with a model that was not learned from strings."""
        self.model_ = model
        states = {"states": sum(part.n_states for part in model.parts), "types": model.n_symbols}
        self.summary_ = {"learner": facts["learner"], **states, **facts}
        self.fitted_params_ = {name: value for name, value in self.get_params().items() if name not in RUN_TIME}
        return self
