"""Sequences of symbols as one flat integer array, the form in which learners read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Self

import numpy as np

from spectragram.data.vocabulary import UNKNOWN, Vocabulary
from spectragram.errors import InputError
from spectragram.files import split_words

__all__ = ["Corpus", "even_parts"]


@dataclass(frozen=True)
class Corpus:
    """Many sequences over one vocabulary, at four bytes per token.

    Attributes
    ----------
    tokens : int32 array, shape (n_tokens,)
        All sequences, one after the other; -1 is a symbol outside the vocabulary.
    offsets : int64 array, shape (n_sequences + 1,)
        Sequence i is ``tokens[offsets[i]:offsets[i + 1]]``; empty sequences are allowed.
    vocabulary : Vocabulary
    """

    tokens: np.ndarray
    offsets: np.ndarray
    vocabulary: Vocabulary

    @classmethod
    def from_sequences(cls, sequences: Iterable[Sequence[str]], vocabulary: Vocabulary | None = None) -> Self:
        """Encode sequences of symbols; a string among them has spaces between its symbols.

        Without a vocabulary every symbol gets an id, in the order of code points. With one, symbols outside it get
        the id of its unknown symbol, or -1 if it has none. See :func:`~spectragram.data.inputs.as_corpus` for files.

        >>> Corpus.from_sequences([["a", "b"], "b a b"]).tokens.tolist()
        [0, 1, 1, 0, 1]
        """
        if isinstance(sequences, (str, bytes)):
            raise InputError(
                f"one text ({sequences[:40]!r}) where sequences were expected",
                remedy="give sequences of strings, e.g. [['the', 'dog'], ...]",
            )
        listed = [split_words(sequence) if isinstance(sequence, str) else list(sequence) for sequence in sequences]
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
        """X encoded over a given vocabulary, whether it is encoded already or not."""
        if not isinstance(X, Corpus):
            return cls.from_sequences(X, vocabulary)
        if X.vocabulary is vocabulary or X.vocabulary == vocabulary:
            return X
        # A token outside X's own vocabulary (-1) is outside this one too: it picks the last entry.
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
        """Total number of symbols."""
        return len(self.tokens)

    def decode(self, i: int) -> list[str]:
        """Sequence i as strings."""
        return self.vocabulary.decode(self[i])

    def decoded(self) -> Iterator[list[str]]:
        """Every sequence as strings; symbols outside the vocabulary, whose spelling is lost, come out as ``<unk>``."""
        words = [*self.vocabulary.words, self.vocabulary.unknown or UNKNOWN]
        return ([words[token] for token in sequence.tolist()] for sequence in self)

    def slice(self, start: int, stop: int) -> Self:
        """Sequences ``start`` to ``stop`` as a corpus of their own; only offsets are copied."""
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
