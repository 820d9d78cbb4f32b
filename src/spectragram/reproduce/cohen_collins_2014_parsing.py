"""Table 1 of Cohen & Collins (2014): parsing with EM, spectral, pivot and pivot+EM, and our own extensions.

As in the paper, the development trees choose the EM iteration. Single models use one binarisation; the ensemble
averages four models with two binarisations.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from spectragram.plots.charts import line_chart
from spectragram.reproduce.report import Claim, Report
from spectragram.reproduce.treebanks import TREEBANKS, measure, read_treebank

__all__ = ["parsing"]

STATES = (8, 16, 24, 32)
"""The numbers of states in table 1 of the paper."""
WRITTEN_STATES = {"EM": (8, 16), "spectral": STATES, "pivot": (8, 16), "pivot+EM": (8, 16)}
"""Those of rows as written, which have m states for every label, however rare: the cost of EM grows with m cubed."""
QUICK_ITERATIONS = 10
"""EM iterations of a quick run at most, instead of 40."""
LARGE, LARGE_STATES = "icepahc", (8,)
"""The treebank that is as large as the paper's, with 54,175 trees to train on, and its numbers of states."""
PAPER: dict[str, tuple[tuple[float, ...], tuple[int, ...] | None]] = {
    "EM": ((86.69, 88.32, 88.35, 88.56), (40, 30, 30, 20)),
    "spectral": ((85.60, 87.77, 88.53, 88.82), None),
    "pivot": ((83.56, 86.00, 86.87, 86.40), None),
    "pivot+EM": ((86.83, 88.14, 88.64, 88.55), (2, 6, 2, 2)),
}
"""Table 1 of the paper: F1 on section 22 of the WSJ after training on sections 2-21, and EM iterations."""
WRITTEN: dict[str, Any] = {"recipe": "paper", "prune": 3e-5, "prune_middle": 1e-4, "prune_tags": 1e-5}
"""As written, but with our pruning: Cohen et al. (2013), whose set-up the paper has, prune by a plain PCFG, too."""
STOPPED: dict[str, Any] = {"rule_iterations": 15, "rule_tolerance": 1e-4, "align_iterations": 50}
"""When the EM of concave objectives stops in rows as written: as in ours, for the paper says nothing about it."""
OURS: dict[str, dict[str, Any]] = {
    "EM": {"learner": "em"} | WRITTEN,
    "spectral": {"learner": "spectral", "shrink": 30.0, "smooth_words": 0.4} | WRITTEN,
    "pivot": {"learner": "pivot"} | WRITTEN | STOPPED,
    "pivot+EM": {"learner": "pivot+em"} | WRITTEN | STOPPED,
    "EM, ours": {"learner": "em", "max_iter": 40, "preset": "fast"},
    "spectral, ours": {"learner": "spectral", "preset": "fast"},
    "pivot, ours": {"learner": "pivot", "preset": "fast"},
    "pivot+EM, ours": {"learner": "pivot+em", "max_iter": 10, "preset": "fast"},
    "spectral+EM": {"learner": "spectral+em", "max_iter": 5, "preset": "fast", "factors": False},
    "ensemble of 4": {"learner": "spectral+em", "max_iter": 4, "n_models": 4, "factors": False},
}
"""The first four as written; 'spectral' has the smoothing of Cohen et al. (2013), from whom the paper takes its row."""
QUICK = (*PAPER, *(f"{label}, ours" for label in PAPER))
"""Rows of a quick run."""
LARGE_ROWS = ("EM", "spectral", *(f"{label}, ours" for label in PAPER))
"""Rows of icepahc; section 6.2 as written would take an hour of processor time."""
LAG = (1.0, 4.0)
"""How far pivot may be behind pivot+EM for "2 to 3 points" to count as reproduced: a point more on either side."""
CHOSEN_ON_DEV = ("EM", "pivot+EM", "EM, ours", "pivot+EM, ours", "spectral+EM")
PRESETS = ("fast", "default", "best")
BERKELEY = {"wsj-sample": ("82.6", 157, 12.5), "cess-esp": ("79.9 (first 355)", 371, 1.4)}
"""F1, CPU seconds of training and sentences per CPU second of the Berkeley parser after four split-merge cycles.

They were measured once on the same data.
"""
BERKELEY_TAGS = {"wsj-sample": "94.9"}
"""Its tag accuracy, where it was measured."""


