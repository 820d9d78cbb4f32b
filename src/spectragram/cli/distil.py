"""``spectragram distil``: one fast model from text that an ensemble labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spectragram.cli import options as given
from spectragram.cli.console import trained


def distil(
    teacher: Annotated[
        str, typer.Argument(metavar="TEACHER", help="A tagger, constituency, dependency or pipeline model.")
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the teacher predicts from; - is standard input.")],
    out: given.Out,
    gold: Annotated[
        str | None, typer.Option("--gold", help="Labelled data beside the text, usually those of the teacher.")
    ] = None,
    dev: given.Dev = None,
    weight: Annotated[
        float | None,
        typer.Option(
            "--weight", min=0.0, help="What a labelled sentence counts beside a gold one [chosen on held-out]."
        ),
    ] = None,
    preset: Annotated[
        str, typer.Option("--preset", help="Of the student: fast (one model), default or best.")
    ] = "fast",
    states: given.States = None,
    set_: given.Set = None,
    seed: given.Seed = 0,
    jobs: given.Jobs = -1,
    quiet: given.Quiet = False,
) -> None:
    """Train one model on TEXT as TEACHER labels it, and on gold data beside it.

    Without --gold the student learns from TEXT alone. With it the weight of labelled sentences is the best of a few on
    --dev, or on every tenth gold sentence. TEXT has a sentence of words a line (constituency, tagger), CoNLL-U with
    tags (dependency) or raw text (pipeline). See 'spectragram train KIND --raw TEXT' to train the teacher, too.
    """
    from spectragram.distillation import distil as learn
    from spectragram.kinds import load

    loaded: Any = load(teacher)
    loaded.set_params(n_jobs=jobs, verbose=not quiet)
    parameters: dict[str, Any] = {"random_state": seed} | given.given_parameters(set_ or [])
    if states is not None:
        parameters["n_states"] = states
    student = learn(loaded, text, gold=gold, dev=dev, weight=weight, preset=preset, **parameters)
    student.save(out)
    trained(out, student.summary_, quiet=quiet)
