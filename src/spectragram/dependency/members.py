"""The members of a parser: head automata with the factors fitted to them, and charts of many sentences.

The tables of a member's weights do not fit into the cache of a processor together. So several sentences go through one
table before the next one is looked at, and through one member before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from spectragram.dependency.charts import Chart, average, run_chart
from spectragram.dependency.constraints import ArcMask, Known, mask_of
from spectragram.dependency.encoding import Encoded
from spectragram.dependency.factors import Factors
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.long_sentences import require_chart
from spectragram.dependency.siblings import Siblings, probable_arcs
from spectragram.engine import map_threads, resolve_jobs
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.headed import list_arcs
from spectragram.schema import Part, Schema

__all__ = ["Member", "map_parts", "parse_all", "parse_together"]

SENTENCES_PER_PART, ARCS_PER_PART = 128, 200_000
"""What a thread parses at a time, in some ten megabytes at most: the more sentences, the more often a weight is still
in the cache of the processor when it is needed again. With 32 sentences and half as many arcs parsing from tags alone
took 13 % longer."""
PARTS_PER_THREAD, FEWEST_PER_PART = 4, 32
"""Parts are smaller where threads would wait for each other, but not much smaller. Chosen by hand."""

Answer = TypeVar("Answer")
Scores = tuple[np.ndarray, np.ndarray]
"""Log-factors of arcs and of ends of halves, (2, n, n) each."""


@dataclass(frozen=True)
class Member:
    """Head automata and, if there are any, the factors that were fitted to them."""

    grammar: Grammar
    factors: Factors | None

    def scores(self, sentences: Sequence[np.ndarray], masks: Sequence[ArcMask | None]) -> list[Scores]:
        """Log-factors of the possible arcs and of ends of halves; zero without factors."""
        if self.factors is not None:
            return self.factors.scores(sentences, [None if mask is None else mask.arcs for mask in masks])
        shapes = [(2, columns.shape[1], columns.shape[1]) for columns in sentences]
        return [(np.zeros(shape), np.zeros(shape)) for shape in shapes]

    def charts(
        self, sentences: Sequence[np.ndarray], fallback: Grammar | None, masks: Sequence[ArcMask | None]
    ) -> list[tuple[Chart, bool]]:
        """Marginals of sentences with columns (n_rows, n), and whether ``fallback`` had to take over.

        Trees that use what a mask rules out do not count.
        """
        scores = self.scores(sentences, masks)
        found = [self._chart(*given, fallback) for given in zip(sentences, scores, masks, strict=True)]
        if self.factors is None or self.factors.siblings is None:
            return [(chart, fell_back) for chart, fell_back, _ in found]
        return [
            (chart if fell_back else self._refined(chart, columns, own, mask, self.factors.siblings), fell_back)
            for (chart, fell_back, own), columns, mask in zip(found, sentences, masks, strict=True)
        ]

    def _chart(
        self, columns: np.ndarray, scores: Scores, mask: ArcMask | None, fallback: Grammar | None
    ) -> tuple[Chart, bool, Scores]:
        """The chart without factors of siblings, whether it is the fallback's, and the log-factors behind it."""
        chart = run_chart(self.grammar, columns, *scores, mask)
        if chart.sign == 0 and mask is None and self.factors is not None and self.factors.gates is not None:
            # No tree passes the gates.
            scores = replace(self.factors, gates=None).scores([columns], [None])[0]
            chart = run_chart(self.grammar, columns, *scores)
        if chart.sign <= 0 and fallback is not None:
            return run_chart(fallback, columns, *scores, mask), True, scores
        return chart, False, scores

    def _refined(
        self, chart: Chart, columns: np.ndarray, scores: Scores, mask: ArcMask | None, siblings: Siblings
    ) -> Chart:
        """The chart with factors of siblings, over the arcs that the first one finds probable."""
        if chart.sign <= 0:
            return chart
        refined = run_chart(self.grammar, columns, *scores, mask, (probable_arcs(chart.arcs), siblings))
        return refined if refined.sign > 0 else chart

    def tree_chart(self, grammar: Grammar, columns: np.ndarray, scores: Scores, heads: np.ndarray) -> Chart:
        """The chart of a single tree (n,), whose Z is the weight of the tree; ``scores`` as from :meth:`scores`."""
        mask = mask_of(np.arange(len(heads) + 1) == heads[:, None])
        siblings = None
        if grammar is self.grammar and self.factors is not None and self.factors.siblings is not None:
            siblings = list_arcs(mask.arcs), self.factors.siblings
        return run_chart(grammar, columns, *scores, mask, siblings)

    SCHEMA: ClassVar[Schema] = Schema(
        "Member of a parser",
        "Head automata, and the factors beside them.",
        parts={
            "grammar": Part(Grammar.SCHEMA, {"n_tags": "n_tags"}, values=None),
            "factors": Part(Factors.SCHEMA, optional=True),
        },
    )

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


def parse_together(
    members: Sequence[Member],
    fallback: Grammar | None,
    sentences: Sequence[np.ndarray],
    masks: Sequence[ArcMask | None],
) -> list[tuple[Chart, bool]]:
    """The averaged marginals of the members for each sentence, and whether the fallback took over for one of them."""
    for columns in sentences:
        require_chart(columns.shape[1])
    of_members = [member.charts(sentences, fallback, masks) for member in members]
    return [
        (average([chart for chart, _ in charts]), any(fell_back for _, fell_back in charts))
        for charts in zip(*of_members, strict=True)
    ]


def parse_all(
    members: Sequence[Member],
    fallback: Grammar | None,
    encoded: Encoded,
    n_jobs: int = 1,
    known: Sequence[Known] | None = None,
) -> list[tuple[Chart, bool]]:
    """For every sentence what :func:`parse_together` finds, given what is ``known`` if that is given."""

    def parse(numbers: np.ndarray) -> list[tuple[Chart, bool]]:
        masks = [None if known is None else known[number].mask for number in numbers]
        return parse_together(members, fallback, [encoded.columns(number) for number in numbers], masks)

    return map_parts(parse, encoded, n_jobs)


def map_parts(function: Callable[[np.ndarray], list[Answer]], encoded: Encoded, n_jobs: int) -> list[Answer]:
    """The function's answers for all sentences, on several threads; it gets the numbers of some of them at a time."""
    n_arcs = np.cumsum(np.diff(encoded.offsets) ** 2)
    share = len(encoded) // (PARTS_PER_THREAD * resolve_jobs(n_jobs))
    size = int(np.clip(share, FEWEST_PER_PART, SENTENCES_PER_PART))
    part = n_arcs // ARCS_PER_PART + np.arange(len(encoded)) // size
    parts = np.split(np.arange(len(encoded)), np.flatnonzero(np.diff(part)) + 1) if len(encoded) else []
    return [answer for answers in map_threads(function, parts, n_jobs) for answer in answers]
