"""Table 1 of Cohen & Collins (2014): parsing with EM, spectral, pivot and pivot+EM, and our own extensions.

As in the paper, the development trees choose the EM iteration. Single models use one binarisation; the ensemble
averages four models with two binarisations.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from spectragram.plots.charts import line_chart
from spectragram.reproduce.report import Report
from spectragram.reproduce.treebanks import TREEBANKS, measure, read_treebank

__all__ = ["parsing"]

STATES = (8, 16, 24, 32)
"""The numbers of states in table 1 of the paper."""
PAPER: dict[str, tuple[tuple[float, ...], tuple[int, ...] | None]] = {
    "EM": ((86.69, 88.32, 88.35, 88.56), (40, 30, 30, 20)),
    "spectral": ((85.60, 87.77, 88.53, 88.82), None),
    "pivot": ((83.56, 86.00, 86.87, 86.40), None),
    "pivot+EM": ((86.83, 88.14, 88.64, 88.55), (2, 6, 2, 2)),
}
"""Table 1 of the paper: F1 on section 22 of the WSJ after training on sections 2-21, and EM iterations."""
OURS: dict[str, dict[str, Any]] = {
    "EM": {"learner": "em", "max_iter": 30, "preset": "fast"},
    "spectral": {"learner": "spectral", "preset": "fast"},
    "pivot": {"learner": "pivot", "preset": "fast"},
    "pivot+EM": {"learner": "pivot+em", "max_iter": 3, "preset": "fast"},
    "spectral+EM": {"learner": "spectral+em", "max_iter": 5, "preset": "fast"},
    "ensemble of 4": {"learner": "spectral+em", "max_iter": 4, "n_models": 4},
}
CHOSEN_ON_DEV = ("EM", "pivot+EM", "spectral+EM")
PRESETS = ("fast", "default", "best")
BERKELEY = {"wsj-sample": ("82.6", 157, 12.5), "cess-esp": ("79.9 (first 355)", 371, 1.4)}
"""F1, CPU seconds of training and sentences per CPU second of the Berkeley parser after four split-merge cycles.

They were measured once on the same data.
"""
BERKELEY_TAGS = {"wsj-sample": "94.9"}
"""Its tag accuracy, where it was measured."""


def parsing(report: Report, data: Path) -> None:
    """Write the sections on parsing."""
    states = (8, 16) if report.quick else STATES
    n_trees = report.cell("parsing/trees", lambda: len(read_treebank(data, "wsj-sample")[0]))
    report.section(
        "Parsing (table 1)",
        f"The paper trains on 39,832 trees of the Penn Treebank. Only {n_trees} of them are available here, so F1 is "
        "lower and the counts support fewer states. The table has F1 on all dev sentences, the EM iterations in "
        "brackets (the best on dev, of at most 30 for EM and 3 for pivot+EM), the seconds of training without scoring "
        "the iterations, and the sentences parsed per second on all cores.",
    )
    cells = {}
    for label, settings in OURS.items():
        for m in states:
            choose, chosen = label in CHOSEN_ON_DEV, settings | {"n_states": m}
            compute = partial(measure, data, "wsj-sample", chosen, choose_iteration=choose)
            cells[label, m] = report.cell(f"parsing/{label}/{m}", compute)
    body: list[list[Any]] = []
    for label in OURS:
        body.append([label, *(_shown(cells[label, m]) for m in states)])
        if label in PAPER:
            values, steps = PAPER[label]
            shown = [f"{v:.2f}" + (f" ({steps[i]})" if steps else "") for i, v in enumerate(values)]
            body.append([f"*{label}, paper*", *(shown[STATES.index(m)] for m in states)])
    report.table(["", *(f"m={m}" for m in states)], body)
    _trade_offs(report, {label: [cells[label, m] for m in states] for label in OURS}, "table")
    _presets(report, data)


def _shown(cell: dict[str, Any]) -> str:
    steps = "" if cell["iterations"] is None else f" ({cell['iterations']})"
    return f"**{cell['f1']:.2f}**{steps}, {cell['seconds']:.0f} s, {cell['sentences_per_second']:.0f}/s"


def _presets(report: Report, data: Path) -> None:
    report.section(
        "Presets on three treebanks",
        "The settings are the same for all corpora. Every tenth development tree of icepahc is parsed. The Berkeley "
        "parser (Java) runs on one core with four split-merge cycles; its seconds and speed are in CPU time.",
    )
    rows: list[list[Any]] = []
    shown: dict[str, list[dict[str, Any]]] = {}
    for name in ("wsj-sample",) if report.quick else TREEBANKS:
        for preset in PRESETS[: 2 if report.quick else None]:
            cell = report.cell(f"presets/{name}/{preset}", partial(measure, data, name, {"preset": preset}))
            shown[preset] = shown.get(preset, []) or [cell]  # the pictures show the first treebank
            rows.append([name, preset, cell["f1"], cell["tags"], cell["seconds"], cell["sentences_per_second"]])
        if name in BERKELEY:
            f1, seconds, speed = BERKELEY[name]
            rows.append([name, "*Berkeley parser*", f1, BERKELEY_TAGS.get(name), seconds, speed])
    report.table(["treebank", "preset", "F1", "tags", "training, s", "sentences/s"], rows)
    _trade_offs(report, shown, "presets")


def _trade_offs(report: Report, series: dict[str, list[dict[str, Any]]], name: str) -> None:
    """Draw F1 against training time and against parsing speed."""
    f1, seconds, speed = BERKELEY["wsj-sample"]
    for key, label, file in (
        ("seconds", "seconds of training", "training"),
        ("sentences_per_second", "sentences parsed per second", "speed"),
    ):
        points = {what: [(cell[key], cell["f1"]) for cell in cells] for what, cells in series.items()}
        points["Berkeley parser"] = [({"seconds": seconds, "sentences_per_second": speed}[key], float(f1))]
        chart = line_chart(points, x_label=label, y_label="F1, wsj-sample dev", log_x=True)
        report.figure(f"parsing-{name}-{file}", chart, f"F1 against {label}")
