"""CoNLL-U sentences as arrays: the symbols that automata generate, and what else factors know about a word.

column    holds                                                         value for what training has not seen
tag       XPOS, or UPOS if the file has no XPOS: the symbols            0, or the usual tag of its UPOS
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
from spectragram.data.corpus import UNKNOWN, Vocabulary
from spectragram.data.projectivity import is_projective, projectivize
from spectragram.errors import InputError
from spectragram.estimator import State, prefixed, without_prefix

__all__ = ["TAG_FIRST", "Alphabet", "Encoded", "encode_trees"]

MIN_WORD_COUNT = 2
"""Words seen less often count as unknown, so that factors learn what unknown words do. Chosen by hand, not tuned."""


TAG_FIRST = "tag the sentences first, with a tagger (on the command line: --tagger MODEL)"
"""What to do about sentences without tags."""


@dataclass(frozen=True)
class Encoded:
    """Sentences as arrays, one after the other.

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
    """

    column: str
    tags: Vocabulary
    coarse: Vocabulary
    words: Vocabulary
    coarse_of: np.ndarray
    exceptions: np.ndarray

    def __post_init__(self) -> None:
        if self.coarse_of.shape != (len(self.tags),) or self.exceptions.shape != (len(self.exceptions), 3):
            raise ValueError(f"coarse tags of shape {self.coarse_of.shape} for {len(self.tags)} tags")
        for coarse in (self.coarse_of, self.exceptions[:, 2]):
            if ((coarse < 0) | (coarse >= len(self.coarse))).any():
                raise ValueError(f"numbers of coarse tags outside 0..{len(self.coarse) - 1}")

    @classmethod
    def of(cls, sentences: Sequence[Sentence], column: str = "auto") -> Self:
        """The alphabet of training sentences; ``column`` is ``xpos``, ``upos`` or ``auto``."""
        column = _tag_column(sentences, column)
        coarse_column = "upos" if _is_filled(sentences, "upos") else column
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
            numbers[tags.index[tag], words.index.get(word, 0), coarse.index[above]] += n
        coarse_of, exceptions = _usual_coarse(numbers, len(tags))
        return cls(column, tags, coarse, words, coarse_of, exceptions)

    def encode(self, sentences: Sequence[Sentence]) -> Encoded:
        """Sentences as arrays; unknown words become 0, unknown tags the usual tag of their UPOS or, without one, 0."""
        offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(np.int64)
        tags = self._encode(self.tags, [tag for s in sentences for tag in s.column(self.column)])
        words = self._encode(self.words, [form.lower() for s in sentences for form in s.forms])
        upos = self._encode(self.coarse, [tag for s in sentences for tag in s.upos])
        coarse = np.where(upos > 0, upos, self._guess_coarse(tags, words))
        tags = np.where(tags > 0, tags, self._usual_tag()[coarse])
        return Encoded(tags, coarse, words, offsets)

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

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values: dict[str, Any] = {"column": self.column}
        arrays: dict[str, Any] = {"coarse_of": self.coarse_of, "exceptions": self.exceptions}
        for name in ("tags", "coarse", "words"):
            values[name], words = getattr(self, name).to_state()
            arrays |= prefixed(name, words)
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        tags, coarse, words = (
            Vocabulary.from_state(values[name], without_prefix(name, arrays)) for name in ("tags", "coarse", "words")
        )
        return cls(values["column"], tags, coarse, words, arrays["coarse_of"], arrays["exceptions"])


def _tag_column(sentences: Sequence[Sentence], column: str) -> str:
    """The column that holds tags, XPOS before UPOS for ``auto``."""
    choices = ("xpos", "upos") if column == "auto" else (column,)
    for name in choices:
        if _is_filled(sentences, name):
            return name
    raise InputError(
        f"no word has a tag in column {' or '.join(choices).upper()}",
        path=sentences[0].path,
        remedy=TAG_FIRST,
    )


def _is_filled(sentences: Sequence[Sentence], column: str) -> bool:
    return any(tag != "_" for sentence in sentences for tag in sentence.column(column))


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
    """The unknown value, then all others, most frequent first."""
    known = sorted((name for name in counts if name != UNKNOWN), key=lambda name: (-counts[name], name))
    numbers = [counts.get(UNKNOWN, 0), *(counts[name] for name in known)]
    return Vocabulary([UNKNOWN, *known], np.array(numbers, np.int64), UNKNOWN)


def encode_trees(sentences: Sequence[Sentence]) -> tuple[np.ndarray, int]:
    """Heads of all words, (n_tokens,) int64, and how many trees had to be lifted because they are not projective.

    The heads of every sentence must form a tree.
    """
    heads = []
    lifted = 0
    for sentence in sentences:
        mine = sentence.heads
        if not is_projective(mine):
            mine, _ = projectivize(mine)
            lifted += 1
        heads.append(mine)
    return np.concatenate(heads).astype(np.int64), lifted
