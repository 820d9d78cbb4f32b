"""The tagger in the tests that hold for every estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spectragram.synthetic import english_chunks
from spectragram.tagging import Tagger
from spectragram.tagging.settings import RECIPES
from tests.test_estimator_contract import ContractCase

X, Y = (list(part) for part in zip(*english_chunks(150, seed=3), strict=True))
OTHERS = [words for words, _ in english_chunks(20, seed=4)]


def make(**overrides: Any) -> Tagger:
    return Tagger(**{"n_states": 3, "max_iter": 2, "n_models": 2, **overrides})


def outputs(model: Tagger) -> list[np.ndarray]:
    fixed = [[None] * len(words) for words in OTHERS]
    fixed[0][0] = "B-NP"
    return [
        np.concatenate(model.marginals(OTHERS)),
        np.concatenate(model.predict(OTHERS)),
        np.concatenate(model.predict(OTHERS, fixed=fixed, decoding="marginal")),
    ]


def write(folder: Path) -> Path:
    sentences = ("\n".join(map("\t".join, zip(words, labels, strict=True))) for words, labels in zip(X, Y, strict=True))
    path = folder / "train.chunks"
    path.write_text("\n\n".join(sentences) + "\n")
    return path


CASE = ContractCase(
    make=make,
    X=lambda: list(X),
    y=lambda: list(Y),
    outputs=outputs,
    write=write,
    options=["--states", "3", "--iterations", "2", "--models", "2"],
    changed=RECIPES["paper"]
    | {
        "recipe": "paper",
        "n_states": 5,
        "learner": "spectral",
        "factors": False,
        "clusters": "no-such-file",
        "calibrate": True,
        "preset": "best",
        "n_models": 7,
        "max_iter": 9,
        "n_epochs": 1,
        "n_starts": 8,
        "decoding": "marginal",
        "views": {"past": ["word[-1]"]},
        "backoff": 100.0,
        "smoothing": 3.0,
        "ridge": 0.9,
        "emissions": "classes",
        "n_codes": 3,
        "emission_weight": 0.1,
        "random_state": 11,
    },
    grid={"n_states": [1, 3]},
    bad_fits={
        "empty": lambda model: model.fit([], []),
        "empty sequences": lambda model: model.fit([[], []], [[], []]),
        "no frames": lambda model: model.fit([np.zeros((0, 3))], [[]]),
        "no labels": lambda model: model.fit([["a", "b"]]),
        "fewer labels": lambda model: model.fit([["a", "b"]], [["X"]]),
        "fewer sequences": lambda model: model.fit([["a"], ["b"]], [["X"]]),
        "one word, two labels": lambda model: model.fit(["ab"], [["X", "Y"]]),
        "numbers for tokens": lambda model: model.fit([[1, 2]], [["X", "Y"]]),
        "lists for tokens": lambda model: model.fit([[["a"], ["b"]]], [["X", "Y"]]),
        "numbers for labels": lambda model: model.fit([["a"]], [[1]]),
        "uneven columns": lambda model: model.fit([[("a", "N"), ("b",)]], [["X", "Y"]]),
        "no states": lambda model: model.set_params(n_states=0).fit(X, Y),
        "unknown view": lambda model: model.set_params(views={"fate": ["word[0]"]}).fit(X, Y),
        "unknown atom": lambda model: model.set_params(views={"past": ["colour[0]"]}).fit(X, Y),
        "no template": lambda model: model.set_params(views={"past": ["word"]}).fit(X, Y),
        "held-out labels": lambda model: model.fit(X, Y, dev=([["a"]], [["Z"]])),
    },
)
