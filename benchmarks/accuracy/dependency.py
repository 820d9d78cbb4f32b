"""Dependency parsers on dev sets: the paper's models by learner, then with surface factors, tags alone and words."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, data_folder, row
from spectragram.data import Sentence, read_conllu
from spectragram.dependency import DependencyParser

score = partial(row, better="higher")
PROTOTYPE = "prototype on this corpus"
UDPIPE = "UDPipe 1, tags only"
# Parameters, the figure to compare with and where it comes from.
PAPER_MODELS: dict[str, tuple[dict[str, Any], float, str]] = {
    "DET": ({"learner": "det"}, 65.0, PROTOTYPE),
    "DET+F": ({"learner": "det+f"}, 71.5, PROTOTYPE),
    "spectral, Sigma', 6 states": ({"n_states": 6, "learner": "spectral", "basis": "sigma-lambda"}, 75.5, PROTOTYPE),
    "spectral, f = 3, 9 states": ({"n_states": 9, "learner": "spectral"}, 75.8, PROTOTYPE),
    "EM, random start, 16 states": ({"n_states": 16, "learner": "em"}, 77.1, PROTOTYPE),
    "EM, spectral start, 12 states": ({"n_states": 12}, 77.1, PROTOTYPE),
}
FACTORED: dict[str, tuple[dict[str, Any], float, str]] = {
    "tags alone": ({"words": False}, 82.0, UDPIPE),
    "words": ({}, 86.9, PROTOTYPE),
}


def run(quick: bool) -> list[Row]:
    folder = data_folder()
    if folder is None:
        return []
    train, dev = _read(folder / "wsj-dependencies", "train.conllu.gz", "dev.conllu")
    rows = []
    for name, (parameters, anchor, source) in PAPER_MODELS.items():
        scores = DependencyParser(factors=False, **parameters).fit(train).evaluate(dev)
        rows.append(score(f"WSJ sample, {name}", "UAS", scores["uas"], anchor, source))
    for name, (parameters, anchor, source) in FACTORED.items():
        scores = DependencyParser(**parameters).fit(train).evaluate(dev)
        rows.append(score(f"WSJ sample, factors, {name}", "UAS", scores["uas"], anchor, source))
        rows.append(score(f"WSJ sample, factors, {name}", "UAS without punctuation", scores["uas_nopunct"]))
    return rows if quick else rows + _web_rows(folder / "ud-ewt")


def _web_rows(folder: Path) -> list[Row]:
    train, dev = _read(folder, "en_ewt-ud-train.conllu.gz", "en_ewt-ud-dev.conllu.gz")
    rows = []
    for name, words in (("tags alone", False), ("words", True)):
        scores = DependencyParser(words=words).fit(train).evaluate(dev)
        rows += [score(f"EWT, gold tags, {name}", key.upper(), scores[key]) for key in ("uas", "las")]
    return rows


def _read(folder: Path, *names: str) -> list[list[Sentence]]:
    return [list(read_conllu(folder / name, check_tree=True)) for name in names]
