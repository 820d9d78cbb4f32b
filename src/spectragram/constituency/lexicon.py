"""The vectors of words: what each tag's hidden states say about a word, known or not.

    c^inf_{t -> w}  proportional to  P(t, x | w) / P(t, x)                       (Bayes; p(w) is the same for all tags)
    P_l(t, x | w) = (C_l(w, t, x) + kappa_l P_{l+1}(t, x | w)) / (C_l(w) + kappa_l)

Level l = 0 is the word itself, the next ones are ever coarser classes of it (:mod:`spectragram.data.signatures`),
the last but one is any rare word, the last any word. Classes are counted on rare words only, which are the ones that
resemble unknown words. C may be counts of states (EM, pivot, clusters) or sums of projected outside vectors
(spectral): the formula is linear in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spectragram.data.signatures import signatures
from spectragram.data.treebank import Treebank

__all__ = ["Lexicon", "WordTable", "word_types"]

RARE = 5
"""Classes are learned from words seen at most this often."""
TRUST_WORD, TRUST_CLASS = 1.0, 5.0
"""kappa: how many observations the next coarser level is worth, to a word and to a class."""
CERTAIN = 100
"""A word seen this often has no other tags than those seen."""
SMOOTH_STATES = 0.1
"""Share of a word's vector that does not depend on the hidden state."""


