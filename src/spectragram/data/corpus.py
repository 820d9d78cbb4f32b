"""Sequences of symbols as one flat integer array: what every learner reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Self

import numpy as np

from spectragram.data.vocabulary import Vocabulary
from spectragram.errors import InputError

__all__ = ["Corpus", "word_lists"]


@dataclass(frozen=True)
class Corpus:
    """Many sequences over one vocabulary, four bytes a token.

    Attributes
    ----------
    tokens : int32 array, shape (n_tokens,)
        All sequences one after the other.
    offsets : int64 array, shape (n_sequences + 1,)
        Sequence i is ``tokens[offsets[i]:offsets[i + 1]]``; empty sequences are allowed.
    vocabulary : Vocabulary
    """

    tokens: np.ndarray
    offsets: np.ndarray
    vocabulary: Vocabulary

    @classmethod
    def from_sequences(cls, sequences: Iterable[Sequence[str]], vocabulary: Vocabulary | None = None) -> Self:
        """Encode sequences of strings.

        Without a vocabulary every symbol seen gets an id, in sorted order; with one, symbols outside it get
        the id of its unknown symbol, or -1 where it has none.
        """
        if isinstance(sequences, (str, bytes)):
            raise InputError(
                f"one text ({sequences[:40]!r}) where sequences were expected",
                remedy="give sequences of strings, e.g. [['the', 'dog'], ...]",
            )
        listed = [_listed(sequence, i) for i, sequence in enumerate(sequences)]
        symbols = list(chain.from_iterable(listed))
        _require_strings(symbols)
        if vocabulary is None:
            counts = Counter(symbols)
            kinds = sorted(counts)
            vocabulary = Vocabulary(kinds, np.array([counts[symbol] for symbol in kinds], np.int64))
        tokens = vocabulary.encode(symbols)
        offsets = np.concatenate([[0], np.cumsum([len(sequence) for sequence in listed])]).astype(np.int64)
        return cls(tokens, offsets, vocabulary)

    @classmethod
    def over(cls, X: Corpus | Iterable[Sequence[str]], vocabulary: Vocabulary) -> Corpus:
        """X over the symbols of a vocabulary, whether it is encoded already or not; others are unknown."""
        if not isinstance(X, Corpus):
            return cls.from_sequences(X, vocabulary)
        if X.vocabulary is vocabulary or X.vocabulary == vocabulary:
            return X
        # A token outside X's own vocabulary (-1) is outside this one too: it takes the last entry.
        ids = np.append(vocabulary.encode(X.vocabulary.words), np.int32(vocabulary.unknown_id))
        return cls(ids[X.tokens], X.offsets, vocabulary)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        return self.tokens[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    @property
    def n_tokens(self) -> int:
        """Number of symbols in all sequences together."""
        return len(self.tokens)

    def decode(self, i: int) -> list[str]:
        """Sequence i as strings."""
        return self.vocabulary.decode(self[i])

    def slice(self, start: int, stop: int) -> Self:
        """Sequences ``start`` to ``stop`` as a corpus of their own (a view, nothing is copied but offsets)."""
        offsets = self.offsets[start : stop + 1]
        return type(self)(self.tokens[offsets[0] : offsets[-1]], offsets - offsets[0], self.vocabulary)

    def shards(self, n: int) -> list[Self]:
        """At most ``n`` consecutive parts of about the same number of tokens, in order."""
        return [self.slice(first, stop) for first, stop in even_parts(self.offsets, n)]


def even_parts(offsets: np.ndarray, n: int) -> list[tuple[int, int]]:
    """Cut sequences with these offsets into at most ``n`` runs ``(first, stop)`` of about the same total length."""
    targets = np.linspace(0, offsets[-1], n + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(offsets, targets), [len(offsets) - 1]]))
    return list(pairwise(cuts.tolist()))


def _require_strings(symbols: list[str]) -> None:
    wrong = {kind for kind in set(map(type, symbols)) if not issubclass(kind, str)}
    if wrong:
        symbol = next(symbol for symbol in symbols if type(symbol) in wrong)
        raise InputError(
            f"a symbol of type {type(symbol).__name__} ({symbol!r})",
            remedy="give sequences of strings, e.g. [['the', 'dog'], ...]",
        )


def _listed(sequence: Iterable[str], i: int) -> list[str]:
    try:
        return list(sequence)
    except TypeError:
        raise InputError(
            f"sequence {i} is a {type(sequence).__name__} ({sequence!r})",
            remedy="give sequences of strings, e.g. [['the', 'dog'], ...]",
        ) from None


def word_lists(X: Corpus | Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """Sentences as lists of words; a text is refused, since its characters would be taken for words."""
    if isinstance(X, str):
        raise InputError(f"one text ({X[:40]!r}) where lists of words were expected", remedy="split it into sentences")
    for i, sequence in enumerate(X):
        if isinstance(sequence, str):
            raise InputError(
                f"sequence {i} is a string ({sequence[:40]!r})", remedy="give lists of words, e.g. sentence.split()"
            )
        yield X.vocabulary.decode(sequence) if isinstance(X, Corpus) else _listed(sequence, i)
