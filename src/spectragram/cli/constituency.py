"""The command line of the constituency parser."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectragram.cli import options as given
from spectragram.cli.console import note, print_scores, print_table, write_page

if TYPE_CHECKING:
    from spectragram.constituency import ConstituencyParser
    from spectragram.constituency.brackets import SpanPosteriors
    from spectragram.data.confidence import SpanConfidence
    from spectragram.estimator import Predictions

BATCH = 256
"""Sentences parsed at a time. Chosen by hand: enough for all cores, and answers appear early."""
BATCH_OF_CLUSTER = 8192
"""The same for a cluster, which waits at the end of a batch until its slowest worker is done: 128 shards."""
LEAST_SHOWN = 0.01
"""Smallest posterior that --marginals writes. Chosen by hand: most spans have next to none."""

Learner = Annotated[str | None, typer.Option("--learner", help="spectral+em, spectral, em, pivot, pivot+em or pcfg.")]
DECODER = typer.Option("--decoder", help="mbr (best F1), max-rule (more exact trees) or goodman.")
Decoder = Annotated[str | None, DECODER]


def train(
    states: given.States = None,
    learner: Learner = None,
    models: given.Models = None,
    iterations: given.Iterations = None,
    decoder: Annotated[str | None, DECODER] = None,
    clusters: given.Clusters = None,
    raw: given.Raw = None,
    factors: Annotated[
        bool | None,
        typer.Option("--factors/--no-factors", help="Log-linear factors beside the grammars; without: the papers'."),
    ] = None,
) -> given.Plan:
    """Learn a parser from bracketed trees; traces and functional tags are removed."""
    parameters: dict[str, Any] = {"n_states": states, "learner": learner, "n_models": models, "max_iter": iterations}
    parameters |= {"decoder": decoder, "clusters": clusters, "factors": factors}
    return given.Plan(parameters, fitting={} if raw is None else {"raw": raw})


def predict(
    model: given.Model,
    input: given.Input = "-",
    out: given.OutText = None,
    decoder: Decoder = None,
    kbest: Annotated[int, typer.Option("--kbest", min=0, help="Number of trees, each after its log-probability.")] = 0,
    marginals: Annotated[bool, typer.Option("--marginals", help="JSON: posteriors of spans and tags.")] = False,
    log_prob: Annotated[bool, typer.Option("--log-prob", help="The log-probability of each sentence.")] = False,
    surprisal: Annotated[bool, typer.Option("--surprisal", help="Bits for each word and for the end.")] = False,
    confidence: given.Confidence = False,
    constrained: given.Constrained = False,
    jobs: given.Jobs = -1,
) -> None:
    """Parse sentences, one a line, with spaces between words; one line of output for each line of input.

    With --constrained a line may be a tree in brackets, which are kept: ? is an open label or tag, !NP a phrase that
    there is not. --confidence writes JSON: the tree, its probability, and those of its brackets and tags.
    """
    from spectragram.data.inputs import as_word_lists, known_line
    from spectragram.engine import current_executor
    from spectragram.files import output, read_lines

    flags = {"--kbest": kbest > 0, "--marginals": marginals, "--log-prob": log_prob, "--surprisal": surprisal}
    what = given.only_one(flags | {"--confidence": confidence})
    loaded = _load(model, jobs)
    sentences: list[Any] = []
    if constrained:
        given.only_one({"--constrained": True, "--log-prob": log_prob, "--surprisal": surprisal})
        lines = ((number, line.strip()) for number, line in read_lines(input))
        sentences += [known_line(line, input, number) if line else None for number, line in lines]
    else:
        sentences += as_word_lists(input, keep_empty=True)
    n_negative = 0
    with output(out) as stream:
        size = BATCH if current_executor() is None else BATCH_OF_CLUSTER
        for start in range(0, len(sentences), size):
            batch = sentences[start : start + size]
            answered, n = _lines(loaded, [words for words in batch if words], what, kbest, decoder)
            answers = iter(answered)
            stream.writelines((next(answers) if words else "") + "\n" for words in batch)
            n_negative += n
    if n_negative:
        note(f"{n_negative} posteriors were negative; their absolute values were used")


def _load(model: Path, jobs: int) -> ConstituencyParser:
    from spectragram.constituency import ConstituencyParser

    return ConstituencyParser.load(model).set_params(n_jobs=jobs)


def _lines(
    loaded: ConstituencyParser, sentences: list[Any], what: str, kbest: int, decoder: str | None
) -> tuple[list[str], int]:
    """The answers that an option asks for, a line for each sentence, and the number of negative posteriors."""
    if what == "--surprisal":
        return [" ".join(f"{bits:.4f}" for bits in values) for values in loaded.surprisal(sentences)], 0
    if what == "--log-prob":
        return [f"{value:.4f}" for value in loaded.log_prob(sentences)], 0
    if what == "--kbest":
        ranked = loaded.kbest(sentences, kbest)
        lines = ["\t".join(f"{value:.4f}\t{tree}" for tree, value in trees) for trees in ranked]
        return lines, ranked.diagnostics["negative"]
    if what == "--marginals":
        posteriors = loaded.marginals(sentences)
        return _marginal_lines(loaded, posteriors), posteriors.diagnostics["negative"]
    if what == "--confidence":
        sure = loaded.confidence(sentences, decoder=decoder)
        return [_confidence_line(one) for one in sure], sure.diagnostics["negative"]
    parsed = loaded.predict(sentences, decoder=decoder)
    if parsed.diagnostics.get("parsed_split"):
        note(f"{parsed.diagnostics['parsed_split']} very long sentences were parsed in pieces")
    return [str(tree) for tree in parsed], parsed.diagnostics["negative"]


def _confidence_line(sure: SpanConfidence) -> str:
    import json

    spans = [[label, i, j, round(p, 4)] for label, i, j, p in sure.spans]
    found = {"tree": str(sure.tree), "probability": round(sure.whole, 4), "spans": spans}
    return json.dumps(found | {"tags": [round(float(p), 4) for p in sure.tags]}, ensure_ascii=False)


def _marginal_lines(loaded: ConstituencyParser, found: Predictions[SpanPosteriors]) -> list[str]:
    import json

    import numpy as np

    labels, tags = loaded.labels_, loaded.tags_
    lines = []
    for posteriors in found:
        spans = [
            [labels[label], i, j, round(float(row[label]), 4)]
            for i, j, row in posteriors
            for label in np.flatnonzero(row >= LEAST_SHOWN)
        ]
        words = [
            {tags[t]: round(float(row[t]), 4) for t in np.flatnonzero(row >= LEAST_SHOWN)} for row in posteriors.tags
        ]
        lines.append(json.dumps({"spans": spans, "tags": words}, ensure_ascii=False))
    return lines


def evaluate(
    model: given.Model, gold: given.Gold, decoder: Decoder = None, jobs: given.Jobs = -1, json: given.Json = False
) -> None:
    """Parse the words of gold trees and score the result as EVALB does."""
    print_scores(_load(model, jobs).evaluate(gold, decoder=decoder), as_json=json)


def inspect(
    model: given.Model,
    html: given.Html = None,
    rules: Annotated[int, typer.Option("--rules", min=0, help="Most probable rules shown per state.")] = 3,
    sentence: Annotated[
        str, typer.Option("--sentence", help="Also its tree; with --html its chart and its surprisal.")
    ] = "",
    json: given.Json = False,
) -> None:
    """Sizes, states per label, and what each state prefers; with --html as a page with pictures."""
    from spectragram.constituency import ConstituencyParser
    from spectragram.constituency.inspection import label_rows, state_rows
    from spectragram.files import split_words

    loaded = ConstituencyParser.load(model)
    if html is not None:
        from spectragram.plots.trees import constituency_page

        write_page(html, constituency_page(loaded, model.name, sentence))
    print_scores(loaded.summary_, as_json=json)
    if json:
        return
    print()
    print_table(["label", "nodes", "states"], label_rows(loaded.model_))
    if rules and loaded.model_.probabilistic:
        print()
        print_table(["label", "state", "share", "most probable"], state_rows(loaded.model_, rules))
    if split_words(sentence):
        print("\n" + loaded.predict([sentence])[0].pretty())


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
        parser = ConstituencyParser(8, learner, preset="fast").fit(trees)
        predicted = parser.predict(held_out)
        scores = bracket_scores(held_out, predicted)
        rows.append([learner, scores["f1"], scores["exact"], scores["tag_accuracy"], parser.summary_["seconds"]])
    note(f"1000 trees to learn from, 150 to parse, {time.perf_counter() - start:.1f} s in all")
    print_table(["learner", "F1", "exact", "tags", "training s"], rows)
    print("\n" + predicted[0].pretty())
