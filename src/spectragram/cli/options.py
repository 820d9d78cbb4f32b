"""Options that mean the same for every kind, declared once, and ``train``, which is the same for all of them.

The module of a kind has a function ``train`` whose parameters are the options of that kind alone. It returns a
:class:`Plan`, which says what they mean for the estimator; :func:`train_command` does the rest: build the estimator,
fit, save, say where the model went.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from spectragram.cli.console import trained
from spectragram.errors import InputError
from spectragram.kinds import Kind

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
    "n_folds": "--folds",
    "n_jobs": "--jobs",
    "n_models": "--models",
    "n_states": "--states",
    "random_state": "--seed",
    "start": "--from",
    "tag_column": "--tags",
}
"""Parameters of estimators whose options have other names."""


def option_of(parameter: str) -> str:
    """The option that sets a parameter of an estimator.

    >>> option_of("n_states"), option_of("min_count")
    ('--states', '--min-count')
    """
    return OPTION_NAMES.get(parameter, "--" + parameter.replace("_", "-"))


def _as_it_is(estimator: Any, source: Any) -> Any:
    """Most estimators read files themselves."""
    return source


@dataclass(frozen=True)
class Plan:
    """What the options of a kind ask for.

    ``parameters`` are those of the estimator; ``read(estimator, source)`` turns training and held-out data into what
    ``fit`` takes; ``instead(source, n_jobs, verbose)`` returns a trained estimator and replaces building and fitting.
    """

    parameters: dict[str, Any]
    read: Callable[[Any, Any], Any] = _as_it_is
    instead: Callable[[Any, int, bool], Any] | None = None


def _shared(
    data: Data,
    out: Out,
    dev: Dev = None,
    fast: Fast = False,
    best: Best = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Options of every kind; DATA and --out come first in the help, the rest last."""


def train_command(kind: Kind, plan: Callable[..., Plan]) -> Callable[..., None]:
    """The command that trains a kind: the options of ``plan`` between those that all kinds have."""
    own = inspect.signature(plan).parameters
    shared = inspect.signature(_shared).parameters

    def train(**options: Any) -> None:
        planned = plan(**{name: options[name] for name in own})
        estimator = _trained(kind, planned, **{name: options[name] for name in shared if name != "out"})
        estimator.save(options["out"])
        # The parts of a mixture have a table of their own in ``inspect``.
        facts = {name: value for name, value in estimator.summary_.items() if name != "parts"}
        trained(options["out"], facts, quiet=options["quiet"])

    hints = get_type_hints(_shared, include_extras=True) | get_type_hints(plan, include_extras=True)
    places = {name: parameter for name, parameter in shared.items() if name in ("data", "out")}
    places |= dict(own) | {name: parameter for name, parameter in shared.items() if name not in own}
    # Typer reads options off a signature: this function has the one that was put together here.
    train.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=p.default, annotation=hints[name])
            for name, p in places.items()
        ]
    )
    train.__annotations__ = {name: hints[name] for name in places}
    train.__doc__ = plan.__doc__
    return train


def _trained(
    kind: Kind, plan: Plan, data: Any, dev: str | None, fast: bool, best: bool, seed: int, jobs: int, quiet: bool
) -> Any:
    preset = chosen_preset(fast, best)
    if plan.instead is not None:
        return plan.instead(data, jobs, not quiet)
    run_time = {"preset": preset, "random_state": seed, "n_jobs": jobs, "verbose": not quiet}
    estimator: Any = kind.estimator_class()(**plan.parameters, **run_time)
    return estimator.fit(plan.read(estimator, data), dev=None if dev is None else plan.read(estimator, dev))
