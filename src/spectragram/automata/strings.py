"""Strings of a corpus: over which alphabet, parts of it, what is unknown in it, whether it holds anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from spectragram.data.corpus import Corpus
from spectragram.data.vocabulary import Vocabulary
from spectragram.errors import InputError
from spectragram.inference.prefix_tree import gather_strings

__all__ = [
    "Strings",
    "count_unknown",
    "held_out_strings",
    "hold_out",
    "known_only",
    "require_known",
    "require_strings",
    "sample_strings",
    "take",
    "unseen_rate",
]

Strings = Corpus | Iterable[Sequence[str]]
"""What estimators take: a corpus, or sequences of symbols; a text among them is the sequence of its characters."""

HELD_OUT_SHARE = 0.1
MAX_HELD_OUT = 5000


def known_only(corpus: Corpus) -> Corpus:
    """The strings that hold known symbols only."""
    return take(corpus, np.flatnonzero(count_unknown(corpus) == 0))


def held_out_strings(dev: Strings, vocabulary: Vocabulary) -> Corpus:
    """The strings of ``dev`` that can be judged by: those of known symbols only."""
    known = known_only(Corpus.over(dev, vocabulary))
    if not len(known):
        raise InputError("no held-out string of known symbols only", remedy="give strings like those of training")
    return known


def take(corpus: Corpus, chosen: np.ndarray) -> Corpus:
    """The chosen strings as a corpus of their own."""
    tokens, offsets = gather_strings(corpus.tokens, corpus.offsets, chosen)
    return Corpus(tokens.astype(np.int32), offsets, corpus.vocabulary)


def hold_out(corpus: Corpus, rng: np.random.Generator) -> tuple[Corpus, Corpus]:
    """Split at random: strings to learn from, and a tenth (at most 5000) to judge by."""
    order = rng.permutation(len(corpus))
    n = min(MAX_HELD_OUT, max(1, round(HELD_OUT_SHARE * len(corpus))))
    return take(corpus, order[n:]), take(corpus, order[:n])


def sample_strings(corpus: Corpus, n_tokens: int, rng: np.random.Generator) -> Corpus:
    """Strings at random, of about ``n_tokens`` tokens together."""
    if corpus.n_tokens <= n_tokens:
        return corpus
    order = rng.permutation(len(corpus))
    n = int(np.searchsorted(np.cumsum(np.diff(corpus.offsets)[order]), n_tokens)) + 1
    return take(corpus, order[:n])


def count_unknown(corpus: Corpus) -> np.ndarray:
    """Symbols outside the alphabet in each string, (n_strings,)."""
    before = np.concatenate([[0], np.cumsum(corpus.tokens < 0)])
    return before[corpus.offsets[1:]] - before[corpus.offsets[:-1]]


def unseen_rate(corpus: Corpus) -> float:
    """Good-Turing estimate of how often a symbol turns up that was never seen: symbols seen once per symbol."""
    counts = np.bincount(corpus.tokens, minlength=1)
    return float(max((counts == 1).sum(), 0.5) / (corpus.n_tokens + 1))


def require_known(corpus: Corpus) -> None:
    """Refuse symbols outside the alphabet."""
    if (corpus.tokens < 0).any():
        raise InputError(
            f"{int((corpus.tokens < 0).sum())} symbols outside the alphabet",
            remedy="log_prob and predict_next take them; values need known symbols",
        )


def require_strings(corpus: Corpus) -> None:
    """Refuse a corpus that nothing can be learned from or scored on."""
    if not len(corpus):
        raise InputError("an empty corpus", remedy="give at least one string")
    if not corpus.n_tokens:
        raise InputError(f"{len(corpus)} strings without a single symbol", remedy="give strings of symbols")
    if (corpus.tokens < 0).all():
        raise InputError("no symbol of these strings is in the alphabet", remedy="check how they are separated")
