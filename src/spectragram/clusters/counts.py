"""Counts of words and of pairs of words: what every learner starts from, and a file of its own.

Counting reads the text, which takes longest on a large corpus; training reads only this. One file of counts
therefore serves many models: other numbers of clusters, other learners, smaller vocabularies.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from spectragram import storage
from spectragram.clusters.bigrams import Bigrams
from spectragram.clusters.pairs import PairTable
from spectragram.data.vocabulary import Vocabulary
from spectragram.errors import InputError, ModelFileError
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.files import Source

__all__ = ["CONTEXTS", "COUNTS_KIND", "PairCounts", "TextOptions"]

COUNTS_KIND = "word-pair-counts"

CONTEXTS: dict[str, tuple[int, ...]] = {"R1": (1,), "LR1": (1, -1), "LR2": (1, -1, 2, -2)}
"""Which neighbours are a word's context, as places relative to it."""


@dataclass(frozen=True)
class TextOptions:
    """How text becomes a stream of words.

    lower, fold_digits : lower-case words; turn every digit into 0.
    apart : keep lines apart, so that no pair crosses the end of a line; otherwise the text is one stream.
    """

    lower: bool = False
    fold_digits: bool = False
    boundaries: bool = False

    def normalised(self, word: str) -> str:
        """A word as it is counted."""
        if self.lower:
            word = word.lower()
        return _DIGIT.sub("0", word) if self.fold_digits else word


_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class PairCounts:
    """How often words occur, and how often one stands 1 (and 2) places before another.

    Words are numbered by decreasing frequency; ``<unk>``, which stands for all others, comes last if there is one.
    """

    vocabulary: Vocabulary
    tables: tuple[PairTable, ...]
    options: TextOptions = TextOptions()

    @property
    def n_words(self) -> int:
        """Words of the vocabulary without ``<unk>``."""
        return len(self.vocabulary) - (self.vocabulary.unknown is not None)

    def bigrams(self) -> Bigrams:
        """Neighbouring words, as the clustering kernels read them."""
        n = len(self.vocabulary)
        table = self.tables[0]
        return Bigrams.from_pairs(table.keys // n, table.keys % n, table.counts, n)

    def context_matrix(self, context: str) -> scipy.sparse.csr_matrix:
        """Counts of words by their contexts, shape (n, n * places): the paper's N * B, ``<unk>`` included."""
        if context not in CONTEXTS:
            raise InputError(f"context={context!r} is unknown", remedy=f"choose one of {', '.join(CONTEXTS)}")
        places = CONTEXTS[context]
        if max(places) > len(self.tables):
            raise InputError(
                f"context={context} needs pairs at distance {max(places)}, which were not counted",
                remedy=f"count again with window={max(places)}",
            )
        n = len(self.vocabulary)
        blocks = []
        for place in places:
            table = self.tables[abs(place) - 1]
            pairs = (table.keys // n, table.keys % n)
            matrix = scipy.sparse.csr_matrix((table.counts.astype(np.float64), pairs), (n, n))
            blocks.append(matrix if place > 0 else matrix.T)
        return scipy.sparse.hstack(blocks, format="csr")

    def cut(self, max_size: int | None = None, min_count: int = 1) -> PairCounts:
        """The same text over a smaller vocabulary: rarer words become ``<unk>``."""
        known = dict(zip(self.vocabulary.words, self.vocabulary.counts.tolist(), strict=True))
        smaller = Vocabulary.from_counts(known, min_count=min_count, max_size=max_size)
        if len(smaller) == len(self.vocabulary):
            return self
        new = smaller.encode(self.vocabulary.words).astype(np.int64)
        n, m = len(self.vocabulary), len(smaller)
        tables = tuple(
            PairTable.of_weighted_keys(new[table.keys // n] * m + new[table.keys % n], table.counts)
            for table in self.tables
        )
        return PairCounts(smaller, tables, self.options)

    def save(self, path: Source) -> None:
        """Write the counts to one file, atomically."""
        header, arrays = self.to_state()
        storage.write(path, COUNTS_KIND, {"complete": True} | header, arrays)

    @classmethod
    def load(cls, path: Source) -> PairCounts:
        """Read a file that :meth:`save` (or a finished count) wrote."""
        stored = storage.read(path)
        if stored.kind != COUNTS_KIND:
            raise ModelFileError(f"holds '{stored.kind}'", path=path, remedy="give a file of word pair counts")
        if not stored.header.get("complete"):
            raise ModelFileError(
                "holds a count that was interrupted", path=path, remedy="run the same count again to finish it"
            )
        try:
            return cls.from_state(stored.header, stored.arrays)
        except (KeyError, TypeError, ValueError) as trouble:
            raise ModelFileError(
                f"its content is not counts ({trouble})", path=path, remedy="count the text again"
            ) from trouble

    def to_state(self) -> State:
        """JSON-ready header and arrays."""
        vocabulary, words = self.vocabulary.to_state()
        arrays: dict[str, Any] = prefixed("vocabulary", words)
        for distance, table in enumerate(self.tables, 1):
            arrays |= {f"keys{distance}": table.keys, f"counts{distance}": table.counts}
        header = {
            "vocabulary": vocabulary,
            "window": len(self.tables),
            "options": dataclasses.asdict(self.options),
        }
        return header, arrays

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> PairCounts:
        """Inverse of :meth:`to_state`."""
        tables = tuple(PairTable(arrays[f"keys{d}"], arrays[f"counts{d}"]) for d in range(1, header["window"] + 1))
        vocabulary = Vocabulary.from_state(header["vocabulary"], without_prefix("vocabulary", arrays))
        for table in tables:
            if len(table.keys) != len(table.counts) or (
                len(table.keys) and not 0 <= table.keys[0] <= table.keys[-1] < len(vocabulary) ** 2
            ):
                raise ValueError("pairs of words that the vocabulary does not have")
        return cls(vocabulary, tables, TextOptions(**header["options"]))
