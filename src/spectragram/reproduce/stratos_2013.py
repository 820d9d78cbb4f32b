"""Stratos, Rush, Cohen & Collins (2013): phones of TIMIT with refinement HMMs (figures 5, 7 and 8), and text.

All discrete models use the same codebook. As in the paper, the EM iteration is the best one on the development set.
"""

from __future__ import annotations

import time
from functools import cache, partial
from pathlib import Path
from typing import Any

from spectragram.data.labelled import LabelledFile, Layout, read_labelled
from spectragram.plots.charts import line_chart
from spectragram.reproduce.report import Report
from spectragram.tagging import SPEECH_VIEWS, Tagger

__all__ = ["run"]

STATES = (1, 2, 4, 8, 16, 24)
"""Numbers of states up to 24, the paper's best for spectral learning; its best for EM is 4 (figure 5)."""
SPEECH = Layout("npz", drop=("sa1", "sa2"))
VIEWS = ("future", "past", "present", "destiny")
ABLATIONS = {"no np, pp, pos": ("position", "next", "previous"), "no pos": ("position",), "all": ()}
PAPER_DEV = {"EM(4)": 56.80, "EM(24)": 56.23, "no np, pp, pos": 55.45, "no pos": 56.56, "all": 56.94}
PAPER_TEST = {"unigram": 48.04, "HMM": 54.08, "EM": 55.49, "spectral": 55.82, "HTK": 55.70}
"""Frame accuracies on the development set (figure 7) and on the test set (figure 8) of the paper."""
TEXT: dict[str, tuple[str, str, Layout]] = {
    "EWT, UPOS": ("ud-ewt/en_ewt-ud-train.conllu.gz", "ud-ewt/en_ewt-ud-dev.conllu.gz", Layout()),
    "CoNLL-2000, word+POS": ("conll2000/train.txt.gz", "conll2000/dev.txt", Layout("columns", (0, 1), "-1")),
    "CoNLL-2000, words": ("conll2000/train.txt.gz", "conll2000/dev.txt", Layout("columns", (0,), "-1")),
}
LEARNERS: dict[str, dict[str, Any]] = {
    "unigram": {"learner": "unigram"},
    "HMM": {"learner": "hmm"},
    "EM(8)": {"learner": "em", "n_states": 8},
    "spectral(12)": {"learner": "spectral", "n_states": 12},
    "spectral+em (default)": {},
    "best": {"preset": "best"},
}


def run(report: Report, data: Path) -> None:
    """Reproduce all parts of the paper for which there is data, and tag text."""
    speech = partial(_read, data / "timit-sample/train.npz", data / "timit-sample/dev.npz", SPEECH)
    _figure_5(report, speech)
    _figures_7_and_8(report, speech)
    _text(report, data)


@cache
def _read(train: Path, dev: Path, layout: Layout) -> tuple[LabelledFile, LabelledFile]:
    return read_labelled(train, layout), read_labelled(dev, layout)


def _scores(read: Any, settings: dict[str, Any], choose_iteration: bool = False) -> dict[str, Any]:
    train, dev = read()
    start = time.perf_counter()
    tagger = Tagger(factors=False, **settings).fit(train, dev=dev if choose_iteration else None)
    seconds = time.perf_counter() - start
    scores = tagger.evaluate(dev)
    return {"accuracy": scores["accuracy"], "span_f1": scores.get("span_f1"), "seconds": seconds}


def _figure_5(report: Report, speech: Any) -> None:
    states = (1, 4) if report.quick else STATES
    report.section(
        "Frame accuracy over the number of states (figure 5)",
        "The corpus is the TIMIT sample that the NLTK project distributes, split by speaker and without the `sa` "
        "utterances. It has 88 training utterances where the paper has 3,696, so all figures are lower than the "
        "paper's. All models use one codebook. The result of EM is the best of 15 iterations on dev.",
    )
    curves: dict[str, list[tuple[float, float]]] = {"EM": [], "spectral": []}
    for m in states:
        em = {"n_states": m, "learner": "em", "emissions": "classes", "max_iter": 15, "n_starts": 1}
        cell = report.cell(f"timit/em/{m}", partial(_scores, speech, em, choose_iteration=True))
        curves["EM"].append((m, cell["accuracy"]))
        cell = report.cell(f"timit/spectral/{m}", partial(_scores, speech, {"n_states": m, "learner": "spectral"}))
        curves["spectral"].append((m, cell["accuracy"]))
    report.table(["", *(f"m={m}" for m in states)], [[n, *(y for _, y in points)] for n, points in curves.items()])
    report.figure("states", line_chart(curves, x_label="states m", y_label="frame accuracy, dev"), "Figure 5")


def _figures_7_and_8(report: Report, speech: Any) -> None:
    report.section(
        "Features (figure 7) and baselines (figure 8)",
        "The paper reports dev results for the ablation (m = 24) and test results for the baselines, both on full "
        "TIMIT. Ours are dev results with m = 4. The last rows, with Gaussian states that are initialised from "
        "spectral clusters, are not in the paper.",
    )
    rows: list[list[Any]] = []
    for name, dropped in ABLATIONS.items():
        views = SPEECH_VIEWS.without(*dropped)
        settings = {"n_states": 4, "learner": "spectral", "views": {v: list(getattr(views, v)) for v in VIEWS}}
        cell = report.cell(f"timit/ablation/{name}", partial(_scores, speech, settings))
        rows.append([f"spectral, features: {name}", cell["accuracy"], PAPER_DEV[name]])
    others: dict[str, tuple[dict[str, Any], float | None]] = {
        "unigram": ({"learner": "unigram"}, PAPER_TEST["unigram"]),
        "HMM": ({"learner": "hmm", "emissions": "classes"}, PAPER_TEST["HMM"]),
        "HTK, three segments a phone": ({}, PAPER_TEST["HTK"]),
        "Gaussian HMM": ({"learner": "hmm"}, None),
        "Gaussian states, one model": ({"n_models": 1}, None),
        "Gaussian states (default)": ({}, None),
    }
    for name, (settings, paper) in others.items():
        theirs_only = name.startswith("HTK")
        cell = {} if theirs_only else report.cell(f"timit/{name}", partial(_scores, speech, settings))
        rows.append([name, cell.get("accuracy"), paper])
    report.table(["model", "frame accuracy", "paper"], rows)


def _text(report: Report, data: Path) -> None:
    report.section(
        "Text",
        "This is not in the paper: the same model with feature views for words. The table has token accuracy and span "
        "F1 on dev and the seconds of training on all cores.",
    )
    rows: list[list[Any]] = []
    for name, (train, dev, layout) in list(TEXT.items())[: 1 if report.quick else None]:
        for learner, settings in LEARNERS.items():
            read = partial(_read, data / train, data / dev, layout)
            cell = report.cell(f"text/{name}/{learner}", partial(_scores, read, settings))
            rows.append([name, learner, cell["accuracy"], cell["span_f1"], cell["seconds"]])
    report.table(["corpus", "learner", "accuracy", "span F1", "training, s"], rows)
