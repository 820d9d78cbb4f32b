"""The order in which sentences, or single decisions, teach most.

    uncertainty      expected errors per decision: the mean over decisions of 1 - p(choice)
    representative   that, times how typical the sentence is of the rest, times how little it resembles those before it

How typical a sentence is: the mean cosine of its words, by weight of information, with those of the others. Single
decisions are ordered by 1 - p(choice); with ``representative`` each is weighted like its sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from spectragram.annotation.doubts import Doubt, Doubts, find_doubts
from spectragram.errors import ParameterError

__all__ = ["BY", "UNITS", "Ranked", "rank", "rank_doubts"]

BY = ("uncertainty", "representative")
UNITS = ("sentence", "token")
DOUBTFUL = 0.9
"""Decisions with a smaller probability are marked. Chosen by hand, not tuned."""
SUFFIX = 3
"""Letters of an ending, which stands for a word that occurs nowhere else. Chosen by hand, not tuned."""


@dataclass(frozen=True)
class Ranked:
    """A sentence, or one decision in it.

    Attributes
    ----------
    sentence : int
        Its number, counted from 0.
    place : int, (int, int) or None
        The place of the decision, see :class:`~spectragram.annotation.Doubt`; None for whole sentences.
    score : float
        The higher, the more there is to learn.
    doubtful : list of Doubt
        The decisions that are doubtful, least certain first; for single decisions that one alone.
    words : list of str
    """

    sentence: int
    place: int | tuple[int, int] | None
    score: float
    doubtful: list[Doubt]
    words: list[str]


def rank(model: Any, X: Any, *, by: str = "uncertainty", unit: str = "sentence") -> list[Ranked]:
    """Order the sentences of X, or single decisions about them, the most instructive first.

    Parameters
    ----------
    model : DependencyParser, Pipeline, Tagger or ConstituencyParser
        Trained.
    X : path or iterable
        What the model predicts from. Heads, and brackets of SpanConstraints, that are known already are not asked for.
    by : {"uncertainty", "representative"}
    unit : {"sentence", "token"}
        Whole sentences, or single heads, labels or brackets.
    """
    return rank_doubts(find_doubts(model, X), by=by, unit=unit)


def rank_doubts(found: Sequence[Doubts], *, by: str = "uncertainty", unit: str = "sentence") -> list[Ranked]:
    """The same from the decisions of a model; sentences without any open decision are left out."""
    for name, value, choices in (("by", by, BY), ("unit", unit, UNITS)):
        if value not in choices:
            raise ParameterError(name, value, "is unknown", remedy=f"choose one of {', '.join(choices)}")
    uncertain = np.array([one.expected_errors / max(len(one.decisions), 1) for one in found])
    open_ones = [number for number, one in enumerate(found) if one.decisions]
    scores = uncertain
    order = sorted(open_ones, key=lambda number: -uncertain[number])
    if by == "representative" and open_ones:
        order, scores = _spread(found, open_ones, uncertain)
    if unit == "sentence":
        return [Ranked(n, None, float(scores[n]), _doubtful(found[n]), found[n].words) for n in order]
    # A decision of a sentence that is typical, and unlike those before it, counts more.
    weights = np.divide(scores, uncertain, out=np.zeros(len(found)), where=uncertain > 0)
    single = [
        Ranked(n, doubt.place, float((1.0 - doubt.probability) * weights[n]), [doubt], found[n].words)
        for n in order
        for doubt in found[n].decisions
    ]
    return sorted(single, key=lambda one: -one.score)


def _doubtful(one: Doubts) -> list[Doubt]:
    chosen = [doubt for doubt in one.decisions if doubt.probability < DOUBTFUL]
    return sorted(chosen, key=lambda doubt: doubt.probability)


def _spread(found: Sequence[Doubts], numbers: list[int], uncertain: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Sentences chosen greedily: uncertain, typical, and unlike those chosen before; and their scores (n,)."""
    vectors = _vectors([one.words for one in found])
    mean = np.asarray(vectors.mean(axis=0)).ravel()
    worth = uncertain * (vectors @ mean)
    nearest, left = np.zeros(len(found)), np.zeros(len(found), bool)
    left[numbers] = True
    scores, order = np.zeros(len(found)), []
    for _ in numbers:
        values = np.where(left, worth * (1.0 - np.minimum(nearest, 1.0)), -1.0)
        best = int(values.argmax())
        order.append(best)
        scores[best] = values[best]
        left[best] = False
        nearest = np.maximum(nearest, (vectors @ vectors[best].T).toarray().ravel())
    return order, scores


def _vectors(sentences: Sequence[list[str]]) -> sparse.csr_matrix:
    """Words by their information, -log of the share of sentences that have them; each row of length 1."""
    lowered = [{word.lower() for word in words} for words in sentences]
    seen: dict[str, int] = {}
    for words in lowered:
        for word in words:
            seen[word] = seen.get(word, 0) + 1
    index: dict[str, int] = {}
    rows, columns = [], []
    for number, words in enumerate(lowered):
        for word in sorted(words):
            name = word if seen[word] > 1 else "-" + word[-SUFFIX:]
            rows.append(number)
            columns.append(index.setdefault(name, len(index)))
    table = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), (len(sentences), max(len(index), 1)))
    table.data[:] = 1.0
    share = np.asarray(table.sum(axis=0)).ravel() / max(len(sentences), 1)
    weighted = table @ sparse.diags(np.log(1.0 / np.maximum(share, 1.0 / max(len(sentences), 1))) + 1.0)
    lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1.0 / np.maximum(lengths, 1.0)) @ weighted)
