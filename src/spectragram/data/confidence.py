"""Predictions with their probabilities: of single words, arcs and spans, and of the whole structure.

All probabilities are given the sentence and, where there are constraints, given those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.trees import Tree

__all__ = ["ArcConfidence", "SpanConfidence", "TagConfidence"]


@dataclass(frozen=True)
class ArcConfidence:
    """A parsed sentence of n words.

    Attributes
    ----------
    sentence : Sentence
        With heads and relations.
    heads : array, shape (n,)
        Probability of each head.
    relations : array, shape (n,)
        Probability of each relation, given the tree.
    tree : float
        Probability of the whole tree, relations left aside. Lifted heads count as where they were lifted to.
    """

    sentence: Sentence
    heads: np.ndarray
    relations: np.ndarray
    tree: float


@dataclass(frozen=True)
class TagConfidence:
    """A labelled sequence of n tokens: labels, the probability of each, (n,), and that of the whole sequence."""

    labels: list[str]
    tokens: np.ndarray
    sequence: float


@dataclass(frozen=True)
class SpanConfidence:
    """A parsed sentence of n words.

    Attributes
    ----------
    tree : Tree
    spans : list of (label, start, end, probability)
        In the order of :meth:`~spectragram.data.trees.Tree.spans`.
    tags : array, shape (n,)
        Probability of each word's tag.
    whole : float
        Probability of the whole tree under the first model; 0 if it cannot derive it.
    """

    tree: Tree
    spans: list[tuple[str, int, int, float]]
    tags: np.ndarray
    whole: float
