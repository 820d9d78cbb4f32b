"""The tagger in the tests that hold for every estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectragram.synthetic import english_chunks
from spectragram.tagging import Tagger
from tests.test_estimator_contract import ContractCase

X, Y = (list(part) for part in zip(*english_chunks(150, seed=3), strict=True))
OTHERS = [words for words, _ in english_chunks(20, seed=4)]


def make(**overrides: Any) -> Tagger:
    return Tagger(**{"n_states": 3, "max_iter": 2, "n_models": 2, **overrides})


CASE = ContractCase(
    make=make,
    fit=lambda model: model.fit(X, Y),
    outputs=lambda model: [np.concatenate(model.predict_marginals(OTHERS)), np.concatenate(model.predict(OTHERS))],
    bad_fits={
        "empty": lambda model: model.fit([], []),
        "empty sequences": lambda model: model.fit([[], []], [[], []]),
        "no frames": lambda model: model.fit([np.zeros((0, 3))], [[]]),
        "fewer labels": lambda model: model.fit([["a", "b"]], [["X"]]),
        "fewer sequences": lambda model: model.fit([["a"], ["b"]], [["X"]]),
        "strings for sequences": lambda model: model.fit(["ab"], [["X", "Y"]]),
        "numbers for labels": lambda model: model.fit([["a"]], [[1]]),
        "uneven columns": lambda model: model.fit([[("a", "N"), ("b",)]], [["X", "Y"]]),
        "no states": lambda model: model.set_params(n_states=0).fit(X, Y),
        "unknown template": lambda model: model.set_params(views={"past": ["colour[0]"]}).fit(X, Y),
    },
)
