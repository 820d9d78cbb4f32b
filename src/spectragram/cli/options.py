"""Options that mean the same for every kind, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spectragram.errors import InputError

Data = Annotated[str, typer.Argument(metavar="DATA", help="Training data, plain or .gz; - is standard input.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file that 'train' wrote.")]
Input = Annotated[str, typer.Argument(metavar="[INPUT]", help="Input file, plain or .gz; - is standard input.")]
Gold = Annotated[str, typer.Argument(metavar="GOLD", help="Data with the right answers.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")]
OutText = Annotated[Path | None, typer.Option("--out", "-o", help="File to write; default standard output.")]
States = Annotated[int | None, typer.Option("--states", min=1, help="Hidden states, at most.")]
Dev = Annotated[str | None, typer.Option("--dev", help="Held-out data for early stopping and choices.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Same data, same seed, same model.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processor cores to use; -1 means all.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
Fast = Annotated[bool, typer.Option("--fast", help="Preset: quickest to train and use.")]
Best = Annotated[bool, typer.Option("--best", help="Preset: most accurate, slower.")]
ITERATIONS = typer.Option("--iterations", min=0, help="EM iterations, at most.")
Iterations = Annotated[int | None, ITERATIONS]
Models = Annotated[int | None, typer.Option("--models", min=1, help="Models that vote.")]
MinCount = Annotated[int, typer.Option("--min-count", min=1, help="Rarer words count as unknown.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a self-contained page with pictures.")]
Format = Annotated[str, typer.Option("--format", "-f", help="What to write.")]


def chosen_preset(fast: bool, best: bool) -> str:
    """The preset that --fast and --best ask for."""
    return only_one({"--fast": fast, "--best": best}).removeprefix("--") or "default"


def only_one(flags: dict[str, bool]) -> str:
    """The option that was given, or an empty string; refuses several of them."""
    chosen = [option for option, wanted in flags.items() if wanted]
    if len(chosen) > 1:
        raise InputError(f"{' and '.join(chosen)} exclude each other", remedy="give one of them")
    return chosen[0] if chosen else ""


OPTION_NAMES = {
    "max_iter": "--iterations",
    "max_vocabulary": "--vocab",
    "n_clusters": "--clusters",
    "n_codes": "--codes",
    "n_dimensions": "--dimensions",
    "n_epochs": "--epochs",
    "n_jobs": "--jobs",
    "n_models": "--models",
    "n_states": "--states",
    "random_state": "--seed",
    "tag_column": "--tags",
}
"""Parameters of estimators whose options have other names."""


def option_of(parameter: str) -> str:
    """The option that sets a parameter of an estimator.

    >>> option_of("n_states"), option_of("min_count")
    ('--states', '--min-count')
    """
    return OPTION_NAMES.get(parameter, "--" + parameter.replace("_", "-"))
