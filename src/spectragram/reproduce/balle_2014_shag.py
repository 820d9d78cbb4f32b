"""Balle et al. (2014), section 7: split head-automata grammars, figures 8 to 10."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from spectragram.data import Sentence, read_conllu
from spectragram.dependency import DependencyParser
from spectragram.plots.charts import line_chart
from spectragram.reproduce.report import Report

__all__ = ["head_automata"]

STATES = (2, 3, 4, 6, 9, 12, 16, 20)
QUICK_STATES = (4, 9)
MASSES = (0.0, 0.01, 0.02, 0.05)
FACTORS = (1.0, 3.0, 5.0, 10.0)
ITERATIONS = (1, 2, 5, 10, 20, 50)
PAPER = {
    "DET": 68.52,
    "DET+F": 74.80,
    "spectral, Sigma' basis, m = 0": 79.75,
    "spectral, Sigma' basis, best m": 79.81,
    "spectral, extended basis": 80.90,
    "EM": None,
}


def head_automata(report: Report, data: Path) -> None:
    """UAS from gold tags by learner, number of states, state discarding, basis and EM iterations."""
    folder = data / "wsj-dependencies"
    corpora: list[list[Sentence]] = []

    def uas(**parameters: Any) -> list[float]:
        """Score and seconds of training; corpora are read when the first number is not known yet."""

        def compute() -> list[float]:
            if not corpora:
                corpora.extend(
                    list(read_conllu(folder / name, check_tree=True)) for name in ("train.conllu.gz", "dev.conllu")
                )
            started = time.process_time()
            parser = DependencyParser(factors=False, **parameters).fit(corpora[0])
            seconds = time.process_time() - started
            return [float(parser.evaluate(corpora[1])["uas"]), round(seconds, 3)]

        name = ", ".join(f"{key}={value}" for key, value in parameters.items())
        return report.cell(f"SHAG {name}", compute)

    report.section(
        "Section 7: split head-automata grammars",
        "Unlabelled attachment from gold tags, minimum-risk decoding. The paper uses the whole Wall Street Journal, "
        "here it is the public sample, 2 936 sentences to train and 555 to score: compare the shape of curves and the "
        "order of methods, not the values. Estimates that sum to nothing positive are parsed by DET+F. Every head's "
        "automaton is smoothed: EM and the baselines towards coarser heads, spectral ones by a little of DET.",
    )
    states = QUICK_STATES if report.quick else STATES
    masses = MASSES[:2] if report.quick else MASSES
    factors = FACTORS[1:3] if report.quick else FACTORS
    sigma = {
        f"m = {m:g}": [(n, uas(n_states=n, learner="spectral", basis="sigma-lambda", min_mass=m)[0]) for n in states]
        for m in masses
    }
    extended = {f"f = {f:g}": [(n, uas(n_states=n, learner="spectral", basis=f)[0]) for n in states] for f in factors}
    em = {
        "EM, random start": [(n, uas(n_states=n, learner="em", max_iter=20)[0]) for n in states],
        "EM, spectral start": [(n, uas(n_states=n, learner="spectral+em", max_iter=20)[0]) for n in states],
    }
    iterations = {
        f"n = {n}": [
            (i, uas(n_states=n, learner="em", max_iter=i)[0]) for i in (ITERATIONS[:4] if report.quick else ITERATIONS)
        ]
        for n in states[-2:]
    }
    for number, title, curves in (
        ("8a", "Spectral, Sigma' basis", sigma),
        ("8b", "Spectral, extended basis", extended),
        ("9a", "EM, 20 iterations", em),
        ("9b", "EM, random start", iterations),
    ):
        of_iterations = curves is iterations
        axis = "iterations" if of_iterations else "states"
        chart = line_chart(curves, title=title, x_label=axis, y_label="UAS", log_x=of_iterations)
        report.figure(f"figure-{number}", chart, f"Figure {number[0]}({number[1]})")
    ours: dict[str, tuple[float, Any]] = {
        "DET": (uas(learner="det")[0], 1),
        "DET+F": (uas(learner="det+f")[0], 2),
        "spectral, Sigma' basis, m = 0": _peak(sigma["m = 0"]),
        "spectral, Sigma' basis, best m": max(_peak(curve) for curve in sigma.values()),
        "spectral, extended basis": max(_peak(curve) for curve in extended.values()),
        "EM": _peak(em["EM, random start"]),
        "EM from a spectral start": _peak(em["EM, spectral start"]),
    }
    report.table(
        ["method", "paper UAS", "ours UAS", "states"],
        [[name, PAPER.get(name), score, n] for name, (score, n) in ours.items()],
    )
    n = states[-1] if report.quick else 9
    spectral = uas(n_states=n, learner="spectral", basis="sigma-lambda", min_mass=0.0)[1]
    one = uas(n_states=n, learner="em", max_iter=1)[1]
    ten = uas(n_states=n, learner="em", max_iter=10)[1]
    report.table(
        ["training with the same number of states", "CPU seconds"],
        [
            ["the whole of spectral training, from sentences", spectral],
            ["the whole of EM training, ten iterations", ten],
            ["one EM iteration, on prefix trees of equal sequences", (ten - one) / 9],
        ],
    )


def _peak(curve: list[tuple[int, float]]) -> tuple[float, int]:
    """The best score of a curve and the number of states it is reached at."""
    return max((score, n) for n, score in curve)
