"""``spectragram surprisal``: a table with a row for every word of a text and columns for every model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from spectragram.cli import options as given
from spectragram.errors import InputError

Files = Annotated[
    list[str], typer.Argument(metavar="MODEL... TEXT", help="Model files, then a text with one sentence a line or -.")
]


def surprisal(
    input: Files,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write: .tsv, .csv or .jsonl; default standard output.")
    ] = None,
    format: Annotated[str | None, typer.Option("--format", "-f", help="tsv, csv or jsonl.")] = None,
    words: Annotated[
        bool, typer.Option("--words", help="The text is tokenised: never split a word between spaces.")
    ] = False,
    tokenizer: Annotated[
        Path | None, typer.Option("--tokenizer", help="A pipeline that finds sentences and words in raw text.")
    ] = None,
    names: Annotated[
        str, typer.Option("--names", help="Names of the models for the columns, e.g. parser,ngram [names of files].")
    ] = "",
    entropy_reduction: Annotated[
        bool, typer.Option(help="Entropy reduction of parsers; without it they take a third of the time.")
    ] = True,
    ends: Annotated[bool, typer.Option("--ends", help="Also a row for the end of each sentence.")] = False,
    jobs: given.Jobs = -1,
) -> None:
    """Surprisal in bits of every word, its lexical and syntactic parts, and entropies, under one or several models.

    Models are constituency parsers, taggers, language models and automata.
    """
    from spectragram.kinds import load
    from spectragram.surprisal import surprisal_table
    from spectragram.surprisal.table import format_of

    if len(input) < 2:
        raise InputError("a model and a text are needed", remedy="spectragram surprisal MODEL... TEXT")
    format_of(out, format)  # refused before long work
    *files, text = input
    loaded: dict[str, Any] = {}
    for name, path in zip(_names(files, names), files, strict=True):
        loaded[name] = load(path)
        loaded[name].n_jobs = jobs
    table = surprisal_table(
        loaded,
        text,
        input="words" if words else "text",
        tokenizer=None if tokenizer is None else _pipeline(tokenizer),
        entropy_reduction=entropy_reduction,
        ends=ends,
    )
    table.write(out, format)


def _names(files: list[str], names: str) -> list[str]:
    """A name for every model: those given, or those of the files, told apart by numbers."""
    chosen = [name.strip() for name in names.split(",")] if names else [Path(path).stem for path in files]
    if len(chosen) != len(files):
        raise InputError(f"{len(chosen)} names for {len(files)} models", remedy="give --names one name for each model")
    if names and len(set(chosen)) < len(chosen):
        raise InputError("two models have the same name", remedy="give --names different names")
    return [
        name if chosen.count(name) == 1 else f"{name}{chosen[: i + 1].count(name)}" for i, name in enumerate(chosen)
    ]


def _pipeline(path: Path) -> Any:
    from spectragram.kinds import load

    found = load(path)
    if getattr(found, "kind", "") != "pipeline":
        raise InputError("is not a pipeline", path=path, remedy="train one: spectragram train pipeline TREEBANK")
    return found
