"""Column files: one token per line with its labels beside it, and a blank line between sentences.

If the first line that is not blank contains a tab, columns are separated by single tabs and a token may contain
blanks; otherwise columns are separated by runs of blanks and tabs. ``separator`` overrides this.

Every line has the same number of columns. A line whose first column is ``-DOCSTART-`` (as in CoNLL 2003) begins a
document. It ends a sentence like a blank line and is not a token. It is kept, as blank lines are, so that
:func:`write_columns` can repeat the input line for line with predictions in an extra column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO

from spectragram.errors import InputError
from spectragram.files import Source, output, read_lines

__all__ = ["DOCUMENT_MARK", "ColumnSentence", "read_columns", "write_columns"]

DOCUMENT_MARK = "-DOCSTART-"
SEPARATORS = {"auto": None, "tab": "\t", "blank": " "}


@dataclass(frozen=True)
class ColumnSentence:
    """One sentence of a column file.

    Attributes
    ----------
    columns : tuple of lists of str
        The chosen columns in the order they were asked for, each with one entry per token.
    lines : tuple of str
        The tokens' lines, verbatim.
    before, after : tuple of str
        Lines before and after the sentence that are not tokens: blank lines and document marks.
    separator : str
        What separates columns in the file: a tab or a blank.
    line : int
        Line number of the first token.
    """

    columns: tuple[list[str], ...]
    lines: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    separator: str
    line: int

    def __len__(self) -> int:
        return len(self.lines)


def read_columns(
    source: Source, columns: Sequence[int] | None = None, *, separator: str = "auto"
) -> Iterator[ColumnSentence]:
    """Stream the sentences of a column file.

    Parameters
    ----------
    source : path or "-"
    columns : sequence of int, optional
        Which columns, counted from 0; negative numbers count from the last one. By default all.
        ``columns=(0, -1)`` gives tokens and their last label.
    separator : {"auto", "tab", "blank"}
    """
    reader = _Reader(source, columns, separator)
    pending: ColumnSentence | None = None  # kept back until the lines that follow it are known
    for sentence in reader.sentences():
        if pending is not None:
            yield pending
        pending = sentence
    if pending is not None:
        yield replace(pending, after=pending.after + tuple(reader.before))


class _Reader:
    """State while a file is read: its separator, its number of columns, and lines not yet given to a sentence."""

    def __init__(self, source: Source, columns: Sequence[int] | None, separator: str) -> None:
        if separator not in SEPARATORS:
            raise InputError(f"separator {separator!r}", remedy=f"choose among {', '.join(SEPARATORS)}")
        self.source = source
        self.chosen = columns
        self.separator = SEPARATORS[separator]
        self.n_columns = 0
        self.first_line = 0
        self.before: list[str] = []

    def sentences(self) -> Iterator[ColumnSentence]:
        """Sentences with the lines around them; ``before`` holds lines that belong to the next sentence."""
        lines: list[str] = []
        rows: list[list[str]] = []
        after: list[str] = []
        start = 0
        for number, text in read_lines(self.source):
            fields = self._split(text)
            is_token = bool(fields) and fields[0] != DOCUMENT_MARK
            if rows and ((is_token and after) or (fields and not is_token)):
                yield self._sentence(lines, rows, after, start)
                lines, rows, after = [], [], []
            if is_token:
                self._check_width(fields, number)
                start = start if rows else number
                lines.append(text)
                rows.append(fields)
            elif rows:
                after.append(text)
            else:
                self.before.append(text)
        if rows:
            yield self._sentence(lines, rows, after, start)

    def _split(self, text: str) -> list[str]:
        if not text.strip(" \t"):
            return []
        if self.separator is None:
            self.separator = "\t" if "\t" in text else " "
        if self.separator == "\t":
            return text.split("\t")
        fields = text.replace("\t", " ").split(" ")
        return [field for field in fields if field] if "" in fields else fields

    def _check_width(self, fields: list[str], number: int) -> None:
        if not self.n_columns:
            self.n_columns, self.first_line = len(fields), number
            outside = [i for i in self.chosen or () if not -len(fields) <= i < len(fields)]
            if outside:
                raise InputError(
                    f"no column {outside[0]}: there are {len(fields)}",
                    path=self.source,
                    line=number,
                    remedy=f"choose from 0 to {len(fields) - 1}, or -1 for the last",
                )
        name = "tabs" if self.separator == "\t" else "blanks"
        if len(fields) != self.n_columns:
            raise InputError(
                f"{len(fields)} columns separated by {name}, but {self.n_columns} on line {self.first_line}",
                path=self.source,
                line=number,
                remedy="give every token the same number of columns",
            )
        if "" in fields:
            raise InputError("an empty column", path=self.source, line=number, remedy="fill it, e.g. with _")

    def _sentence(self, lines: list[str], rows: list[list[str]], after: list[str], start: int) -> ColumnSentence:
        assert self.separator is not None
        chosen = range(self.n_columns) if self.chosen is None else self.chosen
        columns = tuple([row[i] for row in rows] for i in chosen)
        before, self.before = tuple(self.before), []
        return ColumnSentence(columns, tuple(lines), before, tuple(after), self.separator, start)


def write_columns(
    sentences: Iterable[ColumnSentence],
    target: Source | None,
    predictions: Iterable[Sequence[str]] | None = None,
    *,
    outside: str = "O",
) -> None:
    """Write sentences as they were read, with ``predictions`` (one per token) in an extra last column.

    Document marks get ``outside`` in that column. ``target`` None or "-" is standard output.
    """
    with output(target) as stream:
        if predictions is None:
            for sentence in sentences:
                _write(stream, [*sentence.before, *sentence.lines, *sentence.after])
            return
        for sentence, labels in zip(sentences, predictions, strict=True):
            _write(stream, _labelled(sentence, labels, outside))


def _write(stream: IO[str], lines: list[str]) -> None:
    stream.writelines(f"{line}\n" for line in lines)


def _labelled(sentence: ColumnSentence, labels: Sequence[str], outside: str) -> list[str]:
    if len(labels) != len(sentence):
        raise InputError(f"{len(labels)} predictions for the {len(sentence)} tokens of line {sentence.line}")
    separator = sentence.separator
    before, after = (
        [f"{line}{separator}{outside}" if line.startswith(DOCUMENT_MARK) else line for line in lines]
        for lines in (sentence.before, sentence.after)
    )
    tokens = [f"{line}{separator}{label}" for line, label in zip(sentence.lines, labels, strict=True)]
    return [*before, *tokens, *after]
