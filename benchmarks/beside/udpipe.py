"""UDPipe 1 (C++) and our pipeline, trained on the same treebanks: every column, from raw text and from the right words.

Eight small treebanks of Universal Dependencies and the English Web Treebank, scored on dev; treebanks without a dev
part give the last tenth of their training part. UDPipe is trained with its defaults and ten iterations of the parser
(also its default). Both sides read the same text, which is put together from the gold tokens.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.measure import Row, data_folder, row
from spectragram.data import Sentence, parse_conllu, read_conllu
from spectragram.metrics import universal_scores
from spectragram.pipeline import Pipeline
from spectragram.pipeline.raw_text import plain_text

if TYPE_CHECKING:
    import ufal.udpipe as udpipe

SMALL = (
    "Belarusian-HSE", "Tamil-TTB", "Galician-TreeGal", "Maltese-MUDT", "Afrikaans-AfriBooms", "Latin-Perseus",
    "Slovenian-SST", "Uyghur-UDT",
)  # fmt: skip
EWT = "English-EWT"
SCORES = ("words", "sentences", "upos", "xpos", "ufeats", "lemmas", "uas", "las", "mlas", "blex")
PARSER = "iterations=10"
LANGUAGE_OF_ALL = "mean of all"
Result = TypeVar("Result")


def run(quick: bool) -> list[Row]:
    data = data_folder()
    if data is None or find_spec("ufal") is None or find_spec("ufal.udpipe") is None:
        return []
    rows: list[Row] = []
    for name in SMALL[:1] if quick else (*SMALL, EWT):
        rows += _compared(name, *treebank(data, name))
        for found in rows[-len(SCORES) * 2 - 4 :]:  # a run takes hours: show what there is
            print(f"{found['name']}\t{found['measure']}\t{found['value']:.2f}\t{found['anchor']:.2f}", flush=True)
    return rows + _means(rows)


def treebank(data: Path, name: str) -> tuple[list[Sentence], list[Sentence]]:
    """Training and dev sentences; the last tenth of the training part where there is no dev part."""
    if name == EWT:
        parts = [data / "ud-ewt" / f"en_ewt-ud-{part}.conllu.gz" for part in ("train", "dev")]
    else:
        parts = [data / "ud-small" / f"{name}.{part}.conllu.gz" for part in ("train", "dev")]
    train = list(read_conllu(parts[0]))
    if parts[1].exists():
        return train, list(read_conllu(parts[1]))
    n = len(train) - len(train) // 10
    return train[:n], train[n:]


def _compared(name: str, train: list[Sentence], dev: list[Sentence]) -> list[Row]:
    """Both sides trained, then scored and timed on dev from raw text and from words."""
    Pipeline(preset="fast").fit(train[:40])("warm up")  # compiled before the clock starts
    (ours, our_seconds), (theirs, their_seconds) = (
        _timed(lambda: Pipeline().fit(train)),
        _timed(lambda: trained_udpipe(train, "", "", PARSER)),
    )
    rows = [_ratio(f"{name}: train", their_seconds, our_seconds, 10.0)]
    text = plain_text(dev)
    for start in ("raw", "words"):
        if start == "raw":
            (mine, our_time), (peer, their_time) = _timed(lambda: ours(text)), _timed(lambda: annotated(theirs, text))
        else:
            (mine, our_time), (peer, their_time) = (
                _timed(lambda: ours.predict(dev, replace=("lemma", "upos", "xpos", "feats", "head", "deprel"))),
                _timed(lambda: annotated(theirs, dev)),
            )
        gold = [sentence.rows for sentence in dev]
        our_scores = universal_scores(gold, (sentence.rows for sentence in mine))
        their_scores = universal_scores(gold, (sentence.rows for sentence in peer))
        for score in SCORES:
            anchor = their_scores[score]
            rows.append(row(f"{name}, from {start}", score, our_scores[score], anchor, "UDPipe 1, same run", "higher"))
        rows.append(_ratio(f"{name}, from {start}: annotate", their_time, our_time, 1.0))
    return rows


def _timed(task: Callable[[], Result]) -> tuple[Result, float]:
    """The result of a task and the processor seconds it took, those of all threads together."""
    started = time.process_time()
    result = task()
    return result, time.process_time() - started


def _ratio(name: str, theirs: float, ours: float, goal: float) -> Row:
    return row(name, "UDPipe / ours, CPU s", theirs / ours, goal, "target", "higher")


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


def trained_udpipe(train: list[Sentence], tokenizer: str, tagger: str, parser: str) -> udpipe.Model:
    """UDPipe trained with these options: an empty string means the defaults, ``none`` leaves a part out."""
    import ufal.udpipe as udpipe

    error, nothing = udpipe.ProcessingError(), udpipe.Sentences()
    parts = tokenizer, tagger, parser
    model = udpipe.Trainer.train("morphodita_parsito", udpipe.Sentences(as_udpipe(train)), nothing, *parts, error)
    if error.occurred():
        raise RuntimeError(f"UDPipe: {error.message}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(model)
        return udpipe.Model.load(str(path))


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


def as_udpipe(sentences: list[Sentence]) -> list[udpipe.Sentence]:
    """Our sentences as theirs."""
    import ufal.udpipe as udpipe

    found, error = [], udpipe.ProcessingError()
    reader = udpipe.InputFormat.newConlluInputFormat()
    reader.setText("".join(f"{sentence}\n" for sentence in sentences))
    sentence = udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        found.append(sentence)
        sentence = udpipe.Sentence()
    if error.occurred():
        raise RuntimeError(f"UDPipe: {error.message}")
    return found
