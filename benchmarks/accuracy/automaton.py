"""How well automata are learned: exact recovery, PAutomaC, and the next tag in the Wall Street Journal sample.

PAutomaC models are trained with default settings on each problem's training file alone; the solution is read once, to
score them. Quick: five problems and the 12 tags.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, data_folder, row
from spectragram.automata import Automaton
from spectragram.automata.hankel import ExactBlock
from spectragram.automata.spectral import automaton_from_block
from spectragram.data.conllu import read_conllu
from spectragram.data.pautomac import read_pautomac, read_pautomac_solution
from spectragram.metrics import pautomac_scores
from spectragram.synthetic.automata import PNFA, all_strings

PROBLEMS = range(1, 49, 2)
QUICK = (5, 7, 29, 31, 39)
SPLEARN = {1: 30.644, 3: 50.550, 7: 51.265, 29: 24.253, 33: 32.374, 39: 10.021, 45: 24.156}
"""Perplexities measured with scikit-splearn on the problems where it was run."""
TAGS = {"12 tags": ("upos", 59.2), "45 tags": ("xpos", 63.5)}


def run(quick: bool) -> list[Row]:
    rows = [_exact_recovery()]
    folder = data_folder()
    if folder is not None:
        rows += _pautomac(folder / "pautomac", QUICK if quick else tuple(PROBLEMS))
        rows += _next_tags(folder / "wsj-dependencies", quick)
    return rows


def _exact_recovery() -> Row:
    """Largest error of any string's value, from exact blocks of twenty random automata."""
    rng = np.random.default_rng(0)
    worst = 0.0
    basis, probes = all_strings(3, 2), all_strings(3, 5)
    for _ in range(20):
        true = PNFA.random(5, 3, rng=rng)
        H = true.hankel(basis, basis)
        shifted = np.stack([true.hankel(basis, basis, symbol=s) for s in range(3)])
        learned, *_ = automaton_from_block(ExactBlock(H, shifted, H[0], H[:, 0]), 5, smallest=1e-12)
        worst = max(worst, float(np.abs(learned.values(probes) - [true.value(x) for x in probes]).max()))
    return row("20 random automata, 5 states", "largest error of a value, exact block", worst, 1e-9, "goal")


def _pautomac(folder: Path, problems: tuple[int, ...]) -> Iterator[Row]:
    distances, slowest = [], 0.0
    for problem in problems:
        training = folder / f"{problem}.pautomac.train"
        corpus = read_pautomac(training if training.exists() else training.with_suffix(".train.gz"))
        start = time.perf_counter()
        model = Automaton().fit(corpus)
        slowest = max(slowest, time.perf_counter() - start)
        log_probs = model.log_prob(read_pautomac(folder / f"{problem}.pautomac.test"))
        solution = read_pautomac_solution(folder / f"{problem}.pautomac_solution.txt")
        scores = pautomac_scores(solution, np.exp(log_probs - log_probs.max()))
        distances.append(scores["pautomac"] - scores["pautomac_bound"])
        name = f"PAutomaC {problem}, bound {scores['pautomac_bound']:.3f}"
        yield row(name, "perplexity", scores["pautomac"], SPLEARN.get(problem), "scikit-splearn, measured")
    name = f"PAutomaC, {len(problems)} problems, defaults"
    winner = "competition winner, all 48 problems"
    yield row(name, "mean distance to the bound", float(np.mean(distances)), 0.025, winner)
    yield row(name, "median distance to the bound", float(np.median(distances)), 0.013, winner)
    yield row(name, "slowest fit, s", slowest, 30.0, "goal")


def _next_tags(folder: Path, quick: bool) -> Iterator[Row]:
    for name, (column, goal) in list(TAGS.items())[: 1 if quick else None]:
        training, dev = (_tags(folder / part, column) for part in ("train.conllu.gz", "dev.conllu"))
        for learner in ("auto", "spectral", "ngram"):
            model = Automaton(learner=learner).fit(training)
            anchor = goal if learner == "auto" else None
            source = "prototype: spectral mixed with 3-symbol contexts"
            yield row(f"WSJ dev, {name}, {learner}", "wrong next tag, %", model.evaluate(dev)["wer"], anchor, source)


def _tags(path: Path, column: str) -> list[list[str]]:
    return [list(getattr(sentence, column)) for sentence in read_conllu(path)]
