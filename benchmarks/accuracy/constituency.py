"""Parsing accuracy on three treebanks, the Berkeley parser's beside it."""

from __future__ import annotations

from typing import Any

from benchmarks.measure import Row, data_folder, row
from spectragram.constituency import ConstituencyParser
from spectragram.data.brackets import read_trees
from spectragram.data.trees import Tree
from spectragram.metrics import bracket_scores

TREEBANKS = {
    "wsj-sample": ("wsj-sample/clean/train.txt.gz", "wsj-sample/clean/dev.txt", None),
    "cess-esp": ("cess-esp/train.txt.gz", "cess-esp/dev.txt", 355),
    "icepahc": ("icepahc/train.txt.gz", "icepahc/dev.txt.gz", 1000),
}
"""Training file, dev file, and number of dev sentences that are parsed (None: all)."""
BERKELEY = {"wsj-sample": 82.6, "cess-esp": 79.9}
SOURCE = "Berkeley parser, 4 split-merge cycles, same data"
SETTINGS: dict[str, dict[str, Any]] = {
    "pcfg": {"learner": "pcfg", "preset": "fast"},
    "spectral": {"learner": "spectral", "preset": "fast"},
    "pivot+em": {"learner": "pivot+em", "preset": "fast", "max_iter": 2},
    "fast": {"preset": "fast"},
    "default": {},
    "best": {"preset": "best"},
}


def run(quick: bool) -> list[Row]:
    folder = data_folder()
    if folder is None:
        return []
    rows = []
    names = ["wsj-sample"] if quick else list(TREEBANKS)
    for name in names:
        train, dev, limit = TREEBANKS[name]
        trees = list(read_trees(folder / train))
        gold = list(read_trees(folder / dev))[:limit]
        # 54,175 trees with the preset "best" take 20 minutes and 10 GB: see the reproduction of Cohen & Collins 2014.
        several = list(SETTINGS)[: -1 if name == "icepahc" else None]
        for setting in ["fast", "default"] if quick else several:
            rows += _measure(f"{name} {setting}", SETTINGS[setting], trees, gold, BERKELEY.get(name))
    return rows


def _measure(
    name: str, settings: dict[str, Any], trees: list[Tree], gold: list[Tree], anchor: float | None
) -> list[Row]:
    model = ConstituencyParser(**settings).fit(trees)
    scores = bracket_scores(gold, model.predict(gold))
    return [
        row(name, "F1", scores["f1"], anchor, SOURCE, "higher"),
        row(name, "tag accuracy", scores["tag_accuracy"], better="higher"),
    ]
