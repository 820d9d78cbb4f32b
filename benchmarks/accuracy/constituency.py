"""Parsing accuracy on three treebanks, compared with the Berkeley parser."""

from __future__ import annotations

from typing import Any

from benchmarks.measure import Row, data_folder, row
from spectragram.constituency import ConstituencyParser
from spectragram.data.trees import Tree
from spectragram.metrics import bracket_scores
from spectragram.reproduce.treebanks import TREEBANKS, read_treebank

SOURCE = "Berkeley parser, 4 split-merge cycles, same data"
BERKELEY = {"wsj-sample": (82.6, SOURCE), "cess-esp": (79.9, f"{SOURCE}, first 355 dev trees")}
"""F1 of the Berkeley parser, measured once, and on what."""
SETTINGS: dict[str, dict[str, Any]] = {
    "pcfg": {"learner": "pcfg", "preset": "fast"},
    "spectral": {"learner": "spectral", "preset": "fast"},
    "pivot+em": {"learner": "pivot+em", "preset": "fast", "max_iter": 2},
    "fast, no factors": {"preset": "fast", "factors": False},
    "fast": {"preset": "fast"},
    "default, no factors": {"factors": False},
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
        trees, gold = read_treebank(folder, name)
        # The preset "best" takes 20 minutes and 10 GB for the 54,175 trees of icepahc; the reproduction of
        # Cohen & Collins (2014) has its score.
        several = list(SETTINGS)[: -1 if name == "icepahc" else None]
        for setting in ["fast, no factors", "fast", "default"] if quick else several:
            rows += _measure(f"{name} {setting}", SETTINGS[setting], trees, gold, *BERKELEY.get(name, (None, None)))
    return rows


def _measure(
    name: str,
    settings: dict[str, Any],
    trees: list[Tree],
    gold: list[Tree],
    anchor: float | None,
    source: str | None,
) -> list[Row]:
    model = ConstituencyParser(**settings).fit(trees)
    scores = bracket_scores(gold, model.predict(gold))
    return [
        row(name, "F1", scores["f1"], anchor, source, "higher"),
        row(name, "tag accuracy", scores["tag_accuracy"], better="higher"),
    ]
