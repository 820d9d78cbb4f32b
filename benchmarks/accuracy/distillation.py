"""What one fast parser of phrases learns from text that the default ensemble parses, on the dev part of wsj-sample."""

from __future__ import annotations

import statistics

from benchmarks.measure import Row, data_folder, row
from spectragram.constituency import ConstituencyParser
from spectragram.data.labelled import Layout, read_labelled
from spectragram.distillation import distil

SEEDS = 3
SENTENCES = 1000
"""Of the text, in the quick run."""


def run(quick: bool) -> list[Row]:
    data = data_folder()
    if data is None:
        return []
    folder = data / "wsj-sample" / "clean"
    train, dev = folder / "train.txt.gz", folder / "dev.txt"
    text = read_labelled(data / "conll2000" / "train.txt.gz", Layout("columns")).X[: SENTENCES if quick else None]
    teacher = ConstituencyParser().fit(train)
    goal = teacher.evaluate(dev)["f1"]
    rows = []
    for name, weight in (("gold trees alone", 0.0), ("and text", None)):
        students = [
            distil(teacher, text, gold=train, weight=weight, random_state=seed) for seed in range(1 if quick else SEEDS)
        ]
        scores = [student.evaluate(dev) for student in students]
        for measure in ("f1", "sentences_per_second"):
            values = [score[measure] for score in scores]
            anchor = goal if measure == "f1" else None
            found = row(f"WSJ phrases: fast, {name}", measure, statistics.mean(values), anchor, "its teacher", "higher")
            rows.append(found | {"spread": [min(values), max(values)], "turns": len(values)})
    return rows
