"""How the contract tests exercise language models."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from spectragram.lm import LanguageModel
from spectragram.lm.settings import RECIPES
from spectragram.synthetic import english_text
from tests.test_estimator_contract import ContractCase


@cache
def text() -> list[list[str]]:
    return english_text(400, seed=3)


def outputs(model: LanguageModel) -> list[np.ndarray]:
    lines = [*text()[:20], [], ["never-seen"]]
    return [
        model.log_prob(lines),
        np.concatenate(model.prefix_log_prob(lines)),
        np.concatenate(model.surprisal(lines)),
        np.concatenate(model.predict(lines)),
        model.next(lines[:2]),
        np.array([model.perplexity(text()[:50], unknown="score")]),
        np.array([word for drawn in model.sample(5, max_length=8) for word in drawn]),
    ]


def write(folder: Path) -> Path:
    path = folder / "text.txt"
    path.write_text("".join(" ".join(words) + "\n" for words in text()), encoding="utf-8")
    return path


CASE = ContractCase(
    make=lambda **params: LanguageModel(**{"n_states": 4, "max_iter": 3, **params}),
    X=text,
    outputs=outputs,
    write=write,
    options=["--states", "4", "--iterations", "3"],
    changed=RECIPES["paper"]
    | {
        "recipe": "paper",
        "n_states": 9,
        "learner": "em",
        "preset": "fast",
        "order": 2,
        "prior": 0.5,
        "start_shape": 3.0,
        "max_iter": 1,
        "min_count": 7,
        "boundaries": True,
        "random_state": 5,
    },
    grid={"n_states": [2, 4]},
    bad_fits={
        "empty": lambda model: model.fit([]),
        "empty sentences": lambda model: model.fit([[], []]),
        "not strings": lambda model: model.fit([[1, 2, 3], [4, 5]]),
        "more states than words": lambda model: model.set_params(n_states=10_000).fit(text()),
        "no word frequent enough": lambda model: model.set_params(n_states=None, min_count=10**6).fit(text()),
        "dev without known words": lambda model: model.fit(text(), dev=[["xyzzy", "plugh"]]),
        "order": lambda model: model.set_params(order=7).fit(text()),
        "prior": lambda model: model.set_params(prior=-1.0).fit(text()),
    },
)
