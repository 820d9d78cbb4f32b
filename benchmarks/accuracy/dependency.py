"""Dependency parsers on dev sets: the paper's models by learner, then with surface factors, tags alone and words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from spectragram.data import Sentence, read_conllu
from spectragram.dependency import DependencyParser

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


def run(quick: bool) -> list[dict[str, Any]]:
    folder = os.environ.get("SPECTRAGRAM_DATA")
    if not folder:
        return []
    train, dev = _read(Path(folder) / "wsj-dependencies", "train.conllu.gz", "dev.conllu")
    rows = []
    for name, (parameters, anchor, source) in PAPER_MODELS.items():
        scores = DependencyParser(factors=False, n_jobs=-1, **parameters).fit(train).evaluate(dev)
        rows.append(_row(f"WSJ sample, {name}", "UAS", scores["uas"], anchor, source))
    for name, (parameters, anchor, source) in FACTORED.items():
        scores = DependencyParser(n_jobs=-1, **parameters).fit(train).evaluate(dev)
        rows.append(_row(f"WSJ sample, factors, {name}", "UAS", scores["uas"], anchor, source))
        rows.append(_row(f"WSJ sample, factors, {name}", "UAS without punctuation", scores["uas_nopunct"], None, ""))
    return rows if quick else rows + _web_rows(Path(folder) / "ud-ewt")


def _web_rows(folder: Path) -> list[dict[str, Any]]:
    train, dev = _read(folder, "en_ewt-ud-train.conllu.gz", "en_ewt-ud-dev.conllu.gz")
    rows = []
    for name, words in (("tags alone", False), ("words", True)):
        scores = DependencyParser(words=words, n_jobs=-1).fit(train).evaluate(dev)
        rows += [_row(f"EWT, gold tags, {name}", key.upper(), scores[key], None, "") for key in ("uas", "las")]
    return rows


def _read(folder: Path, *names: str) -> list[list[Sentence]]:
    return [list(read_conllu(folder / name, check_tree=True)) for name in names]


def _row(name: str, measure: str, value: float, anchor: float | None, source: str) -> dict[str, Any]:
    return {
        "name": name,
        "measure": measure,
        "value": value,
        "anchor": anchor,
        "anchor_source": source,
        "better": "higher",
    }
