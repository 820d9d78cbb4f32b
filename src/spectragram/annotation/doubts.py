"""How sure a model is of each of its decisions: heads, labels of tokens, or brackets of spans.

A decision is what an annotator would confirm or correct with one click. What the data say already is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectragram.data.labelled import as_labelled
from spectragram.errors import InputError

__all__ = ["KINDS", "Doubt", "Doubts", "find_doubts"]

KINDS = ("dependency", "pipeline", "tagger", "constituency")
"""Kinds of model whose output can be annotated."""


@dataclass(frozen=True)
class Doubt:
    """A decision of a model.

    Attributes
    ----------
    place : int or (int, int)
        The word, counted from 1; for brackets start and end of the span: words start .. end - 1, counted from 0.
    choice, alternative : str
        What the model would choose (a head with its relation, a label), and its next best guess.
    probability : float
        Of the choice.
    """

    place: int | tuple[int, int]
    choice: str
    alternative: str
    probability: float


@dataclass(frozen=True)
class Doubts:
    """The words of a sentence and every decision about it that is not known already."""

    words: list[str]
    decisions: list[Doubt]

    @property
    def expected_errors(self) -> float:
        """How many of the decisions are expected to be wrong."""
        return sum(1.0 - doubt.probability for doubt in self.decisions)


def find_doubts(model: Any, X: Any) -> list[Doubts]:
    """The decisions of a trained model about each sentence of X, given the annotation that X has already."""
    if model.kind not in KINDS:
        raise InputError(f"a model of kind '{model.kind}'", remedy=f"give one of kind {', '.join(KINDS)}")
    if model.kind == "tagger":
        return _of_labels(model, X)
    return _of_spans(model, X) if model.kind == "constituency" else _of_heads(model, X)


def _of_heads(model: Any, X: Any) -> list[Doubts]:
    if model.kind == "pipeline":
        parser, sentences = model.tagged(X)
    else:
        parser, sentences = model, model.read(X)
    sure = parser.confidence(sentences, constrained=True)
    found = []
    for given, one, rows in zip(sentences, sure, parser.marginals(sentences, constrained=True), strict=True):
        decisions = []
        heads = one.sentence.heads
        for i, head in enumerate(heads):
            if given.heads[i] >= 0:
                continue
            others = rows[i].copy()
            others[head] = -1.0
            other = int(others.argmax())
            both = float(min(one.heads[i], 1.0) * one.relations[i])
            decisions.append(Doubt(i + 1, f"{head} {one.sentence.deprels[i]}", str(other), both))
        found.append(Doubts(one.sentence.forms, decisions))
    return found


def _of_labels(model: Any, X: Any) -> list[Doubts]:
    data = as_labelled(X, layout=model.layout_, labels=False)
    names = model.labels_
    found = []
    for words, rows in zip(data.X, model.marginals(data), strict=True):
        decisions = []
        for i, row in enumerate(rows):
            order = np.argsort(-row, kind="stable")
            other = names[order[1]] if len(order) > 1 else ""
            decisions.append(Doubt(i + 1, names[order[0]], other, float(row[order[0]])))
        found.append(Doubts(_forms(words), decisions))
    return found


def _forms(words: Sequence[Any]) -> list[str]:
    return [word if isinstance(word, str) else word[0] if isinstance(word, tuple) else "?" for word in words]


def _of_spans(model: Any, X: Any) -> list[Doubts]:
    labels = model.labels_
    index = {label: i for i, label in enumerate(labels)}
    found = []
    records = model.read(X)
    for given, one, rows in zip(records, model.confidence(records), model.marginals(records), strict=True):
        known = {(i, j) for i, j, label in given.required if label is not None}
        table = {(i, j): row for i, j, row in rows}
        decisions = []
        for label, i, j, probability in one.spans:
            if (i, j) in known:
                continue
            row = table[i, j].copy()
            if label in index:
                row[index[label]] = 0.0
            other = (
                labels[int(row.argmax())] if row.max(initial=0.0) > 1.0 - probability - row.max(initial=0.0) else "no"
            )
            decisions.append(Doubt((i, j), label, other, probability))
        found.append(Doubts(list(given.words), decisions))
    return found
