"""Crossing arcs: training trees are lifted until they are projective; parsed trees get lost heads back.

    lift      the head of a word becomes the head of its head, until nothing crosses        (Nivre & Nilsson 2005)
    mark      a lifted word is marked with the relation of the head that it lost; others with STAYS
    parse     the chart finds a projective tree, a log-linear choice the mark of each word
    restore   a marked word goes to the first word with that relation below its head

The paper joins mark and relation in one label. Here they are two choices over the same features
(:mod:`spectragram.dependency.labels`), so that relations are not split into rare ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.projectivity import is_projective, projectivize, restore_heads

__all__ = ["STAYS", "LiftedTrees", "lift_trees", "restored"]

STAYS = "="
"""The mark of words that have not been lifted; no relation of Universal Dependencies is called so."""


@dataclass(frozen=True)
class LiftedTrees:
    """Projective trees.

    Attributes
    ----------
    heads : int64 array, shape (n_tokens,)
    marks : list of str
        For every word the relation of the head it lost, or :data:`STAYS`.
    n_sentences, n_words : int
        How many trees were not projective, and how many words were lifted.
    """

    heads: np.ndarray
    marks: list[str]
    n_sentences: int
    n_words: int


def lift_trees(sentences: Sequence[Sentence]) -> LiftedTrees:
    """Make trees projective; the heads of every sentence must form a tree."""
    heads, marks = [], []
    n_sentences = 0
    for sentence in sentences:
        before = after = sentence.heads
        if not is_projective(before):
            after, _ = projectivize(before)
            n_sentences += 1
        labels = sentence.deprels
        marks += [STAYS if old == new else labels[old - 1] for old, new in zip(before, after, strict=True)]
        heads.append(after)
    n_words = sum(mark != STAYS for mark in marks)
    return LiftedTrees(np.concatenate(heads).astype(np.int64), marks, n_sentences, n_words)


def restored(heads: np.ndarray, labels: Sequence[str], marks: Sequence[str]) -> tuple[np.ndarray, int]:
    """The heads of a parsed sentence after marked words have gone back, (n,), and how many have."""
    if all(mark == STAYS for mark in marks):
        return heads, 0
    return restore_heads(heads, labels, [None if mark == STAYS else mark for mark in marks])
