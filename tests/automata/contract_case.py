"""How the shared tests exercise automata."""

from __future__ import annotations

import numpy as np

from spectragram.automata import Automaton
from tests.test_estimator_contract import ContractCase

STRINGS = [["a", "b"] * n + ["c"] * (n % 3) for n in (1, 2, 3, 1, 2, 4)] * 8 + [["c", "a"], [], ["b"]] * 3
PROBES = [["a", "b"], ["a", "b", "a", "b", "c"], [], ["c", "never-seen", "a"]]


def make(**overrides: object) -> Automaton:
    settings: dict[str, object] = {"preset": "fast", "max_iter": 6} | overrides
    return Automaton(**settings)  # type: ignore[arg-type]


def outputs(model: Automaton) -> list[np.ndarray]:
    return [model.log_prob(PROBES), model.prefix_log_prob(PROBES), model.predict_next(PROBES)]


CASE = ContractCase(
    make=make,
    fit=lambda model: model.fit(STRINGS),
    outputs=outputs,
    bad_fits={
        "empty": lambda model: model.fit([]),
        "only empty strings": lambda model: model.fit([[], []]),
        "no states": lambda model: model.set_params(n_states=0).fit(STRINGS),
        "unknown statistic": lambda model: model.set_params(statistic="words").fit(STRINGS),
        "numbers": lambda model: model.fit([[1, 2]]),
    },
)
