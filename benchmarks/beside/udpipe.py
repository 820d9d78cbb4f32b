"""UDPipe 1 (C++) and our pipeline, trained on the same treebanks: every column, from raw text and from the right words.

    python -m benchmarks beside/udpipe                    all treebanks
    python -m benchmarks.beside.udpipe English-EWT        some of them, nothing is added to the history

Eight small treebanks of Universal Dependencies and the English Web Treebank, scored on dev; treebanks without a dev
part give the last tenth of their training part. UDPipe is trained with its defaults once, which takes it hours for all
treebanks; so its models are kept with their processor seconds (``benchmarks/udpipe_models.py``). Ours is trained with
three seeds: its scores are means, with the smallest and the largest. Both sides read the same text, which is put
together from the gold tokens.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from benchmarks.__main__ import HEADER, table_line
from benchmarks.measure import Row, data_folder, ratio_row, row
from benchmarks.udpipe_models import EWT, trained_model, treebank
from spectragram.cli.console import print_table
from spectragram.data import Sentence, parse_conllu
from spectragram.metrics import universal_scores
from spectragram.pipeline import Pipeline
from spectragram.pipeline.model import COLUMNS
from spectragram.pipeline.raw_text import plain_text

if TYPE_CHECKING:
    import ufal.udpipe as udpipe

SMALL = (
    "Belarusian-HSE", "Tamil-TTB", "Galician-TreeGal", "Maltese-MUDT", "Afrikaans-AfriBooms", "Latin-Perseus",
    "Slovenian-SST", "Uyghur-UDT",
)  # fmt: skip
SCORES = ("words", "sentences", "upos", "xpos", "ufeats", "lemmas", "uas", "las", "mlas", "blex")
SEEDS = (0, 1, 2)
LANGUAGE_OF_ALL = "mean of all"
Result = TypeVar("Result")


def run(quick: bool, names: Sequence[str] = (*SMALL, EWT)) -> list[Row]:
    data = data_folder()
    if data is None or find_spec("ufal") is None or find_spec("ufal.udpipe") is None:
        return []
    rows: list[Row] = []
    for name in SMALL[:1] if quick else names:
        rows += (new := _compared(name, *treebank(data, name), seeds=SEEDS[:1] if quick else SEEDS))
        for found in new:  # a run takes long: show what there is
            print(f"{found['name']}\t{found['measure']}\t{found['value']:.2f}\t{found['anchor']:.2f}", flush=True)
    return rows + _means(rows)


def _compared(name: str, train: list[Sentence], dev: list[Sentence], seeds: Sequence[int]) -> list[Row]:
    """Both sides trained, then scored and timed on dev from raw text and from words."""
    Pipeline(preset="fast").fit(train[:40])("warm up")  # compiled before the clock starts
    theirs, their_seconds = trained_model(name, train)
    trained = [_timed(partial(Pipeline(random_state=seed).fit, train)) for seed in seeds]
    rows = [ratio_row(f"{name}: train", "UDPipe", [their_seconds] * len(seeds), [s for _, s in trained], 10.0)]
    for start in ("raw", "words"):
        rows += _annotated_rows(f"{name}, from {start}", [model for model, _ in trained], theirs, dev, start)
    return rows


def _annotated_rows(
    name: str, ours: list[Pipeline], theirs: udpipe.Model, dev: list[Sentence], start: str
) -> list[Row]:
    """Scores of our models and of theirs, and the ratio of processor seconds; the two take turns."""
    text, gold = plain_text(dev), [sentence.rows for sentence in dev]
    our_scores, our_seconds, their_seconds = [], [], []
    for model in ours:
        found, seconds = _timed(
            partial(model, text) if start == "raw" else partial(model.predict, dev, replace=COLUMNS)
        )
        our_scores.append(universal_scores(gold, (sentence.rows for sentence in found)))
        our_seconds.append(seconds)
        found, seconds = _timed(partial(annotated, theirs, text if start == "raw" else dev))
        their_seconds.append(seconds)
    their_scores = universal_scores(gold, (sentence.rows for sentence in found))
    rows = [_seeds_row(name, score, [each[score] for each in our_scores], their_scores[score]) for score in SCORES]
    return [*rows, ratio_row(f"{name}: annotate", "UDPipe", their_seconds, our_seconds)]


def _seeds_row(name: str, score: str, ours: list[float], theirs: float) -> Row:
    found = row(name, score, statistics.mean(ours), theirs, "UDPipe 1, same treebank", "higher")
    return found | {"spread": [min(ours), max(ours)], "turns": len(ours)}


def _timed(task: Callable[[], Result]) -> tuple[Result, float]:
    """The result of a task and the processor seconds it took, those of all threads together."""
    started = time.process_time()
    result = task()
    return result, time.process_time() - started


def _means(rows: list[Row]) -> list[Row]:
    """Mean scores over treebanks, and in how many of them we are at least equal."""
    means = []
    for start in ("raw", "words"):
        for score in SCORES:
            own = [r for r in rows if r["name"].endswith(f", from {start}") and r["measure"] == score]
            values, anchors = [r["value"] for r in own], [r["anchor"] for r in own]
            at_least = sum(a >= b for a, b in zip(values, anchors, strict=True))
            name = f"{LANGUAGE_OF_ALL}, from {start} (at least equal on {at_least} of {len(own)})"
            means.append(row(name, score, statistics.mean(values), statistics.mean(anchors), "UDPipe 1", "higher"))
    return means


def annotated(model: udpipe.Model, given: str | list[Sentence]) -> list[Sentence]:
    """What UDPipe makes of raw text, or of sentences of which it sees the words only."""
    import ufal.udpipe as udpipe

    form = "tokenize" if isinstance(given, str) else "conllu"
    text = given if isinstance(given, str) else "".join(f"{sentence}\n" for sentence in given)
    default, error = udpipe.Pipeline.DEFAULT, udpipe.ProcessingError()
    found = udpipe.Pipeline(model, form, default, default, "conllu").process(text, error)
    if error.occurred():
        raise RuntimeError(f"UDPipe: {error.message}")
    return parse_conllu(found)


if __name__ == "__main__":
    found = run(quick=False, names=sys.argv[1:] or (*SMALL, EWT))
    print_table(HEADER, [table_line(each) for each in found])