def word_types(treebank: Treebank) -> tuple[np.ndarray, list[tuple[int, bool]]]:
    """A word with whether it begins its sentence is a type: the type of each token, and the types."""
    tokens = treebank.sentences.tokens
    initial = np.zeros(len(tokens), np.int64)
    initial[treebank.sentences.offsets[:-1]] = 1
    distinct, type_of = np.unique(tokens.astype(np.int64) * 2 + initial, return_inverse=True)
    return type_of, [(int(key) // 2, bool(key % 2)) for key in distinct]


@dataclass(frozen=True)
class _Level:
    """Rows of a word table grouped by class and tag, into slots; a class owns consecutive slots."""

    index: dict[str, int]  #: class -> number
    totals: np.ndarray  #: (n_classes,) tokens counted
    slot_start: np.ndarray  #: (n_classes + 1,)
    slot_tag: np.ndarray  #: (n_slots,)
    slot_of_row: np.ndarray  #: (n_rows,) -1 where the class or the tag with it was not counted
    class_of_row: np.ndarray  #: (n_rows,) -1 likewise
    counted: np.ndarray  #: (n_rows,) bool: whether the row adds to its slot
    trust: float

    @classmethod
    def build(
        cls, names: Sequence[str], tags: np.ndarray, counts: np.ndarray, counted: np.ndarray, trust: float
    ) -> Self:
        index = {name: i for i, name in enumerate(dict.fromkeys(n for n, c in zip(names, counted, strict=True) if c))}
        class_of_row = np.array([index.get(name, -1) for name in names], np.int64)
        base = int(tags.max(initial=0)) + 1
        key = np.where(class_of_row >= 0, class_of_row * base + tags, -1)
        slots = np.unique(key[counted])
        place = np.minimum(np.searchsorted(slots, key), max(len(slots) - 1, 0))
        found = np.append(slots, -2)[place] == key
        return cls(
            index=index,
            totals=np.bincount(class_of_row[counted], counts[counted], minlength=len(index)),
            slot_start=np.searchsorted(slots // base, np.arange(len(index) + 1)),
            slot_tag=(slots % base).astype(np.int32),
            slot_of_row=np.where(found, place, -1),
            class_of_row=class_of_row,
            counted=counted,
            trust=trust,
        )

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Add up the rows of each slot: (n_rows, k) -> (n_slots, k)."""
        slots = self.slot_of_row[self.counted]
        order = np.argsort(slots, kind="stable")
        starts = np.searchsorted(slots[order], np.arange(len(self.slot_tag)))
        return np.add.reduceat(values[self.counted][order], starts, axis=0) if len(starts) else values[:0]


class WordTable:
    """Which words, begin or not of a sentence, occur with which tags, and the classes of the words.

    Rows are the distinct (type, tag) pairs: the lexical rules of the grammar.
    """

    def __init__(self, words: Sequence[str], initial: np.ndarray, tags: np.ndarray, counts: np.ndarray) -> None:
        self.words, self.initial, self.tags, self.counts = list(words), initial, tags, counts
        self.possible_tags = np.unique(tags).astype(np.int32)
        self.word_counts: dict[str, float] = {}
        for word, n in zip(self.words, counts.tolist(), strict=True):
            self.word_counts[word] = self.word_counts.get(word, 0.0) + n
        self.n_tokens = float(counts.sum())
        rare = np.array([self.word_counts[word] <= RARE for word in self.words], bool)
        everything = np.ones(len(rare), bool)
        classes = signatures(self.words, initial=initial.tolist(), known=self.word_counts)
        self.levels = [_Level.build(self.words, tags, counts, everything, TRUST_WORD)]
        self.levels += [_Level.build(names, tags, counts, rare, TRUST_CLASS) for names in zip(*classes, strict=True)]

    @classmethod
    def of_treebank(cls, treebank: Treebank) -> tuple[Self, np.ndarray]:
        """The table, and the row of every token."""
        type_of, types = word_types(treebank)
        n_tags = treebank.productions.n_tags
        key = type_of.astype(np.int64) * n_tags + treebank.symbol[treebank.leaves]
        pairs, row_of, counts = np.unique(key, return_inverse=True, return_counts=True)
        names = treebank.productions.words.words
        words = [names[types[t][0]] for t in pairs // n_tags]
        initial = np.array([types[t][1] for t in pairs // n_tags], bool)
        return cls(words, initial, (pairs % n_tags).astype(np.int32), counts.astype(float)), row_of.astype(np.int32)

    def keys(self, word: str, initial: bool) -> tuple[str, ...]:
        """The word and its classes, from fine to coarse."""
        return (word, *signatures([word], initial=[initial], known=self.word_counts)[0])

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain values and arrays for a model file."""
        return {"words": self.words}, {"initial": self.initial, "tags": self.tags, "counts": self.counts}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Inverse of :meth:`to_state`."""
        return cls(values["words"], arrays["initial"], arrays["tags"], arrays["counts"])


class Lexicon:
    """Vectors for words, from what was counted on the rows of a :class:`WordTable`.

    Parameters
    ----------
    table : WordTable
    values : array, shape (n_rows, m)
        For each row the sum over its tokens of state probabilities, or of projected outside vectors.
    divisor : array, shape (n_tags, m)
        P(t, x) for state probabilities, P(t) for projected vectors; infinite where a tag has fewer states.
    mean : array, shape (n_tags, m)
        The vector of a token of tag t about which nothing is known: ones for state probabilities.
    smooth : float
        Share of a vector that does not depend on the word's own states.
    """

    def __init__(
        self,
        table: WordTable,
        values: np.ndarray,
        divisor: np.ndarray,
        mean: np.ndarray,
        smooth: float = SMOOTH_STATES,
    ) -> None:
        self.table, self.values, self.divisor, self.mean, self.smooth = table, values, divisor, mean, smooth
        # An extra column holds plain counts: the part of a vector that does not depend on the state.
        extended = np.column_stack([values, table.counts])
        self._sums = [level.sums(extended) for level in table.levels]
        floor = np.zeros((len(divisor), values.shape[1] + 1))
        np.add.at(floor, table.tags, extended)
        # Below all classes: any word, so that no tag is ever impossible.
        self._floor = floor / table.n_tokens
        self._cache: dict[tuple[str, bool], tuple[np.ndarray, np.ndarray]] = {}

    def row_vectors(self) -> np.ndarray:
        """The vectors of all rows, (n_rows, m): what the trees of the treebank are scored with."""
        tags = self.table.tags
        mixed = self._floor[tags]
        for level, sums in zip(reversed(self.table.levels), reversed(self._sums), strict=True):
            known = level.class_of_row >= 0
            total = np.where(known, np.append(level.totals, 0.0)[level.class_of_row], 0.0)
            own = np.vstack([sums, np.zeros((1, mixed.shape[1]))])[level.slot_of_row]
            mixed = (own + level.trust * mixed) / (total + level.trust)[:, None]
        return self._finish(mixed, tags)

    def vectors(self, word: str, initial: bool) -> tuple[np.ndarray, np.ndarray]:
        """Possible tags of a word, int32 (k,), ascending, and their vectors, (k, m)."""
        found = self._cache.get((word, initial))
        if found is None:
            if len(self._cache) > 100_000:
                self._cache.clear()
            found = self._cache[word, initial] = self._compute(word, initial)
        return found

    def _compute(self, word: str, initial: bool) -> tuple[np.ndarray, np.ndarray]:
        mixed = self._floor.copy()
        keys = self.table.keys(word, initial)
        for level, sums, key in zip(reversed(self.table.levels), reversed(self._sums), reversed(keys), strict=True):
            number = level.index.get(key)
            if number is not None:
                first, last = level.slot_start[number], level.slot_start[number + 1]
                mixed *= level.trust
                mixed[level.slot_tag[first:last]] += sums[first:last]
                mixed /= level.totals[number] + level.trust
        tags = self.table.possible_tags
        if self.table.word_counts.get(word, 0.0) >= CERTAIN:
            level = self.table.levels[0]
            number = level.index[word]
            tags = level.slot_tag[level.slot_start[number] : level.slot_start[number + 1]]
        return tags, self._finish(mixed[tags], tags)

    def _finish(self, mixed: np.ndarray, tags: np.ndarray) -> np.ndarray:
        own = mixed[:, :-1] / self.divisor[tags]
        plain = (mixed[:, -1] / self._floor[tags, -1])[:, None] * self.mean[tags]
        return (1.0 - self.smooth) * own + self.smooth * plain
