"""Words <-> integers, with counts and cut-offs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from spectragram.errors import InputError

__all__ = ["END", "UNKNOWN", "Vocabulary"]

UNKNOWN = "<unk>"
"""The word that stands for all words outside the vocabulary; spelled as in WikiText and Liang's Brown clustering."""

END = "</s>"
"""The symbol for the end of a sentence or string, in models that predict it."""


class Vocabulary:
    """An ordered set of words with their training counts.

    Parameters
    ----------
    words : sequence of str
        Distinct; the id of a word is its position.
    counts : array of int64, shape (n_words,), optional
        How often each word was seen in training.
    unknown : str or None
        Which of ``words`` stands for words outside the vocabulary. If None, they are encoded as -1.
    """

    def __init__(self, words: Sequence[str], counts: np.ndarray | None = None, unknown: str | None = None) -> None:
        self.words: tuple[str, ...] = tuple(words)
        self.index: dict[str, int] = {word: i for i, word in enumerate(self.words)}
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

    def encode(self, words: Iterable[str]) -> np.ndarray:
        """Ids of ``words``, int32; words outside the vocabulary get ``unknown_id`` (-1 if there is none)."""
        index, unknown = self.index, self.unknown_id
        return np.fromiter((index.get(word, unknown) for word in words), np.int32)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Words of ``ids``; the inverse of :meth:`encode` on known words."""
        return [self.words[i] for i in ids]

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays (the words are a list of strings), as model files hold them."""
        return {"unknown": self.unknown}, {"words": list(self.words), "counts": self.counts}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        return cls(arrays["words"], np.asarray(arrays["counts"], np.int64), values["unknown"])
