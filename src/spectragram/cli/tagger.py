"""The command line of taggers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectragram.cli import options as given
from spectragram.cli.console import note, print_scores, print_table, write_page

if TYPE_CHECKING:
    import numpy as np

    from spectragram.data.labelled import Layout

Columns = Annotated[str, typer.Option("--columns", help="Observed columns, counted from 0: 0 or 0,1.")]
Label = Annotated[
    str, typer.Option("--label", help="Label: a column number (default the last); upos or xpos of CoNLL-U.")
]
InputFormat = Annotated[
    str, typer.Option("--input-format", help="Format of DATA: auto (by name and content), columns, conllu or npz.")
]
Drop = Annotated[str, typer.Option("--drop", help="Leave out utterances whose names end in one of these: sa1,sa2.")]

INPUTS = ("auto", "words")

SHOWN_PROBABILITY = 0.005
"""Labels with a smaller probability, which three decimals hardly show, are not written."""


def train(
    columns: Columns = "0",
    label: Label = "",
    input_format: InputFormat = "auto",
    drop: Drop = "",
    states: given.States = None,
    learner: Annotated[
        str | None,
        typer.Option("--learner", help="spectral+em, spectral, pivot, pivot+em, em, segments, hmm or unigram."),
    ] = None,
    factors: Annotated[
        bool | None,
        typer.Option("--factors/--no-factors", help="Log-linear factors beside the HMM; without: the paper's."),
    ] = None,
    clusters: given.Clusters = None,
    raw: given.Raw = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Train twice, to fit a temperature of probabilities on held-out data.")
    ] = False,
    models: given.Models = None,
    iterations: given.Iterations = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=0, help="Passes over the data for the factors, at most.")
    ] = None,
    decoding: Annotated[
        str | None,
        typer.Option("--decoding", help="auto, marginal, legal (well-formed spans) or f1 (best expected span F1)."),
    ] = None,
    emissions: Annotated[
        str | None, typer.Option("--emissions", help="Speech frames: auto, classes or gaussian.")
    ] = None,
    codes: Annotated[int | None, typer.Option("--codes", min=1, help="Size of the codebook of speech frames.")] = None,
    unknown: Annotated[
        str | None, typer.Option("--unknown", help="The label that stands for one which is not known: _ for example.")
    ] = None,
) -> given.Plan:
    """Learn to label the tokens of column files, CoNLL-U or speech frames."""
    from spectragram.data.labelled import read_labelled

    layout = _layout(input_format, columns, label, drop)
    parameters: dict[str, Any] = {"n_states": states, "learner": learner, "n_models": models, "max_iter": iterations}
    parameters |= {"factors": factors, "clusters": clusters, "n_epochs": epochs, "decoding": decoding}
    parameters |= {"calibrate": calibrate, "emissions": emissions, "n_codes": codes}
    fitting = {name: value for name, value in (("unknown", unknown), ("raw", raw)) if value is not None}
    return given.Plan(parameters, read=lambda _, source: read_labelled(source, layout), fitting=fitting)


def predict(
    model: given.Model,
    input: given.Input = "-",
    out: given.OutText = None,
    input_kind: Annotated[
        str, typer.Option("--input", help="auto (like the training data) or words: a sentence a line, no columns.")
    ] = "auto",
    marginals: Annotated[bool, typer.Option("--marginals", help="Probable labels with their probabilities.")] = False,
    confidence: given.Confidence = False,
    kbest: given.Kbest = 0,
    constrained: given.Constrained = False,
    jobs: given.Jobs = -1,
) -> None:
    """Label the tokens of INPUT, which has the layout of the training data, with or without the label column.

    With --input words, or if the training data were CoNLL-U and INPUT has no tabs, every line is a sentence of words.
    With --constrained the labels of INPUT are kept where they are not _. --confidence writes each label as NOUN:0.93,
    --kbest one line for each answer: the number of the sequence, its rank, its log-probability and its labels.
    """
    from spectragram.data.labelled import read_labelled, read_words
    from spectragram.errors import InputError
    from spectragram.files import output
    from spectragram.tagging import Tagger

    if input_kind not in INPUTS:
        raise InputError(f"--input {input_kind}", remedy=f"choose among {', '.join(INPUTS)}")
    tagger = Tagger.load(model).set_params(n_jobs=jobs)
    what = given.only_one({"--marginals": marginals, "--confidence": confidence, "--kbest": kbest > 0})
    if input_kind == "words":
        found = read_words(input, tagger.layout_)
    else:
        found = read_labelled(input, tagger.layout_, labels=constrained)
    if what == "--marginals":
        rows = tagger.marginals(found, constrained=constrained)
        diagnostics = rows.diagnostics
        found.write([_probable(row, tagger.labels_) for row in rows], out)
    elif what == "--confidence":
        sure = tagger.confidence(found, constrained=constrained)
        diagnostics = sure.diagnostics
        found.write([[f"{a}:{p:.3f}" for a, p in zip(one.labels, one.tokens, strict=True)] for one in sure], out)
    elif what == "--kbest":
        ranked = tagger.kbest(found, kbest, constrained=constrained)
        diagnostics = ranked.diagnostics
        with output(out) as stream:
            for number, answers in enumerate(ranked, 1):
                for rank, (names, value) in enumerate(answers, 1):
                    stream.write(f"{number}\t{rank}\t{value:.4f}\t{' '.join(names)}\n")
    else:
        labels = tagger.predict(found, constrained=constrained)
        diagnostics = labels.diagnostics
        found.write(labels, out)
    if diagnostics["negative"]:
        note(f"{diagnostics['negative']} marginals were negative and were set to zero")


def evaluate(
    model: given.Model, gold: given.Gold, drop: Drop = "", json: given.Json = False, jobs: given.Jobs = -1
) -> None:
    """Accuracy, accuracy on unknown words, span F1 where labels mark spans, and a line for every label."""
    from spectragram.data.labelled import read_labelled
    from spectragram.tagging import Tagger

    tagger = Tagger.load(model).set_params(n_jobs=jobs)
    layout = replace(tagger.layout_, drop=_parts(drop)) if drop else tagger.layout_
    scores = tagger.evaluate(read_labelled(gold, layout))
    print_scores(scores, as_json=json)
    if not json:
        print()
        header = ["span" if "span_f1" in scores else "label", "precision", "recall", "f1", "support"]
        print_table(header, [[name, *row.values()] for name, row in scores["labels"].items()])


def inspect(
    model: given.Model,
    html: given.Html = None,
    words: Annotated[int, typer.Option("--words", min=1, help="Typical observations shown per state.")] = 8,
    json: given.Json = False,
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
    for learner, factors in (
        ("unigram", False),
        ("hmm", False),
        ("spectral", False),
        ("spectral+em", False),
        ("spectral+em", True),
    ):
        tagger = Tagger(8, learner, factors=factors).fit(X[train], y[train])
        scores = tagger.evaluate(X[test], y[test])
        name = learner + (" with factors" if factors else "")
        rows.append([name, scores["accuracy"], scores["unknown_accuracy"], tagger.summary_["seconds"]])
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


def _probable(rows: np.ndarray, labels: list[str]) -> list[str]:
    """'NOUN:0.91|VERB:0.08' for every token, from the probabilities (n_tokens, n_labels): the labels worth showing."""
    found = []
    for row in rows:
        order = (-row).argsort(kind="stable")
        kept = [i for i in order if row[i] >= SHOWN_PROBABILITY] or [order[0]]
        found.append("|".join(f"{labels[i]}:{row[i]:.3f}" for i in kept))
    return found
