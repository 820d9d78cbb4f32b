"""Stratos, Rush, Cohen & Collins (2013): phones of TIMIT with refinement HMMs (figures 5, 7 and 8), and text.

*As written* is ``recipe="paper"``. As in the paper, the EM iteration is the best one on the development set.
"""

from __future__ import annotations

import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from spectragram.data.labelled import LabelledFile, Layout, read_labelled
from spectragram.metrics.significance import paired_randomization
from spectragram.plots.charts import line_chart
from spectragram.reproduce.consistency import consistency
from spectragram.reproduce.report import Claim, Report
from spectragram.tagging import SPEECH_VIEWS, Tagger

__all__ = ["run"]

STATES = (1, 2, 4, 8, 16, 24, 32)
"""Numbers of states up to 32, as in the paper, whose best are 24 for spectral learning and 4 for EM (figure 5)."""
QUICK_STATES = (1, 4)
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
    consistency(report, ["tagger"])
    experiments = _Speech(report, speech)
    experiments.figures_7_and_8(experiments.figure_5())
    _text(report, data)


@cache
def _read(train: Path, dev: Path, layout: Layout) -> tuple[LabelledFile, LabelledFile]:
    return read_labelled(train, layout), read_labelled(dev, layout)


def _scores(read: Any, settings: dict[str, Any], choose_iteration: bool = False) -> dict[str, Any]:
    train, dev = read()
    start = time.process_time()
    tagger = Tagger(**{"factors": False} | settings).fit(train, dev=dev if choose_iteration else None)
    seconds = time.process_time() - start
    scores = tagger.evaluate(dev)
    predicted = tagger.predict(dev)
    right = [sum(a == b for a, b in zip(*pair, strict=True)) for pair in zip(predicted, dev.y, strict=True)]
    return {
        "accuracy": scores["accuracy"],
        "span_f1": scores.get("span_f1"),
        "seconds": seconds,
        "right": right,  # in each utterance, for the test of significance
        "fallbacks": predicted.diagnostics["fallbacks"],
    }


