"""What word clusters of raw text bring to taggers and parsers: the same model with and without, on dev."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from benchmarks.accuracy.tagger import CORPORA
from benchmarks.measure import Row, data_folder, row
from spectragram.clusters import WordClusters, count_files
from spectragram.constituency import ConstituencyParser
from spectragram.data.labelled import read_labelled
from spectragram.dependency import DependencyParser
from spectragram.tagging import Tagger

TEXTS = ("brown-text/brown.words.txt.gz", "wikitext-2/train.txt.gz")
SIZES = (200, 1000)
SEEDS = 3
CRF_WITH_CLUSTERS = 34.2
"""Span F1 of a CRF with prefixes of paths of clusters of the same text on WNUT-17, measured once."""


def run(quick: bool) -> list[Row]:
    data = data_folder()
    if data is None:
        return []
    seeds = range(1 if quick else SEEDS)
    with tempfile.TemporaryDirectory() as folder:
        clusters: dict[str, Path | None] = {"no clusters": None}
        counts = count_files([data / text for text in TEXTS], min_count=2, window=1)
        for size in SIZES[: 1 if quick else None]:
            path = Path(folder) / f"{size}.sgm"
            WordClusters(size, n_dimensions=0).fit(counts).save(path)
            clusters[f"{size} clusters"] = path
        rows = []
        for name, path in clusters.items():
            rows += _tagger_rows(data, "WNUT-17", "span_f1", name, path, seeds)
            rows += _parser_rows(data, name, path, seeds)
            if not quick:
                rows += _phrase_rows(data, name, path, seeds)
                rows += _tagger_rows(data, "EWT UPOS", "accuracy", name, path, seeds)
    return rows


def _tagger_rows(data: Path, corpus: str, measure: str, name: str, path: Path | None, seeds: range) -> list[Row]:
    train, dev = (read_labelled(data / part, CORPORA[corpus][2]) for part in CORPORA[corpus][:2])
    values = [Tagger(clusters=path, random_state=seed).fit(train).evaluate(dev)[measure] for seed in seeds]
    goal = CRF_WITH_CLUSTERS if corpus == "WNUT-17" and path is not None else None
    return [_mean_row(f"{corpus}: tagger, {name}", measure, values, goal, "CRF with clusters")]


def _parser_rows(data: Path, name: str, path: Path | None, seeds: range) -> list[Row]:
    folder = data / "wsj-dependencies"
    train, dev = folder / "train.conllu.gz", folder / "dev.conllu"
    values = [DependencyParser(clusters=path, random_state=s).fit(train).evaluate(dev)["uas"] for s in seeds]
    return [_mean_row(f"WSJ dependencies: parser, {name}", "uas", values, None, "")]


def _phrase_rows(data: Path, name: str, path: Path | None, seeds: range) -> list[Row]:
    folder = data / "wsj-sample" / "clean"
    scores = [
        ConstituencyParser(preset="fast", clusters=path, random_state=seed)
        .fit(folder / "train.txt.gz")
        .evaluate(folder / "dev.txt")
        for seed in seeds
    ]
    measures = ("f1", "tag_accuracy")
    named = f"WSJ phrases: fast parser, {name}"
    return [_mean_row(named, measure, [score[measure] for score in scores], None, "") for measure in measures]


def _mean_row(name: str, measure: str, values: list[float], goal: float | None, source: str) -> Row:
    found = row(name, measure, statistics.mean(values), goal, source, "higher")
    return found | {"spread": [min(values), max(values)], "turns": len(values)}
