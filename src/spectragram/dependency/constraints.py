"""Known heads and relations in the chart: arcs that are ruled out have weight zero.

    Z(K) = sum of the weights of all trees that agree with what is known, K        P(y | x, K) = weight of y / Z(K)

Marginals of arcs given K therefore come from the same chart as those without it, at the same cost. Known arcs that no
projective tree can have are left open in the chart and drawn into the finished tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.known_heads import HeadConstraints, lifted_words
from spectragram.dependency.labels import Labels
from spectragram.errors import InputError
from spectragram.inference.headed_kbest import k_best_heads

__all__ = ["ArcMask", "Known", "arc_places", "mask_of"]

LONGEST_KEPT = 100
"""Words up to which :func:`arc_places` are kept: nearly all sentences, in 8 MB. Chosen by hand, not tuned."""


class ArcMask(NamedTuple):
    """What the chart may use: words that may head the sentence, (n,) bool; arcs, (2, n, n) bool, as it indexes them."""

    roots: np.ndarray
    arcs: np.ndarray

    def scores(self, roots: np.ndarray, arcs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores (n,), (2, n, n) with minus infinity for what is ruled out."""
        return np.where(self.roots, roots, -np.inf), np.where(self.arcs, arcs, -np.inf)


def mask_of(allowed: np.ndarray) -> ArcMask:
    """The mask of the heads that each word may have, (n, n + 1) bool with the root in column 0."""
    n = len(allowed)
    arcs = np.zeros((2, n, n), bool)
    words, heads, places = arc_places(n)
    arcs.reshape(-1)[places] = allowed[words, heads]
    return ArcMask(allowed[:, 0].copy(), arcs)


def arc_places(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All arcs between n words: words counted from 0, heads from 1, and their places in the chart's (2, n, n)."""
    return _kept_places(n) if n <= LONGEST_KEPT else _find_places(n)


def _find_places(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    heads, words = np.nonzero(~np.eye(n, dtype=bool))
    places = np.ravel_multi_index(((words > heads).astype(int), heads, np.abs(words - heads)), (2, n, n))
    return words, heads + 1, places


_kept_places = lru_cache(LONGEST_KEPT)(_find_places)


@dataclass(frozen=True)
class Known:
    """What is known about a sentence, ready for the chart.

    Attributes
    ----------
    heads : int32 array, shape (n,)
        Known heads, -1 where they are open.
    allowed : bool array, shape (n, n + 1)
        The heads that each word may have.
    relations : tuple of str or None
    mask : ArcMask or None
        For the chart, in which lifted words are open; None if nothing is known about heads.
    """

    heads: np.ndarray
    allowed: np.ndarray
    relations: tuple[str | None, ...]
    mask: ArcMask | None

    @classmethod
    def of(cls, sentence: Sentence, labels: Labels | None = None) -> Self:
        """Read a sentence; refuses one of which every tree is ruled out.

        The relation of root words, if no other word has it, makes a word the root; other relations of ``labels`` keep
        it from being one.
        """
        found = HeadConstraints.of(sentence)
        heads, allowed = found.heads, found.allowed
        for word, relation in enumerate(found.relations if labels is not None else ()):
            if labels is None or relation is None or heads[word] >= 0:
                continue
            if relation == labels.root and relation not in labels.names and allowed[word, 0] and not (heads == 0).any():
                heads[word] = 0
                allowed[word] = np.arange(len(heads) + 1) == 0
            elif relation in labels.names and relation != labels.root and allowed[word, 1:].any():
                allowed[word, 0] = False
        n_allowed = np.count_nonzero(allowed, axis=1)
        if (n_allowed == len(heads)).all():
            return cls(heads, allowed, found.relations, None)
        in_chart = allowed
        if lifted := lifted_words(heads):
            in_chart = allowed.copy()
            for word in lifted:
                in_chart[word - 1] = np.arange(len(heads) + 1) != word
        mask = mask_of(in_chart)
        # Known heads alone always leave a tree, once those that no tree can have are lifted.
        excludes = ((heads < 0) & (n_allowed < len(heads))).any()
        if excludes and not _has_tree(mask):
            mask = _opened(heads, in_chart.copy(), sentence)
        return cls(heads, allowed, found.relations, mask)

    @property
    def is_complete(self) -> bool:
        """Whether every head is known."""
        return bool((self.heads >= 0).all())

    def distributions(self, found: np.ndarray) -> np.ndarray:
        """Distributions over heads, (n, n + 1), with certainty for lifted words, whose heads the chart left open."""
        known = np.flatnonzero(self.heads >= 0)
        found = found.copy()
        found[known] = np.arange(found.shape[1]) == self.heads[known, None]
        return found


def _has_tree(mask: ArcMask) -> bool:
    """Whether any projective tree is left."""
    zeros = mask.scores(np.zeros(len(mask.roots)), np.zeros(mask.arcs.shape))
    return len(k_best_heads(*zeros, 1)[0]) == 1


def _opened(heads: np.ndarray, allowed: np.ndarray, sentence: Sentence) -> ArcMask:
    """The mask with known heads left open, longest arcs first, until some tree remains; refuses if none ever does."""
    words = np.flatnonzero((heads >= 0) & (allowed.sum(axis=1) == 1))
    for word in words[np.argsort(-np.abs(words + 1 - heads[words]), kind="stable")]:
        allowed[word] = np.arange(len(heads) + 1) != word + 1
        mask = mask_of(allowed)
        if _has_tree(mask):
            return mask
    raise InputError(
        f"no tree is left for the sentence {' '.join(sentence.forms)!r:.60}: its known and excluded heads contradict "
        "each other",
        path=sentence.path,
        line=sentence.line,
        remedy="exclude fewer heads in MISC, or put _ where heads are not known",
    )