def parsing(report: Report, data: Path) -> None:
    """Write the sections on parsing."""
    limit = QUICK_ITERATIONS if report.quick else 40
    n_trees = report.cell("parsing/trees", lambda: len(read_treebank(data, "wsj-sample")[0]))
    report.section(
        "Parsing (table 1)",
        f"The paper trains on 39,832 trees of the Penn Treebank. Only {n_trees} of them are available here, so F1 is "
        "lower and the counts support fewer states. Rows without a word after the comma are as written "
        '(`recipe="paper"` with our pruning, decoded by Goodman\'s algorithm), with m states for every label. '
        "'spectral' has the smoothing of Cohen et al. (2013), whose figures the paper's row has; without it, it is the "
        "row of "
        "[cohen-2012](cohen-2012.md). EM, pivot and pivot+EM as written end at m = 16, where the paper goes on to 32, "
        "and the EM over combinations of features (section 6.2) stops after 15 iterations. Ours have at "
        "most m states, fewer for rare labels, and are decoded by minimum Bayes risk. The table has F1 on all "
        "dev sentences, the EM iterations in brackets (the best on every fifth dev sentence; of at most "
        f"{limit}, for 'pivot+EM, ours' of at most 10, for the two rows below it of at most 5 and 4), the "
        "processor seconds of training without scoring the iterations, and the sentences parsed per processor second. "
        "A row whose best iteration is the last one allowed might get better with more.",
    )
    wanted = {label: how for label, how in OURS.items() if not report.quick or label in QUICK}
    cells = _table_1(report, data, "wsj-sample", wanted, (8,) if report.quick else STATES)
    _trade_offs(report, cells, "table")
    if not report.quick:
        report.section(
            "Parsing (table 1) on a treebank of the paper's size",
            "The same on icepahc: 54,175 Icelandic trees to train on, every tenth development tree to score. Pivot as "
            "written is left out, and the claims are judged by ours.",
        )
        _table_1(report, data, LARGE, {label: OURS[label] for label in LARGE_ROWS}, LARGE_STATES)
    _presets(report, data)


def _table_1(
    report: Report, data: Path, treebank: str, wanted: dict[str, dict[str, Any]], states: tuple[int, ...]
) -> dict[str, list[dict[str, Any]]]:
    """Table 1 on a treebank, with the paper's rows below those of the same name, and its claims."""
    cells: dict[str, list[dict[str, Any]]] = {}
    body: list[list[Any]] = []
    for label, settings in wanted.items():
        sizes = [m for m in states if m in WRITTEN_STATES.get(label, STATES)]
        choose, how = label in CHOSEN_ON_DEV, dict(settings)
        if choose and report.quick:
            how["max_iter"] = QUICK_ITERATIONS
        cells[label] = [
            report.cell(
                f"parsing/{treebank}/{label}/{m}",
                partial(measure, data, treebank, how | {"n_states": m}, choose_iteration=choose),
            )
            for m in sizes
        ]
        body.append([label, *map(_shown, cells[label]), *[None] * (len(states) - len(sizes))])
        if label in PAPER:
            values, steps = PAPER[label]
            shown = [f"{v:.2f}" + (f" ({steps[i]})" if steps else "") for i, v in enumerate(values)]
            body.append([f"*{label}, paper*", *(shown[STATES.index(m)] for m in states)])
    report.table(["", *(f"m={m}" for m in states)], body)
    report.claims(_claims(cells))
    return cells


