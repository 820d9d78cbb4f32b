"""The command line of the constituency parser."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path
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
from spectragram.errors import InputError

if TYPE_CHECKING:
    from spectragram.constituency import ConstituencyParser
    from spectragram.data.trees import Tree

BATCH = 256
"""Sentences parsed at a time: memory stays flat however long the input is."""

Learner = Annotated[str, typer.Option("--learner", help="spectral+em, spectral, em, pivot, pivot+em or pcfg.")]
Decoder = Annotated[
    str | None, typer.Option("--decoder", help="mbr (best F1), max-rule (more exact trees) or goodman.")
]


def train(
    data: Data,
    out: Out,
    states: States = None,
    learner: Learner = "spectral+em",
    models: Models = None,
    iterations: Iterations = None,
    dev: Dev = None,
    fast: Fast = False,
    best: Best = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Learn a parser from bracketed trees; traces and functional tags are taken off."""
    from spectragram.constituency import ConstituencyParser

    model = ConstituencyParser(
        states,
        learner,
        preset=chosen_preset(fast, best),
        n_models=models,
        max_iter=iterations,
        random_state=seed,
        n_jobs=jobs,
        verbose=not quiet,
    )
    model.fit(_read(data), dev=None if dev is None else _read(dev))
    model.save(out)
    trained(out, model.summary_, quiet=quiet)


def predict(
    model: Model,
    input: Input = "-",
    out: OutText = None,
    decoder: Decoder = None,
    kbest: Annotated[int, typer.Option("--kbest", min=0, help="So many trees, each after its log-probability.")] = 0,
    marginals: Annotated[bool, typer.Option("--marginals", help="JSON: posteriors of spans and tags.")] = False,
    surprisal: Annotated[bool, typer.Option("--surprisal", help="Bits for each word and for the end.")] = False,
    jobs: Jobs = -1,
) -> None:
    """Parse sentences, one a line, words between spaces; one line out for each line in."""
    from spectragram.files import output, read_lines

    loaded = _load(model, decoder, jobs)
    if marginals + surprisal + (kbest > 0) > 1:
        raise InputError("--kbest, --marginals and --surprisal exclude each other", remedy="give one of them")
    answer = _answers(loaded, kbest, marginals, surprisal)
    lines = (line.split() for _, line in read_lines(input))
    n_negative = 0
    with output(out) as stream:
        while batch := list(islice(lines, BATCH)):
            answers = iter(answer([words for words in batch if words]))
            stream.writelines((next(answers) if words else "") + "\n" for words in batch)
            n_negative += loaded.n_negative_
    if n_negative:
        note(f"{n_negative} posteriors were negative; their sizes were taken")


def _load(model: Path, decoder: str | None, jobs: int) -> ConstituencyParser:
    from spectragram.constituency import ConstituencyParser

    loaded = ConstituencyParser.load(model).set_params(n_jobs=jobs)
    return loaded if decoder is None else loaded.set_params(decoder=decoder)


def _answers(
    loaded: ConstituencyParser, kbest: int, marginals: bool, surprisal: bool
) -> Callable[[list[list[str]]], list[str]]:
    """What to write for sentences, by the options of ``predict``."""
    if kbest:
        return lambda batch: [
            "\t".join(f"{value:.4f}\t{tree}" for tree, value in trees) for trees in loaded.kbest(batch, kbest)
        ]
    if marginals:
        return lambda batch: _marginal_lines(loaded, batch)
    if surprisal:
        return lambda batch: [
            " ".join(f"{(before - after) / math.log(2):.4f}" for before, after in pairwise(logs))
            for logs in loaded.prefix_log_prob(batch)
        ]
    return lambda batch: [str(tree) for tree in loaded.parse(batch)]


def _marginal_lines(loaded: ConstituencyParser, batch: list[list[str]]) -> list[str]:
    import json

    import numpy as np

    labels = loaded.grammars_[0].labels
    lines = []
    for posteriors in loaded.marginals(batch):
        spans = [
            [labels.phrases[label], i, j, round(float(row[label]), 4)]
            for i, j, row in posteriors
            for label in np.flatnonzero(row >= 0.01)
        ]
        tags = [
            {labels.tags[t]: round(float(row[t]), 4) for t in np.flatnonzero(row >= 0.01)} for row in posteriors.tags
        ]
        lines.append(json.dumps({"spans": spans, "tags": tags}, ensure_ascii=False))
    return lines


def evaluate(model: Model, gold: Gold, decoder: Decoder = None, jobs: Jobs = -1, json: Json = False) -> None:
    """Parse the words of gold trees and score the result as EVALB does."""
    print_scores(_load(model, decoder, jobs).evaluate(_read(gold)), as_json=json)


def inspect(
    model: Model,
    html: Html = None,
    rules: Annotated[int, typer.Option("--rules", min=0, help="Most probable rules shown per state.")] = 3,
    sentence: Annotated[str, typer.Option("--sentence", help="Also its tree; with --html its chart.")] = "",
    json: Json = False,
) -> None:
    """Sizes, states per label, and what each state prefers; with --html as a page with pictures."""
    from spectragram.constituency import ConstituencyParser
    from spectragram.constituency.inspection import label_rows, state_rows

    loaded = ConstituencyParser.load(model)
    if html is not None:
        from spectragram.plots.trees import constituency_page

        write_page(html, constituency_page(loaded, model.name, sentence))
    print_scores(loaded.summary_, as_json=json)
    if json:
        return
    print()
    header = ["label", "nodes", "states"]
    print_table(header, label_rows(loaded.grammars_[0]))
    if rules and loaded.learner != "spectral":
        print()
        print_table(["label", "state", "share", "most probable"], state_rows(loaded.grammars_[0], rules))
    if sentence.split():
        print("\n" + loaded.parse([sentence.split()])[0].pretty())


def demo() -> None:
    """Train on the embedded English treebank, parse new sentences, score them."""
    from spectragram.constituency import ConstituencyParser
    from spectragram.metrics import bracket_scores
    from spectragram.synthetic.english import english_trees

    trees = english_trees(1000)
    held_out = english_trees(1150)[1000:]
    start = time.perf_counter()
    rows = []
    for learner in ("pcfg", "spectral", "spectral+em"):
        parser = ConstituencyParser(8, learner, preset="fast", n_jobs=-1).fit(trees)
        predicted = parser.parse([tree.leaves() for tree in held_out])
        scores = bracket_scores(held_out, predicted)
        rows.append([learner, scores["f1"], scores["exact"], scores["tag_accuracy"], parser.summary_["seconds"]])
    note(f"1000 trees to learn from, 150 to parse, {time.perf_counter() - start:.1f} s in all")
    print_table(["learner", "F1", "exact", "tags", "training s"], rows)
    print("\n" + predicted[0].pretty())


def _read(source: str) -> list[Tree]:
    """Trees without traces, functional tags and indices."""

    def cleaned() -> Iterator[Tree]:
        from spectragram.data.brackets import clean, read_trees

        for tree in read_trees(source):
            plain = clean(tree)
            if plain is not None:
                yield plain

    trees = list(cleaned())
    if not trees:
        raise InputError("holds no trees", path=source, remedy="give bracketed trees, e.g. (S (NP ...) (VP ...))")
    return trees
