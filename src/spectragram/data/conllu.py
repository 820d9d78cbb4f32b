"""CoNLL-U: dependency trees in ten columns, read and written without losing anything.

A sentence keeps its comments and every line with all ten columns, including multi-word tokens (``3-4``) and empty
nodes (``8.1``). What is written therefore equals what was read, byte for byte, except for columns replaced by
predictions. Models see the words, which are the lines with plain numbers.

Line ends become ``\\n``, several blank lines become one, and a blank line follows the last sentence. The format is
checked while a file is read; whether heads form trees is checked on demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from sys import intern
from typing import Self

import numpy as np

from spectragram.data.projectivity import find_tree_problem
from spectragram.display import shown_by
from spectragram.errors import InputError
from spectragram.files import Source, output, plain_number, read_lines, split_words

__all__ = [
    "COLUMNS",
    "Sentence",
    "looks_like_row",
    "parse_conllu",
    "parse_lines",
    "read_conllu",
    "sentences_of_words",
    "write_conllu",
]

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
ID, FORM, HEAD = COLUMNS.index("id"), COLUMNS.index("form"), COLUMNS.index("head")
BREAKS = re.compile(r"[\t\n\r]")
FIRST_IDS = ("1", "1-2", "1-3", "0.1")
"""What the first line of a CoNLL-U sentence can begin with: a word, a multi-word token or an empty node."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of a CoNLL-U file.

    Attributes
    ----------
    comments : tuple of str
        The lines that start with ``#``, verbatim.
    rows : tuple of tuples of str
        The other lines, ten columns each: words, multi-word tokens and empty nodes, in order.
    path, line : str and int, or None
        Where the first row comes from, for error messages.
    """

    comments: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    path: str | None = None
    line: int | None = None

    @classmethod
    def from_words(cls, forms: Sequence[str], comments: Sequence[str] = (), **columns: Sequence[str]) -> Self:
        """A sentence of words; ``columns`` gives other columns by name, the rest is ``_``.

        >>> Sentence.from_words(["dogs", "bark"], head=["2", "0"]).heads.tolist()
        [2, 0]
        """
        rows = tuple((str(i), *"_" * 9) for i in range(1, len(forms) + 1))
        return cls(tuple(comments), rows).with_columns(form=forms, **columns)

    def __len__(self) -> int:
        return len(self.words)

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in (*self.comments, *map("\t".join, self.rows)))

    _repr_svg_ = shown_by("sentence_svg")

    @cached_property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """The rows of words, without multi-word tokens and empty nodes."""
        return tuple(row for row in self.rows if row[ID].isdigit())

    def column(self, name: str) -> list[str]:
        """One column of the words, by its name in :data:`COLUMNS`."""
        place = _place(name)
        return [row[place] for row in self.words]

    @property
    def forms(self) -> list[str]:
        """The words as they appear in the text."""
        return self.column("form")

    @property
    def lemmas(self) -> list[str]:
        """Dictionary forms."""
        return self.column("lemma")

    @property
    def upos(self) -> list[str]:
        """Universal parts of speech."""
        return self.column("upos")

    @property
    def xpos(self) -> list[str]:
        """Language-specific parts of speech."""
        return self.column("xpos")

    @property
    def deprels(self) -> list[str]:
        """Relations of the words to their heads."""
        return self.column("deprel")

    @property
    def heads(self) -> np.ndarray:
        """Heads, int32, counted from 1; 0 is the root, -1 an unknown head (``_``)."""
        return np.array([-1 if row[HEAD] == "_" else int(row[HEAD]) for row in self.words], np.int32)

    def with_columns(self, **columns: Sequence[str]) -> Self:
        """The same sentence with whole columns replaced, e.g. ``with_columns(upos=tags)``."""
        n_words = len(self)
        given: dict[int, Sequence[str]] = {}
        for name, values in columns.items():
            place = _place(name)
            if len(values) != n_words:
                raise InputError(
                    f"{len(values)} values of {name} for {n_words} words",
                    path=self.path,
                    line=self.line,
                    remedy="give one for each word",
                )
            # One look at all values; most columns are fine.
            if not all(values) or BREAKS.search("".join(values)):
                wrong = next(value for value in values if not value or BREAKS.search(value))
                raise InputError(f"{name} {wrong!r:.40} is empty or contains a tab or a line end")
            given[place] = values
        cells = [given.get(place, old) for place, old in enumerate(zip(*self.words, strict=True))]
        filled = zip(*cells, strict=True)
        if n_words == len(self.rows):
            return replace(self, rows=tuple(filled))
        return replace(self, rows=tuple(next(filled) if row[ID].isdigit() else row for row in self.rows))

    def with_heads(self, heads: Sequence[int] | np.ndarray, deprels: Sequence[str] | None = None) -> Self:
        """The same sentence with other heads (-1 writes ``_``) and, if given, relations."""
        numbers, n_words = np.asarray(heads).tolist(), len(self)
        for head in numbers:
            if not -1 <= head <= n_words:
                raise InputError(f"head {head} in a sentence of {n_words} words")
        columns: dict[str, Sequence[str]] = {"head": ["_" if head == -1 else str(head) for head in numbers]}
        if deprels is not None:
            columns["deprel"] = deprels
        return self.with_columns(**columns)

    def check_tree(self) -> None:
        """Raise an error unless the heads form a tree with one root word."""
        problem = find_tree_problem(self.heads)
        if problem is not None:
            word, what = problem
            line = None if self.line is None else self.line + self.rows.index(self.words[word - 1])
            raise InputError(
                f"word {word} ({self.forms[word - 1]:.40}): {what}",
                path=self.path,
                line=line,
                remedy="give each word one head, so that all lead to a single root",
            )


def _place(name: str) -> int:
    if name not in COLUMNS:
        raise InputError(f"no column {name!r} in CoNLL-U", remedy=f"choose among {', '.join(COLUMNS)}")
    return COLUMNS.index(name)


def read_conllu(source: Source, *, check_tree: bool = False) -> Iterator[Sentence]:
    """Stream the sentences of a CoNLL-U file.

    With ``check_tree`` the heads of every sentence must form a tree with one root word, as training and evaluation
    need. Without it a head may be ``_``, 0 or any word of the sentence.
    """
    return parse_lines(read_lines(source), source, check_tree=check_tree)


def parse_conllu(text: str, *, check_tree: bool = False) -> list[Sentence]:
    """The sentences of a string in CoNLL-U; see :func:`read_conllu`."""
    return list(parse_lines(enumerate(text.split("\n"), 1), check_tree=check_tree))


def parse_lines(
    lines: Iterable[tuple[int, str]], source: Source | None = None, *, check_tree: bool = False
) -> Iterator[Sentence]:
    """The sentences of numbered lines that come from ``source``; see :func:`read_conllu`."""
    comments: list[str] = []
    rows: list[tuple[str, ...]] = []
    line = 0
    for number, text in lines:
        if text.startswith("#"):
            if rows:
                raise InputError(
                    "a comment inside a sentence",
                    path=source,
                    line=number,
                    remedy="put comments before the first word; a blank line ends a sentence",
                )
            comments.append(text)
        elif text and not text.isspace():
            rows.append(_row(text, source, number))
        elif rows or comments:
            yield _finished(comments, rows, source, number - len(rows), check_tree)
            comments, rows = [], []
        line = number
    if rows or comments:
        yield _finished(comments, rows, source, line + 1 - len(rows), check_tree)


def _row(text: str, source: Source | None, number: int) -> tuple[str, ...]:
    row = tuple(map(intern, text.split("\t")))  # equal words are one string: a third of the memory
    if len(row) != len(COLUMNS):
        raise InputError(
            f"{len(row)} columns, expected {len(COLUMNS)} separated by tabs",
            path=source,
            line=number,
            remedy="give CoNLL-U: " + " ".join(COLUMNS).upper(),
        )
    return row


def _finished(
    comments: list[str], rows: list[tuple[str, ...]], source: Source | None, line: int, check_tree: bool
) -> Sentence:
    """The sentence whose first row is on ``line``, after all checks."""
    n_words = _check_ids(rows, source, line)
    if n_words == 0:
        raise InputError("a sentence without words", path=source, line=line, remedy="remove its lines")
    for number, row in enumerate(rows, line):
        if row[HEAD] != "_" and not 0 <= plain_number(row[HEAD]) <= n_words:
            raise InputError(
                f"head {row[HEAD]!r:.40} of word {row[ID]} ({row[FORM]:.40})",
                path=source,
                line=number,
                remedy=f"heads here are 0 to {n_words}, or _ where unknown",
            )
    sentence = Sentence(tuple(comments), tuple(rows), None if source is None else str(source), line)
    if check_tree:
        sentence.check_tree()
    return sentence


def _check_ids(rows: list[tuple[str, ...]], source: Source | None, line: int) -> int:
    """Raise an error if ids are out of order; return the number of words."""
    n_words = n_empty = last_of_range = 0
    for number, row in enumerate(rows, line):
        expected = str(n_words + 1)
        identifier = row[ID]
        if identifier == expected:
            n_words += 1
            n_empty = 0
        elif identifier == f"{n_words}.{n_empty + 1}":
            n_empty += 1
        else:
            first, dash, last = identifier.partition("-")
            if first != expected or not dash or not plain_number(last) > n_words >= last_of_range:
                raise InputError(
                    f"id {identifier!r:.40}, expected {expected}",
                    path=source,
                    line=number,
                    remedy="number words 1, 2, 3 ..., multi-word tokens like 3-4, empty nodes like 8.1, "
                    "and put a blank line between sentences",
                )
            last_of_range = int(last)
    if last_of_range > n_words:
        raise InputError(
            f"a multi-word token up to word {last_of_range} in a sentence of {n_words}",
            path=source,
            line=line,
            remedy="correct its range",
        )
    return n_words


def looks_like_row(line: str) -> bool:
    """Whether a line may be the first row of a sentence: ten columns between tabs, the first a number that fits."""
    cells = line.split("\t")
    return len(cells) == len(COLUMNS) and cells[ID] in FIRST_IDS


def sentences_of_words(lines: Iterable[tuple[int, str]]) -> Iterator[Sentence]:
    """Sentences of numbered lines of words, one a line, with spaces between words; blank lines are skipped."""
    for _, line in lines:
        words = split_words(line)
        if words:
            yield Sentence.from_words(words, [f"# text = {' '.join(words)}"])


def write_conllu(sentences: Iterable[Sentence], target: Source | None) -> None:
    """Write sentences to a file, or to standard output for ``None`` and ``"-"``."""
    with output(target) as stream:
        for sentence in sentences:
            stream.write(f"{sentence}\n")
