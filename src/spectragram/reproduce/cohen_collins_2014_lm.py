"""Table 2 of Cohen & Collins (2014): the Saul-Pereira model on the Brown corpus, and on WikiText-2.

As in the paper, the first half of the development text chooses the number of iterations, and perplexity is reported on
the second half and on the test text. Words seen only once become the unknown word, which is not scored.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

from spectragram.data.corpus import Corpus
from spectragram.data.text import read_text
from spectragram.lm import LanguageModel
from spectragram.plots.charts import line_chart
from spectragram.reproduce.report import Report

__all__ = ["language_model"]

STATES = (2, 4, 8, 16, 32, 128, 256)
"""The numbers of states in table 2 of the paper."""
PAPER = {
    "EM": ((737, 599, 488, 468, 430, 388, 365), (14, 14, 19, 12, 10, 9, 8), 364),
    "pivot": ((852, 718, 605, 559, 537, 426, 597), None, 560),
    "pivot+EM": ((758, 582, 502, 425, 374, 310, 327), (2, 3, 2, 1, 1, 1, 1), 357),
    "bigram KN": (None, None, 415),
    "trigram KN": (None, None, 394),
}
"""Table 2 of the paper: dev perplexity and EM iterations for each number of states, and test perplexity."""
OURS: dict[str, dict[str, Any]] = {
    "EM": {"learner": "em", "prior": 0.0, "start_shape": 3.0},
    "EM, even start": {"learner": "em", "prior": 0.0},
    "pivot": {"learner": "pivot", "prior": 0.0},
    "pivot+EM": {"learner": "pivot+em", "prior": 0.0},
    "EM, prior": {"learner": "em"},
    "pivot, prior": {"learner": "pivot"},
    "pivot+EM, prior": {"learner": "pivot+em"},
    "mixed": {"learner": "mixed"},
}
CORPORA = {
    "Brown": ("brown-text/lm/train.txt.gz", "brown-text/lm/dev.txt.gz", "brown-text/lm/test.txt"),
    "WikiText-2": ("wikitext-2/train.txt.gz", "wikitext-2/valid.txt.gz", "wikitext-2/test.txt.gz"),
}


def language_model(report: Report, data: Path) -> None:
    """Write the sections on language models, one for each corpus."""
    states = (8, 32, 128) if report.quick else STATES
    for name, files in CORPORA.items():
        if report.quick and name != "Brown":
            continue
        texts = _Texts(*(data / file for file in files))
        report.section(f"Language model, {name} (table 2)", _introduction(name))
        rows = [_row(report, texts, name, label, settings, states) for label, settings in OURS.items()]
        rows += [_kneser_ney(report, texts, name, order) for order in (2, 3)]
        _table(report, name, states, rows)
        curves = {
            row["label"]: [(m, cell["dev"]) for m, cell in zip(states, row["cells"], strict=True)]
            for row in rows
            if row["cells"]
        }
        chart = line_chart(curves, x_label="hidden classes m", y_label="perplexity, dev 2", log_x=True)
        report.figure(f"lm-{name.lower()}", chart, f"Perplexity over hidden classes, {name}")


def _introduction(name: str) -> str:
    if name != "Brown":
        return "This is not in the paper: the same settings on a larger public text."
    return (
        "The paper's split of the Brown corpus (800k / 200k / rest). The tokenisation differs slightly: the paper has "
        "24,488 words and 165,171 test tokens, we have 24,538 and 161,192. EM depends most on how uniform its random "
        "start is: the start of 'EM' is as uneven as the paper's figures suggest, and that of 'even start', our "
        "default, is nearly uniform. In the 'prior' rows rare histories are pulled towards the overall distribution of "
        "classes with the strength of 10 words, which the paper does not do. 'Mixed' adds Kneser-Ney and classes of "
        "the second last word."
    )


class _Texts:
    """The four texts of an experiment; the development text is split in two."""

    def __init__(self, train: Path, dev: Path, test: Path) -> None:
        self.train, self.test = read_text(train), read_text(test)
        whole = read_text(dev)
        cut = int(whole.offsets.searchsorted(whole.n_tokens // 2))
        self.first: Corpus = whole.slice(0, cut)
        self.second: Corpus = whole.slice(cut, len(whole))

    def scores(self, n_states: int, settings: dict[str, Any]) -> dict[str, Any]:
        """Train one model: perplexities, EM iterations and seconds."""
        started = time.perf_counter()
        model = LanguageModel(n_states, n_jobs=-1, **settings).fit(self.train, dev=self.first)
        return {
            "dev": model.perplexity(self.second),
            "test": model.perplexity(self.test),
            "iterations": model.n_iter_.get(1),
            "seconds": time.perf_counter() - started,
        }


def _row(
    report: Report, texts: _Texts, corpus: str, label: str, settings: dict[str, Any], states: tuple[int, ...]
) -> dict[str, Any]:
    cells = [report.cell(f"lm/{corpus}/{label}/{m}", partial(texts.scores, m, settings)) for m in states]
    best = min(cells, key=lambda cell: cell["dev"])
    return {"label": label, "cells": cells, "test": best["test"], "seconds": best["seconds"]}


def _kneser_ney(report: Report, texts: _Texts, corpus: str, order: int) -> dict[str, Any]:
    settings = {"learner": "kn", "order": order}
    cell = report.cell(f"lm/{corpus}/kn{order}", lambda: texts.scores(1, settings))
    label = {2: "bigram KN", 3: "trigram KN"}[order]
    return {"label": label, "cells": [], "dev": cell["dev"], "test": cell["test"], "seconds": cell["seconds"]}


def _table(report: Report, corpus: str, states: tuple[int, ...], rows: list[dict[str, Any]]) -> None:
    """Dev perplexity (EM iterations) for each m and test perplexity at the best m; the paper's rows are below ours."""
    header = ["", *(f"m={m}" for m in states), "test", "test, paper", "seconds at best m"]
    body: list[list[Any]] = []
    for row in rows:
        theirs = PAPER.get(row["label"]) if corpus == "Brown" else None
        shown = [_cell(c["dev"], c["iterations"]) for c in row["cells"]] or [_cell(row["dev"], None)]
        shown += [""] * (len(states) - len(shown))
        test = f"{row['test']:.1f}"
        body.append([row["label"], *shown, test, theirs[2] if theirs else None, f"{row['seconds']:.1f}"])
        if theirs and theirs[0]:
            values = dict(zip(STATES, theirs[0], strict=True))
            steps = dict(zip(STATES, theirs[1], strict=True)) if theirs[1] else {}
            paper = [_cell(values[m], steps.get(m)) for m in states]
            body.append([f"*{row['label']}, paper*", *paper, None, theirs[2], None])
    report.table(header, body)


def _cell(value: float, iterations: int | None) -> str:
    return f"{value:.0f}" + (f" ({iterations})" if iterations is not None else "")
