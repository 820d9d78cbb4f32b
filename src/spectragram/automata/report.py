"""How an automaton was extracted from a function, and how well it agrees with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.automata.extraction import Extracted, random_strings
from spectragram.automata.model import Model
from spectragram.automata.oracles import NextOracle, Oracle, String
from spectragram.automata.repair import divergences, prefixes_of
from spectragram.automata.wfa import WFA

__all__ = ["Agreement", "Extraction", "report_on"]

LONGEST = 20
"""Random strings have up to this many symbols. Chosen by hand."""
SHOWN = 8
"""Singular values that the text shows. Chosen by hand to keep it on one line."""


@dataclass(frozen=True)
class Agreement:
    """How well an automaton agrees with a function on some strings.

    Attributes
    ----------
    n_strings : int
    largest : float
        Largest absolute difference of a value; of a next oracle, of a probability of what follows a prefix.
    relative : float
        Length of the vector of differences, divided by that of the vector of true values.
    divergence : float
        Of a next oracle: mean over all prefixes of the Kullback-Leibler divergence of the automaton's distribution of
        what follows from the oracle's, in bits; not a number for other functions.
    """

    n_strings: int
    largest: float
    relative: float
    divergence: float


@dataclass(frozen=True)
class Extraction:
    """The report of :meth:`spectragram.automata.Automaton.from_function`.

    Attributes
    ----------
    n_states, n_queries, n_prefixes, n_suffixes : int
        Size of the automaton, number of different strings that the function was asked for, size of the basis.
    singular_values : array
        Of the Hankel block on the basis, largest first. If they fall quickly, a small automaton is a good
        approximation.
    is_low_rank : bool
        Whether the automaton computes the function exactly as far as was seen: the rank stopped growing, no dimension
        was dropped, and random strings agreed.
    agreement : dict of str to Agreement
        On ``random`` strings, on strings drawn from the ``oracle`` (next oracles only), and on ``given`` strings. The
        queries that this took are not among ``n_queries``.
    """

    n_states: int
    n_queries: int
    n_prefixes: int
    n_suffixes: int
    singular_values: np.ndarray
    is_low_rank: bool
    agreement: dict[str, Agreement]

    def __str__(self) -> str:
        values = " ".join(f"{value:.3g}" for value in self.singular_values[:SHOWN])
        more = " ..." if len(self.singular_values) > SHOWN else ""
        verdict = "low rank, learned exactly" if self.is_low_rank else "approximated"
        lines = [
            f"{self.n_states} states from {self.n_queries} queries, {verdict}",
            f"basis {self.n_prefixes} x {self.n_suffixes}, singular values {values}{more}",
        ]
        for name, one in self.agreement.items():
            bits = "" if math.isnan(one.divergence) else f", divergence {one.divergence:.2g} bits a symbol"
            lines.append(
                f"{one.n_strings} {name} strings: largest error {one.largest:.2g}, relative {one.relative:.2g}{bits}"
            )
        return "\n".join(lines)


def report_on(
    model: Model, oracle: Oracle, extracted: Extracted, given: Sequence[String], n: int, seed: int
) -> Extraction:
    """Compare a model with the oracle that it was learned from, on ``n`` strings of each kind and on given ones."""
    rng = np.random.default_rng(seed)
    n_queries = oracle.n_queries
    oracle.max_queries = 2**62  # what was paid for learning is counted above
    compared = {"random": random_strings(n, model.n_symbols, LONGEST, rng), "given": list(given)}
    if isinstance(oracle, NextOracle):
        compared["oracle"] = oracle.draw(n, rng)
    return Extraction(
        extracted.wfa.n_states,
        n_queries,
        len(extracted.basis[0]),
        len(extracted.basis[1]),
        extracted.singular_values,
        extracted.is_exact,
        {
            name: _next_agreement(model, oracle, strings)
            if isinstance(oracle, NextOracle)
            else _value_agreement(extracted.wfa, oracle, strings)
            for name, strings in compared.items()
            if strings
        },
    )


def _value_agreement(wfa: WFA, oracle: Oracle, strings: Sequence[String]) -> Agreement:
    return _agreement(len(strings), oracle.values(strings), wfa.values(strings), math.nan)


def _next_agreement(model: Model, oracle: Oracle, strings: list[String]) -> Agreement:
    tree, paths = prefixes_of(strings)
    true, found = oracle.rows(paths), model.predict(tree)[0]
    return _agreement(len(strings), true, found, float(divergences(true, found) @ tree.through / tree.through.sum()))


def _agreement(n: int, true: np.ndarray, found: np.ndarray, divergence: float) -> Agreement:
    gap = np.abs(true - found)
    size = float(np.linalg.norm(true)) or 1.0
    return Agreement(n, float(gap.max(initial=0.0)), float(np.linalg.norm(gap)) / size, divergence)
