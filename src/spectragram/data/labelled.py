"""Sequences with a label for every token: column files, CoNLL-U, .npz archives of speech frames, Python objects.

The format of a file follows from its name (``.conllu``, ``.npz``) and its content unless a :class:`Layout` names it.
A model keeps the layout of its training data, so that later files are read the same way.
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np

from spectragram.data.columns import ColumnSentence, read_columns, write_columns
from spectragram.data.conllu import Sentence, looks_like_row, parse_lines, read_conllu, write_conllu
from spectragram.data.inputs import is_path, listed
from spectragram.data.trees import Tree
from spectragram.errors import InputError
from spectragram.files import Source, output, read_lines, split_words
from spectragram.schema import Array, ListOf, Misfit, Schema, Strings, Text, Whole

__all__ = [
    "FORMATS",
    "Labelled",
    "LabelledFile",
    "Layout",
    "as_labelled",
    "looks_like_conllu",
    "read_labelled",
    "read_words",
]

FORMATS = ("auto", "columns", "conllu", "npz")

FRAMES: dict[str, Array | Strings] = {
    "features": Array("f8|i8", ("n_frames", "d")),
    "offsets": Array("i8", ("n_utterances + 1",), starts="n_frames"),
    "phone_names": Strings("n_phones"),
    "utterances": Strings("n_utterances"),
}
"""What an archive of speech frames holds, beside the numbers of phones."""
UNREADABLE = (
    OSError, ValueError, EOFError, LookupError, ArithmeticError, NotImplementedError, RuntimeError, TypeError,
    AttributeError, MemoryError, SyntaxError, zipfile.BadZipFile, zlib.error, struct.error, lzma.LZMAError,
)  # fmt: skip
"""What damaged archives make numpy and the zip library raise."""

CONLLU_LABELS = ("upos", "xpos", "feats", "deprel", "lemma")
"""Columns of CoNLL-U that can be the label."""


@dataclass(frozen=True)
class Layout:
    """Where observations and labels are in a file.

    Attributes
    ----------
    format : {"auto", "columns", "conllu", "npz"}
    columns : tuple of int
        The observed columns of a column file.
    label : str
        The label: the number of a column in a column file; ``upos``, ``xpos``, ``feats``, ``deprel`` or ``lemma`` in
        CoNLL-U; the name of an array in a .npz archive. If empty, the last column, ``upos`` or ``frame_phone``.
    drop : tuple of str
        Utterances whose names end in one of these are left out (.npz only).
    """

    format: str = "auto"
    columns: tuple[int, ...] = (0,)
    label: str = ""
    drop: tuple[str, ...] = ()

    def resolved(self, source: Source) -> Layout:
        """The same layout with the format, and the place of the label, that the file at ``source`` has."""
        if self.format not in FORMATS:
            raise InputError(f"format {self.format!r} is unknown", remedy=f"choose among {', '.join(FORMATS)}")
        kind = self.format
        if kind == "auto":
            is_npz = str(source).removesuffix(".gz").endswith(".npz")
            kind = "npz" if is_npz else "conllu" if looks_like_conllu(source) else "columns"
        elif kind == "columns" and 0 in self.columns and looks_like_conllu(source):
            raise InputError(
                "is CoNLL-U, whose first column numbers the words",
                path=source,
                remedy="give a column file like the training data, or train on CoNLL-U",
            )
        return self.with_format(kind)

    def with_format(self, kind: str) -> Layout:
        """The same layout for a known format, with its usual label if none is named; refuses what does not fit."""
        label = self.label or {"conllu": "upos", "columns": "-1", "npz": "frame_phone"}[kind]
        if kind == "columns" and not label.removeprefix("-").isdigit():
            raise InputError(f"label column {label!r}", remedy="give a number, 0 for the first, -1 for the last")
        if kind == "conllu" and label not in CONLLU_LABELS:
            raise InputError(f"label column {label!r}", remedy=f"choose among {', '.join(CONLLU_LABELS)}")
        if kind == "conllu" and self.columns != (0,):
            raise InputError(
                "columns were chosen, but in CoNLL-U the form is observed",
                remedy="to observe other columns, give --input-format columns",
            )
        if kind != "npz" and self.drop:
            raise InputError("utterances to drop from text", remedy="only speech frames (.npz) have named utterances")
        return Layout(kind, self.columns, label, self.drop)

    SCHEMA: ClassVar[Schema] = Schema(
        "Layout",
        "Where observations and labels are in a file.",
        values={
            "format": Text("the format of the training data", choices=FORMATS),
            "columns": ListOf(Whole(), "the observed columns of a column file", least=1),
            "label": Text("the label: number or name of a column, or of an array"),
            "drop": ListOf(Text(), "utterances whose names end in one of these are left out"),
        },
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and (no) arrays, as model files hold them."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}, {}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any] | None = None) -> Self:
        """Inverse of :meth:`to_state`."""
        known: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        return cls(**known)


@dataclass(frozen=True)
class LabelledFile:
    """Sequences of observations and labels, with everything needed to write the file again.

    Attributes
    ----------
    X : list of sequences
        Strings; tuples of strings where several columns are observed; or matrices of frames, (length, d).
    y : list of lists of str
        The labels; empty if they were not asked for.
    records : list
        What was read, one record a sequence: sentences of a column file or of CoNLL-U, numbers of utterances.
    layout : Layout
    """

    X: list[Any]
    y: list[list[str]]
    records: list[Any] = field(repr=False)
    layout: Layout

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, chosen: slice) -> LabelledFile:
        """Some of the sequences."""
        return replace(self, X=self.X[chosen], y=self.y[chosen], records=self.records[chosen])

    def write(self, predictions: Iterable[Sequence[str]], target: Source | None) -> None:
        """Write the records with predictions: in an extra column, in the label column of CoNLL-U, or one line each."""
        if self.layout.format == "columns":
            write_columns(self.records, target, predictions)
        elif self.layout.format == "conllu":
            labelled = zip(self.records, predictions, strict=True)
            write_conllu((s.with_columns(**{self.layout.label: labels}) for s, labels in labelled), target)
        else:
            with output(target) as stream:
                stream.writelines(" ".join(labels) + "\n" for labels in predictions)


Labelled = Source | LabelledFile | Iterable[Any]
"""A file, what :func:`read_labelled` returns, CoNLL-U sentences, or sequences (their labels come separately)."""


def as_labelled(
    X: Labelled, y: Iterable[Any] | None = None, layout: Layout | None = None, *, labels: bool = True
) -> LabelledFile:
    """Observations and labels from whatever holds them.

    Parameters
    ----------
    X : path, LabelledFile, pair or iterable
        A column file, CoNLL-U file or .npz archive; what :func:`read_labelled` returns; a pair ``(X, y)``; an
        iterable of CoNLL-U sentences, which hold their labels; or, with ``y``, an iterable of sequences. A sequence is
        a string with spaces between tokens, a sequence of strings or tuples of strings, a Tree (its leaves), or a
        matrix of frames.
    y : iterable of sequences of str, optional
        Labels, for an iterable of sequences; strings have spaces between labels.
    layout : Layout, optional
        Where a file or CoNLL-U sentences have the label.
    labels : bool
        False for prediction: ``y`` is not needed and comes back empty.
    """
    layout = Layout() if layout is None else layout
    if is_path(X):
        _refuse_labels(y, "a file")
        return read_labelled(X, layout, labels=labels)
    if isinstance(X, LabelledFile):
        _refuse_labels(y, "what was read from a file")
        if labels and X.X and not X.y:
            raise InputError("observations that were read without labels", remedy="read them with labels=True")
        return X
    if y is None and labels and _is_pair(X):
        X, y = X
        return as_labelled(X, y, layout)
    sequences = listed(X, "sequences")
    if sequences and all(isinstance(sequence, Sentence) for sequence in sequences) and (y is None or not labels):
        return _from_sentences(sequences, layout.with_format("conllu"), labels)
    if labels and y is None:
        raise InputError("no labels", remedy="give y, a sequence of labels for each sequence, or a labelled file")
    found = list(map(_observations, sequences))
    return LabelledFile(found, _label_lists(y) if labels and y is not None else [], sequences, layout)


def _is_pair(X: object) -> TypeGuard[tuple[Any, Any]]:
    return isinstance(X, tuple) and len(X) == 2 and not all(isinstance(part, Sentence) for part in X)


def _refuse_labels(y: object, what: str) -> None:
    if y is not None:
        raise InputError(f"labels beside {what}, which has its own", remedy="leave out y")


def _observations(sequence: Any) -> Any:
    if isinstance(sequence, str):
        return split_words(sequence)
    if isinstance(sequence, Sentence):
        return sequence.forms
    return sequence.leaves() if isinstance(sequence, Tree) else sequence


def _label_lists(y: Iterable[Any]) -> list[list[str]]:
    sequences = listed(y, "labels")
    return [split_words(labels) if isinstance(labels, str) else listed(labels, "labels") for labels in sequences]


def read_labelled(source: Source, layout: Layout | None = None, *, labels: bool = True) -> LabelledFile:
    """Read a whole file; without ``labels`` the column of the label need not exist.

    Where CoNLL-U is expected and no labels are needed, a file without a single tab is read as lines of words: CoNLL-U
    separates its columns by tabs.
    """
    layout = (Layout() if layout is None else layout).resolved(source)
    if layout.format == "columns":
        return _from_columns(source, layout, labels)
    if layout.format == "npz":
        return _from_npz(source, layout, labels)
    if labels or str(source).removesuffix(".gz").endswith(".conllu"):
        return _from_sentences(list(read_conllu(source)), layout, labels)
    lines = list(read_lines(source))  # standard input can be read only once
    if not any("\t" in line for _, line in lines):
        return _from_words(lines, layout)
    return _from_sentences(list(parse_lines(lines, source)), layout, labels)


def read_words(source: Source, layout: Layout) -> LabelledFile:
    """Read lines of words, a sentence each, for a model whose training data had the given layout.

    What is written later has that layout: CoNLL-U, or a column file with the words in its first column.
    """
    if layout.format == "npz" or len(layout.columns) > 1:
        raise InputError(
            "lines of words, but the model was trained on more than words",
            path=source,
            remedy="give a file like the training data",
        )
    return _from_words(read_lines(source), layout)


def _from_words(lines: Iterable[tuple[int, str]], layout: Layout) -> LabelledFile:
    found = [(number, line.strip(), split_words(line)) for number, line in lines]
    kept = [(number, line, words) for number, line, words in found if words]
    records: list[Any]
    if layout.format == "conllu":
        records = [Sentence.from_words(words, [f"# text = {line}"]) for _, line, words in kept]
    else:
        records = [ColumnSentence((words,), tuple(words), (), ("",), "\t", number) for number, _, words in kept]
    return LabelledFile([words for *_, words in kept], [], records, layout)


def looks_like_conllu(source: Source) -> bool:
    """Whether a file is CoNLL-U by its name, or by its first word: a number and nine more columns separated by tabs.

    Standard input can be read only once and does not count.
    """
    if str(source).removesuffix(".gz").endswith(".conllu"):
        return True
    if str(source) == "-" or not Path(source).is_file() or str(source).endswith(".npz"):
        return False
    first = next((line for _, line in read_lines(source) if line.strip() and not line.startswith("#")), "")
    return looks_like_row(first)


def _from_columns(source: Source, layout: Layout, labels: bool) -> LabelledFile:
    wanted = [*layout.columns, *([int(layout.label)] if labels else [])]
    sentences: list[ColumnSentence] = list(read_columns(source, wanted))
    n = len(layout.columns)
    if labels and sentences:
        _require_label_column(sentences[0], layout, source)
    X = [s.columns[0] if n == 1 else list(zip(*s.columns[:n], strict=True)) for s in sentences]
    return LabelledFile(X, [s.columns[n] for s in sentences] if labels else [], sentences, layout)


def _require_label_column(sentence: ColumnSentence, layout: Layout, source: Source) -> None:
    """Refuse a label that is also observed: a model would read it off, and scores would mean nothing."""
    n = len(sentence.lines[0].split(sentence.separator if sentence.separator == "\t" else None))
    label = int(layout.label) % n
    if label in [column % n for column in layout.columns]:
        raise InputError(
            f"column {label} of {n} is observed and cannot be the label",
            path=source,
            line=sentence.line,
            remedy="give data with a label column, and choose --columns and --label",
        )


def _from_sentences(sentences: list[Sentence], layout: Layout, labels: bool) -> LabelledFile:
    """Sentences with their labels. Where only some words have one, ``_`` is a label like any other."""
    y = [sentence.column(layout.label) for sentence in sentences] if labels else []
    if y and layout.label != "feats" and all(label == "_" for sequence in y for label in sequence):
        raise InputError(
            f"no word has {layout.label.upper()}",
            path=sentences[0].path,
            line=sentences[0].line,
            remedy="fill the column, or choose another with --label",
        )
    return LabelledFile([sentence.forms for sentence in sentences], y, sentences, layout)


def _from_npz(source: Source, layout: Layout, labels: bool) -> LabelledFile:
    arrays = _read_archive(source, ["features", "offsets", *([layout.label, "phone_names"] if labels else [])])
    offsets = arrays["offsets"]
    names = arrays.get("utterances", [str(u) for u in range(len(offsets) - 1)])
    kept = [u for u in range(len(offsets) - 1) if not names[u].endswith(layout.drop or ("\0",))]
    spans = [slice(offsets[u], offsets[u + 1]) for u in kept]
    phones = np.array(arrays.get("phone_names", []), object)
    y = [phones[arrays[layout.label][span]].tolist() for span in spans] if labels else []
    return LabelledFile([arrays["features"][span] for span in spans], y, kept, layout)


def _read_archive(source: Source, needed: list[str]) -> dict[str, Any]:
    """The arrays of an archive of speech frames; refuses what is missing or does not fit together."""
    try:
        with np.load(Path(source), allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("a single array")
            missing = [name for name in needed if name not in archive]
            arrays = {name: _plain(archive[name]) for name in (*needed, "utterances") if name in archive}
    except UNREADABLE as error:
        remedy = "write it with numpy.savez"
        raise InputError(f"is not a readable .npz archive ({str(error)[:80]})", path=source, remedy=remedy) from None
    remedy = "give features (frames, d), offsets, frame_phone, phone_names"
    if missing:
        raise InputError(f"no array {missing[0]!r}", path=source, remedy=remedy)
    label = next((name for name in needed if name not in ("features", "offsets", "phone_names")), None)
    schema = Schema("Frames", arrays={name: leaf for name, leaf in FRAMES.items() if name in arrays})
    if label is not None:
        numbers = Array("i8", ("n_frames",), least=0, below="n_phones")
        schema = replace(schema, arrays={**schema.arrays, label: numbers})
    try:
        schema.check({}, arrays)
    except Misfit as misfit:
        raise InputError(str(misfit), path=source, remedy=remedy) from None
    return arrays


def _plain(array: np.ndarray) -> np.ndarray | list[str]:
    """Strings as a list, numbers in one dtype."""
    if array.dtype.kind == "U" and array.ndim == 1:
        return [str(name) for name in array]
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    return array.astype(np.float64) if array.dtype.kind == "f" else array
