"""Figures on real corpora; the floors are the goals set for this kind, measured on dev parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from spectragram.data.labelled import Layout, read_labelled
from spectragram.tagging import Tagger


@pytest.mark.slow
def test_parts_of_speech_of_the_web_treebank(data_dir: Path) -> None:
    train, dev = (read_labelled(data_dir / f"ud-ewt/en_ewt-ud-{part}.conllu.gz", Layout()) for part in ("train", "dev"))
    assert sum(map(len, train.y)) == 204_577  # the treebank's README
    assert Tagger(learner="hmm", factors=False).fit(train).evaluate(dev)["accuracy"] > 91.8
    assert Tagger(n_models=1, factors=False).fit(train).evaluate(dev)["accuracy"] > 94.3
    assert Tagger().fit(train).evaluate(dev)["accuracy"] > 95.2


@pytest.mark.slow
def test_chunks_by_the_plain_spectral_learner_and_with_factors(data_dir: Path) -> None:
    layout = Layout("columns", (0, 1), "-1")
    train, dev = (read_labelled(data_dir / "conll2000" / name, layout) for name in ("train.txt.gz", "dev.txt"))
    scores = Tagger(12, "spectral").fit(train).evaluate(dev)
    assert scores["accuracy"] > 94.8
    assert scores["span_f1"] > 91
    scores = Tagger().fit(train).evaluate(dev)
    assert scores["accuracy"] > 96.5
    assert scores["span_f1"] > 94.3


@pytest.mark.slow
def test_phones_by_gaussian_states(data_dir: Path) -> None:
    layout = Layout(drop=("sa1", "sa2"))
    train, dev = (read_labelled(data_dir / f"timit-sample/{part}.npz", layout) for part in ("train", "dev"))
    assert len(train.X) == 88 and sum(map(len, dev.y)) == 4534
    assert Tagger().fit(train).evaluate(dev)["accuracy"] > 60
