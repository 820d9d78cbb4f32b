"""How to exercise Pipeline quickly."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spectragram.data import Sentence, write_conllu
from spectragram.pipeline import Pipeline
from spectragram.synthetic import english_treebank
from tests.test_estimator_contract import ContractCase

TREES = english_treebank(40, seed=3)
TEXT = "The old dog chased a fox in the garden. She didn't see Boris's hat!\n\nIt was small."


def make(**changes: object) -> Pipeline:
    return Pipeline(**({"n_states": 2, "preset": "fast", "n_folds": 2} | changes))


def outputs(model: Pipeline) -> list[np.ndarray]:
    rows = [row for sentence in model(TEXT) for row in sentence.rows]
    return [np.array([row[column] for row in rows]) for column in (1, 2, 3, 4, 5, 6, 7, 9)]


def write(folder: Path) -> Path:
    path = folder / "trees.conllu"
    write_conllu(TREES, path)
    return path


def trees(heads: list[str], **columns: list[str]) -> list[Sentence]:
    return [Sentence.from_words(["a"] * len(heads), head=heads, **columns)]


CASE = ContractCase(
    make=make,
    X=lambda: list(TREES),
    outputs=outputs,
    write=write,
    options=["--states", "2", "--fast", "--folds", "2"],
    changed={
        "n_states": 3,
        "learner": "em",
        "preset": "best",
        "n_models": 2,
        "n_folds": 3,
        "clusters": "no-such-file",
        "random_state": 9,
    },
    grid={"n_folds": [0, 2]},
    bad_fits={
        "empty": lambda model: model.fit([]),
        "words instead of sentences": lambda model: model.fit([["the", "dog"]]),
        "a cycle": lambda model: model.fit(trees(["2", "1"], upos=["X", "X"])),
        "two roots": lambda model: model.fit(trees(["0", "0"], upos=["X", "X"])),
        "no states": lambda model: model.set_params(n_states=0).fit(TREES),
        "folds below zero": lambda model: model.set_params(n_folds=-1).fit(TREES),
    },
)
