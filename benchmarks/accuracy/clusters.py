"""Word clusters: mutual information beside other tools, and what they are worth to a named-entity tagger."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from spectragram.clusters import PairCounts, WordClusters, count_files
from spectragram.errors import InputError
from spectragram.reproduce.entities import TASKS, entity_scores

# Brown corpus, 10,000 types and <unk>, one stream: Liang's brown-cluster, the best of the C++ tools at these sizes.
LIANG = {100: 0.879, 200: 1.004, 500: 1.189, 1000: 1.378}
OTHERS = {"spectral": {100: 0.750, 200: 0.842}, "brown": LIANG}
SOURCE = {"spectral": "singular (C++, the paper's authors)", "brown": "brown-cluster (Liang, C++)"}


def run(quick: bool) -> list[dict[str, Any]]:
    """Rows of mutual information (nats) on the training text and on held-out text, and of entity F1."""
    if "SPECTRAGRAM_DATA" not in os.environ:
        return []
    data = Path(os.environ["SPECTRAGRAM_DATA"])
    sizes = [100, 200] if quick else [100, 200, 500, 1000]
    rows = _information(data / "brown-text" / "brown.words.txt.gz", sizes, quick)
    rows += _held_out(data / "brown-text" / "lm", "brown-text", ("train.txt.gz", "dev.txt.gz"), sizes)
    rows += _held_out(data / "wikitext-2", "wikitext-2", ("train.txt.gz", "valid.txt.gz"), sizes)
    return rows + _entities(data, quick)


def _information(text: Path, sizes: list[int], quick: bool) -> list[dict[str, Any]]:
    counts = count_files(text, max_size=10_000, window=1)
    rows = []
    for m in sizes:
        rows.append(_row(f"brown-text, {m} clusters", _fitted(counts, m), LIANG[m], "brown-cluster (Liang, C++)"))
        for learner, anchors in OTHERS.items():
            if m in anchors and (not quick or m == 100):
                model = _fitted(counts, m, learner=learner)
                rows.append(_row(f"brown-text, {m} clusters, {learner}", model, anchors[m], SOURCE[learner]))
    return rows


def _fitted(counts: PairCounts, m: int, **options: Any) -> WordClusters:
    return WordClusters(m, max_vocabulary=10_000, n_dimensions=0, n_jobs=-1, **options).fit(counts)


def _row(name: str, model: WordClusters, anchor: float, source: str) -> dict[str, Any]:
    return {
        "name": name,
        "measure": "mutual information (nats)",
        "value": round(model.summary_["mutual_information"], 4),
        "anchor": anchor,
        "anchor_source": source,
        "better": "higher",
    }


def _held_out(folder: Path, name: str, files: tuple[str, str], sizes: list[int]) -> list[dict[str, Any]]:
    """Clusters of the training part, their mutual information there and on the other part."""
    counts = count_files(folder / files[0], max_size=10_000, window=1)
    rows = []
    for m in sizes:
        exchange = _fitted(counts, m)
        spectral = _fitted(counts, m, learner="spectral") if m <= 200 else None
        for part, file in zip(("train", "held-out"), files, strict=True):
            row = {
                "name": f"{name} {part}, {m} clusters",
                "measure": "mutual information (nats)",
                "value": round(exchange.score(folder / file), 4),
                "anchor": None if spectral is None else round(spectral.score(folder / file), 4),
                "anchor_source": None if spectral is None else "the paper's method, ours",
                "better": "higher",
            }
            rows.append(row)
    return rows


def _entities(data: Path, quick: bool) -> list[dict[str, Any]]:
    """What clusters are worth to an entity tagger; nothing where python-crfsuite is not installed."""
    rows = []
    for name in list(TASKS)[: 1 if quick else None]:
        try:
            scores = entity_scores(data, name)
        except InputError:
            return []
        for other in ("without", "paper"):
            source = {"without": "the same tagger without clusters", "paper": "with the paper's clusters"}[other]
            row = {"name": f"{name}, our clusters", "measure": "entity F1", "value": scores["ours"]}
            rows.append(row | {"anchor": scores[other], "anchor_source": source, "better": "higher"})
    return rows
