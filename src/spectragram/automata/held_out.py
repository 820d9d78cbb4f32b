"""Strings that decide: which part of a corpus is learned from, and which is held out to choose by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.data.corpus import Corpus
from spectragram.errors import InputError
from spectragram.inference.prefix_tree import PrefixTree, gather_strings, grow_prefix_tree

__all__ = ["Split", "hold_out", "known_only", "require_known", "require_strings", "sample_strings"]

SHARE, MOST = 0.1, 5000
"""A tenth of the strings is held out, at most this many. Chosen by hand: more would only refine choices between models
that are about equally good."""
FEW_STRINGS = 20
"""Below this number of strings none is held out: one or two strings cannot decide anything. Chosen by hand."""


@dataclass(frozen=True)
class Split:
    """Strings to learn from and strings to choose by.

    Attributes
    ----------
    training : Corpus
    judges : PrefixTree or None
        The held-out strings; None if there are too few strings to hold any out.
    rng : Generator
        For all further random choices of the learner.
    """

    training: Corpus
    judges: PrefixTree | None
    rng: np.random.Generator


def hold_out(corpus: Corpus, dev: Corpus | None, seed: int) -> Split:
    """Split a corpus at random, unless ``dev`` gives strings to choose by; those with unknown symbols are left out."""
    rng = np.random.default_rng(seed)
    if dev is not None:
        judges = known_only(dev)
        if not len(judges):
            problem = "every held-out string has a symbol that the training strings do not have"
            raise InputError(problem, remedy="give strings like those of training")
        return Split(corpus, grow_prefix_tree(judges.tokens, judges.offsets), rng)
    if len(corpus) < FEW_STRINGS:
        return Split(corpus, None, rng)
    order = rng.permutation(len(corpus))
    n = min(MOST, max(1, round(SHARE * len(corpus))))
    held_out = _take(corpus, order[:n])
    return Split(_take(corpus, order[n:]), grow_prefix_tree(held_out.tokens, held_out.offsets), rng)


def sample_strings(corpus: Corpus, n_tokens: int, rng: np.random.Generator) -> Corpus:
    """Strings drawn at random without replacement until they have ``n_tokens`` tokens; all if there are fewer."""
    if corpus.n_tokens <= n_tokens:
        return corpus
    order = rng.permutation(len(corpus))
    n = int(np.searchsorted(np.cumsum(np.diff(corpus.offsets)[order]), n_tokens)) + 1
    return _take(corpus, order[:n])


def known_only(corpus: Corpus) -> Corpus:
    """The strings without symbols outside the alphabet."""
    return _take(corpus, np.flatnonzero(_count_unknown(corpus) == 0))


def _count_unknown(corpus: Corpus) -> np.ndarray:
    """Number of symbols outside the alphabet in each string, (n_strings,)."""
    before = np.concatenate([[0], np.cumsum(corpus.tokens < 0)])
    return before[corpus.offsets[1:]] - before[corpus.offsets[:-1]]


def require_strings(corpus: Corpus) -> None:
    """Refuse a corpus from which nothing can be learned or scored."""
    if not len(corpus):
        raise InputError("an empty corpus", remedy="give at least one string")
    if not corpus.n_tokens:
        raise InputError(f"none of the {len(corpus)} strings has a symbol", remedy="give strings of symbols")
    if (corpus.tokens < 0).all():
        raise InputError("no symbol of these strings is in the alphabet", remedy="check how symbols are separated")


def require_known(corpus: Corpus) -> None:
    """Refuse symbols outside the alphabet."""
    n_unknown = int((corpus.tokens < 0).sum())
    if n_unknown:
        raise InputError(f"{n_unknown} symbols are outside the alphabet", remedy="give strings of known symbols")


def _take(corpus: Corpus, chosen: np.ndarray) -> Corpus:
    """The chosen strings, in this order, as a corpus of their own."""
    tokens, offsets = gather_strings(corpus.tokens, corpus.offsets, chosen)
    return Corpus(tokens.astype(np.int32), offsets, corpus.vocabulary)
