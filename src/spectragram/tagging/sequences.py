"""Sequences of observations and labels as flat arrays.

An observation is a string, or a tuple of strings where a file has several columns (word and part of speech). All
sequences of a corpus have the same number of columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from spectragram.data.corpus import Vocabulary
from spectragram.data.word_paths import WordPaths
from spectragram.errors import InputError
from spectragram.tagging.surface import surface_columns

__all__ = ["Observation", "Observations", "encode_labels", "read_observations"]

Observation = tuple[str, ...]


@dataclass(frozen=True)
class Observations:
    """Many sequences of observations, each distinct one stored once.

    Attributes
    ----------
    types : list of tuples of str
        The distinct observations, in order of first appearance.
    initial : bool array, shape (n_types,)
        Which types are capitalised words at the beginning of a sequence, where a capital says little. The same word
        elsewhere is another type.
    tokens : int32 array, shape (n_tokens,)
        Numbers of types, all sequences one after the other.
    offsets : int64 array, shape (n_sequences + 1,)
    frames : float64 array, shape (n_tokens, d), optional
        The vectors behind the tokens, where these are classes of vectors.
    paths : WordPaths, optional
        Paths of the clusters of words.
    """

    types: list[Observation]
    initial: np.ndarray
    tokens: np.ndarray
    offsets: np.ndarray
    frames: np.ndarray | None = None
    paths: WordPaths | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def surface(self) -> np.ndarray:
        """What factors see of each type, int64 (n_columns, n_types); computed once for all members."""
        return surface_columns(self.types, self.paths)

    @property
    def n_columns(self) -> int:
        """Strings in each observation."""
        return len(self.types[0]) if self.types else 1

    def select(self, sequences: np.ndarray) -> tuple[Self, np.ndarray]:
        """The chosen sequences as a corpus of their own, and the numbers that their tokens have in this one."""
        lengths = np.diff(self.offsets)[sequences]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.repeat(self.offsets[sequences] - offsets[:-1], lengths) + np.arange(offsets[-1])
        frames = None if self.frames is None else self.frames[rows]
        return replace(self, tokens=self.tokens[rows], offsets=offsets, frames=frames), rows


def read_observations(
    sequences: Iterable[Sequence[str | Observation]], n_columns: int | None = None, paths: WordPaths | None = None
) -> Observations:
    """Number the observations of sequences, which hold strings or tuples of strings.

    ``n_columns`` is the number of strings that every observation must have; by default that of the first one.
    """
    index: dict[str | Observation | _InitialToken, int] = {}
    tokens: list[int] = []
    ends = [0]
    for number, sequence in enumerate(sequences, start=1):
        try:
            keys = [_InitialToken(sequence[0]), *sequence[1:]] if _is_capitalised(sequence) else sequence
            # setdefault numbers a new observation by the size of the table before it is added.
            tokens.extend([index.setdefault(key, len(index)) for key in keys])
        except TypeError:
            raise InputError(
                f"sequence {number} has tokens that are not strings",
                remedy="give strings, or tuples of strings (word, part of speech)",
            ) from None
        ends.append(len(tokens))
    initial = np.array([isinstance(key, _InitialToken) for key in index], bool)
    plain = [key.token if isinstance(key, _InitialToken) else key for key in index]
    types = [token if isinstance(token, tuple) else (token,) for token in plain]
    _check_types(types, n_columns)
    return Observations(types, initial, np.array(tokens, np.int32), np.array(ends, np.int64), paths=paths)


@dataclass(frozen=True)
class _InitialToken:
    """A token at the beginning of a sequence, told apart from the same token elsewhere."""

    token: str | Observation


def _is_capitalised(sequence: Sequence[str | Observation]) -> bool:
    """Whether a sequence begins with a capital that its place may explain; in a word of capitals only, it may not."""
    if not len(sequence):
        return False
    first = sequence[0][0] if isinstance(sequence[0], tuple) and sequence[0] else sequence[0]
    return isinstance(first, str) and begins_with_capital(first)


def begins_with_capital(word: str) -> bool:
    """Whether a word has a capital that its place at the beginning may explain."""
    return word[:1].isupper() and (len(word) == 1 or not word.isupper())


def _check_types(types: list[Observation], n_columns: int | None) -> None:
    expected = n_columns or (len(types[0]) if types else 1)
    for observation in types:
        if len(observation) != expected:
            source = "the model was trained on" if n_columns else "the first has"
            raise InputError(
                f"the observation {observation!r} has {len(observation)} columns, but {source} {expected}",
                remedy="give every token the same columns as in training",
            )
        if not all(isinstance(text, str) for text in observation):
            raise InputError(
                f"the observation {observation!r:.60} has something that is not a string",
                remedy="give strings, or tuples of strings (word, part of speech)",
            )


def encode_labels(
    labels: Iterable[Sequence[str | None]], offsets: np.ndarray, vocabulary: Vocabulary | None = None
) -> tuple[np.ndarray, Vocabulary]:
    """Label numbers of all tokens, int32; without a vocabulary the labels seen, sorted, become one.

    Labels outside a given vocabulary, and None, are -1. Every sequence needs as many labels as observations.
    """
    listed = [list(sequence) for sequence in labels]
    lengths = np.diff(offsets)
    if len(listed) != len(lengths):
        raise InputError(
            f"{len(lengths)} sequences but {len(listed)} sequences of labels",
            remedy="give one sequence of labels for each sequence of observations",
        )
    for number, (sequence, length) in enumerate(zip(listed, lengths.tolist(), strict=True), start=1):
        if len(sequence) != length:
            raise InputError(
                f"sequence {number} has {length} observations but {len(sequence)} labels",
                remedy="give one label for each observation",
            )
    flat = [label for sequence in listed for label in sequence]
    if vocabulary is None:
        odd = next((label for label in flat if not isinstance(label, str)), None)
        if odd is not None:
            raise InputError(f"the label {odd!r} is not a string", remedy="give labels as strings")
        names, counts = np.unique(np.array(flat, object), return_counts=True)
        vocabulary = Vocabulary(names.tolist(), counts)
    return vocabulary.encode(flat), vocabulary  # type: ignore[arg-type]  # None is in no vocabulary
