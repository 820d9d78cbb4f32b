"""Taggers on dev sets: chunks, parts of speech, names and phones (a CRF on the same files: beside/crfsuite)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, data_folder, row
from spectragram.data.labelled import LabelledFile, Layout, read_labelled
from spectragram.tagging import SPEECH_VIEWS, Tagger

WORD_AND_TAG = Layout("columns", (0, 1), "-1")
WORD = Layout("columns", (0,), "-1")
CORPORA: dict[str, tuple[str, str, Layout]] = {
    "EWT UPOS": ("ud-ewt/en_ewt-ud-train.conllu.gz", "ud-ewt/en_ewt-ud-dev.conllu.gz", Layout()),
    "CoNLL-2000, word+POS": ("conll2000/train.txt.gz", "conll2000/dev.txt", WORD_AND_TAG),
    "CoNLL-2000, words": ("conll2000/train.txt.gz", "conll2000/dev.txt", WORD),
    "CoNLL-2002 Spanish": ("conll2002/esp.train.gz", "conll2002/esp.testa", WORD_AND_TAG),
    "CoNLL-2002 Dutch": ("conll2002/ned.train.gz", "conll2002/ned.testa", WORD_AND_TAG),
    "WNUT-17": ("wnut17/train.conll", "wnut17/dev.conll", WORD),
}
TARGETS = {
    ("EWT UPOS", "spectral+em"): 94.5,
    ("EWT UPOS", "spectral"): 94.0,
    ("EWT UPOS", "with factors"): 95.3,
    ("CoNLL-2000, word+POS", "spectral+em"): 95.3,
    ("CoNLL-2000, word+POS", "spectral"): 94.8,
    ("CoNLL-2000, words", "spectral+em"): 94.2,
}
SPECTRAL_STATES = 12
SPEECH = Layout("npz", drop=("sa1", "sa2"))
score = partial(row, better="higher")


def run(quick: bool) -> list[Row]:
    data = data_folder()
    if data is None:
        return []
    rows = []
    for name in islice(CORPORA, 2) if quick else CORPORA:
        train, dev = (read_labelled(data / part, CORPORA[name][2]) for part in CORPORA[name][:2])
        rows += _text_rows(name, train, dev, quick)
    return [*rows, *_speech_rows(data / "timit-sample", quick)]


def _text_rows(name: str, train: LabelledFile, dev: LabelledFile, quick: bool) -> Iterator[Row]:
    taggers = {
        "hmm": Tagger(learner="hmm", factors=False),
        "spectral": Tagger(SPECTRAL_STATES, "spectral"),
        "spectral+em": Tagger(factors=False),
        "with factors": Tagger(),
    }
    if not quick:
        taggers |= {
            "em": Tagger(8, "em", factors=False),
            "pivot+em": Tagger(learner="pivot+em", factors=False),
            "with factors, best (4 models)": Tagger(preset="best"),
        }
    for learner, tagger in taggers.items():
        scores = tagger.fit(train).evaluate(dev)
        for measure in ("accuracy", "span_f1"):
            if measure not in scores:
                continue
            goal = TARGETS.get((name, learner)) if measure == "accuracy" else None
            yield score(f"{name}: {learner}", measure, scores[measure], goal, "target")


def _speech_rows(folder: Path, quick: bool) -> Iterator[Row]:
    """Frame accuracy: the paper's figures 5, 7 and 8 on a smaller corpus, then Gaussian states."""
    train, dev = (read_labelled(folder / f"{part}.npz", SPEECH) for part in ("train", "dev"))

    def accuracy(dev_stop: bool = False, **parameters: Any) -> float:
        return Tagger(**parameters).fit(train, dev=dev if dev_stop else None).evaluate(dev)["accuracy"]

    name = "TIMIT sample"
    yield score(f"{name}: unigram", "frame accuracy", accuracy(learner="unigram"), 48.04, "paper, full TIMIT")
    hmm = accuracy(learner="hmm", emissions="classes")
    yield score(f"{name}: hmm", "frame accuracy", hmm, 54.08, "paper, full TIMIT")
    sizes = (4,) if quick else (2, 4, 8, 16, 24)
    best_em = 0.0
    for m in sizes:
        # As the paper does for EM: the iteration that scores best on dev.
        value = accuracy(dev_stop=True, n_states=m, learner="em", emissions="classes", max_iter=15, n_starts=1)
        best_em = max(best_em, value)
        yield score(f"{name}: em({m})", "frame accuracy", value, 56.80, "paper, EM(4), full TIMIT dev")
    for m in sizes:
        value = accuracy(n_states=m, learner="spectral")
        if m == 4:
            yield score(f"{name}: spectral({m})", "frame accuracy", value, hmm + 1.5, "HMM + 1.5")
            yield score(f"{name}: spectral({m})", "frame accuracy", value, best_em, "best EM, same run")
        else:
            yield score(f"{name}: spectral({m})", "frame accuracy", value, 56.94, "paper, m=24, full TIMIT dev")
    for dropped in (["position"], ["position", "next", "previous"]):
        views = SPEECH_VIEWS.without(*dropped)
        given = {view: list(getattr(views, view)) for view in ("future", "past", "present", "destiny")}
        value = accuracy(n_states=4, learner="spectral", views=given)
        yield score(f"{name}: spectral(4) without {', '.join(dropped)}", "frame accuracy", value)
    yield score(f"{name}: Gaussian hmm", "frame accuracy", accuracy(learner="hmm"))
    yield score(f"{name}: Gaussian states, one model", "frame accuracy", accuracy(n_models=1), 60.0, "target")
    yield score(f"{name}: Gaussian states (default)", "frame accuracy", accuracy(), 60.0, "target")
