"""Figures 3 to 5 of Balle et al. (2014): predicting the next part-of-speech tag, over the number of states.

As in the paper: 12 and 45 tags, spectral learning with the Sigma basis and with the k most frequent substrings, EM, and
unigram and bigram baselines. The spectral curves use the paper's moments (substring statistics, Lemma 3.1), but the
learner ``spectral`` does more than the paper: it scales the block, drops small singular values, takes substrings of up
to 8 symbols instead of 4, and mixes trigrams and a state for the last symbols into predictions, with shares chosen on
held-out strings. "Marked" is this library's own variant, and "auto" is its default learner.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from spectragram.automata import Automaton
from spectragram.data.conllu import read_conllu
from spectragram.errors import RankError
from spectragram.plots.charts import line_chart
from spectragram.reproduce.report import Report

__all__ = ["next_tags"]

TAGSETS = {"12 tags": "upos", "45 tags": "xpos"}
STATES = (2, 4, 6, 8, 11, 15, 20, 30, 40, 60, 90)
PAPER = {"12 tags": (69.4, 66.6), "45 tags": (87.2, 69.4)}
"""The paper's WER of unigrams and bigrams, trained on the whole WSJ and scored on section 24."""
CURVES: dict[str, dict[str, Any]] = {
    "spectral, Sigma": {"learner": "spectral", "basis": "sigma", "statistic": "substring"},
    "spectral, top 100": {"learner": "spectral", "basis": 100, "statistic": "substring"},
    "spectral, top 500": {"learner": "spectral", "basis": 500, "statistic": "substring"},
    "spectral, marked top 2000": {"learner": "spectral", "basis": 2000},
    "EM": {"learner": "em"},
    "pivot+EM": {"learner": "pivot+em"},
}


def next_tags(report: Report, data: Path) -> None:
    """Write the section on automata."""
    folder = data / "wsj-dependencies"
    for name, column in TAGSETS.items():
        if report.quick and name != "12 tags":
            continue
        training, dev = (
            [list(getattr(sentence, column)) for sentence in read_conllu(folder / part)]
            for part in ("train.conllu.gz", "dev.conllu")
        )
        report.section(
            f"Next-symbol error, {name} (figures 3 to 5)",
            "A 5 % sample of the paper's corpus (2936 sentences to learn from, 555 to score), so errors are higher for "
            "all and large models overfit earlier. WER: percentage of wrong predictions of the next tag or the end. "
            "The paper's spectral models are the automata alone. Ours (learner `spectral`) also scale rows and columns "
            "of the Hankel block by the inverse roots of their counts, drop singular values below a hundredth of the "
            "largest, look for frequent substrings of up to 8 symbols (the paper: 4), and mix trigrams and a state "
            "that belongs to the last symbols into predictions, with shares chosen on held-out strings.",
        )
        states = (4, 11, 30) if report.quick else STATES

        def error(settings: dict[str, Any], training: Any = training, dev: Any = dev) -> float | None:
            try:
                return float(Automaton(**settings).fit(training).evaluate(dev)["wer"])
            except RankError:  # Lemma 3.1 cannot be inverted, so there is no automaton of strings
                return None

        curves = {
            label: [
                (n, report.cell(f"{name}, {label}, {n}", partial(error, settings | {"n_states": n}))) for n in states
            ]
            for label, settings in CURVES.items()
        }
        _write(report, name, curves, states, error)


def _write(report: Report, name: str, curves: dict[str, Any], states: tuple[int, ...], error: Any) -> None:
    alone = {
        "unigram": {"learner": "unigram"},
        "bigram": {"learner": "bigram"},
        "4-gram": {"learner": "ngram", "order": 4},
        "spectral, states by held-out strings": {"learner": "spectral"},
        "auto": {},
    }
    single = {label: report.cell(f"{name}, {label}", partial(error, settings)) for label, settings in alone.items()}
    report.table(["states", *map(str, states)], [[label, *(y for _, y in points)] for label, points in curves.items()])
    paper = dict(zip(("unigram", "bigram"), PAPER[name], strict=True))
    report.table(["model", "WER", "paper (whole WSJ)"], [[label, y, paper.get(label)] for label, y in single.items()])
    drawn = {label: [(x, y) for x, y in points if y is not None] for label, points in curves.items()}
    drawn |= {
        label: [(float(states[0]), single[label]), (float(states[-1]), single[label])] for label in ("bigram", "auto")
    }
    chart = line_chart(drawn, x_label="states", y_label="WER, %", log_x=True, title=f"Next-symbol error, {name}")
    report.figure(f"wer-{name.split()[0]}", chart, f"Next-symbol error over the number of states, {name}")