class _Speech:
    """The experiments on TIMIT."""

    def __init__(self, report: Report, read: Any) -> None:
        self.report, self.read, self.quick = report, read, report.quick
        self.states = QUICK_STATES if report.quick else STATES

    def cell(self, name: str, choose: bool = False, **settings: Any) -> dict[str, Any]:
        """Scores of one model; ``choose`` keeps the EM iteration that is best on dev, as in the paper."""
        return self.report.cell(f"timit/{name}", partial(_scores, self.read, settings, choose_iteration=choose))

    def spectral(self, m: int, written: bool, **more: Any) -> dict[str, Any]:
        """The spectral learner."""
        name = "".join(f"/{key}" for key in more.pop("name", ()))
        settings: dict[str, Any] = {"learner": "spectral", "n_states": m} | more
        if written:
            return self.cell(f"spectral/as written/{m}{name}", recipe="paper", n_codes=self.codes, **settings)
        return self.cell(f"spectral/ours/{m}{name}", **settings)

    def em(self, m: int, written: bool) -> dict[str, Any]:
        """EM, the best iteration on dev."""
        settings: dict[str, Any] = {"learner": "em", "n_states": m, "max_iter": 20 if self.quick else 200}
        if written:
            return self.cell(f"em/as written/{m}", True, recipe="paper", n_codes=self.codes, **settings)
        settings |= {"max_iter": 15, "emissions": "classes", "n_starts": 1}
        return self.cell(f"em/ours/{m}", True, **settings)

    @property
    def codes(self) -> int:
        """Classes of frames of the rows as written: the paper's number, or fewer in a quick run."""
        return 1000 if self.quick else 10_000

    def figure_5(self) -> dict[str, list[tuple[float, float]]]:
        """Accuracy over the number of states."""
        self.report.section(
            "Frame accuracy over the number of states (figure 5)",
            "The corpus is the TIMIT sample that the NLTK project distributes, split by speaker and without the `sa` "
            'utterances: 88 training utterances where the paper has 3,696. *As written* is `recipe="paper"` with '
            f"{self.codes:,} classes of frames (the paper: 10,000); with 27,000 frames that is fewer than three frames "
            "for each class, so most classes of dev frames were seen with one label only. The moments as written are "
            "inverted as they are, also those of labels with a few hundred frames. EM as written shows its best "
            f"iteration on dev of {20 if self.quick else 200}. *Ours* is normalised within each utterance, with 1,000 "
            "classes, an exponent of 0.6 on likelihoods, centred and scaled features, smoothed EM and the sign rule.",
        )
        curves: dict[str, list[tuple[float, float]]] = {}
        for m in self.states:
            for what, written in (("as written", True), ("ours", False)):
                for name, learn in (("EM", self.em), ("spectral", self.spectral)):
                    accuracy = learn(m, written)["accuracy"]
                    curves.setdefault(f"{name}, {what}", []).append((m, accuracy))
        self.report.table(
            ["", *(f"m={m}" for m in self.states)], [[n, *(y for _, y in points)] for n, points in curves.items()]
        )
        self.report.figure("states", line_chart(curves, x_label="states m", y_label="frame accuracy, dev"), "Figure 5")
        (em, em_m), (spectral, spectral_m) = (_peak(curves[f"{name}, as written"]) for name in ("EM", "spectral"))
        flat = any(len({y for _, y in curves[f"{name}, as written"]}) == 1 for name in ("EM", "spectral"))
        self.report.claims(
            [
                Claim("EM peaks at few states (4), the spectral method at many (24).",
                      f"As written EM: m = {em_m:g} ({em:.2f}), spectral: m = {spectral_m:g} ({spectral:.2f}).",
                      not flat and em_m < spectral_m, not flat and em_m > spectral_m),
            ]
        )  # fmt: skip
        return curves

    def figures_7_and_8(self, curves: dict[str, list[tuple[float, float]]]) -> None:
        """Ablation of features, baselines, the best models, a fixed-structure HMM."""
        best = {name: int(_peak(curve)[1]) for name, curve in curves.items()}
        largest = 24 if 24 in self.states else max(self.states)
        self.report.section(
            "Features (figure 7) and baselines (figure 8)",
            "The paper reports dev results for the ablation and test results for the baselines, both on full TIMIT. "
            f"Ours are dev results; where the paper has m = 24, as-written rows have m = {largest} and ours m = 4. "
            "Numbers of states of 'best' rows are those of the figure above. HTK's place is taken by three segments of "
            "each phone as states, improved by EM: with the same classes of frames as written, with Gaussians as ours.",
        )
        rows: list[list[Any]] = []
        ablated = {}
        for name, dropped in ABLATIONS.items():
            kept = SPEECH_VIEWS.without(*dropped)
            views = {v: list(getattr(kept, v)) for v in VIEWS}
            ablated[name] = self.spectral(largest, True, views=views, name=(name,))["accuracy"]
            ours = self.spectral(4, False, views=views, name=(name,))["accuracy"]
            rows.append([f"spectral, features: {name}", PAPER_DEV[name], ablated[name], ours])
        for m in (4, 24):
            if m in self.states:
                row = [self.em(m, written)["accuracy"] for written in (True, False)]
                rows.append([f"EM({m})", PAPER_DEV[f"EM({m})"], *row])
        classes = {"emissions": "classes"}
        written: dict[str, Any] = {"recipe": "paper", "n_codes": self.codes}
        segments: dict[str, Any] = {"learner": "segments", "n_states": 3, "max_iter": 20}
        others: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
            "unigram": ({"learner": "unigram"} | written, {"learner": "unigram"}),
            "HMM": ({"learner": "hmm"} | written, {"learner": "hmm"} | classes),
            "HTK": (segments | written, segments | {"emissions": "gaussian"}),
        }
        found = {}
        for name, pair in others.items():
            choose = name == "HTK"
            found[name] = [
                self.cell(f"{name}/{what}", choose, **settings)["accuracy"]
                for what, settings in zip(("as written", "ours"), pair, strict=True)
            ]
            label = "three segments of a phone (the paper: HTK)" if choose else name
            rows.append([label, PAPER_TEST[name], *found[name]])
        both = (("as written", True), ("ours", False))
        em = [self.em(best[f"EM, {what}"], is_written) for what, is_written in both]
        spectral = [self.spectral(best[f"spectral, {what}"], is_written) for what, is_written in both]
        rows.append(["EM, best m", PAPER_TEST["EM"], *(cell["accuracy"] for cell in em)])
        rows.append(["spectral, best m", PAPER_TEST["spectral"], *(cell["accuracy"] for cell in spectral)])
        extra: dict[str, dict[str, Any]] = {
            "Gaussian HMM": {"learner": "hmm"}, "Gaussian states, one model": {"n_models": 1}, "default": {},
        }  # fmt: skip
        for name, settings in extra.items():
            rows.append([name, None, None, self.cell(f"{name}", **settings)["accuracy"]])
        self.report.table(["model", "paper", "as written", "ours"], rows)
        states = [best[f"{name}, as written"] for name in ("EM", "spectral")]
        self.report.claims(_claims(ablated, found, em[0], spectral[0], states))


