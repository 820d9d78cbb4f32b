"""Training time and parsing speed on the WSJ sample, in wall-clock and CPU seconds."""

from __future__ import annotations

import time

from benchmarks.measure import Row, data_folder, row
from spectragram.constituency import ConstituencyParser
from spectragram.data.brackets import read_trees

BERKELEY = "Berkeley parser (Java), 4 split-merge cycles, same data, CPU seconds"


def run(quick: bool) -> list[Row]:
    folder = data_folder()
    if folder is None:
        return []
    base = folder / "wsj-sample" / "clean"
    trees = list(read_trees(base / "train.txt.gz"))
    sentences = [tree.leaves() for tree in read_trees(base / "dev.txt")]
    warm = ConstituencyParser(preset="fast", n_models=2, max_iter=1).fit(trees[:100])
    warm.predict(sentences[:4])  # compiled kernels are cached: not part of the speed
    rows = []
    for preset in ("fast",) if quick else ("fast", "default"):
        wall, cpu = time.perf_counter(), time.process_time()
        model = ConstituencyParser(preset=preset).fit(trees)
        rows += [
            row(f"{preset}: training", "wall s", time.perf_counter() - wall),
            row(f"{preset}: training", "CPU s", time.process_time() - cpu, 157.0, BERKELEY),
        ]
        wall, cpu = time.perf_counter(), time.process_time()
        model.predict(sentences)
        rows += [
            row(f"{preset}: parsing", "sentences/s", len(sentences) / (time.perf_counter() - wall), better="higher"),
            row(
                f"{preset}: parsing",
                "sentences/CPU s",
                len(sentences) / (time.process_time() - cpu),
                12.5,
                BERKELEY,
                "higher",
            ),
        ]
    return rows
