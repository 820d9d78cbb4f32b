"""Measure a parser on three treebanks: accuracy and speed."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Any

from spectragram.constituency import ConstituencyParser
from spectragram.data.brackets import read_trees
from spectragram.data.trees import Tree

__all__ = ["TREEBANKS", "measure", "read_treebank"]

TREEBANKS = {
    "wsj-sample": ("wsj-sample/clean/train.txt.gz", "wsj-sample/clean/dev.txt", 1),
    "cess-esp": ("cess-esp/train.txt.gz", "cess-esp/dev.txt", 1),
    "icepahc": ("icepahc/train.txt.gz", "icepahc/dev.txt.gz", 10),
}
"""Training file, dev file, and the step through its trees (10: every tenth tree is parsed)."""


@cache
def read_treebank(data: Path, name: str) -> tuple[list[Tree], list[Tree]]:
    """Training and dev trees."""
    train, dev, step = TREEBANKS[name]
    return list(read_trees(data / train)), list(read_trees(data / dev))[::step]


def measure(data: Path, name: str, settings: dict[str, Any], *, choose_iteration: bool = False) -> dict[str, Any]:
    """F1, tag accuracy, EM iterations, seconds of training and sentences a second.

    With ``choose_iteration`` the parser is trained twice: once to find the EM iteration that is best on dev, once for
    the time that it takes to get there.
    """
    trees, dev = read_treebank(data, name)
    if choose_iteration:
        chosen = ConstituencyParser(**settings).fit(trees, dev=dev)
        settings = settings | {"max_iter": chosen.summary_["iterations"][0]}
    start = time.perf_counter()
    parser = ConstituencyParser(**settings).fit(trees)
    trained = time.perf_counter() - start
    scores = parser.evaluate(dev)
    return {
        "f1": scores["f1"],
        "tags": scores["tag_accuracy"],
        "iterations": parser.summary_["iterations"][0] if parser.learner.endswith("em") else None,
        "seconds": trained,
        "sentences_per_second": scores["sentences_per_second"],
    }
