"""What factors see of a word beside its tag, as numbers: checksums of texts, which need no vocabulary.

letter   text                                                          if it is missing
o        the other tag: UPOS where tags are XPOS, XPOS otherwise       0
w        form in lower case, if training has seen it twice             0
m        lemma                                                         the first letters of the form
s        last letters of the form                                      the form
f        FEATS                                                         0
k        Case and VerbForm alone, from FEATS                           0
a, b, e  prefixes of 4, 6 and 20 bits of the path of its cluster       0

A row follows for each attribute that is frequent in FEATS: the checksum of its value, 0 for words without it. They tell
whether two words agree. Other rows would give features other places: raise :data:`VERSION` after a change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self
from zlib import crc32

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.word_paths import WordPaths

__all__ = ["VERSION", "WORD_LETTERS", "Surface", "is_filled"]

PATH_LETTERS = "abe"
PREFIXES = (4, 6, 20)
"""Lengths of the prefixes of paths: short ones stand for tags, long ones for words, as in Koo, Carreras & Collins
(2008)."""

WORD_LETTERS = "wms" + PATH_LETTERS
"""Rows that depend on the word itself."""

VERSION = 1
"""Version of the rows, for model files."""

SUFFIX, STEM = 3, 5
"""Letters of an ending, and of what stands for a missing lemma. Chosen by hand, not tuned."""
MAX_ATTRIBUTES = 8
"""Attributes whose agreement is looked at: one row each. Chosen by hand, not tuned."""
KEY_ATTRIBUTES = ("Case", "VerbForm")
"""What relates a nominal and a verb to its head in any language of Universal Dependencies. Chosen by hand."""


@dataclass(frozen=True)
class Surface:
    """How the rows of a treebank are made.

    Attributes
    ----------
    other : {"xpos", "upos"}
        The tag column that automata do not generate.
    letters : str
        The rows that hold anything: FEATS and lemmas may be missing throughout.
    attributes : tuple of str
        The attributes of FEATS whose agreement counts.
    paths : WordPaths or None
        Paths of the clusters of words.
    """

    LETTERS: ClassVar[str] = "owmsfk" + PATH_LETTERS

    other: str
    letters: str
    attributes: tuple[str, ...]
    paths: WordPaths | None = None

    @classmethod
    def of(cls, sentences: Sequence[Sentence], column: str, paths: WordPaths | None = None) -> Self:
        """The rows for a treebank whose automata generate the tags of ``column``."""
        other = "upos" if column == "xpos" else "xpos"
        filled = dict.fromkeys(PATH_LETTERS, paths is not None) | {"o": is_filled(sentences, other)}
        filled["f"] = filled["k"] = is_filled(sentences, "feats")
        bundles = Counter(bundle for sentence in sentences for bundle in sentence.column("feats"))
        counts = Counter[str]()
        for bundle, n in bundles.items():
            counts.update(dict.fromkeys(_attributes(bundle), n))
        frequent = sorted(counts, key=lambda name: (-counts[name], name))[:MAX_ATTRIBUTES]
        letters = "".join(letter for letter in cls.LETTERS if filled.get(letter, True))
        return cls(other, letters, tuple(frequent), paths)

    def without_words(self) -> Surface:
        """The same without the rows that depend on the word itself."""
        return replace(self, letters="".join(letter for letter in self.letters if letter not in WORD_LETTERS))

    def rows(self, sentences: Sequence[Sentence], words: np.ndarray) -> np.ndarray:
        """The rows of all words, int64 (n_letters + n_attributes, n_tokens); ``words`` is 0 for rare ones.

        Rows that are not looked at are zero.
        """
        forms = [form.lower() for sentence in sentences for form in sentence.forms]
        feats = [bundle for sentence in sentences for bundle in sentence.column("feats")]

        def lemmas() -> list[str]:
            given = [lemma for sentence in sentences for lemma in sentence.lemmas]
            return [form[:STEM] if lemma == "_" else lemma.lower() for lemma, form in zip(given, forms, strict=True)]

        makers: dict[str, Callable[[], np.ndarray]] = {
            "o": lambda: _checksums([tag for sentence in sentences for tag in sentence.column(self.other)]),
            "w": lambda: np.where(words > 0, _checksums(forms), 0),
            "m": lambda: _checksums(lemmas()),
            "s": lambda: _checksums(forms, lambda form: form[-SUFFIX:]),
            "f": lambda: _checksums(feats),
            "k": lambda: _checksums(feats, partial(_part, names=KEY_ATTRIBUTES)),
        }
        nothing = np.zeros(len(forms), np.int64)
        rows = [make() if letter in self.letters else nothing for letter, make in makers.items()]
        rows += [nothing] * len(PREFIXES) if self.paths is None else self._path_rows(sentences)
        rows += [_checksums(feats, partial(_part, names=(name,))) for name in self.attributes]
        return np.array(rows, np.int64).reshape(len(rows), len(forms))

    def _path_rows(self, sentences: Sequence[Sentence]) -> list[np.ndarray]:
        assert self.paths is not None
        forms = [form for sentence in sentences for form in sentence.forms]
        return [_checksums([path or "_" for path in row]) for row in self.paths.prefixes(forms, PREFIXES)]

    def to_values(self) -> dict[str, Any]:
        """Plain values, as model files hold them."""
        return {"other": self.other, "letters": self.letters, "attributes": list(self.attributes)}

    @classmethod
    def from_values(cls, values: dict[str, Any], paths: WordPaths | None = None) -> Self:
        """Inverse of :meth:`to_values`; the paths of words are stored apart."""
        return cls(values["other"], values["letters"], tuple(values["attributes"]), paths)


def is_filled(sentences: Iterable[Sentence], column: str) -> bool:
    """Whether any word has a value in this column of CoNLL-U."""
    return any(value != "_" for sentence in sentences for value in sentence.column(column))


def _attributes(bundle: str) -> dict[str, str]:
    """FEATS as a dictionary.

    >>> _attributes("Case=Nom|Number=Sing")
    {'Case': 'Nom', 'Number': 'Sing'}
    """
    return dict(pair.split("=", 1) for pair in bundle.split("|") if "=" in pair)  # type: ignore[misc]


def _part(bundle: str, names: Sequence[str]) -> str:
    """The values of some attributes; ``_`` if the bundle has none of them."""
    found = _attributes(bundle)
    return "|".join(found.get(name, "") for name in names) if any(name in found for name in names) else "_"


def _checksums(texts: list[str], view: Callable[[str], str] = str) -> np.ndarray:
    """A number for a view of each text, int64 (n,); 0 for ``_``."""
    number_of = {}
    for text in set(texts):
        seen = view(text)
        number_of[text] = 0 if seen == "_" else crc32(seen.encode("utf-8", "surrogatepass"))
    return np.fromiter((number_of[text] for text in texts), np.int64, len(texts))
