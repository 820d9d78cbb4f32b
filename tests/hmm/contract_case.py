"""How the shared tests exercise hidden Markov models."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spectragram.hmm import HMM
from tests.test_estimator_contract import ContractCase

SEQUENCES = [[0, 1] * n + [2] * (n % 3) for n in (1, 2, 3, 1, 2, 4)] * 8 + [[2, 0], [1]] * 3
PROBES = [[0, 1], [0, 1, 0, 1, 2], [2, 2, 0]]


def make(**overrides: object) -> HMM:
    settings: dict[str, object] = {"n_states": 3, "preset": "fast", "max_iter": 6} | overrides
    return HMM(**settings)  # type: ignore[arg-type]


def outputs(model: HMM) -> list[np.ndarray]:
    parts = [model.log_prob(PROBES), *model.predict(PROBES), *model.predict_proba(PROBES)]
    return [*parts, model.startprob_, model.transmat_, model.emissionprob_]


def write(folder: Path) -> Path:
    path = folder / "sequences.txt"
    path.write_text("".join(" ".join(map(str, sequence)) + "\n" for sequence in SEQUENCES))
    return path


CASE = ContractCase(
    make=make,
    X=lambda: SEQUENCES,
    outputs=outputs,
    write=write,
    options=["--states", "3", "--fast", "--iterations", "6"],
    changed={
        "n_states": -3,
        "learner": "no-such-learner",
        "emissions": "gaussian",
        "covariance": "full",
        "n_symbols": 9,
        "prior": 7.0,
        "tolerance": 1.0,
        "max_iter": 1,
        "preset": "best",
        "random_state": 99,
    },
    grid={"n_states": [2, 3]},
    bad_fits={
        "empty": lambda model: model.fit([]),
        "only empty sequences": lambda model: model.fit([[], []]),
        "words": lambda model: model.fit([["a", "b"]]),
        "negative symbols": lambda model: model.fit([[0, -1]]),
        "lengths that do not fit": lambda model: model.fit(np.array([0, 1, 1]), [1, 1]),
        "lengths with a fraction": lambda model: model.fit(np.array([0, 1, 1]), [1.5, 1.5]),
        "no states": lambda model: model.set_params(n_states=0).fit(SEQUENCES),
        "more states than observations": lambda model: model.set_params(n_states=20).fit([[0, 1]]),
        "not a number": lambda model: model.fit([[0.5, float("nan")]]),
        "vectors of two sizes": lambda model: model.fit([[[0.5, 1.0]], [[0.5]]]),
    },
)
