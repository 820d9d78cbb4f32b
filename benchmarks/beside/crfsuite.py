"""python-crfsuite with the full usual template: accuracy and seconds beside our tagger, turn by turn.

Both get the same files. The time is that of training and of labelling dev, on one core; reading is left out and, for
crfsuite, the making of feature strings as well.
"""

from __future__ import annotations

import statistics
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.accuracy.tagger import CORPORA
from benchmarks.measure import Row, data_folder, ratio_row, row, take_turns
from spectragram.data.labelled import Layout, read_labelled
from spectragram.metrics import tagging_scores
from spectragram.reproduce.entities import crf_labels
from spectragram.tagging import Tagger

ITERATIONS = 100
"""As CRFsuite's own examples use, and enough for dev scores to stop moving."""
REGULARISATIONS = ({"c1": 0.1, "c2": 0.01}, {"c1": 0.0, "c2": 1.0})
"""The setting of python-crfsuite's own examples, and CRFsuite's defaults. The peer gets whichever is better on dev."""
PEER = f"CRF, {ITERATIONS} iterations, better of two regularisations, same run"
SEEDS = 3
Labels = list[list[str]]


def run(quick: bool) -> list[Row]:
    data = data_folder()
    if data is None or find_spec("pycrfsuite") is None:
        return []
    names = list(CORPORA)[: 1 if quick else None]
    return [found for name in names for found in _compared(data, name, *CORPORA[name], quick)]


def _compared(data: Path, name: str, train_file: str, dev_file: str, layout: Layout, quick: bool) -> list[Row]:
    """Our scores are means over seeds, one seed a turn, with the smallest and the largest; the CRF has no seed."""
    train, dev = read_labelled(data / train_file, layout), read_labelled(data / dev_file, layout)
    n = len(train.X) // (8 if quick else 1)
    labelled = [(crf_features(x), y) for x, y in zip(train.X[:n], train.y[:n], strict=True)]
    unlabelled = [crf_features(x) for x in dev.X]
    ours: list[Labels] = []
    theirs: list[Labels] = []

    def our_turn() -> None:
        ours.append(Tagger(n_jobs=1, random_state=len(ours)).fit(train.X[:n], train.y[:n]).predict(dev.X))

    def their_turn() -> None:
        chosen = REGULARISATIONS[len(theirs) % len(REGULARISATIONS)]
        theirs.append(crf_labels(labelled, unlabelled, max_iterations=ITERATIONS, regularisation=chosen))

    Tagger().fit(train.X[:100], train.y[:100]).predict(dev.X[:10])  # compiled before the clock starts
    seconds = take_turns({"ours": our_turn, "theirs": their_turn}, 2 if quick else SEEDS)
    our_scores, their_scores = ([tagging_scores(dev.y, labels) for labels in side] for side in (ours, theirs))
    rows = []
    for measure in ("accuracy", "span_f1"):
        if measure in our_scores[0]:
            values = [scores[measure] for scores in our_scores]
            best = max(scores[measure] for scores in their_scores)
            found = row(name, measure, statistics.mean(values), best, PEER, "higher")
            rows.append(found | {"spread": [min(values), max(values)], "turns": len(values)})
    return [*rows, ratio_row(f"{name}: train and label", "crfsuite", seconds["theirs"], seconds["ours"])]


def crf_features(sequence: list[Any]) -> list[list[str]]:
    """The full template that CRF taggers usually get.

    Words and other columns two to each side with their bigrams, trigrams of the other columns (the template of
    CRFsuite's own chunking example), affixes of up to four letters, shapes of the word and its neighbours.
    """
    tokens = [token if isinstance(token, tuple) else (token,) for token in sequence]
    words = [token[0] for token in tokens]
    columns = [[word.lower() for word in words], *([token[c] for token in tokens] for c in range(1, len(tokens[0])))]
    shapes = [_shape(word) for word in words]

    def at(column: list[str], *places: int) -> str:
        return "|".join(column[k] if 0 <= k < len(column) else "<>" for k in places)

    rows = []
    for i, word in enumerate(words):
        features = ["bias", f"word={word}", f"form={word.isupper()}{word.istitle()}{word.isdigit()}{'-' in word}"]
        features += [f"suffix={word[-n:].lower()}" for n in (1, 2, 3, 4)]
        features += [f"prefix={word[:n].lower()}" for n in (1, 2, 3, 4)]
        features += [f"{k}:shape={at(shapes, i + k)}" for k in (-1, 0, 1)]
        features += [f"{k}:shapes={at(shapes, i + k, i + k + 1)}" for k in (-1, 0)]
        for c, column in enumerate(columns):
            features += [f"{k}:{c}={at(column, i + k)}" for k in (-2, -1, 0, 1, 2)]
            features += [f"{k}:{c}+={at(column, i + k, i + k + 1)}" for k in ((-1, 0) if c == 0 else (-2, -1, 0, 1))]
            if c > 0:
                features += [f"{k}:{c}++={at(column, i + k, i + k + 1, i + k + 2)}" for k in (-2, -1, 0)]
        rows.append(features)
    return rows


def _shape(word: str) -> str:
    """Capitals as X, small letters as x, digits as d, each run once.

    >>> _shape("Mid-1990s")
    'Xx-dx'
    """
    marks = ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)
    return "".join(mark for mark, _ in groupby(marks))
