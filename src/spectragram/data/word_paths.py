"""Bit strings of words, as word clustering gives them: prefixes of any length are coarser and coarser classes.

A file of paths has a line ``bit string TAB word TAB count`` for each word; ours, Liang's brown-cluster and other tools
write it, and the count may be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.errors import InputError
from spectragram.files import Source, read_lines
from spectragram.schema import Array, Schema, Strings

__all__ = ["WordPaths", "read_paths"]

MAX_BITS = 4096
"""Longest bit string that is accepted: deeper trees of clusters do not occur, and a broken file should not fill
memory."""


@dataclass(frozen=True)
class WordPaths:
    """The path of each word.

    Attributes
    ----------
    words : list of str
    paths : list of str
        Different bit strings, in ascending order.
    path_of : int64 array, shape (n_words,)
        Number of each word's path.
    """

    words: list[str]
    paths: list[str]
    path_of: np.ndarray

    def __post_init__(self) -> None:
        if self.path_of.shape != (len(self.words),) or not _are_below(self.path_of, len(self.paths)):
            raise ValueError("words and paths do not fit together")

    @classmethod
    def of(cls, path_of: Mapping[str, str]) -> Self:
        """From a dictionary of bit strings by word."""
        paths = sorted(set(path_of.values()))
        number = {path: i for i, path in enumerate(paths)}
        return cls(list(path_of), paths, np.array([number[path] for path in path_of.values()], np.int64))

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return dict(zip(self.words, self.path_of.tolist(), strict=True))

    def find(self, word: str) -> str:
        """The bit string of a word; that of its lower-case form, or of the same with digits as 0, where it has none.

        >>> WordPaths.of({"dog": "0110", "0000": "111"}).find("Dog")
        '0110'
        """
        lower = word.lower()
        for form in (word, lower, "".join("0" if c.isdecimal() else c for c in lower)):
            number = self._number_of.get(form)
            if number is not None:
                return self.paths[number]
        return ""

    def prefixes(self, words: Iterable[str], lengths: tuple[int, ...]) -> list[list[str]]:
        """For each length the prefixes of the paths of all words; empty for words without a path."""
        found = [self.find(word) for word in words]
        return [[path[:n] for path in found] for n in lengths]

    SCHEMA: ClassVar[Schema] = Schema(
        "WordPaths",
        "Words and the bit strings of their clusters.",
        arrays={
            "words": Strings("n_words", "the words", distinct=True),
            "paths": Strings("n_paths", "different bit strings"),
            "path_of": Array("i8", ("n_words",), "number of the bit string of each word", least=0, below="n_paths"),
        },
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays, for model files."""
        return {}, {"words": self.words, "paths": self.paths, "path_of": self.path_of}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        return cls(list(arrays["words"]), list(arrays["paths"]), arrays["path_of"])


def _are_below(numbers: np.ndarray, bound: int) -> bool:
    return not len(numbers) or 0 <= int(numbers.min()) <= int(numbers.max()) < bound


def read_paths(source: Source) -> WordPaths:
    """Read a file of paths, plain or gzipped."""
    found: dict[str, str] = {}
    for number, line in read_lines(source):
        if not line.strip():
            continue
        bits, _, rest = line.partition("\t")
        word = rest.partition("\t")[0]
        if not word or not bits or len(bits) > MAX_BITS or set(bits) - {"0", "1"}:
            raise InputError(
                f"{line[:40]!r} is not a bit string, a tab and a word",
                path=source,
                line=number,
                remedy="give a clusters model, or a file of paths as 'spectragram export --format paths' writes it",
            )
        found[word] = bits
    if not found:
        raise InputError("no words", path=source, remedy="give a file of paths with a line for each word")
    return WordPaths.of(found)
