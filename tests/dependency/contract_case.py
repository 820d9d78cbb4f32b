"""How to exercise DependencyParser quickly."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spectragram.data import Sentence, write_conllu
from spectragram.dependency import DependencyParser
from spectragram.dependency.settings import RECIPES
from spectragram.synthetic import english_dependencies
from tests.test_estimator_contract import ContractCase

TREES = english_dependencies(50, seed=3)
SOME = english_dependencies(5, seed=4)


def make(**changes: object) -> DependencyParser:
    # The coarse tags: with few tags the golden file is small.
    return DependencyParser(**({"n_states": 2, "n_epochs": 1, "max_iter": 3, "tag_column": "upos"} | changes))


def outputs(model: DependencyParser) -> list[np.ndarray]:
    parsed = model.predict(SOME)
    return [
        np.concatenate([sentence.heads for sentence in parsed]),
        np.array([label for sentence in parsed for label in sentence.deprels]),
        np.concatenate([marginals.ravel() for marginals in model.marginals(SOME)]),
        model.log_prob(SOME),
    ]


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
    options=["--states", "2", "--epochs", "1", "--iterations", "3", "--tags", "upos"],
    changed=RECIPES["paper"]
    | {
        "recipe": "paper",
        "n_states": 3,
        "learner": "det",
        "factors": False,
        "words": False,
        "clusters": "no-such-file",
        "preset": "fast",
        "tag_column": "xpos",
        "crossing": False,
        "max_iter": 1,
        "n_epochs": 0,
        "n_models": 7,
        "basis": "sigma-lambda",
        "min_mass": 0.5,
        "random_state": 9,
    },
    grid={"words": [False, True]},
    bad_fits={
        "empty": lambda model: model.fit([]),
        "words instead of sentences": lambda model: model.fit([["the", "dog"]]),
        "a sentence without words": lambda model: model.fit([Sentence.from_words([])]),
        "a cycle": lambda model: model.fit(trees(["2", "1"], upos=["X", "X"])),
        "two roots": lambda model: model.fit(trees(["0", "0"], upos=["X", "X"])),
        "no heads": lambda model: model.fit(trees(["_", "_"], upos=["X", "X"])),
        "no tags": lambda model: model.fit(trees(["0", "1"])),
        "no such tags": lambda model: model.set_params(tag_column="xpos").fit(trees(["0", "1"], upos=["X", "X"])),
        "an empty dev set": lambda model: model.fit(TREES, dev=[]),
        "a dev set without heads": lambda model: model.fit(TREES, dev=trees(["_", "_"], upos=["X", "X"])),
        "unknown column": lambda model: model.set_params(tag_column="lemma").fit(TREES),
        "unknown basis": lambda model: model.set_params(learner="spectral", basis="all").fit(TREES),
        "no states": lambda model: model.set_params(n_states=0).fit(TREES),
    },
)
