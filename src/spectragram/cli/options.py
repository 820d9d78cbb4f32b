"""Options that mean the same for every kind, declared once, and ``train``, which is the same for all of them.

The module of a kind has a function ``train`` whose parameters are the options of that kind alone. It returns a
:class:`Plan`, which says what they mean for the estimator; :func:`train_command` does the rest: build the estimator,
fit, save, say where the model went.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from spectragram.cli.console import trained
from spectragram.errors import InputError
from spectragram.kinds import Kind

Data = Annotated[str, typer.Argument(metavar="DATA", help="Training data, plain or .gz; - is standard input.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file that 'train' wrote.")]
Input = Annotated[str, typer.Argument(metavar="[INPUT]", help="Input file, plain or .gz; - is standard input.")]
Gold = Annotated[str, typer.Argument(metavar="GOLD", help="Data with gold annotation.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")]
OutText = Annotated[Path | None, typer.Option("--out", "-o", help="File to write; default standard output.")]
States = Annotated[int | None, typer.Option("--states", min=1, help="Maximum number of hidden states.")]
Dev = Annotated[str | None, typer.Option("--dev", help="Held-out data for early stopping and choices.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Same data, same seed, same model.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processor cores to use; -1 means all.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
Fast = Annotated[bool, typer.Option("--fast", help="Preset: quickest to train and use.")]
Best = Annotated[bool, typer.Option("--best", help="Preset: most accurate, slower.")]
Recipe = Annotated[
    str | None, typer.Option("--recipe", help="ours, or paper: the algorithm of the paper as written, nothing added.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any parameter of the Python class, such as kappa=0; repeatable."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="WHERE", help="Work on a Dask cluster: tcp://scheduler:8786, or local:4 workers."
    ),
]
ITERATIONS = typer.Option("--iterations", min=0, help="Maximum number of EM iterations.")
Iterations = Annotated[int | None, ITERATIONS]
Models = Annotated[int | None, typer.Option("--models", min=1, help="Number of models in the ensemble.")]
Clusters = Annotated[
    Path | None,
    typer.Option(
        "--clusters", help="Word clusters of raw text: a clusters model, or a file of paths from any Brown tool."
    ),
]
RAW_HELP = "Raw text to learn from, too: the preset best labels it, and this model learns from both."
Raw = Annotated[str | None, typer.Option("--raw", help=RAW_HELP)]
MinCount = Annotated[int, typer.Option("--min-count", min=1, help="Rarer words count as unknown.")]
Memory = Annotated[
    str | None, typer.Option("--memory", metavar="SIZE", help="Bound on memory, such as 4GB; the rest goes to disk.")
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Keep finished work in OUT.unfinished, and continue there after an interruption."),
]
Html = Annotated[Path | None, typer.Option("--html", help="Write a self-contained page with pictures.")]
Constrained = Annotated[
    bool, typer.Option("--constrained", help="Keep the annotation that INPUT has, and infer the rest around it.")
]
Kbest = Annotated[int, typer.Option("--kbest", min=0, help="Number of answers, each with its log-probability.")]
Confidence = Annotated[bool, typer.Option("--confidence", help="Add the probability of every answer.")]
Format = Annotated[str, typer.Option("--format", "-f", help="What to write.")]


def unfinished(out: Path, resume: bool) -> Path | None:
    """The file that keeps what is done of a model, if that is wanted."""
    return out.with_name(out.name + ".unfinished") if resume else None


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


def given_parameters(settings: list[str]) -> dict[str, Any]:
    """Parameters from ``NAME=VALUE``; a value that is neither JSON nor ``inf`` is a string.

    >>> given_parameters(["kappa=0", "scaling=none", "reset=false", "trusted=inf"])
    {'kappa': 0, 'scaling': 'none', 'reset': False, 'trusted': inf}
    """
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"--set has {setting!r}", remedy="write NAME=VALUE, such as --set kappa=0")
        try:
            found[name] = math.inf if value == "inf" else json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _as_it_is(estimator: Any, source: Any) -> Any:
    """Most estimators read files themselves."""
    return source


@dataclass(frozen=True)
class Plan:
    """What the options of a kind ask for.

    ``parameters`` are those of the estimator; ``read(estimator, source)`` turns training and held-out data into what
    ``fit`` takes, and ``fitting`` are further arguments of ``fit``; ``instead(source, n_jobs, verbose)`` returns a
    trained estimator and replaces building and fitting; ``after`` is called when the model is written.
    """

    parameters: dict[str, Any]
    read: Callable[[Any, Any], Any] = _as_it_is
    fitting: Mapping[str, Any] = field(default_factory=dict)
    instead: Callable[[Any, int, bool], Any] | None = None
    after: Callable[[], None] | None = None


def _shared(
    data: Data,
    out: Out,
    dev: Dev = None,
    fast: Fast = False,
    best: Best = False,
    recipe: Recipe = None,
    set_: Set = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    cluster: Cluster = None,
    quiet: Quiet = False,
) -> None:
    """Options of every kind; DATA and --out come first in the help, the rest last."""


def train_command(kind: Kind, plan: Callable[..., Plan]) -> Callable[..., None]:
    """The command that trains a kind: the options of ``plan`` between those that all kinds have."""
    own = inspect.signature(plan).parameters
    shared = inspect.signature(_shared).parameters

    def train(**options: Any) -> None:
        planned = plan(**{name: options[name] for name in own})
        settings = {name: options[name] for name in shared if name not in ("out", "cluster")}
        with _on_cluster(options["cluster"]):
            estimator = _trained(kind, planned, **settings)
        estimator.save(options["out"])
        if planned.after is not None:
            planned.after()
        # The parts of a mixture have a table of their own in ``inspect``.
        facts = {name: value for name, value in estimator.summary_.items() if name != "parts"}
        trained(options["out"], facts, quiet=options["quiet"])

    hints = get_type_hints(_shared, include_extras=True) | get_type_hints(plan, include_extras=True)
    places = {name: parameter for name, parameter in shared.items() if name in ("data", "out")}
    places |= dict(own) | {name: parameter for name, parameter in shared.items() if name not in own}
    train.__doc__ = plan.__doc__
    return _with_options(train, places, hints)


def with_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the option ``--cluster``: whatever it predicts, the workers of that cluster do."""

    def run(**options: Any) -> None:
        with _on_cluster(options.pop("cluster")):
            command(**options)

    places = dict(inspect.signature(command).parameters)
    places["cluster"] = inspect.Parameter("cluster", inspect.Parameter.KEYWORD_ONLY, default=None)
    run.__doc__ = command.__doc__
    run.__name__ = command.__name__
    return _with_options(run, places, get_type_hints(command, include_extras=True) | {"cluster": Cluster})


