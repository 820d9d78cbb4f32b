"""Processor milliseconds of surprisal per sentence over its length, on one core."""

from __future__ import annotations

from benchmarks.measure import Row, data_folder, row, take_turns
from spectragram.constituency import ConstituencyParser
from spectragram.data.inputs import as_trees
from spectragram.engine import single_threaded_blas

LENGTHS = (5, 10, 20, 30, 40, 60)
TARGETS = {"fast": 50.0, "default": 200.0}
"""Milliseconds for a sentence of 20 words."""
SENTENCES = 16


def run(quick: bool) -> list[Row]:
    folder = data_folder()
    if folder is None:
        return []
    clean = folder / "wsj-sample" / "clean"
    train, words = as_trees(clean / "train.txt.gz"), [w for t in as_trees(clean / "dev.txt") for w in t.leaves()]
    rows = []
    for preset, target in TARGETS.items():
        parser = ConstituencyParser(preset=preset, n_jobs=1).fit(train)
        parser.measure([words[:20]])  # loads kernels and prepares the grammar
        for length in LENGTHS:
            sentences = [words[i * length : (i + 1) * length] for i in range(4 if quick else SENTENCES)]
            anchor = (target, "target") if length == 20 else (None, None)
            for name, value in _milliseconds(parser, sentences).items():
                rows.append(row(f"{preset}, {length} words: {name}", "ms a sentence", round(value, 1), *anchor))
    return rows


def _milliseconds(parser: ConstituencyParser, sentences: list[list[str]]) -> dict[str, float]:
    tasks = {
        "surprisal": lambda: parser.surprisal(sentences),
        "surprisal, one at a time": lambda: [parser.surprisal([one]) for one in sentences],
        "all measures": lambda: parser.measure(sentences),
    }
    with single_threaded_blas():
        found = take_turns(tasks, 1)  # processor seconds
    return {name: 1000.0 * seconds[0] / len(sentences) for name, seconds in found.items()}
