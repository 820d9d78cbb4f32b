"""How to exercise DependencyParser quickly."""

from __future__ import annotations

import numpy as np

from spectragram.data import Sentence
from spectragram.dependency import DependencyParser
from spectragram.synthetic import english_dependencies
from tests.test_estimator_contract import ContractCase

TREES = english_dependencies(120, seed=3)


def make(**changes: object) -> DependencyParser:
    return DependencyParser(**({"n_states": 2, "n_epochs": 1, "max_iter": 3} | changes))


def outputs(model: DependencyParser) -> list[np.ndarray]:
    parsed = model.parse(TREES[:15])
    return [
        np.concatenate([sentence.heads for sentence in parsed]),
        np.array([label for sentence in parsed for label in sentence.deprels]),
        np.concatenate([marginals.ravel() for marginals in model.marginals(TREES[:15])]),
        model.log_prob(TREES[:15]),
    ]


def trees(heads: list[str], **columns: list[str]) -> list[Sentence]:
    return [Sentence.from_words(["a"] * len(heads), head=heads, **columns)]


CASE = ContractCase(
    make=make,
    fit=lambda model: model.fit(TREES),
    outputs=outputs,
    bad_fits={
        "empty": lambda model: model.fit([]),
        "words instead of sentences": lambda model: model.fit([["the", "dog"]]),
        "a cycle": lambda model: model.fit(trees(["2", "1"], upos=["X", "X"])),
        "two roots": lambda model: model.fit(trees(["0", "0"], upos=["X", "X"])),
        "no heads": lambda model: model.fit(trees(["_", "_"], upos=["X", "X"])),
        "no tags": lambda model: model.fit(trees(["0", "1"])),
        "no such tags": lambda model: model.set_params(tag_column="xpos").fit(trees(["0", "1"], upos=["X", "X"])),
        "unknown column": lambda model: model.set_params(tag_column="lemma").fit(TREES),
        "unknown preset": lambda model: model.set_params(preset="slow").fit(TREES),
        "unknown basis": lambda model: model.set_params(learner="spectral", basis="all").fit(TREES),
        "no states": lambda model: model.set_params(n_states=0).fit(TREES),
    },
)