@contextlib.contextmanager
def _on_cluster(where: str | None) -> Iterator[None]:
    from spectragram.engine.cluster import connect, working_on

    with connect(where) as executor, working_on(executor):
        yield


def _with_options(
    function: Callable[..., None], places: Mapping[str, inspect.Parameter], hints: Mapping[str, Any]
) -> Callable[..., None]:
    """Typer reads options off a signature: give the function the one that was put together here."""
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=p.default, annotation=hints[name])
            for name, p in places.items()
        ]
    )
    function.__annotations__ = {name: hints[name] for name in places}
    return function


def _trained(
    kind: Kind,
    plan: Plan,
    data: Any,
    dev: str | None,
    fast: bool,
    best: bool,
    recipe: str | None,
    set_: list[str] | None,
    seed: int,
    jobs: int,
    quiet: bool,
) -> Any:
    preset = chosen_preset(fast, best)
    if plan.instead is not None:
        return plan.instead(data, jobs, not quiet)
    run_time = {"preset": preset, "random_state": seed, "n_jobs": jobs, "verbose": not quiet}
    estimator: Any = kind.estimator_class()(**plan.parameters, **run_time)
    if recipe is not None:
        if "recipe" not in estimator.get_params():
            raise InputError(
                f"none of the papers describes models of the kind {kind.name}, so they have no recipe",
                remedy="leave --recipe out",
            )
        estimator.set_params(recipe=recipe)
    estimator.set_params(**given_parameters(set_ or []))
    held_out = None if dev is None else plan.read(estimator, dev)
    return estimator.fit(plan.read(estimator, data), dev=held_out, **plan.fitting)
