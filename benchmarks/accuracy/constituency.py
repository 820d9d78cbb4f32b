"""Parsing accuracy on three treebanks, the Berkeley parser's beside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from spectragram.constituency import ConstituencyParser
from spectragram.data.brackets import read_trees
from spectragram.data.trees import Tree
from spectragram.metrics import bracket_scores

TREEBANKS = {
    "wsj-sample": ("wsj-sample/clean/train.txt.gz", "wsj-sample/clean/dev.txt", None),
    "cess-esp": ("cess-esp/train.txt.gz", "cess-esp/dev.txt", 355),
    "icepahc": ("icepahc/train.txt.gz", "icepahc/dev.txt.gz", 1000),
}
"""Train, dev, and how many dev sentences are parsed (None: all)."""
BERKELEY = {"wsj-sample": 82.6, "cess-esp": 79.9}
SOURCE = "Berkeley parser, 4 split-merge cycles, same data"
SETTINGS: dict[str, dict[str, Any]] = {
    "pcfg": {"learner": "pcfg", "preset": "fast"},
    "spectral": {"learner": "spectral", "preset": "fast"},
    "pivot+em": {"learner": "pivot+em", "preset": "fast", "n_iterations": 2},
    "fast": {"preset": "fast"},
    "default": {},
    "best": {"preset": "best"},
}


def run(quick: bool) -> list[dict[str, Any]]:
    folder = os.environ.get("SPECTRAGRAM_DATA")
    if not folder:
        return []
    rows = []
    names = ["wsj-sample"] if quick else list(TREEBANKS)
    for name in names:
        train, dev, limit = TREEBANKS[name]
        trees = list(read_trees(Path(folder) / train))
        gold = list(read_trees(Path(folder) / dev))[:limit]
        for setting in ["fast", "default"] if quick else list(SETTINGS):
            rows += _measure(f"{name} {setting}", SETTINGS[setting], trees, gold, BERKELEY.get(name))
    return rows


def _measure(
    name: str, settings: dict[str, Any], trees: list[Tree], gold: list[Tree], anchor: float | None
) -> list[dict[str, Any]]:
    model = ConstituencyParser(**settings).fit(trees)
    scores = bracket_scores(gold, model.parse([tree.leaves() for tree in gold]))
    f1 = {"name": name, "measure": "F1", "value": scores["f1"], "anchor": anchor, "anchor_source": SOURCE}
    tags = {
        "name": name,
        "measure": "tag accuracy",
        "value": scores["tag_accuracy"],
        "anchor": None,
        "anchor_source": "",
    }
    return [f1 | {"better": "higher"}, tags | {"better": "higher"}]
