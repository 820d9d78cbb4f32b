"""Three treebanks, and measurements of the accuracy and speed of a parser on them."""

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
"""Files of the training and the development trees, and n if only every n-th development tree is parsed.

The development part of icepahc has 9374 trees, so every tenth is enough.
"""
CHOICE_STEP = 5
"""Every fifth development tree chooses the EM iteration: parsing all of them after every iteration would take longer
than everything else. Chosen by hand."""


@cache
def read_treebank(data: Path, name: str) -> tuple[list[Tree], list[Tree]]:
    """The training trees and the development trees that are parsed."""
    train, dev, step = TREEBANKS[name]
    return list(read_trees(data / train)), list(read_trees(data / dev))[::step]


def measure(data: Path, name: str, settings: dict[str, Any], *, choose_iteration: bool = False) -> dict[str, Any]:
    """F1, tag accuracy, EM iterations, processor seconds of training and sentences parsed per processor second.

    With ``choose_iteration`` the parser is trained twice: once to find the EM iteration that is best on every fifth of
    the development trees, and once to measure the cost of training up to that iteration.
    """
    trees, dev = read_treebank(data, name)
    if choose_iteration:
        chosen = ConstituencyParser(**settings).fit(trees, dev=dev[::CHOICE_STEP])
        settings = settings | {"max_iter": chosen.summary_["iterations"][0]}
    start = time.process_time()
    parser = ConstituencyParser(**settings).fit(trees)
    trained = time.process_time()
    scores = parser.evaluate(dev)
    parsed = time.process_time()
    return {
        "f1": scores["f1"],
        "tags": scores["tag_accuracy"],
        "iterations": parser.summary_["iterations"][0] if parser.summary_["learner"].endswith("em") else None,
        "seconds": trained - start,
        "sentences_per_second": len(dev) / (parsed - trained),
    }
