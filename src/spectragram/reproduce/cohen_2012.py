"""Cohen et al. (2012): a numerical check of the theorems, and spectral parsers on three treebanks.

The paper has no experiments. Here its claims are checked: operators from exact moments give exact probabilities
(theorems 1 and 2), and the error of estimated ones falls like 1 / sqrt(number of trees) (theorem 3).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spectragram.constituency.spectral import recover_operators
from spectragram.inference.chart_rules import make_rules
from spectragram.plots.charts import line_chart
from spectragram.reproduce.report import Report
from spectragram.reproduce.treebanks import TREEBANKS, measure
from spectragram.synthetic.lpcfg import LatentPCFG, TreeMoments

__all__ = ["run"]

PARSERS: dict[str, dict[str, Any]] = {
    "PCFG, right binarised": {"learner": "pcfg", "preset": "fast"},
    "spectral, one model, Goodman": {"learner": "spectral", "preset": "fast", "decoder": "goodman"},
    "spectral, one model, F1-MBR": {"learner": "spectral", "preset": "fast"},
    "spectral, four models, F1-MBR": {"learner": "spectral"},
}


def run(report: Report, data: Path) -> None:
    """Check the theorems numerically, then parse the treebanks."""
    _theorems(report)
    _treebanks(report, data)


def _theorems(report: Report) -> None:
    sizes = (100, 1000, 10_000) if report.quick else (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
    report.section(
        "Theorems 1 to 3",
        "Random grammars with 2 interminals, 3 pre-terminals and 6 words. The features are the rule at a node and the "
        "rule above it. The table has the mean relative error of the probabilities of 200 sampled trees, from exact "
        "moments and from counted ones, as the median over five grammars.",
    )
    rows = []
    curves: dict[str, list[tuple[float, float]]] = {}
    for m in (1, 2, 3):
        found = report.cell(f"theorems/{m}", partial(_errors, m, sizes))
        rows.append([f"{m} state" + "s" * (m > 1), f"{found['exact']:.1e}", *(f"{e:.3f}" for e in found["counted"])])
        curves[f"{m} states"] = list(zip(map(float, sizes), found["counted"], strict=True))
    report.table(["", "exact moments", *(f"{n:,} trees" for n in sizes)], rows)
    anchor = curves["2 states"][-1]
    curves["1 / sqrt(trees)"] = [(n, anchor[1] * (anchor[0] / n) ** 0.5) for n in map(float, sizes)]
    chart = line_chart(curves, x_label="trees", y_label="relative error of p(tree)", log_x=True, log_y=True)
    report.figure("consistency", chart, "Error against the number of trees")


def _errors(m: int, sizes: tuple[int, ...]) -> dict[str, Any]:
    rng = np.random.default_rng(m)
    exact, counted = [], []
    for _ in range(5):
        grammar = LatentPCFG.random(2, 3, 6, m, rng=rng)
        probes = list(grammar.sample(200, rng))
        exact.append(_mean_error(grammar, grammar.moments(), probes))
        sample = grammar.sample(sizes[-1], rng)
        counted.append([_mean_error(grammar, grammar.counted_moments(sample.slice(0, n)), probes) for n in sizes])
    return {"exact": float(np.median(exact)), "counted": np.median(counted, axis=0).tolist()}


def _mean_error(grammar: LatentPCFG, moments: TreeMoments, probes: list[np.ndarray]) -> float:
    """Mean relative error of the probabilities of skeletal trees."""
    m, n_inner = grammar.n_states, grammar.n_interminals
    lexical = np.zeros((grammar.n_labels, *moments.lexical.shape[1:]))
    lexical[n_inner:] = moments.lexical
    root = np.zeros((grammar.n_labels, moments.root.shape[1]))
    root[:n_inner] = moments.root
    rules = make_rules(grammar.rules, np.zeros((0, 2)), grammar.n_labels)
    operators, vectors = recover_operators(rules, moments.inside_outside, moments.binary, lexical, root, m)
    tensors = operators.binary.reshape(-1, m, m, m)
    roots = operators.root.reshape(-1, m)

    def value(derivation: np.ndarray) -> float:
        """The probability of a tree by figure 2 of the paper, computed from the leaves up."""
        stack: list[np.ndarray] = []
        for rule in derivation[::-1]:
            if rule < len(grammar.rules):
                stack.append(np.einsum("xyz,y,z->x", tensors[rule], stack.pop(), stack.pop()))
            else:
                p, word = divmod(rule - len(grammar.rules), grammar.n_words)
                stack.append(vectors[n_inner + p, word])
        return float(roots[grammar.rules[derivation[0], 0]] @ stack[0])

    true = np.array([grammar.probability(derivation.tolist()) for derivation in probes])
    return float(np.mean(np.abs(np.array([value(d) for d in probes]) - true) / true))


def _treebanks(report: Report, data: Path) -> None:
    report.section(
        "Parsing",
        "F1 of the spectral parser with at most 16 states per label, decoded with Goodman's algorithm, as the paper "
        "suggests, and by minimum Bayes risk. A plain PCFG with the same binarisation is the baseline. Gold tags are "
        "not used. Every tenth development tree of icepahc is parsed.",
    )
    rows: list[list[Any]] = []
    for name in ("wsj-sample",) if report.quick else TREEBANKS:
        for label, settings in PARSERS.items():
            cell = report.cell(f"parsing/{name}/{label}", partial(measure, data, name, settings))
            rows.append([name, label, cell["f1"], cell["tags"], cell["seconds"], cell["sentences_per_second"]])
    report.table(["treebank", "parser", "F1", "tags", "training, s", "sentences/s"], rows)
