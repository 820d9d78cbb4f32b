"""The command line of pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectragram.cli import options as given
from spectragram.cli.console import note, print_scores, print_table, write_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spectragram.data import Sentence

SHOWN_TREES = 5
"""Trees of a file that a page shows; more would make it slow to scroll."""

Treebanks = Annotated[
    list[str], typer.Argument(metavar="DATA...", help="Treebanks in CoNLL-U, plain or .gz; - is standard input.")
]
Folds = Annotated[
    int | None, typer.Option("--folds", min=0, help="Parts of the jackknife; 0: parse with the treebank's own tags.")
]


def train(
    data: Treebanks,
    states: given.States = None,
    models: given.Models = None,
    folds: Folds = None,
    clusters: given.Clusters = None,
    raw: given.Raw = None,
) -> given.Plan:
    """Learn from treebanks in CoNLL-U."""

    def read(_: Any, source: list[str] | str) -> Any:
        from spectragram.data.inputs import as_dependencies

        if isinstance(source, str):
            return source
        return source[0] if len(source) == 1 else [s for path in source for s in as_dependencies(path)]

    parameters = {"n_states": states, "n_models": models, "n_folds": folds, "clusters": clusters}
    return given.Plan(parameters, read=read, fitting={} if raw is None else {"raw": raw})


def predict(
    model: given.Model,
    input: given.Input = "-",
    form: Annotated[
        str, typer.Option("--input", help="raw, sentences (one a line), words (between spaces), conllu or auto.")
    ] = "auto",
    replace: Annotated[
        str, typer.Option("--replace", help="Columns of CoNLL-U to fill in anew, e.g. upos,feats; others are kept.")
    ] = "",
    confidence: given.Confidence = False,
    kbest: given.Kbest = 0,
    out: given.OutText = None,
    jobs: given.Jobs = -1,
    quiet: given.Quiet = False,
) -> None:
    """Annotate text and write CoNLL-U, as it goes.

    What CoNLL-U has already is kept: a sentence with some heads is parsed around them, and NotHead=3,5 in MISC rules
    out heads. --confidence adds Conf=0.93 to MISC, and the probability of the tree as a comment.
    """
    from spectragram.cli.dependency import ranked_trees, with_confidence
    from spectragram.data import write_conllu
    from spectragram.engine.progress import progress
    from spectragram.pipeline import Pipeline

    pipeline = Pipeline.load(model).set_params(n_jobs=jobs)
    columns = tuple(name.strip().lower() for name in replace.split(",") if name.strip())

    what = given.only_one({"--confidence": confidence, "--kbest": kbest > 0, "--replace": bool(columns)})
    if what == "--confidence":
        write_conllu(map(with_confidence, pipeline.confidence(input, input=form)), out)
        return
    if what == "--kbest":
        write_conllu(ranked_trees(pipeline.kbest(input, kbest, input=form)), out)
        return
    with progress("words", enabled=not quiet) as report:

        def counted() -> Iterator[Sentence]:
            for sentence in pipeline.stream(input, input=form, replace=columns):
                report(len(sentence))
                yield sentence

        write_conllu(counted(), out)


def evaluate(
    model: given.Model,
    gold: given.Gold,
    start: Annotated[str, typer.Option("--from", help="What the pipeline sees: raw text, words or tags.")] = "raw",
    json: given.Json = False,
    jobs: given.Jobs = -1,
) -> None:
    """The scores of the CoNLL 2018 shared task, and the speed."""
    from spectragram.data.inputs import as_dependencies
    from spectragram.pipeline import Pipeline

    pipeline = Pipeline.load(model).set_params(n_jobs=jobs)
    sentences = as_dependencies(gold)
    pipeline.evaluate(sentences[:1], start=start)  # so that the speed does not include loading compiled code
    print_scores(pipeline.evaluate(sentences, start=start), as_json=json)


def inspect(
    model: given.Model,
    html: given.Html = None,
    text: Annotated[str | None, typer.Option("--parse", help="A text whose first sentences are drawn.")] = None,
    json: given.Json = False,
) -> None:
    """Sizes of the parts; with --html a page, on which --parse FILE draws the first sentences of a text."""
    from itertools import islice

    from spectragram.errors import InputError
    from spectragram.pipeline import Pipeline

    if text is not None and html is None:
        raise InputError("--parse draws trees on a page", remedy="give --html FILE as well")
    pipeline = Pipeline.load(model)
    if html is not None:
        from spectragram.plots.pipeline import pipeline_page

        drawn = [] if text is None else list(islice(pipeline.stream(text), SHOWN_TREES))
        write_page(html, pipeline_page(pipeline, model.name, drawn))
    print_scores(pipeline.summary_, as_json=json)


def demo() -> None:
    """Train on the embedded English corpus, annotate raw text, and score from each stage."""
    from spectragram.pipeline import Pipeline
    from spectragram.synthetic import english_treebank

    trees = english_treebank(900, seed=1)
    pipeline = Pipeline().fit(trees[:700])
    rows = []
    for start in ("raw", "words", "tags"):
        scores = pipeline.evaluate(trees[700:], start=start)
        rows.append([start, *(scores[name] for name in ("words", "sentences", "upos", "lemmas", "uas", "las"))])
    print_table(["from", "words", "sentences", "UPOS", "lemmas", "UAS", "LAS"], rows)
    note("")
    print(pipeline("The old dog chased a fox in the garden. She didn't see it.")[0], end="")
