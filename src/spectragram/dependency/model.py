"""What parses: an alphabet, the automata and factors of one or several members, relations; and their model file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectragram.dependency.encoding import Alphabet
from spectragram.dependency.factors import Factors, Templates
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.labels import Labels
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.headed import inside_outside
from spectragram.inference.headed_decode import best_heads
from spectragram.inference.pair_factors import pair_scores

__all__ = ["Chart", "Member", "Model", "average", "sentence_chart"]

Arrays = dict[str, np.ndarray]
FLOOR = 1e-30
"""Marginals below this, negative ones included, count as this when trees are chosen by the sum of logarithms."""
ROUNDING = 1e-9
"""Marginals above minus this are zero up to rounding, not negative."""


@dataclass(frozen=True)
class Chart:
    """Result of inside-outside on a sentence: sign and logarithm of Z, marginals (n,), (2, n, n), (2, n, n)."""

    sign: float
    log_z: float
    roots: np.ndarray
    arcs: np.ndarray
    stops: np.ndarray

    @property
    def n_negative(self) -> int:
        """Negative marginals of roots and arcs."""
        return int((self.roots < -ROUNDING).sum() + (self.arcs < -ROUNDING).sum())

    def best_heads(self) -> np.ndarray:
        """The minimum-risk tree: the highest sum of log-marginals (equation 2), (n,) int32."""
        return best_heads(np.log(np.maximum(self.roots, FLOOR)), np.log(np.maximum(self.arcs, FLOOR)))

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

    def to_arrays(self) -> Arrays:
        """Arrays by name."""
        arrays = prefixed("grammar", vars(self.grammar))
        if self.factors is not None:
            arrays |= {"arc_weights": self.factors.arc_weights, "stop_weights": self.factors.stop_weights}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, *, factors: bool, words: bool) -> Member:
        """Inverse of :meth:`to_arrays`."""
        grammar = Grammar(**without_prefix("grammar", arrays))
        if not factors:
            return cls(grammar, None)
        empty = Factors.empty(words=words, bits=1)
        weights = arrays["arc_weights"], arrays["stop_weights"]
        return cls(grammar, Factors(empty.arc_templates, empty.stop_templates, *weights))


@dataclass(frozen=True)
class Model:
    """A trained parser.

    Attributes
    ----------
    members : marginals of their charts are averaged
    fallback : DET+F automata, for sentences of which a member's estimates sum to nothing positive
    sequences : the modifier sequences of training, which pictures of automata need
    """

    alphabet: Alphabet
    members: tuple[Member, ...]
    fallback: Grammar
    labels: Labels
    sequences: ModifierSequences

    def __post_init__(self) -> None:
        k = len(self.alphabet.tags)
        for grammar in (self.fallback, *(member.grammar for member in self.members)):
            if grammar.n_symbols != k:
                raise ValueError(f"automata of {grammar.n_symbols} symbols for {k} tags")
        if self.labels.candidates.shape[:3] != (2, len(self.alphabet.coarse), k):
            raise ValueError(f"candidates of shape {self.labels.candidates.shape} for {k} tags")

    def chart(self, columns: np.ndarray) -> tuple[Chart, bool]:
        """Marginals of one sentence with columns (3, n), and whether the fallback had to take over for a member."""
        charts, fell_back = zip(*(member.chart(columns, self.fallback) for member in self.members), strict=True)
        return average(charts), any(fell_back)

    def to_state(self) -> State:
        """Plain values and arrays, for model files."""
        alphabet, alphabet_arrays = self.alphabet.to_state()
        arrays: Arrays = prefixed("alphabet", alphabet_arrays)
        arrays |= prefixed("fallback", vars(self.fallback)) | prefixed("sequences", vars(self.sequences))
        for number, member in enumerate(self.members):
            arrays |= prefixed(str(number), member.to_arrays())
        arrays |= {"label_weights": self.labels.weights, "label_candidates": self.labels.candidates}
        values = {
            "alphabet": alphabet,
            "labels": list(self.labels.names),
            "root_label": self.labels.root,
            "n_members": len(self.members),
        }
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Arrays, *, factors: bool, words: bool) -> Model:
        """Inverse of :meth:`to_state`; whether there are factors and words are parameters of the parser."""
        members = tuple(
            Member.from_arrays(without_prefix(str(number), arrays), factors=factors, words=words)
            for number in range(values["n_members"])
        )
        labels = Labels(
            tuple(values["labels"]),
            values["root_label"],
            arrays["label_candidates"],
            Templates.for_labels(words=words),
            arrays["label_weights"],
        )
        return cls(
            Alphabet.from_state(values["alphabet"], without_prefix("alphabet", arrays)),
            members,
            Grammar(**without_prefix("fallback", arrays)),
            labels,
            ModifierSequences(**without_prefix("sequences", arrays)),
        )
