"""How the shared tests exercise automata."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spectragram.automata import Automaton
from spectragram.automata.settings import RECIPES
from tests.test_estimator_contract import ContractCase

STRINGS = [["a", "b"] * n + ["c"] * (n % 3) for n in (1, 2, 3, 1, 2, 4)] * 8 + [["c", "a"], [], ["b"]] * 3
PROBES = [["a", "b"], ["a", "b", "a", "b", "c"], [], ["c", "never-seen", "a"]]


def make(**overrides: object) -> Automaton:
    settings: dict[str, object] = {"preset": "fast", "max_iter": 6} | overrides
    return Automaton(**settings)  # type: ignore[arg-type]


def outputs(model: Automaton) -> list[np.ndarray]:
    per_string = [*model.prefix_log_prob(PROBES), *model.surprisal(PROBES)]
    return [model.log_prob(PROBES), model.next(PROBES), *per_string, model.wfa_.final]


def write(folder: Path) -> Path:
    path = folder / "strings.txt"
    path.write_text("".join(" ".join(string) + "\n" for string in STRINGS))
    return path


CASE = ContractCase(
    make=make,
    X=lambda: STRINGS,
    outputs=outputs,
    write=write,
    options=["--fast", "--iterations", "6"],
    changed=RECIPES["paper"]
    | {
        "recipe": "paper",
        "n_states": -3,
        "learner": "no-such-learner",
        "basis": "sigma",
        "statistic": "string",
        "prior": 7.0,
        "max_iter": 1,
        "order": 2,
        "preset": "best",
        "random_state": 99,
    },
    grid={"n_states": [2, 3]},
    bad_fits={
        "empty": lambda model: model.fit([]),
        "only empty strings": lambda model: model.fit([[], []]),
        "no states": lambda model: model.set_params(n_states=0).fit(STRINGS),
        "unknown statistic": lambda model: model.set_params(statistic="words").fit(STRINGS),
        "symbols that cannot be hashed": lambda model: model.fit([[[1], [2]]]),
    },
)
