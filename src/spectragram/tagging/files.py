"""Files with labels: column files, CoNLL-U, and .npz archives of speech frames.

Which one a file is follows from its name (``.conllu``, ``.npz``) and its content unless it is said. A
:class:`Layout` travels with the model, so that later files are read the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from spectragram.data.columns import ColumnSentence, read_columns, write_columns
from spectragram.data.conllu import Sentence, read_conllu, write_conllu
from spectragram.errors import InputError
from spectragram.files import Source, output, read_lines

__all__ = ["FORMATS", "LabelledFile", "Layout", "looks_like_conllu", "read_labelled"]

FORMATS = ("auto", "columns", "conllu", "npz")


@dataclass(frozen=True)
class Layout:
    """Where observations and labels stand.

    Attributes
    ----------
    format : {"auto", "columns", "conllu", "npz"}
    columns : tuple of int
        Observation columns of a column file.
    label : str
        The label: a column number of a column file, ``upos`` or ``xpos`` of CoNLL-U.
    drop : tuple of str
        Ends of names of utterances to leave out.
    """

    format: str = "auto"
    columns: tuple[int, ...] = (0,)
    label: str = ""
    drop: tuple[str, ...] = ()

    def resolved(self, source: Source) -> Layout:
        """The same with the format, and the place of the label, that the file says."""
        if self.format not in FORMATS:
            raise InputError(f"format {self.format!r}", remedy=f"choose among {', '.join(FORMATS)}")
        kind = self.format
        if kind == "auto":
            is_npz = str(source).removesuffix(".gz").endswith(".npz")
            kind = "npz" if is_npz else "conllu" if looks_like_conllu(source) else "columns"
        elif kind == "columns" and 0 in self.columns and looks_like_conllu(source):
            raise InputError(
                "is CoNLL-U, whose first column numbers words",
                path=source,
                remedy="give a column file like the training data, or train on CoNLL-U",
            )
        label = self.label or {"conllu": "upos", "columns": "-1", "npz": "frame_phone"}[kind]
        if kind == "columns" and not label.removeprefix("-").isdigit():
            raise InputError(f"label column {label!r}", remedy="give a number, 0 for the first, -1 for the last")
        if kind == "conllu" and self.columns != (0,):
            raise InputError(
                "columns of CoNLL-U", remedy="it is the form that is observed; for others --format columns"
            )
        if kind != "npz" and self.drop:
            raise InputError(
                "utterances to drop from text", remedy="only frames of speech (.npz) have named utterances"
            )
        return Layout(kind, self.columns, label, self.drop)

    def to_state(self) -> dict[str, Any]:
        """A JSON-ready form."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        known: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in state.items()}
        return cls(**known)


@dataclass(frozen=True)
class LabelledFile:
    """What a file holds: observations, labels where they were asked for, and enough to write it again."""

    X: list[Any]
    y: list[list[str]]
    records: list[Any] = field(repr=False)
    layout: Layout

    def write(self, predictions: Iterable[Sequence[str]], target: Source | None) -> None:
        """The same records with predictions: in an extra column, in the label column of CoNLL-U, or a line each."""
        if self.layout.format == "columns":
            write_columns(self.records, target, predictions)
        elif self.layout.format == "conllu":
            labelled = zip(self.records, predictions, strict=True)
            write_conllu((s.with_columns(**{self.layout.label: labels}) for s, labels in labelled), target)
        else:
            with output(target) as stream:
                stream.writelines(" ".join(labels) + "\n" for labels in predictions)


def read_labelled(source: Source, layout: Layout, *, labels: bool = True) -> LabelledFile:
    """Read a whole file; without ``labels`` the place of the label need not exist."""
    layout = layout.resolved(source)
    if layout.format == "columns":
        return _from_columns(source, layout, labels)
    if layout.format == "conllu":
        return _from_conllu(source, layout, labels)
    return _from_npz(source, layout, labels)


def _from_columns(source: Source, layout: Layout, labels: bool) -> LabelledFile:
    wanted = [*layout.columns, *([int(layout.label)] if labels else [])]
    sentences: list[ColumnSentence] = list(read_columns(source, wanted))
    n = len(layout.columns)
    if labels and sentences:
        _require_label_column(sentences[0], layout, source)
    X = [s.columns[0] if n == 1 else list(zip(*s.columns[:n], strict=True)) for s in sentences]
    return LabelledFile(X, [s.columns[n] for s in sentences] if labels else [], sentences, layout)


def _require_label_column(sentence: ColumnSentence, layout: Layout, source: Source) -> None:
    """The label must not be one of the observed columns: models would read it off, and scores mean nothing."""
    n = len(sentence.lines[0].split(sentence.separator if sentence.separator == "\t" else None))
    label = int(layout.label) % n
    if label in [column % n for column in layout.columns]:
        raise InputError(
            f"column {label} of {n} is observed and cannot be the label",
            path=source,
            line=sentence.line,
            remedy="give data with a label column, and choose --columns and --label",
        )


def looks_like_conllu(source: Source) -> bool:
    """Whether a file is CoNLL-U by its name or its first word, a number and nine more columns after tabs.

    Standard input can be read once only and does not count.
    """
    if str(source).removesuffix(".gz").endswith(".conllu"):
        return True
    if str(source) == "-" or not Path(source).is_file() or str(source).endswith(".npz"):
        return False
    first = next((line for _, line in read_lines(source) if line.strip() and not line.startswith("#")), "")
    cells = first.split("\t")
    return len(cells) == 10 and cells[0] in ("1", "1-2", "1-3", "0.1")


def _from_conllu(source: Source, layout: Layout, labels: bool) -> LabelledFile:
    sentences: list[Sentence] = list(read_conllu(source))
    y = [sentence.column(layout.label) for sentence in sentences] if labels else []
    for sentence, tags in zip(sentences, y, strict=False):
        if "_" in tags:
            raise InputError(
                f"the word {sentence.forms[tags.index('_')]!r} has no {layout.label.upper()}",
                path=source,
                line=sentence.line,
                remedy="fill the column, or choose another with --label",
            )
    return LabelledFile([sentence.forms for sentence in sentences], y, sentences, layout)


def _from_npz(source: Source, layout: Layout, labels: bool) -> LabelledFile:
    needed = ["features", "offsets", *([layout.label, "phone_names"] if labels else [])]
    try:
        with np.load(Path(source), allow_pickle=False) as archive:
            missing = [name for name in needed if name not in archive]
            arrays = {name: archive[name] for name in (*needed, "utterances") if name in archive}
    except (OSError, ValueError) as trouble:
        raise InputError(f"no readable .npz archive ({trouble})", path=source) from None
    if missing:
        raise InputError(
            f"no array {missing[0]!r}",
            path=source,
            remedy="give features (frames, d), offsets, frame_phone, phone_names",
        )
    offsets = arrays["offsets"].astype(np.int64)
    names = arrays.get("utterances", np.arange(len(offsets) - 1).astype(str))
    kept = [u for u in range(len(offsets) - 1) if not str(names[u]).endswith(layout.drop or ("\0",))]
    spans = [slice(offsets[u], offsets[u + 1]) for u in kept]
    y = [arrays["phone_names"][arrays[layout.label][span]].tolist() for span in spans] if labels else []
    return LabelledFile([arrays["features"][span] for span in spans], y, kept, layout)
