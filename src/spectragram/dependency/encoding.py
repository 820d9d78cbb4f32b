"""CoNLL-U sentences as arrays: the symbols that automata generate, and what else factors know about a word.

letter   row holds                                                       value for what training has not seen
t        tag: the symbol of the automata, from XPOS or UPOS              the usual tag of its UPOS, or 0
c        coarse tag: UPOS, or the tag again                              that of the tag
others   checksums of texts (:mod:`spectragram.dependency.surface`)      its checksum

``_`` is no value: a word without a tag, or without a coarse one, is treated like one whose tag training has not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.corpus import UNKNOWN, Vocabulary
from spectragram.data.word_paths import WordPaths
from spectragram.dependency.surface import Surface, is_filled
from spectragram.errors import InputError
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.schema import Array, ListOf, Part, Record, Schema, Text

__all__ = ["LETTERS", "TAG_FIRST", "Alphabet", "Encoded"]

LETTERS = "tc" + Surface.LETTERS
"""A letter for each of the first rows of a sentence's columns; rows of attributes follow."""

MIN_WORD_COUNT = 2
"""Words seen less often count as unknown, so that factors learn what unknown words do. Chosen by hand, not tuned."""

MAX_TAGS = 60
"""With more values than this XPOS spells out inflection, and automata would see each of them too rarely.

Among nine treebanks XPOS has 15 to 49 values in four, and 95 to 600 in five. With 47 (Maltese) automata of XPOS gain
0.4 LAS on the dev part; with 15, fewer than UPOS has (Uyghur), they lose 1.4.
"""

MIN_TAGGED = 0.95
"""Share of words that need an XPOS before automata generate it. Chosen by hand, not tuned."""

TAG_FIRST = "tag the sentences first, with a tagger (on the command line: --tagger MODEL)"
"""What to do about sentences without tags."""


@dataclass(frozen=True)
class Encoded:
    """Sentences as arrays, one after the other.

    Attributes
    ----------
    rows : int64 array, shape (n_rows, n_tokens)
        One row for each letter, then one for each attribute of FEATS whose agreement counts.
    offsets : int64 array, shape (n_sentences + 1,)
    """

    rows: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def tags(self) -> np.ndarray:
        """The symbols of the automata, (n_tokens,)."""
        return self.rows[0]

    @property
    def coarse(self) -> np.ndarray:
        """Numbers of coarse tags, (n_tokens,)."""
        return self.rows[1]

    def columns(self, sentence: int) -> np.ndarray:
        """The rows of one sentence, (n_rows, n)."""
        first, stop = self.offsets[sentence : sentence + 2]
        return np.ascontiguousarray(self.rows[:, first:stop])


