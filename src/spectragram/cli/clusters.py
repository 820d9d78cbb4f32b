"""The command line of word clusters."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectragram.cli import options as given
from spectragram.cli.console import note, print_scores, print_table, remark_unknown, write_page

if TYPE_CHECKING:
    from spectragram.clusters import WordClusters

Texts = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...", help="Text files, plain or .gz, one sentence a line; - is standard input; or saved counts."
    ),
]
Clusters = Annotated[
    int | None,
    typer.Option("--clusters", "--states", "-c", min=1, help="Number of clusters [1000, fewer for few words]."),
]
Vocab = Annotated[int, typer.Option("--vocab", min=0, help="Keep the most frequent words only; 0 keeps all.")]
Counts = Annotated[
    Path | None,
    typer.Option("--counts", help="Keep the counts in this file: read if it is there, continued if unfinished."),
]
Extend = Annotated[
    Path | None, typer.Option("--extend", help="Do not train: add new words of DATA to the clusters of this model.")
]


def train(
    data: Texts,
    out: given.Out,
    clusters: Clusters = None,
    vocab: Vocab = 50_000,
    min_count: given.MinCount = 1,
    learner: Annotated[
        str | None, typer.Option("--learner", help="exchange, spectral, spectral+exchange or brown.")
    ] = None,
    dimensions: Annotated[int, typer.Option("--dimensions", min=0, help="Length of word vectors; 0 for none.")] = 50,
    context: Annotated[
        str | None, typer.Option("--context", help="Neighbours that make vectors: R1, LR1 or LR2.")
    ] = None,
    kappa: Annotated[float | None, typer.Option("--kappa", min=0, help="Smoothing of vectors, in tokens.")] = None,
    lower: Annotated[bool, typer.Option("--lower", help="Lower-case all words.")] = False,
    fold_digits: Annotated[bool, typer.Option("--fold-digits", help="Turn every digit into 0.")] = False,
    boundaries: Annotated[
        bool, typer.Option("--boundaries", help="Treat each line as a separate sentence, not the text as one stream.")
    ] = False,
    counts: Counts = None,
    extend: Extend = None,
    memory: given.Memory = None,
    resume: given.Resume = False,
    dev: Annotated[
        str | None, typer.Option("--dev", help="Held-out text; its mutual information is part of the summary.")
    ] = None,
) -> given.Plan:
    """Learn clusters, their hierarchy and vectors from raw text."""
    if extend is not None:
        old = extend
        return given.Plan({}, instead=lambda source, jobs, verbose: _extended(old, source, min_count, jobs, verbose))
    parameters: dict[str, Any] = {
        "n_clusters": clusters,
        "learner": learner,
        "max_vocabulary": vocab or None,
        "min_count": min_count,
    }
    parameters |= {"n_dimensions": dimensions, "context": context, "kappa": kappa}
    parameters |= {"lower": lower, "fold_digits": fold_digits, "boundaries": boundaries}

    parameters |= {"memory": memory}
    kept = given.unfinished(out, resume)
    kept_counts = counts if counts is not None or kept is None else kept.with_name(kept.name + ".counts")

    def read(estimator: WordClusters, source: list[str] | str) -> Any:
        return source if isinstance(source, str) else estimator.count(source, checkpoint=kept_counts)

    def after() -> None:
        if kept_counts is not None and kept_counts != counts:
            kept_counts.unlink(missing_ok=True)

    return given.Plan(parameters, read=read, fitting={"checkpoint": kept}, after=after)


def _extended(old: Path, data: list[str], min_count: int, jobs: int, verbose: bool) -> WordClusters:
    """A model that also knows the new words of the text."""
    from spectragram.clusters import WordClusters, count_files

    model = WordClusters.load(old)
    counts = count_files(data, window=1, options=model.model_.options, n_jobs=jobs, verbose=verbose)
    return model.extend(counts, min_count)


def predict(
    model: given.Model,
    input: given.Input = "-",
    out: given.OutText = None,
    bits: Annotated[int | None, typer.Option("--bits", min=1, help="Only the first bits of each path.")] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Cluster numbers instead of bit strings.")] = False,
    assign: Annotated[
        bool, typer.Option("--assign", help="Place unknown words by their neighbours in INPUT (a file).")
    ] = False,
) -> None:
    """Write the cluster of every word, line by line ('-' for a word that has none)."""
    from spectragram.clusters import WordClusters
    from spectragram.errors import InputError
    from spectragram.files import output

    if ids and bits is not None:
        raise InputError("--bits cuts paths, and --ids asks for numbers", remedy="give one of them")
    loaded = WordClusters.load(model)
    if assign:
        if input == "-":
            raise InputError("standard input cannot be read twice", remedy="give --assign a file")
        loaded = loaded.extend(input)
    names = [str(i) if ids else path[:bits] for i, path in enumerate(loaded.cluster_paths_)]
    names.append("-")  # also the name of cluster -1, which words without a cluster have
    with output(out) as stream:
        # Line by line, since the text may be larger than memory.
        for clusters in loaded.stream(input):
            stream.write(" ".join([names[cluster] for cluster in clusters.tolist()]) + "\n")


def evaluate(model: given.Model, gold: given.Gold, json: given.Json = False) -> None:
    """Mutual information of neighbouring clusters in a text, in nats."""
    from spectragram.clusters import WordClusters

    scores = WordClusters.load(model).evaluate(gold)
    remark_unknown(int(scores["unknown"]), int(scores["tokens"]))
    print_scores(scores, as_json=json)


def inspect(
    model: given.Model,
    html: given.Html = None,
    depth: Annotated[int, typer.Option("--depth", min=1, help="Levels of the hierarchy to print.")] = 4,
    words: Annotated[int, typer.Option("--words", min=1, help="Example words of each node.")] = 8,
    json: given.Json = False,
) -> None:
    """Sizes, and the upper hierarchy with the most frequent words of each node."""
    from spectragram.clusters import WordClusters

    loaded = WordClusters.load(model)
    if html is not None:
        from spectragram.plots.clusters import clusters_page

        write_page(html, clusters_page(loaded, model.name))
    print_scores(loaded.summary_, as_json=json)
    if json:
        return
    print()
    rows = [
        [prefix, len(group), " ".join(sorted(group, key=loaded.vocabulary_.index.__getitem__)[:words])]
        for prefix, group in loaded.cut(depth).items()
    ]
    print_table(["path", "words", "most frequent"], rows)


def export(model: given.Model, format: given.Format = "paths", out: given.OutText = None) -> None:
    """Write --format paths (bit string, word, count, as Liang's tool does) or word2vec (vectors as text)."""
    from spectragram.clusters import WordClusters
    from spectragram.clusters.inspection import FORMATS
    from spectragram.errors import InputError
    from spectragram.files import output

    if format not in FORMATS:
        raise InputError(f"--format {format} is unknown", remedy=f"choose one of {', '.join(FORMATS)}")
    loaded = WordClusters.load(model)
    with output(out) as stream:
        FORMATS[format](loaded.model_, stream)


def demo() -> None:
    """Cluster the words of the embedded English corpus and show which came together."""
    from spectragram.clusters import WordClusters
    from spectragram.synthetic import english_text

    lines = english_text(8000, seed=1)
    training, held_out = lines[:7000], lines[7000:]
    started = time.perf_counter()
    model = WordClusters(40, boundaries=True).fit(training)
    note(f"{model.summary_['tokens']} words of text, {model.summary_['types']} different, 40 clusters:")
    rows = [[path, " ".join(words[:9])] for path, words in model.cut(99).items() if len(words) > 1]
    print_table(["path", "most frequent words"], rows[:16])
    word = max((group for group in model.cut(99).values()), key=len)[0]
    near = ", ".join(f"{other} {cosine:.2f}" for other, cosine in model.nearest(word, 5))
    print(f"\nnearest to '{word}': {near}")
    print(f"mutual information on held-out text: {model.score(held_out):.3f} nats")
    note(f"{time.perf_counter() - started:.1f} s")
