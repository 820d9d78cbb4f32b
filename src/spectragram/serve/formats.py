"""Annotation files of every format, read into records; text becomes a file in the format of a kind of annotation.

kind           format     ends in    from text
dependency     CoNLL-U    .conllu    beside it, text.conllu
constituency   brackets   .trees     text.trees
tags           columns    .tags      text.tags
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spectragram.data.brackets import parse_tree
from spectragram.data.columns import ColumnSentence, read_columns
from spectragram.data.conllu import Sentence, read_conllu
from spectragram.data.labelled import looks_like_conllu
from spectragram.errors import InputError
from spectragram.files import is_gzipped, read_lines, split_words
from spectragram.serve.records import UNKNOWN, ColumnRecord, Record, TreebankRecord
from spectragram.serve.tree_records import TreeRecord

__all__ = ["KINDS", "Contents", "read_annotations", "sentence_of", "split_punctuation"]

KINDS = {"dependency": ".conllu", "constituency": ".trees", "tags": ".tags"}
"""What can be annotated, and how the files end that text becomes."""

_BEFORE = re.compile(r"""^["(\[{«“‘¿¡„‹]""")
_AFTER = re.compile(r"""[")\]}»”.,;:!?…›]$""")
_BRACKET = re.compile(r"[()]")


@dataclass(frozen=True)
class Contents:
    """What a file holds: the kind of annotation, its records, where they are saved, and what follows the last one."""

    kind: str
    path: Path
    records: list[Record]
    tail: str = ""


def read_annotations(path: Path, kind: str | None = None, *, tag_column: str | None = None) -> Contents:
    """Read a file of any format. ``kind`` says what to annotate in text; by default heads and tags.

    Where text was annotated before, the file beside it is read instead.
    """
    if is_gzipped(path):
        raise InputError("is compressed, and every step would compress it again", path=path, remedy="unpack it: gunzip")
    found = _recognised(path)
    if found == "text":
        return _from_text(path, kind or "dependency", tag_column)
    if kind is not None and kind != found:
        raise InputError(f"holds annotation of kind '{found}', not '{kind}'", path=path, remedy="leave out --kind")
    if found == "dependency":
        sentences = list(read_conllu(path))
        column = tag_column or _tag_column(sentences)
        return Contents(found, path, [TreebankRecord(sentence, column) for sentence in sentences])
    if found == "constituency":
        return _read_trees(path)
    return Contents(found, path, [ColumnRecord(sentence) for sentence in _read_columns(path)])


def _recognised(path: Path) -> str:
    """The kind of annotation of a file, or ``text``."""
    if looks_like_conllu(path):
        return "dependency"
    first = [line for _, line in zip(range(200), (text for _, text in read_lines(path)), strict=False)]
    full = [line for line in first if line.strip()]
    if not full:
        raise InputError("is empty", path=path, remedy="give sentences, one a line, or an annotated file")
    if full[0].lstrip().startswith("("):
        return "constituency"
    # One token a line with blank lines between sentences, against one sentence a line.
    widths = {len(split_words(line)) for line in full}
    has_tabs = all("\t" in line for line in full)
    if has_tabs or (len(widths) == 1 and widths.isdisjoint({1}) and len(first) > len(full)):
        return "tags"
    return "text"


def _from_text(path: Path, kind: str, tag_column: str | None) -> Contents:
    if kind not in KINDS:
        raise InputError(f"no kind of annotation '{kind}'", remedy=f"choose one of {', '.join(KINDS)}")
    beside = path.with_suffix(KINDS[kind])
    if beside.exists() and beside != path:
        return read_annotations(beside, kind, tag_column=tag_column)
    records: list[Record] = []
    for _, line in read_lines(path):
        sentence = sentence_of(line)
        if sentence is not None:
            records.append(_record(sentence, kind, tag_column))
    return Contents(kind, beside, records)


def _record(sentence: Sentence, kind: str, tag_column: str | None) -> Record:
    if kind == "constituency":
        return TreeRecord.from_words(sentence.forms)
    if kind == "dependency":
        return TreebankRecord(sentence, tag_column or "upos")
    lines = tuple(f"{form}\t{UNKNOWN}" for form in sentence.forms)
    return ColumnRecord(ColumnSentence((sentence.forms, [UNKNOWN] * len(lines)), lines, (), ("",), "\t", 1))


def sentence_of(line: str, *, punctuation: bool = True) -> Sentence | None:
    """The words of a line of text as CoNLL-U; None if there are none.

    Words stand between spaces. With ``punctuation``, marks around words become words of their own.
    """
    tokens = [split_punctuation(word) if punctuation else [word] for word in split_words(line)]
    forms = [form for parts in tokens for form in parts]
    if not forms:
        return None
    spaces = [n + 1 == len(parts) for parts in tokens for n in range(len(parts))]
    misc = [UNKNOWN if space else "SpaceAfter=No" for space in spaces]
    return Sentence.from_words(forms, [f"# text = {' '.join(split_words(line))}"], misc=misc)


def split_punctuation(word: str) -> list[str]:
    """A word and the marks around it.

    A full stop stays with an abbreviation that has others (``U.S.``), and apostrophes stay where they are (``dogs'``).

    >>> split_punctuation('"Hello!"'), split_punctuation("U.S."), split_punctuation("...")
    (['"', 'Hello', '!', '"'], ['U.S.'], ['...'])
    """
    if not any(character.isalnum() for character in word):
        return [word]
    before: list[str] = []
    after: list[str] = []
    while _BEFORE.search(word):
        before.append(word[0])
        word = word[1:]
    while _AFTER.search(word) and not (word.endswith(".") and "." in word[:-1]):
        after.append(word[-1])
        word = word[:-1]
    return [*before, word, *reversed(after)]


def _tag_column(sentences: Sequence[Sentence]) -> str:
    """UPOS, unless the file has XPOS alone."""

    def has(column: str) -> bool:
        return any(tag != UNKNOWN for sentence in sentences for tag in sentence.column(column))

    return "xpos" if has("xpos") and not has("upos") else "upos"


def _read_columns(path: Path) -> Iterator[ColumnSentence]:
    for sentence in read_columns(path):
        if len(sentence.columns) < 2:
            raise InputError("one column", path=path, line=sentence.line, remedy="put the label, or _, behind a tab")
        yield sentence


def _read_trees(path: Path) -> Contents:
    """Trees together with their text, so that those that are not touched stay as they are, line ends and all."""
    text = "\n".join(line for _, line in read_lines(path)) + "\n"
    records: list[Record] = []
    begun = depth = 0
    for bracket in _BRACKET.finditer(text):
        depth += 1 if bracket[0] == "(" else -1
        if depth < 0:
            break
        if depth == 0:
            end = bracket.end() + (text[bracket.end() : bracket.end() + 1] == "\n")
            records.append(_tree_record(path, text, begun, end))
            begun = end
    if depth != 0:
        line = text.count("\n", 0, begun) + 1
        raise InputError("unbalanced brackets", path=path, line=line, remedy="every ( needs a )")
    return Contents("constituency", path, records, text[begun:].rstrip("\n"))


def _tree_record(path: Path, text: str, begun: int, end: int) -> TreeRecord:
    source = text[begun:end]
    try:
        return TreeRecord.from_tree(parse_tree(source), source)
    except InputError as trouble:
        line = text.count("\n", 0, begun) + 1
        raise InputError(trouble.problem, path=path, line=line, remedy=trouble.remedy) from None