def _claims(cells: dict[str, list[dict[str, Any]]]) -> list[Claim]:
    """What section 7 says, judged by the rows as written, or by ours if some are left out; they are decoded alike."""
    judged = "" if set(PAPER) <= set(cells) else ", ours"
    best, ours = (
        {label: max(cell["f1"] for cell in cells[label + suffix]) for label in PAPER} for suffix in (judged, ", ours")
    )
    steps = [max(cell["iterations"] for cell in cells[label + judged]) for label in ("EM", "pivot+EM")]
    close = [best[label] for label in ("EM", "spectral", "pivot+EM")]
    shown, shown_ours = (", ".join(f"{label} {f1:.2f}" for label, f1 in part.items()) for part in (best, ours))
    return [
        Claim("EM, spectral and pivot+EM are about equally good.",
              f"Ours: {shown}." if judged else f"As written: {shown}. Ours: {shown_ours}.",
              max(close) - min(close) < 1.0),
        Claim("Pivot lags behind pivot+EM by 2 to 3 points.",
              f"{best['pivot']:.2f} and {best['pivot+EM']:.2f}"
              + ("." if judged else f"; ours {ours['pivot']:.2f} and {ours['pivot+EM']:.2f}."),
              LAG[0] <= best["pivot+EM"] - best["pivot"] <= LAG[1], best["pivot"] > best["pivot+EM"]),
        Claim("Pivot+EM needs far fewer EM iterations than EM.", f"At most {steps[1]} and {steps[0]}.",
              steps[1] * 2 <= steps[0], steps[1] > steps[0]),
    ]  # fmt: skip


def _shown(cell: dict[str, Any]) -> str:
    steps = "" if cell["iterations"] is None else f" ({cell['iterations']})"
    return f"**{cell['f1']:.2f}**{steps}, {cell['seconds']:.0f} s, {cell['sentences_per_second']:.0f}/s"


def _presets(report: Report, data: Path) -> None:
    report.section(
        "Presets on three treebanks",
        "The settings are the same for all corpora; there are no factors beside the grammars. Every tenth development "
        "tree of icepahc is parsed, and `best` is left out but for wsj-sample. The Berkeley parser (Java) has four "
        "split-merge cycles. Seconds are processor seconds throughout.",
    )
    rows: list[list[Any]] = []
    shown: dict[str, list[dict[str, Any]]] = {}
    for name in ("wsj-sample",) if report.quick else TREEBANKS:
        for preset in PRESETS[: 2 if report.quick or name != "wsj-sample" else None]:
            settings = {"preset": preset, "factors": False}
            cell = report.cell(f"presets/{name}/{preset}", partial(measure, data, name, settings))
            shown[preset] = shown.get(preset, []) or [cell]  # the pictures show the first treebank
            rows.append([name, preset, cell["f1"], cell["tags"], cell["seconds"], cell["sentences_per_second"]])
        if name in BERKELEY:
            f1, seconds, speed = BERKELEY[name]
            rows.append([name, "*Berkeley parser*", f1, BERKELEY_TAGS.get(name), seconds, speed])
    report.table(["treebank", "preset", "F1", "tags", "training, processor s", "sentences/processor s"], rows)
    _trade_offs(report, shown, "presets")


def _trade_offs(report: Report, series: dict[str, list[dict[str, Any]]], name: str) -> None:
    """Draw F1 against training time and against parsing speed."""
    f1, seconds, speed = BERKELEY["wsj-sample"]
    for key, label, file in (
        ("seconds", "processor seconds of training", "training"),
        ("sentences_per_second", "sentences parsed per processor second", "speed"),
    ):
        points = {what: [(cell[key], cell["f1"]) for cell in cells] for what, cells in series.items()}
        points["Berkeley parser"] = [({"seconds": seconds, "sentences_per_second": speed}[key], float(f1))]
        chart = line_chart(points, x_label=label, y_label="F1, wsj-sample dev", log_x=True)
        report.figure(f"parsing-{name}-{file}", chart, f"F1 against {label}")
