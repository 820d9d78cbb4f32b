"""Named entities with word clusters: tables 1 and 3, and figure 6 (b), of Stratos et al. (2014)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from spectragram.plots.charts import line_chart
from spectragram.reproduce.entities import clustered_f1, entity_scores
from spectragram.reproduce.report import Claim, Report

__all__ = ["claims_of_contexts", "named_entities"]

PAPER_F1 = {200: (90.79, 91.53), 400: (91.21, 91.73), 600: (91.79, 91.68), 800: (91.83, 91.81), 1000: (92.0, 92.0)}
"""Table 3 of the paper: F1 on the CoNLL-2003 development set with Brown's and with spectral clusters, 50,000 types."""
ENTITY_SIZES = (50, 200, 500)
"""Numbers of clusters in the table of named entities. Chosen by hand; the paper has 200 to 1,000 on a larger text."""
ENTITY_KAPPAS = (1, 10, 100, 1000)
"""Values of kappa in figure 6 (b); the steps are by hand."""
USUAL_KAPPA, NEARLY = 100, 1.0
"""A kappa that is good for named entities, says section 6.4, and points of F1 that are lost at most there. The latter
was chosen by hand: what seeds differ by."""


def named_entities(report: Report, data: Path, information: list[tuple[float, float]]) -> None:
    """Table 1, F1 of table 3, and figure 6 (b); ``information`` is a curve of figure 6 (a)."""
    report.section(
        "Named entities (tables 1 and 3)",
        "F1 on dev of a conditional random field (crfsuite) with prefixes of 4, 6, 10 and 20 bits. CoNLL-2003 was not "
        "available. We use CoNLL-2002 with clusters from its own training text, and WNUT-17 with clusters from "
        "its training text, the Brown corpus and WikiText-2. The paper has 90.03 without clusters and 92 with spectral "
        "clusters (CoNLL-2003, RCV1).",
    )
    rows: list[list[Any]] = []
    names = ("WNUT-17",) if report.quick else ("WNUT-17", "CoNLL-2002 Spanish", "CoNLL-2002 Dutch")
    sizes = (200,) if report.quick else ENTITY_SIZES
    for name in names:
        for m in sizes if name == "WNUT-17" else (200,):
            cell = report.cell(f"entities/{name}/{m}", partial(entity_scores, data, name, m))
            rows.append([name, m, *(cell[what] for what in ("without", "brown", "paper", "ours"))])
    rows += [["*paper, CoNLL-2003*", m, 90.03, *PAPER_F1[m], None] for m in PAPER_F1]
    header = ["corpus", "m", "no clusters", "Brown's clusters", "paper's clusters, as written", "ours (exchange)"]
    report.table(header, rows)
    best = {name: [max(float(row[i]) for row in rows if row[0] == name) for i in (2, 3, 4)] for name in names}
    shown = "; ".join(f"{name}: {a:.2f}, {b:.2f}, {c:.2f}" for name, (a, b, c) in best.items())
    report.claims(
        [
            Claim("Spectral clusters help (90.03 to 92).", f"Without, Brown, spectral: {shown}.",
                  all(c > a for a, _, c in best.values()), all(c < a for a, _, c in best.values())),
            Claim("They help nearly as much as Brown's (92.68).", f"{shown}.",
                  all(c > b - 0.7 for _, b, c in best.values())),
            *_claim_of_sizes([row for row in rows if row[0] == "WNUT-17"]),
        ]
    )  # fmt: skip
    if not report.quick:
        _figure_6b(report, data, information)


def _claim_of_sizes(rows: list[list[Any]]) -> list[Claim]:
    """How much F1 depends on the number of clusters, if there are several."""
    if len(rows) == 1:
        return []
    spectral, brown = (max(row[i] for row in rows) - min(row[i] for row in rows) for i in (4, 3))
    return [
        Claim(
            "With Brown's clusters the gain depends on m (0.76 to 1.97), less so with spectral ones (1.5 to 1.97).",
            f"WNUT-17, m = {rows[0][1]} to {rows[-1][1]}: F1 varies by {brown:.2f} and {spectral:.2f}.",
            spectral < 0.8 * brown,
            spectral > 1.25 * brown,
        )
    ]


def _figure_6b(report: Report, data: Path, information: list[tuple[float, float]]) -> None:
    """F1 over kappa and context, on the corpus whose clusters come from the largest text."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for context in ("R1", "LR1", "LR2"):
        for kappa in ENTITY_KAPPAS:
            compute = partial(
                clustered_f1, data, "WNUT-17", recipe="paper", n_clusters=200, context=context, kappa=kappa
            )
            curves.setdefault(context, []).append((kappa, report.cell(f"entities/kappa/{context}/{kappa}", compute)))
    report.table(["F1", *map(str, ENTITY_KAPPAS)], [[name, *(y for _, y in curve)] for name, curve in curves.items()])
    chart = line_chart(curves, x_label="kappa", y_label="F1, WNUT-17 dev", log_x=True)
    report.figure("entities-kappa", chart, "Figure 6 (b)")
    lost = {context: max(y for _, y in curve) - dict(curve)[USUAL_KAPPA] for context, curve in curves.items()}
    peak = max((y, kappa) for curve in curves.values() for kappa, y in curve)[1]
    mutual = max((y, kappa) for kappa, y in information)[1]
    report.claims(
        [
            *claims_of_contexts(curves, "F1"),
            Claim("Mutual information needs a much larger kappa than named entities.",
                  f"The best are {mutual:g} and {peak:g}.", mutual > 2 * peak, mutual * 2 < peak),
            Claim(f"A kappa of {USUAL_KAPPA} is good for named entities.",
                  f"There {', '.join(f'{context} loses {gap:.2f}' for context, gap in lost.items())} of its best F1.",
                  max(lost.values()) < NEARLY),
        ]
    )  # fmt: skip


def claims_of_contexts(curves: dict[str, list[tuple[float, float]]], what: str) -> list[Claim]:
    """What section 6.4 says about both halves of figure 6."""
    best = {context: max(y for _, y in curves[context]) for context in ("R1", "LR1", "LR2")}
    shown = ", ".join(f"{context} {value:.3f}" for context, value in best.items())
    lower, higher = sorted((best["LR1"], best["LR2"]))
    return [
        Claim(f"LR1 and LR2 are much better than R1 ({what}).", f"At the best kappa: {shown}.", lower > best["R1"],
              higher < best["R1"]),
        Claim("They are very similar to each other.", f"They differ by {higher - lower:.3f}.",
              higher - lower < 0.2 * (lower - best["R1"])),
    ]  # fmt: skip
