"""Known spans and tags in the chart, and in trees where the grammar cannot derive what is demanded.

The labels of a span are those of one *link*: a bottom item that is kept, or put under a unary rule with its chain (see
:mod:`spectragram.inference.chart_rules`). Intermediate symbols show no label. So every demand is one about links:

    required (i, j, L)      a link over (i, j) shows L; nothing crosses (i, j)
    required (i, j, any)    it shows some label; nothing crosses (i, j)
    forbidden (i, j, L)     it does not show L
    forbidden (i, j, any)   it shows no label at all: an intermediate symbol or a tag

With these links masked out, the coarse pass, the forest and all members sum over the trees that agree and no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from spectragram.constituency.brackets import LabelSet, SpanPosteriors
from spectragram.constituency.model import Grammar
from spectragram.data.known_spans import Demand, SpanConstraints
from spectragram.data.trees import Tree
from spectragram.inference.chart_coarse import span_id
from spectragram.inference.chart_rules import SpanMask

__all__ = ["Known", "chart_constraints", "exact_constraints", "extended", "imposed"]

CERTAIN = 1000.0
"""What a required bracket is worth to the decoder: more than all others of a sentence together, whose posteriors are at
most 1 each."""


@dataclass(frozen=True)
class Known:
    """What the chart of one grammar must obey.

    Attributes
    ----------
    mask : SpanMask
    tags : int32 array, shape (n,)
        Number of each word's tag, -1 where it is not known.
    """

    mask: SpanMask
    tags: np.ndarray


def chart_constraints(grammar: Grammar, given: SpanConstraints, *, labels: bool = True) -> Known | None:
    """Constraints for the chart of a grammar; None if it lacks a label or tag that is demanded.

    Without ``labels`` only crossing spans are ruled out, and demands for tags that the grammar lacks are dropped.
    """
    n = len(given.words)
    tag_index, index = grammar.labels.tag_index, grammar.labels.phrase_index
    tags = np.array([-1 if tag is None else tag_index.get(tag, -2) for tag in given.tags], np.int32)
    if labels and ((tags == -2).any() or any(label not in index for *_, label in given.required if label is not None)):
        return None
    cells = np.zeros(n * (n + 1) // 2, np.int32)
    _rule_out_crossing(cells, [(start, end) for start, end, _ in given.required], n)
    kept_rows: list[np.ndarray] = []
    unary_rows: list[np.ndarray] = []
    if labels:
        rows: dict[tuple, int] = {}
        for (start, end), demands in _by_span(given).items():
            if cells[span_id(start, end)] < 0:
                continue
            if demands not in rows:
                rows[demands] = len(rows) + 1
                for shown, found in zip(grammar.link_labels, (kept_rows, unary_rows), strict=True):
                    found.append(_obeying(shown, index, *demands))
            cells[span_id(start, end)] = rows[demands]
    sizes = [len(shown) for shown in grammar.link_labels]
    kept, unary = (
        np.array(found, bool).reshape(len(found), size)
        for found, size in zip((kept_rows, unary_rows), sizes, strict=True)
    )
    return Known(SpanMask(cells, kept, unary), np.maximum(tags, -1))


def exact_constraints(grammar: Grammar, tree: Tree) -> Known | None:
    """Constraints that leave one tree; None if it has labels that the grammar lacks."""
    inner = tree.without_root()
    index, tag_index = grammar.labels.phrase_index, grammar.labels.tag_index
    chains: dict[tuple[int, int], list[str]] = {}
    for label, i, j in inner.spans():  # parents first
        chains.setdefault((i, j), []).append(label)
    tags = inner.tags()
    if any(tag not in tag_index for tag in tags) or any(name not in index for some in chains.values() for name in some):
        return None
    demanded = {span: tuple(index[name] for name in names) for span, names in chains.items()}
    distinct = sorted({(), *demanded.values()})
    n = len(tags)
    cells = np.array(
        [1 + distinct.index(demanded.get((i, j), ())) for j in range(1, n + 1) for i in range(j)], np.int32
    )
    _rule_out_crossing(cells, demanded, n)
    kept, unary = (
        np.array([[chain == wanted for chain in chains] for wanted in distinct], bool).reshape(len(distinct), -1)
        for chains in grammar.link_chains
    )
    return Known(SpanMask(cells, kept, unary), np.array([tag_index[tag] for tag in tags], np.int32))


def _rule_out_crossing(cells: np.ndarray, spans: Iterable[tuple[int, int]], n: int) -> None:
    """Mark the cells of n words that cross one of the spans by -1: not even intermediate symbols may cross it."""
    for start, end in spans:
        for i in range(start):
            for j in range(start + 1, end):
                cells[span_id(i, j)] = -1
        for i in range(start + 1, end):
            for j in range(end + 1, n + 1):
                cells[span_id(i, j)] = -1


def _by_span(given: SpanConstraints) -> dict[tuple[int, int], tuple[frozenset[str | None], frozenset[str | None]]]:
    """The required and the forbidden labels of every span about which something is known."""
    found: dict[tuple[int, int], tuple[set[str | None], set[str | None]]] = {}
    demands: tuple[tuple[Demand, ...], ...] = (given.required, given.forbidden)
    for place, listed in enumerate(demands):
        for start, end, label in listed:
            found.setdefault((start, end), (set(), set()))[place].add(label)
    return {span: (frozenset(a), frozenset(b)) for span, (a, b) in found.items()}


def _obeying(
    shown: np.ndarray, index: dict[str, int], required: frozenset[str | None], forbidden: frozenset[str | None]
) -> np.ndarray:
    """Which links, (n,) bool, show what is required and nothing that is forbidden; ``shown`` is (n, n_labels)."""
    good = np.ones(len(shown), bool)
    for label in required:
        good &= shown.any(axis=1) if label is None else shown[:, index[label]]
    for label in forbidden:
        if label is None:
            good &= ~shown.any(axis=1)
        elif label in index:
            good &= ~shown[:, index[label]]
    return good


def extended(labels: LabelSet, given: SpanConstraints) -> LabelSet:
    """The labels of a parser and those that are demanded beside them, at the end."""
    phrases = [label for *_, label in given.required if label is not None and label not in labels.phrase_index]
    tags = [tag for tag in given.tags if tag is not None and tag not in labels.tag_index]
    if not phrases and not tags:
        return labels
    phrases, tags = list(dict.fromkeys(phrases)), list(dict.fromkeys(tags))
    # A label that was never seen stands in the middle of a chain, as one without any chain does.
    height = np.append(labels.height, np.full(len(phrases), 0.5))
    return replace(labels, phrases=labels.phrases + phrases, tags=labels.tags + tags, height=height)


def imposed(found: SpanPosteriors, given: SpanConstraints, labels: LabelSet) -> SpanPosteriors:
    """Posteriors with certainty for what is known, so that any tree decoded from them obeys it.

    ``labels`` may be longer than those of the posteriors (:func:`extended`). Required brackets get more than certainty:
    :data:`CERTAIN`. A span that is required with any label gets its most probable one.
    """
    spans = np.zeros((len(found.spans), len(labels.phrases)))
    spans[:, : found.spans.shape[1]] = found.spans
    tags = np.zeros((len(found.tags), len(labels.tags)))
    tags[:, : found.tags.shape[1]] = found.tags
    for i, tag in enumerate(given.tags):
        if tag is not None:
            tags[i] = np.arange(tags.shape[1]) == labels.tag_index[tag]
    for (start, end), (required, forbidden) in _by_span(given).items():
        row = spans[span_id(start, end)]
        barred = [
            labels.phrase_index[label] for label in forbidden if label is not None and label in labels.phrase_index
        ]
        row[barred] = 0.0
        if None in forbidden:
            row[:] = 0.0
        named = [labels.phrase_index[label] for label in required if label is not None]
        if required and not named:
            open_ones = np.delete(np.arange(len(row)), barred)
            usual = labels.phrase_index[labels.top]
            best = int(open_ones[row[open_ones].argmax()]) if len(open_ones) else usual
            named = [usual if row[best] <= 0.0 and usual not in barred else best]
        row[named] = CERTAIN
    return SpanPosteriors(spans, tags)
