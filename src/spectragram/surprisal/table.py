"""A row for every word, columns for every model: to be read by R, pandas or a spreadsheet.

    sentence, position, word                   where and what
    tag, known                                 of its tokens; the most probable tags given the words so far
    surprisal, lexical, syntactic              bits, added up over the tokens of the word
    entropy                                    bits of what follows the word
    entropy_reduction                          bits by which the word reduces the entropy of derivations

Several models have columns of their own, which begin with their names. See :mod:`spectragram.learning.measures`.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from spectragram.data.corpus import END
from spectragram.data.inputs import WordLists
from spectragram.errors import InputError, MissingExtraError
from spectragram.files import Source, output
from spectragram.learning.measures import Measures
from spectragram.surprisal.words import Sentence, read_sentences, spelled_tokens

__all__ = ["FORMATS", "SurprisalTable", "format_of", "surprisal_table"]

FORMATS = {"tsv": (".tsv", ".tab", ".txt"), "csv": (".csv",), "jsonl": (".jsonl", ".ndjson", ".json")}
"""Formats with the endings of file names that stand for them."""
OTHER_TABLES = (".parquet", ".feather", ".arrow", ".xlsx", ".xls", ".ods", ".rds", ".sav")
"""Endings of files of tables that other programs write; text in such a file would mislead."""
WHERE = ("sentence", "position", "word")
MEASURES = ("tag", "known", "surprisal", "lexical", "syntactic", "entropy", "entropy_reduction")
DIGITS = 4
"""Digits after the point: a ten-thousandth of a bit is below what single precision says."""


@dataclass(frozen=True)
class SurprisalTable:
    """Rows for words, in the order of the text.

    Attributes
    ----------
    columns : list of str
    rows : list of list
        Values in the order of the columns; None where a model has no such measure.
    """

    columns: list[str]
    rows: list[list[Any]]

    def to_pandas(self) -> Any:
        """The same as a ``pandas.DataFrame``."""
        try:
            import pandas  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            raise MissingExtraError("pandas", "tables") from None
        return pandas.DataFrame(self.rows, columns=self.columns)

    def write(self, target: Source | None = None, format: str | None = None) -> None:
        """Write to a file, or to standard output: ``tsv``, ``csv`` or ``jsonl``, by default as the file is named."""
        chosen = format_of(target, format)
        with output(target) as stream:
            if chosen == "jsonl":
                self._write_json(stream)
            else:
                writer = csv.writer(stream, delimiter="\t" if chosen == "tsv" else ",", lineterminator="\n")
                writer.writerow(self.columns)
                writer.writerows([[_shown(value) for value in row] for row in self.rows])

    def _write_json(self, stream: IO[str]) -> None:
        for row in self.rows:
            values = {name: _finite(value) for name, value in zip(self.columns, row, strict=True)}
            stream.write(json.dumps(values, ensure_ascii=False) + "\n")


def format_of(target: Source | None, format: str | None) -> str:
    """The format that is asked for, or that a file name stands for; refuses others."""
    if format is None:
        suffix = "" if target is None else Path(str(target)).suffix.lower()
        if suffix in OTHER_TABLES:
            raise InputError(f"a table cannot be written as {suffix}", remedy=f"choose {', '.join(FORMATS)}")
        return next((name for name, endings in FORMATS.items() if suffix in endings), "tsv")
    if format not in FORMATS:
        raise InputError(f"format {format!r} is unknown", remedy=f"choose {', '.join(FORMATS)}")
    return format


def surprisal_table(
    models: Any,
    X: WordLists,
    *,
    input: str = "text",
    tokenizer: Any = None,
    entropy_reduction: bool = True,
    ends: bool = False,
) -> SurprisalTable:
    """Measure every word of a text under one or several models.

    Parameters
    ----------
    models : estimator, sequence of estimators, or mapping of names to estimators
        Trained parsers (constituency), taggers, language models, automata. Without names, several models of the same
        kind are numbered.
    X : path or iterable
        A text file with one sentence a line, or sentences.
    input, tokenizer
        How words become tokens, see :func:`~spectragram.surprisal.words.read_sentences`.
    entropy_reduction : bool
        Whether parsers compute it, which takes two thirds of their time.
    ends : bool
        Whether the end of each sentence, ``</s>``, has a row.
    """
    named = _named(models)
    sentences = read_sentences(X, input=input, tokenizer=tokenizer)
    found = [_columns_of(name, model, sentences, entropy_reduction) for name, model in named.items()]
    alone = len(named) == 1
    columns = [*WHERE, *(column if alone else f"{name}_{column}" for name in named for column in MEASURES)]
    rows = []
    for number, sentence in enumerate(sentences):
        words = [*sentence.words, END] if ends else sentence.words
        for position, word in enumerate(words):
            values = [value for model in found for value in model[number][position]]
            rows.append([number + 1, position + 1, word, *values])
    return SurprisalTable(columns, rows)


def _named(models: Any) -> dict[str, Any]:
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        listed = list(models) if isinstance(models, Sequence) else [models]
        kinds = [getattr(model, "kind", "model") for model in listed]
        named = {
            kind if kinds.count(kind) == 1 else f"{kind}{i + 1}": model
            for i, (kind, model) in enumerate(zip(kinds, listed, strict=True))
        }
    if not named:
        raise InputError("no models", remedy="give at least one")
    for name, model in named.items():
        if not hasattr(model, "measure"):
            raise InputError(
                f"{name} is of the kind '{getattr(model, 'kind', type(model).__name__)}', which is not a distribution "
                "over sentences",
                remedy="give a constituency parser, a tagger, a language model or an automaton",
            )
    return named


def _columns_of(name: str, model: Any, sentences: Sequence[Sentence], reduction: bool) -> list[list[list[Any]]]:
    """For every sentence and word the values of ``MEASURES``; the end of the sentence is the last word."""
    try:
        known = model.known_words_
        tokens = [sentence.tokens_for(known.__contains__) for sentence in sentences]
        measured = model.measure([spelled_tokens(groups) for groups in tokens], entropy_reduction=reduction)
    except InputError as trouble:
        raise InputError(f"{name}: {trouble}") from None
    return [_of_words(groups, one) for groups, one in zip(tokens, measured, strict=True)]


def _of_words(groups: Sequence[Sequence[str]], found: Measures) -> list[list[Any]]:
    stops = np.cumsum([0, *(len(group) for group in groups)])
    rows = []
    for start, stop in zip(stops[:-1].tolist(), stops[1:].tolist(), strict=True):
        here = slice(start, stop)
        reduction = None
        if found.derivation_entropy is not None:
            reduction = max(float(found.derivation_entropy[start] - found.derivation_entropy[stop]), 0.0)
        rows.append(
            [
                None if found.tags is None else "+".join(found.tags[here]),
                bool(found.known[here].all()),
                float(found.surprisal[here].sum()),
                None if found.lexical is None else float(found.lexical[here].sum()),
                None if found.syntactic is None else float(found.syntactic[here].sum()),
                float(found.entropy[stop]),
                reduction,
            ]
        )
    n = int(stops[-1])
    end = float(found.surprisal[n]) if len(found.surprisal) > n else None
    parts = (None, None) if found.syntactic is None or end is None else (end - float(found.syntactic[n]), end)
    return [*rows, [None, None, end, *parts, None, None]]


def _shown(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).upper()  # as R writes it; pandas reads it, too
    if isinstance(value, float):
        return f"{value:.{DIGITS}f}"
    return value


def _finite(value: Any) -> Any:
    """JSON has no infinities."""
    if isinstance(value, float):
        return round(value, DIGITS) if math.isfinite(value) else None
    return value