def _alphabet_fits(values: Mapping[str, Any], arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> str | None:
    """Whether unknown values have number 0, and exceptions are tags, words and coarse tags."""
    for name in ("tags", "coarse", "words"):
        if values[name]["unknown"] != arrays[f"{name}.words"][0]:
            return f"the unknown one of '{name}' is not the first"
    if (arrays["exceptions"] >= [sizes["n_tags"], sizes["n_words"], sizes["n_coarse"]]).any():
        return "array 'exceptions' holds numbers that are no tags, words or coarse tags"
    return None


@dataclass(frozen=True)
class Alphabet:
    """Numbers of tags, coarse tags and words; 0 is the unknown one of each.

    Attributes
    ----------
    column : {"xpos", "upos"}
        The column of CoNLL-U that the tags come from.
    tags, coarse, words : Vocabulary
    coarse_of : int64 array, shape (n_tags,)
        The usual coarse tag of each tag.
    exceptions : int64 array, shape (n_exceptions, 3)
        Rows (tag, word, coarse), sorted, for words that with this tag usually have another coarse tag.
    surface : Surface
        How the other rows are made.
    """

    column: str
    tags: Vocabulary
    coarse: Vocabulary
    words: Vocabulary
    coarse_of: np.ndarray
    exceptions: np.ndarray
    surface: Surface

    def __post_init__(self) -> None:
        if self.coarse_of.shape != (len(self.tags),) or self.exceptions.shape != (len(self.exceptions), 3):
            raise ValueError(f"coarse tags of shape {self.coarse_of.shape} for {len(self.tags)} tags")
        for coarse in (self.coarse_of, self.exceptions[:, 2]):
            if ((coarse < 0) | (coarse >= len(self.coarse))).any():
                raise ValueError(f"numbers of coarse tags outside 0..{len(self.coarse) - 1}")

    @classmethod
    def of(cls, sentences: Sequence[Sentence], column: str = "auto", paths: WordPaths | None = None) -> Self:
        """The alphabet of training sentences; ``column`` is ``xpos``, ``upos`` or ``auto``."""
        column = _tag_column(sentences, column)
        coarse_column = "upos" if is_filled(sentences, "upos") else column
        seen = Counter(
            (tag, form.lower(), above)
            for sentence in sentences
            for tag, form, above in zip(
                sentence.column(column), sentence.forms, sentence.column(coarse_column), strict=True
            )
        )
        tags, coarse = _numbered(_summed(seen, 0)), _numbered(_summed(seen, 2))
        words = _numbered({word: n for word, n in _summed(seen, 1).items() if n >= MIN_WORD_COUNT})
        numbers = Counter[tuple[int, int, int]]()
        for (tag, word, above), n in seen.items():
            if "_" not in (tag, above):
                numbers[tags.index[tag], words.index.get(word, 0), coarse.index[above]] += n
        coarse_of, exceptions = _usual_coarse(numbers, len(tags))
        return cls(column, tags, coarse, words, coarse_of, exceptions, Surface.of(sentences, column, paths))

    def encode(self, sentences: Sequence[Sentence]) -> Encoded:
        """Sentences as arrays; unknown words become 0, unknown tags the usual tag of their UPOS or, without one, 0."""
        offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(np.int64)
        tags = self._encode(self.tags, [tag for s in sentences for tag in s.column(self.column)])
        words = self._encode(self.words, [form.lower() for s in sentences for form in s.forms])
        upos = self._encode(self.coarse, [tag for s in sentences for tag in s.upos])
        coarse = np.where(upos > 0, upos, self._guess_coarse(tags, words))
        tags = np.where(tags > 0, tags, self._usual_tag()[coarse])
        return Encoded(np.vstack([tags, coarse, self.surface.rows(sentences, words)]), offsets)

    def _guess_coarse(self, tags: np.ndarray, words: np.ndarray) -> np.ndarray:
        """The usual coarse tags of words without one."""
        guess = self.coarse_of[tags]
        if len(self.exceptions):
            listed = self.exceptions[:, 0] * len(self.words) + self.exceptions[:, 1]
            keys = tags * len(self.words) + words
            places = np.minimum(np.searchsorted(listed, keys), len(listed) - 1)
            guess = np.where(listed[places] == keys, self.exceptions[places, 2], guess)
        return guess

    def _usual_tag(self) -> np.ndarray:
        """The most frequent tag of each coarse tag, 0 for the unknown one, shape (n_coarse,)."""
        usual = np.zeros(len(self.coarse), np.int64)
        usual[self.coarse_of[::-1]] = np.arange(len(self.tags))[::-1]
        usual[0] = 0
        return usual

    @staticmethod
    def _encode(vocabulary: Vocabulary, values: list[str]) -> np.ndarray:
        return vocabulary.encode(values).astype(np.int64)

    SCHEMA: ClassVar[Schema] = Schema(
        "Alphabet",
        "Numbers of tags, coarse tags and words; 0 is the unknown one of each.",
        values={
            "column": Text("the column that tags come from", choices=("xpos", "upos")),
            "surface": Record(
                {
                    "other": Text(choices=("xpos", "upos")),
                    "letters": Text(),
                    "attributes": ListOf(Text()),
                },
                "the other tag column, the rows that hold anything, attributes whose agreement counts",
            ),
        },
        arrays={
            "coarse_of": Array("i8", ("n_tags",), "the usual coarse tag of each tag", least=0, below="n_coarse"),
            "exceptions": Array("i8", ("n_exceptions", 3), "tag, word and the coarse tag they usually have", least=0),
        },
        parts={
            "tags": Part(Vocabulary.SCHEMA, {"n_words": "n_tags"}),
            "coarse": Part(Vocabulary.SCHEMA, {"n_words": "n_coarse"}),
            "words": Part(Vocabulary.SCHEMA, {"n_words": "n_words"}),
            "paths": Part(WordPaths.SCHEMA, values=None, optional=True),
        },
        sizes={"n_tags": 1, "n_coarse": 1, "n_words": 1},
        rule=_alphabet_fits,
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values: dict[str, Any] = {"column": self.column, "surface": self.surface.to_values()}
        arrays: dict[str, Any] = {"coarse_of": self.coarse_of, "exceptions": self.exceptions}
        for name in ("tags", "coarse", "words"):
            values[name], words = getattr(self, name).to_state()
            arrays |= prefixed(name, words)
        if self.surface.paths is not None:
            arrays |= prefixed("paths", self.surface.paths.to_state()[1])
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        tags, coarse, words = (
            Vocabulary.from_state(values[name], without_prefix(name, arrays)) for name in ("tags", "coarse", "words")
        )
        paths = without_prefix("paths", arrays)
        surface = Surface.from_values(values["surface"], WordPaths.from_state({}, paths) if paths else None)
        return cls(values["column"], tags, coarse, words, arrays["coarse_of"], arrays["exceptions"], surface)


def _tag_column(sentences: Sequence[Sentence], column: str) -> str:
    """The column that holds tags; ``auto`` takes XPOS if nearly all words have one of a moderate number of values."""
    choices = [name for name in ("xpos", "upos") if column in ("auto", name)]
    filled = [name for name in choices if is_filled(sentences, name)]
    if not filled:
        raise InputError(
            f"no word has a tag in column {' or '.join(choices).upper()}",
            path=sentences[0].path,
            remedy=TAG_FIRST,
        )
    return filled[0] if len(filled) == 1 or _suits_automata(sentences) else "upos"


def _suits_automata(sentences: Sequence[Sentence]) -> bool:
    """Whether nearly all words have an XPOS no coarser than UPOS, and there are not too many different ones."""
    seen = Counter(tag for sentence in sentences for tag in sentence.xpos)
    n_missing = seen.pop("_", 0)
    n_coarse = len({tag for sentence in sentences for tag in sentence.upos} - {"_"})
    n_words = seen.total() + n_missing
    return n_coarse <= len(seen) <= MAX_TAGS and n_missing <= (1.0 - MIN_TAGGED) * n_words


def _summed(seen: Counter[tuple[str, str, str]], place: int) -> Counter[str]:
    """Counts of one component of the triples."""
    total = Counter[str]()
    for triple, n in seen.items():
        total[triple[place]] += n
    return total


def _usual_coarse(numbers: Counter[tuple[int, int, int]], n_tags: int) -> tuple[np.ndarray, np.ndarray]:
    """The most frequent coarse tag of each tag, (k,), and that of each tag and known word if it differs, (e, 3)."""
    of_tag, of_word = Counter[tuple[int, int]](), Counter[tuple[int, int, int]]()
    for (tag, word, above), n in numbers.items():
        of_tag[tag, above] += n
        if word > 0:
            of_word[tag, word, above] += n
    # In the order of counts, so that the most frequent one is written last; ties in the order of numbers.
    coarse_of = np.zeros(n_tags, np.int64)
    for tag, above in sorted(of_tag, key=lambda pair: (of_tag[pair], pair)):
        coarse_of[tag] = above
    usual = {}
    for tag, word, above in sorted(of_word, key=lambda triple: (of_word[triple], triple)):
        usual[tag, word] = above
    listed = sorted((*pair, above) for pair, above in usual.items() if above != coarse_of[pair[0]])
    return coarse_of, np.array(listed, np.int64).reshape(-1, 3)


def _numbered(counts: dict[str, int]) -> Vocabulary:
    """The unknown value, then all others but ``_``, most frequent first."""
    known = sorted((name for name in counts if name not in (UNKNOWN, "_")), key=lambda name: (-counts[name], name))
    numbers = [counts.get(UNKNOWN, 0), *(counts[name] for name in known)]
    return Vocabulary([UNKNOWN, *known], np.array(numbers, np.int64), UNKNOWN)
