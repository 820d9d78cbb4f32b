"""How the contract tests exercise language models."""

from __future__ import annotations

from functools import cache

import numpy as np

from spectragram.lm import LanguageModel
from spectragram.synthetic import english_text
from tests.test_estimator_contract import ContractCase


@cache
def text() -> list[list[str]]:
    return english_text(400, seed=3)


def outputs(model: LanguageModel) -> list[np.ndarray]:
    return [model.log_prob(text()[:20]), np.array([model.perplexity(text()[:50], unknown="score")])]


CASE = ContractCase(
    make=lambda **params: LanguageModel(**{"n_states": 4, "max_iter": 3, **params}),
    fit=lambda model: model.fit(text()),
    outputs=outputs,
    bad_fits={
        "empty": lambda model: model.fit([]),
        "empty sentences": lambda model: model.fit([[], []]),
        "not strings": lambda model: model.fit([[1, 2, 3], [4, 5]]),
        "more states than words": lambda model: model.set_params(n_states=10_000).fit(text()),
        "dev without known words": lambda model: model.fit(text(), dev=[["xyzzy", "plugh"]]),
        "order": lambda model: model.set_params(order=7).fit(text()),
        "prior": lambda model: model.set_params(prior=-1.0).fit(text()),
    },
)
