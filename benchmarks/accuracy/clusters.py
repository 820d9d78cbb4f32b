"""Word clusters: mutual information beside other tools, and what they are worth to a named-entity tagger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.measure import Row, data_folder, row
from spectragram.clusters import PairCounts, WordClusters, count_files
from spectragram.errors import MissingExtraError
from spectragram.reproduce.entities import TASKS, entity_scores

# Brown corpus, 10,000 types and <unk>, one stream: Liang's brown-cluster, the best of the C++ tools at these sizes.
LIANG = {100: 0.879, 200: 1.004, 500: 1.189, 1000: 1.378}
OTHERS = {"spectral": {100: 0.750, 200: 0.842}, "brown": LIANG}
SOURCE = {"spectral": "singular (C++, the paper's authors)", "brown": "brown-cluster (Liang, C++)"}


def run(quick: bool) -> list[Row]:
    """Rows of mutual information (nats) on the training text and on held-out text, and of entity F1."""
    data = data_folder()
    if data is None:
        return []
    sizes = [100, 200] if quick else [100, 200, 500, 1000]
    rows = _information(data / "brown-text" / "brown.words.txt.gz", sizes, quick)
    rows += _held_out(data / "brown-text" / "lm", "brown-text", ("train.txt.gz", "dev.txt.gz"), sizes)
    rows += _held_out(data / "wikitext-2", "wikitext-2", ("train.txt.gz", "valid.txt.gz"), sizes)
    return rows + _entities(data, quick)


def _information(text: Path, sizes: list[int], quick: bool) -> list[Row]:
    counts = count_files(text, max_size=10_000, window=1)
    rows = []
    for m in sizes:
        rows.append(_row(f"brown-text, {m} clusters", _information_of(counts, m), LIANG[m], SOURCE["brown"]))
        for learner, anchors in OTHERS.items():
            if m in anchors and (not quick or m == 100):
                value = _information_of(counts, m, learner=learner)
                rows.append(_row(f"brown-text, {m} clusters, {learner}", value, anchors[m], SOURCE[learner]))
    return rows


def _information_of(counts: PairCounts, m: int, **options: Any) -> float:
    return _fitted(counts, m, **options).summary_["mutual_information"]


def _fitted(counts: PairCounts, m: int, **options: Any) -> WordClusters:
    return WordClusters(m, max_vocabulary=10_000, n_dimensions=0, n_jobs=-1, **options).fit(counts)


def _row(name: str, value: float, anchor: float | None, source: str) -> Row:
    return row(name, "mutual information (nats)", round(value, 4), anchor, source, "higher")


def _held_out(folder: Path, name: str, files: tuple[str, str], sizes: list[int]) -> list[Row]:
    """Clusters of the training part, their mutual information there and on the other part."""
    counts = count_files(folder / files[0], max_size=10_000, window=1)
    rows = []
    for m in sizes:
        exchange = _fitted(counts, m)
        spectral = _fitted(counts, m, learner="spectral") if m <= 200 else None
        for part, file in zip(("train", "held-out"), files, strict=True):
            anchor = None if spectral is None else round(spectral.score(folder / file), 4)
            value = exchange.score(folder / file)
            rows.append(_row(f"{name} {part}, {m} clusters", value, anchor, "the paper's method, ours"))
    return rows


def _entities(data: Path, quick: bool) -> list[Row]:
    """What clusters are worth to an entity tagger; nothing where python-crfsuite is not installed."""
    rows = []
    for name in list(TASKS)[: 1 if quick else None]:
        try:
            scores = entity_scores(data, name)
        except MissingExtraError:
            return []
        for other in ("without", "paper"):
            source = {"without": "the same tagger without clusters", "paper": "with the paper's clusters"}[other]
            rows.append(row(f"{name}, our clusters", "entity F1", scores["ours"], scores[other], source, "higher"))
    return rows
