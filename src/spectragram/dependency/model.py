"""A trained parser: an alphabet, the automata and factors of its members, relations; and its state in model files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spectragram.dependency.crossing import restored
from spectragram.dependency.encoding import Alphabet, Encoded
from spectragram.dependency.factors import Factors
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.labels import Labels
from spectragram.engine import map_threads
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.headed import best_heads, inside_outside

__all__ = ["Chart", "Member", "Model", "Parse", "average", "parse_all"]

FLOOR = 1e-30
"""Smaller marginals, negative ones included, count as this when trees are chosen by the sum of logarithms.

A guard against the logarithm of zero; any tiny value does.
"""
ROUNDING = 1e-9
"""Marginals above minus this are zero up to rounding, not negative."""
SMALLEST = 1e-300
"""A guard against division by zero; any tiny value does."""
SENTENCES_PER_PART = 32
"""Sentences that a thread parses at a time: many parts, since lengths differ. Chosen by hand, not tuned."""


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
        """Number of negative marginals of roots and arcs."""
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
        return found / np.maximum(found.sum(axis=1, keepdims=True), SMALLEST)


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
        """Marginals of one sentence with columns (n_rows, n), and whether ``fallback`` had to take over."""
        n = columns.shape[1]
        scores = (np.zeros((2, n, n)), np.zeros((2, n, n))) if self.factors is None else self.factors.scores(columns)
        chart = _run_chart(self.grammar, columns, *scores)
        return (chart, False) if chart.sign > 0 else (_run_chart(fallback, columns, *scores), True)

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values, arrays = (None, {}) if self.factors is None else self.factors.to_state()
        return {"factors": values}, prefixed("grammar", vars(self.grammar)) | prefixed("factors", arrays)

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        grammar = Grammar(**without_prefix("grammar", arrays))
        if values["factors"] is None:
            return cls(grammar, None)
        return cls(grammar, Factors.from_state(values["factors"], without_prefix("factors", arrays)))


def _run_chart(grammar: Grammar, columns: np.ndarray, arc_scores: np.ndarray, stop_scores: np.ndarray) -> Chart:
    """Inside-outside on a sentence with columns (n_rows, n) and log-factors (2, n, n)."""
    tags = columns[0]
    found = inside_outside(
        tags, np.log(grammar.root[tags]), grammar.initial, grammar.operators, grammar.final, arc_scores, stop_scores
    )
    return Chart(*found)


def parse_all(
    members: Sequence[Member], fallback: Grammar, encoded: Encoded, n_jobs: int = 1
) -> list[tuple[Chart, bool]]:
    """For every sentence the averaged marginals of the members, and whether the fallback took over for one of them."""

    def parse_some(numbers: np.ndarray) -> list[tuple[Chart, bool]]:
        found = []
        for number in numbers:
            columns = encoded.columns(number)
            charts, fell_back = zip(*(member.chart(columns, fallback) for member in members), strict=True)
            found.append((average(charts), any(fell_back)))
        return found

    return [one for part in map_threads(parse_some, _parts(len(encoded)), n_jobs) for one in part]


def _parts(n_sentences: int) -> list[np.ndarray]:
    return np.array_split(np.arange(n_sentences), max(1, n_sentences // SENTENCES_PER_PART))


@dataclass(frozen=True)
class Parse:
    """Heads, (n,) int32, and relations of a sentence; and what there is to say about how they were found."""

    heads: np.ndarray
    relations: list[str]
    n_negative: int
    n_restored: int
    fell_back: bool


@dataclass(frozen=True)
class Model:
    """All that parsing needs.

    Attributes
    ----------
    alphabet : Alphabet
    members : tuple of Member
        The marginals of their charts are averaged.
    fallback : Grammar
        DET+F automata, for sentences whose estimates by a member do not sum to anything positive.
    labels : Labels
        Relations.
    crossings : Labels or None
        Marks of lifted words, from which crossing arcs are restored; None for a parser of projective trees.
    sequences : ModifierSequences
        The modifier sequences of training, which pictures of automata need.
    """

    alphabet: Alphabet
    members: tuple[Member, ...]
    fallback: Grammar
    labels: Labels
    crossings: Labels | None
    sequences: ModifierSequences

    def __post_init__(self) -> None:
        k = len(self.alphabet.tags)
        if not self.members:
            raise ValueError("a parser without automata")
        for grammar in (self.fallback, *(member.grammar for member in self.members)):
            if grammar.n_symbols != k:
                raise ValueError(f"automata of {grammar.n_symbols} symbols for {k} tags")
        for labels in (self.labels, self.crossings):
            if labels is not None and len(labels.candidates) != k:
                raise ValueError(f"candidates of shape {labels.candidates.shape} for {k} tags")
        if self.sequences.n_symbols != k or len(self.sequences.blocks) != 2 * k + 1:
            raise ValueError(f"modifier sequences of {self.sequences.n_symbols} symbols for {k} tags")

    def parse(self, encoded: Encoded, n_jobs: int = 1) -> list[tuple[Chart, bool]]:
        """The marginals of every sentence, and whether the fallback took over for a member."""
        return parse_all(self.members, self.fallback, encoded, n_jobs)

    def trees(self, encoded: Encoded, n_jobs: int = 1) -> list[Parse]:
        """Heads and relations of every sentence."""

        def parse_some(numbers: np.ndarray) -> list[Parse]:
            return [self._tree(encoded.columns(number)) for number in numbers]

        return [one for part in map_threads(parse_some, _parts(len(encoded)), n_jobs) for one in part]

    def _tree(self, columns: np.ndarray) -> Parse:
        """Heads and relations of a sentence with columns (n_rows, n)."""
        charts, fell_back = zip(*(member.chart(columns, self.fallback) for member in self.members), strict=True)
        chart = average(charts)
        heads = chart.best_heads()
        projective = heads.astype(np.int64)
        relations = self.labels.predict(columns, projective)
        n_restored = 0
        if self.crossings is not None:
            heads, n_restored = restored(heads, relations, self.crossings.predict(columns, projective))
        return Parse(heads, relations, chart.n_negative, n_restored, any(fell_back))

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values: dict[str, Any] = {"crossings": None}
        arrays = prefixed("fallback", vars(self.fallback)) | prefixed("sequences", vars(self.sequences))
        for name in ("alphabet", "labels", "crossings"):
            part = getattr(self, name)
            if part is None:
                continue
            values[name], part_arrays = part.to_state()
            arrays |= prefixed(name, part_arrays)
        states = [member.to_state() for member in self.members]
        for number, (_, member_arrays) in enumerate(states):
            arrays |= prefixed(f"member{number}", member_arrays)
        return values | {"members": [member_values for member_values, _ in states]}, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        crossings = values["crossings"]
        return cls(
            Alphabet.from_state(values["alphabet"], without_prefix("alphabet", arrays)),
            tuple(
                Member.from_state(member, without_prefix(f"member{number}", arrays))
                for number, member in enumerate(values["members"])
            ),
            Grammar(**without_prefix("fallback", arrays)),
            Labels.from_state(values["labels"], without_prefix("labels", arrays)),
            None if crossings is None else Labels.from_state(crossings, without_prefix("crossings", arrays)),
            ModifierSequences(**without_prefix("sequences", arrays)),
        )
