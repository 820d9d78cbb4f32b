"""The command line of taggers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from spectragram.cli.console import note, print_scores, print_table, trained, write_page
from spectragram.cli.options import (
    Best,
    Data,
    Dev,
    Fast,
    Gold,
    Html,
    Input,
    Iterations,
    Jobs,
    Json,
    Model,
    Models,
    Out,
    OutText,
    Quiet,
    Seed,
    States,
    chosen_preset,
)

if TYPE_CHECKING:
    from spectragram.data.labelled import Layout

Columns = Annotated[str, typer.Option("--columns", help="Observation columns, counted from 0: 0 or 0,1.")]
Label = Annotated[
    str, typer.Option("--label", help="Label: a column number (default the last); upos or xpos of CoNLL-U.")
]
FileFormat = Annotated[str, typer.Option("--format", help="auto (by name and content), columns, conllu or npz.")]
Drop = Annotated[str, typer.Option("--drop", help="Leave out utterances whose names end so: sa1,sa2.")]


def train(
    data: Data,
    out: Out,
    columns: Columns = "0",
    label: Label = "",
    format: FileFormat = "auto",
    drop: Drop = "",
    states: States = None,
    learner: Annotated[
        str, typer.Option("--learner", help="spectral+em, spectral, pivot, pivot+em, em, hmm or unigram.")
    ] = "spectral+em",
    models: Models = None,
    iterations: Iterations = None,
    decoding: Annotated[str, typer.Option("--decoding", help="auto, marginal or legal (well-formed spans).")] = "auto",
    emissions: Annotated[str, typer.Option("--emissions", help="Speech frames: auto, classes or gaussian.")] = "auto",
    codes: Annotated[int, typer.Option("--codes", min=1, help="Size of the codebook of speech frames.")] = 1000,
    dev: Dev = None,
    fast: Fast = False,
    best: Best = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Learn to label the tokens of column files, CoNLL-U or speech frames."""
    from spectragram.data.labelled import read_labelled
    from spectragram.tagging import Tagger

    tagger = Tagger(
        states,
        learner,
        preset=chosen_preset(fast, best),
        n_models=models,
        max_iter=iterations,
        decoding=decoding,
        emissions=emissions,
        n_codes=codes,
        random_state=seed,
        n_jobs=jobs,
        verbose=not quiet,
    )
    found = read_labelled(data, _layout(format, columns, label, drop))
    held_out = None if dev is None else read_labelled(dev, found.layout)
    tagger.fit(found.X, found.y, dev=None if held_out is None else (held_out.X, held_out.y))
    tagger.summary_["layout"] = found.layout.to_state()[0]
    tagger.save(out)
    shown = {name: value for name, value in tagger.summary_.items() if name != "layout"}
    trained(out, shown, quiet=quiet)


def predict(
    model: Model,
    input: Input = "-",
    out: OutText = None,
    marginals: Annotated[bool, typer.Option("--marginals", help="Probable labels with their probabilities.")] = False,
    jobs: Jobs = -1,
) -> None:
    """Label the tokens of INPUT, which has the layout of the training data, with or without the label column."""
    from spectragram.data.labelled import read_labelled
    from spectragram.tagging import Tagger

    tagger = Tagger.load(model).set_params(n_jobs=jobs)
    found = read_labelled(input, _stored_layout(tagger.summary_), labels=False)
    if marginals:
        found.write([_probable(rows, tagger.classes_) for rows in tagger.predict_marginals(found.X)], out)
    else:
        found.write(tagger.predict(found.X), out)
    if tagger.n_negative_:
        note(f"{tagger.n_negative_} marginals were negative; they were taken for zero")


def evaluate(
    model: Model,
    gold: Gold,
    drop: Drop = "",
    json: Json = False,
    jobs: Jobs = -1,
) -> None:
    """Accuracy, accuracy on unknown words, span F1 where labels mark spans, and a line for every label."""
    from spectragram.data.labelled import read_labelled
    from spectragram.tagging import Tagger

    tagger = Tagger.load(model).set_params(n_jobs=jobs)
    layout = _stored_layout(tagger.summary_)
    found = read_labelled(gold, replace(layout, drop=_parts(drop)) if drop else layout)
    scores = tagger.evaluate(found.X, found.y)
    print_scores(scores, as_json=json)
    if not json:
        print()
        header = ["span" if "span_f1" in scores else "label", "precision", "recall", "f1", "support"]
        print_table(header, [[name, *row.values()] for name, row in scores["labels"].items()])


def inspect(
    model: Model,
    html: Html = None,
    words: Annotated[int, typer.Option("--words", min=1, help="Typical observations shown per state.")] = 8,
    json: Json = False,
) -> None:
    """Sizes, and what the hidden states of every label stand for."""
    from spectragram.tagging import Tagger
    from spectragram.tagging.inspection import typical_observations

    tagger = Tagger.load(model)
    if html is not None:
        from spectragram.plots.tagger import tagger_page

        write_page(html, tagger_page(tagger, model.name, words))
    print_scores(tagger.summary_, as_json=json)
    if json:
        return
    rows = [[label, state, " ".join(typical)] for label, state, typical in typical_observations(tagger, words)]
    if rows:
        print()
        print_table(["label", "state", "typical observations"], rows)


def demo() -> None:
    """Learn part-of-speech tags of the embedded English corpus with every learner, and tag a sentence."""
    from spectragram.synthetic import english_tagged
    from spectragram.tagging import Tagger

    X, y = (list(part) for part in zip(*english_tagged(1500, seed=1), strict=True))
    train, test = slice(0, 1200), slice(1200, None)
    rows = []
    for learner in ("unigram", "hmm", "spectral", "spectral+em"):
        tagger = Tagger(8, learner).fit(X[train], y[train])
        scores = tagger.evaluate(X[test], y[test])
        rows.append([learner, scores["accuracy"], scores["unknown_accuracy"], tagger.summary_["seconds"]])
    print_table(["learner", "accuracy", "unknown words", "seconds"], rows)
    sentence = X[-1]
    note("")
    print(" ".join(f"{word}/{tag}" for word, tag in zip(sentence, tagger.predict([sentence])[0], strict=True)))


def _layout(format: str, columns: str, label: str, drop: str) -> Layout:
    from spectragram.data.labelled import Layout
    from spectragram.errors import InputError

    try:
        numbers = tuple(int(number) for number in columns.split(","))
    except ValueError:
        raise InputError(f"--columns {columns}", remedy="give numbers counted from 0, e.g. 0 or 0,1") from None
    return Layout(format, numbers, label, _parts(drop))


def _parts(drop: str) -> tuple[str, ...]:
    return tuple(part for part in drop.split(",") if part)


def _stored_layout(summary: dict) -> Layout:
    from spectragram.data.labelled import Layout

    return Layout.from_state(summary["layout"]) if "layout" in summary else Layout()


def _probable(rows, labels: list[str]) -> list[str]:  # type: ignore[no-untyped-def]
    """'NOUN:0.91|VERB:0.08' of every token, from its row of probabilities: all labels of at least a half per cent."""
    found = []
    for row in rows:
        order = (-row).argsort(kind="stable")
        kept = [i for i in order if row[i] >= 0.005] or [order[0]]
        found.append("|".join(f"{labels[i]}:{row[i]:.3f}" for i in kept))
    return found
