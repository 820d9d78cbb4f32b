"""Seconds to train and tokens per second to tag, on the English Web Treebank (or the demo corpus without it)."""

from __future__ import annotations

import time
from functools import partial

from benchmarks.measure import Row, data_folder, row, take_turns
from spectragram.data.labelled import Layout, read_labelled
from spectragram.synthetic import english_tagged
from spectragram.tagging import Tagger

TRAIN = "ud-ewt/en_ewt-ud-train.conllu.gz"


def run(quick: bool) -> list[Row]:
    folder = data_folder()
    if folder is not None:
        name, found = "EWT", read_labelled(folder / TRAIN, Layout())
        X, y = found.X, found.y
    else:
        name, (X, y) = "demo", [list(part) for part in zip(*english_tagged(5000), strict=True)]
    if quick:
        X, y = X[: len(X) // 4], y[: len(y) // 4]
    taggers = {
        "default": Tagger(n_jobs=2),
        "fast": Tagger(preset="fast", n_jobs=2),
        "8 states without factors": Tagger(8, factors=False, n_jobs=2),
        "24 states without factors": Tagger(24, factors=False, n_jobs=2),
    }
    rows = []
    for which, tagger in taggers.items():
        tagger.fit(X[:200], y[:200]).predict(X[:200])  # compile
        cpu, wall = time.process_time(), time.perf_counter()
        tagger.fit(X, y)
        seconds = time.perf_counter() - wall
        rows.append(row(f"{name}: train, {which}, 2 cores", "seconds", seconds, 10.0, "target", "lower"))
        rows.append(row(f"{name}: train, {which}", "CPU seconds", time.process_time() - cpu, 10.0, "target", "lower"))
        best = min(take_turns({"tag": partial(tagger.predict, X)}, 3)["tag"])
        n_tokens = sum(map(len, X))
        rows.append(row(f"{name}: tag, {which}", "tokens per CPU second", n_tokens / best, 100_000, "target", "higher"))
    return rows
