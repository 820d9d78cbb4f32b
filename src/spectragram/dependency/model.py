"""What parses: automata and factors of one or several members, and how they become arrays of a model file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from spectragram.dependency.factors import Factors
from spectragram.dependency.grammar import Grammar
from spectragram.inference.headed import inside_outside
from spectragram.inference.pair_factors import pair_scores

__all__ = ["Chart", "Member", "average", "grammar_from_arrays", "grammar_to_arrays", "sentence_chart"]

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Chart:
    """Result of inside-outside on a sentence: sign and logarithm of Z, marginals (n,), (2, n, n), (2, n, n)."""

    sign: float
    log_z: float
    roots: np.ndarray
    arcs: np.ndarray
    stops: np.ndarray

    def head_distributions(self) -> np.ndarray:
        """P(head) of each word, (n, n + 1), column 0 for the root; negative marginals are set to zero."""
        n = len(self.roots)
        found = np.zeros((n, n + 1))
        found[:, 0] = self.roots
        heads, words = np.nonzero(~np.eye(n, dtype=bool))
        found[words, heads + 1] = self.arcs[(words > heads).astype(int), heads, np.abs(words - heads)]
        found = np.maximum(found, 0.0)
        return found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)


def sentence_chart(grammar: Grammar, columns: np.ndarray, arc_scores: np.ndarray, stop_scores: np.ndarray) -> Chart:
    """Run the chart on a sentence with columns (3, n) and log-factors (2, n, n)."""
    tags = columns[0]
    found = inside_outside(
        tags, np.log(grammar.root[tags]), grammar.initial, grammar.operators, grammar.final, arc_scores, stop_scores
    )
    return Chart(*found)


def average(charts: Sequence[Chart]) -> Chart:
    """Mean marginals of several models, and the mean of log Z."""
    if len(charts) == 1:
        return charts[0]
    return Chart(
        1.0,
        float(np.mean([chart.log_z for chart in charts])),
        np.mean([chart.roots for chart in charts], axis=0),
        np.mean([chart.arcs for chart in charts], axis=0),
        np.mean([chart.stops for chart in charts], axis=0),
    )


@dataclass(frozen=True)
class Member:
    """Head automata and, if there are any, the factors that were fitted to them."""

    grammar: Grammar
    factors: Factors | None

    def chart(self, columns: np.ndarray, fallback: Grammar) -> tuple[Chart, bool]:
        """Marginals of one sentence with columns (3, n), and whether ``fallback`` had to take over."""
        n = columns.shape[1]
        arcs, stops = np.zeros((2, 2, n, n))
        if self.factors is not None:
            arcs = pair_scores(self.factors.arc_templates.pairs(columns), self.factors.arc_weights)
            stops = pair_scores(self.factors.stop_templates.pairs(columns), self.factors.stop_weights)
        chart = sentence_chart(self.grammar, columns, arcs, stops)
        if chart.sign > 0:
            return chart, False
        return sentence_chart(fallback, columns, arcs, stops), True

    def to_arrays(self, name: str) -> Arrays:
        """Arrays by names that begin with ``name``."""
        arrays = grammar_to_arrays(self.grammar, f"{name}.grammar")
        if self.factors is not None:
            arrays |= {
                f"{name}.arc_weights": self.factors.arc_weights,
                f"{name}.stop_weights": self.factors.stop_weights,
            }
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, name: str, *, factors: bool, words: bool) -> Member:
        """Inverse of :meth:`to_arrays`."""
        grammar = grammar_from_arrays(arrays, f"{name}.grammar")
        if not factors:
            return cls(grammar, None)
        empty = Factors.empty(words=words, bits=1)
        weights = arrays[f"{name}.arc_weights"], arrays[f"{name}.stop_weights"]
        return cls(grammar, Factors(empty.arc_templates, empty.stop_templates, *weights))


def grammar_to_arrays(grammar: Grammar, name: str) -> Arrays:
    """Root, initial, operators and final weights by names that begin with ``name``."""
    return {f"{name}.{part}": array for part, array in asdict(grammar).items()}


def grammar_from_arrays(arrays: Arrays, name: str) -> Grammar:
    """Inverse of :func:`grammar_to_arrays`."""
    return Grammar(*(arrays[f"{name}.{part}"] for part in ("root", "initial", "operators", "final")))
