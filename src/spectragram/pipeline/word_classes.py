"""Parts of speech as far as a word alone tells them: a coarse view of words for finding sentence ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.schema import Array, Schema, Strings

__all__ = ["WordClasses", "learn_word_classes"]


@dataclass(frozen=True)
class WordClasses:
    """The most frequent part of speech of each form; of its last letters for forms that training has not seen.

    Attributes
    ----------
    names : tuple of str
        Class 0, the empty name, is that of words about which nothing is known.
    keys, classes : int64 arrays, shape (n,)
        Numbers of forms and endings in ascending order, and their classes.
    """

    names: tuple[str, ...]
    keys: np.ndarray
    classes: np.ndarray

    def __post_init__(self) -> None:
        if self.keys.shape != self.classes.shape or self.classes.max(initial=0) >= len(self.names):
            raise ValueError("word classes that do not fit together")

    def find(self, numbers: np.ndarray) -> np.ndarray:
        """Classes of words, int64 (n,); numbers (k, n): the form, then its endings from long to short."""
        found = np.zeros(numbers.shape[1], np.int64)
        if len(self.keys) == 0:
            return found
        for row, own in enumerate(numbers):
            unknown = np.flatnonzero(found == 0)
            keys = own[unknown] ^ row  # a form is not the same as an ending with the same letters
            at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            found[unknown] = np.where(self.keys[at] == keys, self.classes[at], 0)
        return found

    @cached_property
    def is_verb(self) -> np.ndarray:
        """Whether each class has a verb in it, bool."""
        return np.array(["VERB" in name or "AUX" in name for name in self.names])

    SCHEMA: ClassVar[Schema] = Schema(
        "Word classes",
        "Parts of speech of forms and endings, by their numbers.",
        arrays={
            "names": Strings("n_classes", "names of the classes; the first is empty"),
            "keys": Array("i8", ("n_keys",), "numbers of forms and endings", increasing=True),
            "classes": Array("i8", ("n_keys",), "their classes", least=0, below="n_classes"),
        },
        sizes={"n_classes": 1},
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays, for model files."""
        return {}, {"names": list(self.names), "keys": self.keys, "classes": self.classes}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        return cls(tuple(arrays["names"]), arrays["keys"], arrays["classes"])


def learn_word_classes(numbers: np.ndarray, tags: Sequence[str]) -> WordClasses:
    """Learn from the words of a treebank, numbers (k, n) as for :meth:`WordClasses.find`, and their tags.

    Empty tags do not count; a treebank without any gives classes that know nothing.
    """
    names = ("", *sorted(set(tags) - {""}))
    number_of = {name: number for number, name in enumerate(names)}
    tagged = np.array([number_of[tag] for tag in tags], np.int64)
    known = tagged > 0
    keys, classes = [], []
    for row, own in enumerate(numbers):
        pairs, counts = np.unique(np.stack([own[known] ^ row, tagged[known]]), axis=1, return_counts=True)
        order = np.lexsort((counts, pairs[0]))
        is_last = np.append(np.diff(pairs[0, order]) != 0, True)[: len(order)]
        keys.append(pairs[0, order][is_last])
        classes.append(pairs[1, order][is_last])
    every, first = np.unique(np.concatenate(keys), return_index=True)
    return WordClasses(names, every, np.concatenate(classes)[first])
