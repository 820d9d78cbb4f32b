"""Counts of words and of pairs of words: what every learner starts from, and a file of its own.

Counting reads the text, which takes longest on a large corpus; training reads only the counts. So one file of counts
serves many models: other numbers of clusters, other learners, smaller vocabularies.

    TextOptions   how text becomes a stream of words
    PairCounter   counts the pairs of a text that arrives in blocks
    StreamPairs   pairs of one stretch of text; stretches add up
    PairRuns      adds up many of them
    PairCounts    words and pairs of a whole text
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from spectragram import storage
from spectragram.data.corpus import Vocabulary
from spectragram.data.inputs import WordLists, as_word_lists
from spectragram.errors import ModelFileError, ParameterError
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.files import Source
from spectragram.learning.counts import RunningCounts, TupleCounts, pack
from spectragram.schema import Array, Flag, Json, Part, Record, Schema, Whole

__all__ = [
    "CONTEXTS",
    "COUNTS_KIND",
    "TEXT_OPTIONS",
    "PairCounter",
    "PairCounts",
    "PairRuns",
    "StreamPairs",
    "TextOptions",
    "holds_counts",
]

COUNTS_KIND = "word-pair-counts"

CONTEXTS: dict[str, tuple[int, ...]] = {"R1": (1,), "LR1": (1, -1), "LR2": (1, -1, 2, -2)}
"""Which neighbours are the context of a word, as places relative to it; names as in Stratos et al. (2014)."""

MAX_WINDOW = 2
"""The widest window of any context."""
TEXT_OPTIONS = Record(dict.fromkeys(("lower", "fold_digits", "boundaries"), Flag()), "how text becomes words")
"""What model files hold of :class:`TextOptions`."""

_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class TextOptions:
    """How text becomes a stream of words.

    Attributes
    ----------
    lower, fold_digits : bool
        Lower-case words; turn every digit into 0.
    boundaries : bool
        Treat each line as a separate sentence, so that no pair crosses the end of a line. Otherwise the text is one
        stream.
    """

    lower: bool = False
    fold_digits: bool = False
    boundaries: bool = False

    def normalised(self, word: str) -> str:
        """A word in the spelling that is counted."""
        if self.lower:
            word = word.lower()
        return _DIGIT.sub("0", word) if self.fold_digits else word

    def word_lists(self, X: WordLists) -> list[list[str]]:
        """Sentences as lists of words in that spelling; empty ones stay, so that answers are aligned with them."""
        return [[self.normalised(word) for word in words] for words in as_word_lists(X, keep_empty=True)]

    def __str__(self) -> str:
        chosen = [field.name.replace("_", " ") for field in dataclasses.fields(self) if getattr(self, field.name)]
        return ", ".join(chosen) or "none"


@dataclass(frozen=True)
class StreamPairs:
    """Pairs of one stretch of text, and its first and last words, which pair with the stretches around it.

    ``tables[d - 1]`` holds pairs at distance d. If lines are separate sentences, ``head`` and ``tail`` are empty.
    """

    tables: tuple[TupleCounts, ...]
    head: np.ndarray
    tail: np.ndarray

    def __add__(self, other: StreamPairs) -> StreamPairs:
        both = PairRuns(self)
        both.add(other)
        return both.result()


class PairRuns:
    """Adds up stretches of text that follow one another, in ``memory`` bytes and on disk beyond that."""

    def __init__(self, first: StreamPairs, memory: int | None = None) -> None:
        share = None if memory is None else memory // len(first.tables)
        self._runs = [RunningCounts(table.n_ids, memory=share) for table in first.tables]
        for runs, table in zip(self._runs, first.tables, strict=True):
            runs.add_counts(table)
        self.head = first.head
        self.tail = first.tail
        self._is_whole = True

    def add(self, other: StreamPairs) -> None:
        """Add the next stretch."""
        self._is_whole = False
        window = len(self._runs)
        for distance, (runs, table) in enumerate(zip(self._runs, other.tables, strict=True), 1):
            # Pairs that span the seam: d apart, one end in each stretch.
            before, after = self.tail[-distance:], other.head[:distance]
            seam = np.concatenate([before, after])
            n = max(0, min(len(before), len(seam) - distance))
            runs.add(pack([seam[:n], seam[distance : distance + n]], table.n_ids))
            runs.add_counts(table)
        self.head = np.concatenate([self.head, other.head])[:window]
        self.tail = np.concatenate([self.tail, other.tail])[-window:]
        self._is_whole = True

    def so_far(self) -> StreamPairs | None:
        """The pairs of all stretches so far; None if the last one was interrupted on its way in."""
        return self.result() if self._is_whole else None

    def result(self) -> StreamPairs:
        """The pairs of all stretches."""
        return StreamPairs(tuple(runs.result() for runs in self._runs), self.head, self.tail)


class PairCounter:
    """Counts pairs at distances 1 .. ``window`` in blocks of whole lines that follow one another.

    ``boundaries`` treats each line as a separate sentence; otherwise pairs cross the ends of lines.
    """

    def __init__(self, n_words: int, window: int = 1, boundaries: bool = False) -> None:
        self.window = window
        self.boundaries = boundaries
        self._counts = [RunningCounts(n_words) for _ in range(window)]
        self._head = np.empty(0, np.int64)
        self._tail = np.empty(0, np.int64)

    def add(self, tokens: np.ndarray, offsets: np.ndarray) -> None:
        """Count a block: int array of word ids, and where its lines begin (and the last one ends)."""
        ids = np.concatenate([self._tail, tokens.astype(np.int64)])
        line = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) if self.boundaries else None
        for distance, counts in enumerate(self._counts, 1):
            # A pair is new when its second word is.
            first = max(0, len(self._tail) - distance)
            keys = pack([ids[first:-distance], ids[first + distance :]], counts.n_ids)
            counts.add(keys if line is None else keys[line[distance:] == line[:-distance]])
        if not self.boundaries:
            self._head = np.concatenate([self._head, tokens[: self.window]])[: self.window].astype(np.int64)
            self._tail = ids[-self.window :]

    def result(self) -> StreamPairs:
        """The pairs of everything that was added."""
        return StreamPairs(tuple(counts.result() for counts in self._counts), self._head, self._tail)


@dataclass(frozen=True)
class PairCounts:
    """How often words occur, and how often one stands 1 (and 2) places before another.

    Words are numbered by decreasing frequency; ``<unk>``, which stands for all other words, comes last if there is one.
    """

    vocabulary: Vocabulary
    tables: tuple[TupleCounts, ...]
    options: TextOptions = TextOptions()

    @property
    def n_words(self) -> int:
        """Number of words without ``<unk>``."""
        return len(self.vocabulary) - (self.vocabulary.unknown is not None)

    @property
    def n_tokens(self) -> int:
        """Length of the text in words."""
        return int(self.vocabulary.counts.sum())

    def pair_matrix(self, distance: int = 1) -> scipy.sparse.csr_matrix:
        """How often the first word stands ``distance`` places before the second, int64, shape (n, n)."""
        n, table = len(self.vocabulary), self.tables[distance - 1]
        return scipy.sparse.csr_matrix((table.counts, (table.contexts, table.words)), (n, n))

    def context_matrix(self, context: str) -> scipy.sparse.csr_matrix:
        """Counts of words by their contexts, shape (n, n * places): the paper's N * B, ``<unk>`` included."""
        places = CONTEXTS[context]
        if max(places) > len(self.tables):
            raise ParameterError(
                "context",
                context,
                f"needs pairs at distance {max(places)}, which were not counted",
                remedy="count the text again with this context, or choose a narrower one",
            )
        matrices = [self.pair_matrix(abs(place)).astype(np.float64) for place in places]
        blocks = [matrix if place > 0 else matrix.T for place, matrix in zip(places, matrices, strict=True)]
        return scipy.sparse.hstack(blocks, format="csr")

    def cut(self, max_size: int | None = None, min_count: int = 1) -> PairCounts:
        """The same text over a smaller vocabulary: rarer words become ``<unk>``."""
        known = dict(zip(self.vocabulary.words, self.vocabulary.counts.tolist(), strict=True))
        smaller = Vocabulary.from_counts(known, min_count=min_count, max_size=max_size)
        if len(smaller) == len(self.vocabulary):
            return self
        new, m = smaller.encode(self.vocabulary.words), len(smaller)
        tables = tuple(
            TupleCounts.from_weighted_keys(pack([new[table.contexts], new[table.words]], m), table.counts, m)
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
        return cls.from_stored(stored, path)

    @classmethod
    def from_stored(cls, stored: storage.StoredModel, path: Source) -> PairCounts:
        """The counts of a file, complete or not; refuses what does not fit together."""
        try:
            (cls.SCHEMA if stored.header.get("complete") else cls.INTERRUPTED).check(stored.header, stored.arrays)
            return cls.from_state(stored.header, stored.arrays)
        except (AttributeError, KeyError, TypeError, ValueError) as trouble:
            raise ModelFileError(
                f"its content is not counts ({trouble})", path=path, remedy="count the text again"
            ) from trouble

    SCHEMA: ClassVar[Schema] = Schema(
        "Counts of word pairs",
        "What `train clusters --counts FILE` saves, so that a text is counted once; not a model.",
        values={
            "complete": Flag("whether the whole text has been counted"),
            "window": Whole("distances up to which pairs are counted", least=1, below=MAX_WINDOW + 1, size="window"),
            "options": TEXT_OPTIONS,
            "job": Json("what was counted, and how"),
        },
        optional=("job",),
        arrays={
            "keys{k}": Array(
                "i8", ("n_pairs{k}",), "pairs of words at distance k, as first * n_words + second",
                least=0, below="n_words ** 2", increasing=True,
            ),
            "counts{k}": Array("i8", ("n_pairs{k}",), "how often each occurred", least=1, most=2**53),
        },
        parts={"vocabulary": Part(Vocabulary.SCHEMA, {"n_words": "n_words"})},
        each="window",
        rule=lambda values, arrays, sizes: (
            "array 'vocabulary.counts' holds 0" if (arrays["vocabulary.counts"] == 0).any() else None
        ),
    )  # fmt: skip

    INTERRUPTED: ClassVar[Schema] = replace(
        SCHEMA,
        name="Interrupted count of word pairs",
        about="What is counted so far; the same command goes on from there.",
        values={**SCHEMA.values, "n_done": Whole("parts of the text that are counted")},
        optional=(),
        arrays={
            **SCHEMA.arrays,
            "head": Array("i8", ("n_head",), "the first words of the text", least=0, below="n_words"),
            "tail": Array("i8", ("n_tail",), "its last words so far", least=0, below="n_words"),
        },
    )

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
    def from_state(cls, header: dict[str, Any], arrays: dict[str, Any]) -> PairCounts:
        """Inverse of :meth:`to_state`; raises ``KeyError`` or ``ValueError`` for what does not fit together."""
        vocabulary = Vocabulary.from_state(header["vocabulary"], without_prefix("vocabulary", arrays))
        tables = tuple(
            TupleCounts.from_arrays(arrays[f"keys{distance}"], arrays[f"counts{distance}"], len(vocabulary))
            for distance in range(1, header["window"] + 1)
        )
        return cls(vocabulary, tables, TextOptions(**header["options"]))


def holds_counts(path: Source) -> bool:
    """Whether a file holds saved counts rather than text."""
    if str(path) == "-":
        return False
    try:
        return storage.read_header(path).kind == COUNTS_KIND
    except ModelFileError:
        return False
