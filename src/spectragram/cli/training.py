"""``train`` for every kind: the options that all kinds share, and what is done with them, written once.

The module of a kind has a function ``train`` whose parameters are the options of that kind alone. It returns a
:class:`Plan`, which says what they mean for the estimator; the rest is the same everywhere: build the estimator, fit,
save, say where the model went.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_type_hints

from spectragram.cli import options as given
from spectragram.cli.console import trained
from spectragram.kinds import Kind

__all__ = ["Plan", "train_command"]


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
    data: given.Data,
    out: given.Out,
    dev: given.Dev = None,
    fast: given.Fast = False,
    best: given.Best = False,
    seed: given.Seed = 0,
    jobs: given.Jobs = -1,
    quiet: given.Quiet = False,
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
    preset = given.chosen_preset(fast, best)
    if plan.instead is not None:
        return plan.instead(data, jobs, not quiet)
    run_time = {"preset": preset, "random_state": seed, "n_jobs": jobs, "verbose": not quiet}
    estimator: Any = kind.estimator_class()(**plan.parameters, **run_time)
    return estimator.fit(plan.read(estimator, data), dev=None if dev is None else plan.read(estimator, dev))
