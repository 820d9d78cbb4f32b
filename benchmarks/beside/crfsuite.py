"""python-crfsuite with the usual window features: accuracy and seconds beside our tagger, turn by turn.

Both get the same files. The time is that of training and of labelling dev, on one core; reading is left out and, for
crfsuite, the making of feature strings as well.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.accuracy.tagger import CORPORA
from benchmarks.measure import Row, data_folder, ratio_row, row, take_turns
from spectragram.data.labelled import Layout, read_labelled
from spectragram.metrics import tagging_scores
from spectragram.reproduce.entities import crf_labels
from spectragram.tagging import Tagger

ITERATIONS = 60
PEER = f"CRF, {ITERATIONS} iterations, same run"
Labels = list[list[str]]


def run(quick: bool) -> list[Row]:
    data = data_folder()
    if data is None or find_spec("pycrfsuite") is None:
        return []
    names = list(CORPORA)[: 1 if quick else None]
    return [found for name in names for found in _compared(data, name, *CORPORA[name], quick)]


def _compared(data: Path, name: str, train_file: str, dev_file: str, layout: Layout, quick: bool) -> list[Row]:
    train, dev = read_labelled(data / train_file, layout), read_labelled(data / dev_file, layout)
    n = len(train.X) // (8 if quick else 1)
    labelled = [(crf_features(x), y) for x, y in zip(train.X[:n], train.y[:n], strict=True)]
    unlabelled = [crf_features(x) for x in dev.X]
    predicted: dict[str, Labels] = {}

    def ours() -> None:
        predicted["ours"] = Tagger(n_jobs=1).fit(train.X[:n], train.y[:n]).predict(dev.X)

    def theirs() -> None:
        predicted["theirs"] = crf_labels(labelled, unlabelled, max_iterations=ITERATIONS)

    Tagger().fit(train.X[:100], train.y[:100]).predict(dev.X[:10])  # compiled before the clock starts
    seconds = take_turns({"ours": ours, "theirs": theirs}, 1 if quick else 2)
    score = partial(tagging_scores, dev.y)
    our_scores, their_scores = score(predicted["ours"]), score(predicted["theirs"])
    rows = [
        row(name, measure, our_scores[measure], their_scores[measure], PEER, "higher")
        for measure in ("accuracy", "span_f1")
        if measure in our_scores
    ]
    return [*rows, ratio_row(f"{name}: train and label", "crfsuite", seconds["theirs"], seconds["ours"])]


def crf_features(sequence: list[Any]) -> list[list[str]]:
    """Words and other columns two to the left to two to the right, affixes and shape: what CRF taggers usually get."""
    tokens = [token if isinstance(token, tuple) else (token,) for token in sequence]
    rows = []
    for i, (word, *_) in enumerate(tokens):
        features = ["bias", f"shape={word.isupper()}{word.istitle()}{word.isdigit()}{'-' in word}"]
        features += [f"suffix={word[-n:].lower()}" for n in (1, 2, 3, 4)] + [f"prefix={word[:3].lower()}"]
        for k in (-2, -1, 0, 1, 2):
            here = tokens[i + k] if 0 <= i + k < len(tokens) else ("<>",)
            features += [f"{k}:{column}={text.lower()}" for column, text in enumerate(here)]
        rows.append(features)
    return rows
