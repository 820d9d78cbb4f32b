"""Sentences of CoNLL-U as arrays: which symbol the automata see, what else the factors know about a word.

column    what                                                          unknown
tag       XPOS, or UPOS where the file has no XPOS: the symbols         0, or the tag its UPOS usually has
coarse    UPOS, or the tag again                                        that of the tag
word      lower-cased form, if seen twice in training                   0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.projectivity import is_projective, projectivize
from spectragram.data.vocabulary import UNKNOWN, Vocabulary
from spectragram.errors import InputError

__all__ = ["Alphabet", "Encoded", "encode_trees"]

MIN_WORD_COUNT = 2


@dataclass(frozen=True)
class Encoded:
    """Sentences one after the other.

    Attributes
    ----------
    tags, coarse, words : int64 arrays, shape (n_tokens,)
    offsets : int64 array, shape (n_sentences + 1,)
    """

    tags: np.ndarray
    coarse: np.ndarray
    words: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def columns(self, sentence: int) -> np.ndarray:
        """Tags, coarse tags and words of one sentence, (3, n)."""
        first, stop = self.offsets[sentence : sentence + 2]
        return np.stack([self.tags[first:stop], self.coarse[first:stop], self.words[first:stop]])


@dataclass(frozen=True)
class Alphabet:
    """Tags, coarse tags and words by number; 0 is the unknown one of each."""

    column: str
    tags: Vocabulary
    coarse: Vocabulary
    words: Vocabulary
    coarse_of: np.ndarray

    def __post_init__(self) -> None:
        inside = (self.coarse_of >= 0) & (self.coarse_of < len(self.coarse))
        if self.coarse_of.shape != (len(self.tags),) or not inside.all():
            raise ValueError(f"coarse tags of shape {self.coarse_of.shape} for {len(self.tags)} tags")

    @classmethod
    def of(cls, sentences: Sequence[Sentence], column: str = "auto") -> Self:
        """What the sentences hold; ``column`` is ``xpos``, ``upos`` or ``auto``."""
        column = _tag_column(sentences, column)
        coarse_column = "upos" if _is_filled(sentences, "upos") else column
        pairs = Counter(
            pair
            for sentence in sentences
            for pair in zip(sentence.column(column), sentence.column(coarse_column), strict=True)
        )
        fine, coarse = Counter[str](), Counter[str]()
        for (tag, above), n in pairs.items():
            fine[tag] += n
            coarse[above] += n
        words = Counter(form.lower() for sentence in sentences for form in sentence.forms)
        tags, coarse_tags = _numbered(fine), _numbered(coarse)
        # Each tag's most frequent coarse tag: the last one written; ties in the order of names.
        coarse_of = np.zeros(len(tags), np.int64)
        for tag, above in sorted(pairs, key=lambda pair: (pairs[pair], pair)):
            coarse_of[tags.index[tag]] = coarse_tags.index[above]
        frequent = {word: n for word, n in words.items() if n >= MIN_WORD_COUNT}
        return cls(column, tags, coarse_tags, _numbered(frequent), coarse_of)

    def encode(self, sentences: Sequence[Sentence]) -> Encoded:
        """Sentences as arrays; tags and words outside the alphabet become 0 or, by their UPOS, a tag of the same."""
        offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(np.int64)
        tags = self._encode(self.tags, [tag for s in sentences for tag in s.column(self.column)])
        upos = self._encode(self.coarse, [tag for s in sentences for tag in s.upos])
        coarse = np.where(upos > 0, upos, self.coarse_of[tags])
        tags = np.where(tags > 0, tags, self._usual_tag()[coarse])
        words = self._encode(self.words, [form.lower() for s in sentences for form in s.forms])
        return Encoded(tags, coarse, words, offsets)

    def _usual_tag(self) -> np.ndarray:
        """The most frequent tag of each coarse tag, 0 for the unknown one, shape (n_coarse,)."""
        usual = np.zeros(len(self.coarse), np.int64)
        usual[self.coarse_of[::-1]] = np.arange(len(self.tags))[::-1]
        usual[0] = 0
        return usual

    @staticmethod
    def _encode(vocabulary: Vocabulary, values: list[str]) -> np.ndarray:
        return vocabulary.encode(values).astype(np.int64)

    def to_state(self) -> dict[str, Any]:
        """A JSON-ready form, for model files."""
        names = ("tags", "coarse", "words")
        return {"column": self.column} | {name: getattr(self, name).to_state() for name in names}

    @classmethod
    def from_state(cls, state: dict[str, Any], coarse_of: np.ndarray) -> Self:
        """Inverse of :meth:`to_state`."""
        tags, coarse, words = (Vocabulary.from_state(state[name]) for name in ("tags", "coarse", "words"))
        return cls(state["column"], tags, coarse, words, coarse_of)


def _tag_column(sentences: Sequence[Sentence], column: str) -> str:
    """The column that holds tags, XPOS before UPOS for ``auto``."""
    choices = ("xpos", "upos") if column == "auto" else (column,)
    for name in choices:
        if _is_filled(sentences, name):
            return name
    raise InputError(
        f"no word has a tag: {' and '.join(choices).upper()} of all sentences are empty",
        path=sentences[0].path,
        remedy="give tagged sentences, or --tagger MODEL to tag them first",
    )


def _is_filled(sentences: Sequence[Sentence], column: str) -> bool:
    return any(tag != "_" for sentence in sentences for tag in sentence.column(column))


def _numbered(counts: dict[str, int]) -> Vocabulary:
    """The unknown value, then all others, most frequent first."""
    known = sorted((name for name in counts if name != UNKNOWN), key=lambda name: (-counts[name], name))
    numbers = [counts.get(UNKNOWN, 0), *(counts[name] for name in known)]
    return Vocabulary([UNKNOWN, *known], np.array(numbers, np.int64), UNKNOWN)


def encode_trees(sentences: Sequence[Sentence]) -> tuple[np.ndarray, int]:
    """Heads of all words, (n_tokens,) int64, lifted where trees are not projective, and how many of those there were.

    Raises :class:`InputError` with file and line where heads do not form a tree.
    """
    heads = []
    lifted = 0
    for sentence in sentences:
        sentence.check_tree()
        mine = sentence.heads
        if not is_projective(mine):
            mine, _ = projectivize(mine)
            lifted += 1
        heads.append(mine)
    return np.concatenate(heads).astype(np.int64), lifted