def _claims(
    ablated: dict[str, float],
    found: dict[str, list[float]],
    em: dict[str, Any],
    spectral: dict[str, Any],
    states: list[int],
) -> list[Claim]:
    """Claims of section 7 about the rows as written."""
    p = paired_randomization(np.array(spectral["right"]), np.array(em["right"]))
    without, all_ = ablated["no np, pp, pos"], ablated["all"]
    a, b = spectral["accuracy"], em["accuracy"]
    hmm, unigram, htk = found["HMM"][0], found["unigram"][0], found["HTK"][0]
    return [
        Claim("Without neighbouring phones and position it is worse (by 1.5).", f"{all_:.2f} and {without:.2f}.",
              all_ > without, all_ < without),
        Claim("The HMM is better than the unigram.", f"{hmm:.2f} and {unigram:.2f}.", hmm > unigram, hmm < unigram),
        Claim("R-HMMs are better than the HMM.",
              f"EM {b:.2f} with m = {states[0]}, spectral {a:.2f} with m = {states[1]}, HMM {hmm:.2f}.",
              min(a, b) > hmm and min(states) > 1, max(a, b) < hmm),
        Claim("Spectral is better than EM, significantly (p <= 0.05).",
              f"{a:.2f} and {b:.2f}, p = {p:.4f} (paired randomisation over utterances).", a > b and p <= 0.05,
              a < b and p <= 0.05),
        Claim("Both are comparable to HTK.", f"EM {b:.2f}, spectral {a:.2f}, three segments {htk:.2f}.",
              abs(a - htk) < 1.0 and abs(b - htk) < 1.0),
    ]  # fmt: skip


def _peak(curve: list[tuple[float, float]]) -> tuple[float, float]:
    """The best accuracy of a curve and its number of states."""
    return max((y, m) for m, y in curve)


def _text(report: Report, data: Path) -> None:
    report.section(
        "Text",
        "This is not in the paper: the same model with feature views for words. The table has token accuracy and span "
        "F1 on dev and the processor seconds of training.",
    )
    rows: list[list[Any]] = []
    for name, (train, dev, layout) in list(TEXT.items())[: 1 if report.quick else None]:
        for learner, settings in LEARNERS.items():
            read = partial(_read, data / train, data / dev, layout)
            cell = report.cell(f"text/{name}/{learner}", partial(_scores, read, settings))
            rows.append([name, learner, cell["accuracy"], cell["span_f1"], cell["seconds"]])
    report.table(["corpus", "learner", "accuracy", "span F1", "training, processor s"], rows)
