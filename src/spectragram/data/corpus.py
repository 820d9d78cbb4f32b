"""Words as integers: the vocabulary with its counts, and sequences as one flat array, the form that learners read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, repeat
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.symbols import ordered, plain_symbol, spell, symbol_from_json, symbol_to_json
from spectragram.errors import InputError
from spectragram.files import split_words
from spectragram.schema import Array, Maybe, Schema, Strings, Text

__all__ = ["END", "UNKNOWN", "Corpus", "Vocabulary", "even_parts"]

UNKNOWN = "<unk>"
"""The word that stands for all words outside the vocabulary; spelled as in WikiText and Liang's Brown clustering."""

END = "</s>"
"""The symbol for the end of a sentence or string, in models that predict it."""


class Vocabulary:
    """An ordered set of words with their training counts.

    Parameters
    ----------
    words : sequence of str
        Distinct; the id of a word is its position. The alphabet of an automaton may have other hashable symbols.
    counts : array of int64, shape (n_words,), optional
        How often each word was seen in training.
    unknown : str or None
        Which of ``words`` stands for words outside the vocabulary. If None, they are encoded as -1.
    """

    def __init__(self, words: Sequence[Any], counts: np.ndarray | None = None, unknown: str | None = None) -> None:
        self.words: tuple[Any, ...] = tuple(words)
        self.index: dict[Any, int] = {word: i for i, word in enumerate(self.words)}
        if len(self.index) != len(self.words):
            twice = next(word for word, n in Counter(self.words).items() if n > 1)
            raise InputError(f"the vocabulary contains {twice!r} twice", remedy="give each word once")
        self.counts = np.zeros(len(self.words), np.int64) if counts is None else np.asarray(counts, np.int64)
        if self.counts.shape != (len(self.words),):
            raise InputError(f"{len(self.words)} words but {self.counts.shape} counts")
        if unknown is not None and unknown not in self.index:
            raise InputError(f"the unknown word {unknown!r} is not in the vocabulary")
        self.unknown = unknown

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        unknown: str | None = UNKNOWN,
    ) -> Self:
        """Keep words seen at least ``min_count`` times, at most ``max_size`` of them, most frequent first.

        Ties are broken by code points, so the order of counting does not matter. The counts of dropped words are
        added up under ``unknown`` (which does not count towards ``max_size``). It becomes the last word, and only if
        words were dropped or the text contains it already.
        """
        if min_count < 1 or (max_size is not None and max_size < 1):
            raise InputError(
                f"min_count={min_count} and max_size={max_size}", remedy="both are at least 1; max_size may be None"
            )
        candidates = sorted(word for word in counts if word != unknown)
        numbers = np.array([counts[word] for word in candidates], np.int64)
        order = np.argsort(-numbers, kind="stable")
        order = order[numbers[order] >= min_count][:max_size]
        words = [candidates[i] for i in order.tolist()]
        numbers = numbers[order]
        missing = sum(counts.values()) - int(numbers.sum())
        if unknown is not None and missing > 0:
            return cls([*words, unknown], np.append(numbers, missing), unknown)
        return cls(words, numbers, None)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Vocabulary)
            and self.words == other.words
            and self.unknown == other.unknown
            and bool(np.array_equal(self.counts, other.counts))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words, {int(self.counts.sum())} tokens, unknown={self.unknown!r})"

    @property
    def unknown_id(self) -> int:
        """Id of the unknown word, or -1 if there is none."""
        return -1 if self.unknown is None else self.index[self.unknown]

    @cached_property
    def is_text(self) -> bool:
        """Whether all words are strings."""
        return all(isinstance(word, str) for word in self.words)

    @cached_property
    def spelled(self) -> Vocabulary:
        """The same ids for the spellings of the words, with which files and texts name them."""
        if self.is_text:
            return self
        texts = [spell(word) for word in self.words]
        if len(set(texts)) < len(texts):
            twice = next(text for text, n in Counter(texts).items() if n > 1)
            raise InputError(f"two symbols are both written {twice!r}", remedy="give sequences of symbols, not text")
        return Vocabulary(texts, self.counts)

    def encode(self, words: Iterable[Any]) -> np.ndarray:
        """Ids of ``words``, int32; words outside the vocabulary get ``unknown_id`` (-1 if there is none)."""
        return np.fromiter(map(self.index.get, words, repeat(self.unknown_id)), np.int32)

    def decode(self, ids: Iterable[int]) -> list[Any]:
        """Words of ``ids``; the inverse of :meth:`encode` on known words."""
        return [self.words[i] for i in ids]

    SCHEMA: ClassVar[Schema] = Schema(
        "Vocabulary",
        "Words, or the symbols of an automaton, with their counts in training.",
        values={
            "unknown": Maybe(Text("the word that stands for all words outside the vocabulary")),
            "symbols": Text("symbols are JSON texts, not plain strings", choices=("json",)),
        },
        optional=("symbols",),
        arrays={
            "words": Strings("n_words", "the words; the number of a word is its place", distinct=True),
            "counts": Array("i8", ("n_words",), "how often each was seen", least=0, most=2**53),
        },
        rule=lambda values, arrays, sizes: (
            "the unknown word is not in the vocabulary"
            if values["unknown"] is not None and values["unknown"] not in arrays["words"]
            else None
        ),
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays (the words are a list of strings), as model files hold them.

        Symbols other than strings are JSON texts there, and the value ``symbols`` says so.
        """
        if self.is_text:
            return {"unknown": self.unknown}, {"words": list(self.words), "counts": self.counts}
        texts = [json.dumps(symbol_to_json(word)) for word in self.words]
        return {"unknown": self.unknown, "symbols": "json"}, {"words": texts, "counts": self.counts}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; ``ValueError`` where a text is not a symbol."""
        words = arrays["words"]
        if values.get("symbols") == "json":
            words = [symbol_from_json(json.loads(text)) for text in words]
        return cls(words, np.asarray(arrays["counts"], np.int64), values["unknown"])


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
    def from_sequences(
        cls, sequences: Iterable[Sequence[Any]], vocabulary: Vocabulary | None = None, *, any_symbols: bool = False
    ) -> Self:
        """Encode sequences of symbols; a string among them has spaces between its symbols.

        Without a vocabulary every symbol gets an id, in the order of code points. With one, symbols outside it get
        the id of its unknown symbol, or -1 if it has none. ``any_symbols`` allows hashable symbols that are not
        strings; a vocabulary must then have some of their type.
        See :func:`~spectragram.data.inputs.as_corpus` for files.

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
        if any_symbols:
            symbols = _plain_symbols(symbols)
            _require_types(symbols, vocabulary)
        else:
            _require_strings(symbols)
        if vocabulary is None:
            counts = Counter(symbols)
            kinds = ordered(counts)
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


def _plain_symbols(symbols: list[Any]) -> list[Any]:
    try:
        kinds = set(symbols)
    except TypeError:  # one of them cannot be hashed; say which
        kinds = set(map(plain_symbol, symbols))
    # Each kind is looked at once: corpora have millions of symbols of a few kinds.
    plain = {symbol: plain_symbol(symbol) for symbol in kinds}
    return symbols if all(isinstance(symbol, str) for symbol in kinds) else [plain[symbol] for symbol in symbols]


def _require_types(symbols: list[Any], vocabulary: Vocabulary | None) -> None:
    """Refuse symbols of a type that the vocabulary has none of: they would all count as unknown."""
    if vocabulary is None:
        return
    known = tuple(set(map(type, vocabulary.words)))
    for kind in set(map(type, symbols)):
        if not issubclass(kind, known):
            symbol = next(symbol for symbol in symbols if type(symbol) is kind)
            names = ", ".join(sorted(one.__name__ for one in known))
            raise InputError(
                f"a symbol of type {kind.__name__} ({symbol!r:.40}) for an alphabet of type {names}",
                remedy="give symbols as they were given in training",
            )


def _require_strings(symbols: list[Any]) -> None:
    wrong = {kind for kind in set(map(type, symbols)) if not issubclass(kind, str)}
    if wrong:
        symbol = next(symbol for symbol in symbols if type(symbol) in wrong)
        raise InputError(
            f"a symbol of type {type(symbol).__name__} ({symbol!r})",
            remedy="give sequences of strings, e.g. [['the', 'dog'], ...]",
        )
