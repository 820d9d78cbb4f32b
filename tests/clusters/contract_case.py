"""How to exercise WordClusters quickly."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spectragram.clusters import WordClusters
from spectragram.clusters.settings import RECIPES
from spectragram.synthetic import english_text
from tests.test_estimator_contract import ContractCase

TEXT = english_text(400, seed=3)


def make(**changes: object) -> WordClusters:
    return WordClusters(**({"n_clusters": 12, "n_dimensions": 5, "min_count": 2} | changes))


def outputs(model: WordClusters) -> list[np.ndarray]:
    extended = model.extend([["The", "never-seen", "dog"], ["a", "12", "Never-Seen"]])
    return [
        np.concatenate(model.predict([*TEXT[:20], ["never-seen", "THE", "34"]])),
        np.array(list(model.paths_.values())),
        model.vectors_,
        np.array([model.score(TEXT[:50])]),
        np.concatenate(extended.predict([["never-seen", "THE", "34"]])),
    ]


def write(folder: Path) -> Path:
    path = folder / "text.txt"
    path.write_text("".join(" ".join(words) + "\n" for words in TEXT), encoding="utf-8")
    return path


CASE = ContractCase(
    make=make,
    X=lambda: TEXT,
    outputs=outputs,
    write=write,
    options=["--clusters", "12", "--dimensions", "5", "--min-count", "2"],
    changed=RECIPES["paper"]
    | {
        "recipe": "paper",
        "n_clusters": 7,
        "learner": "brown",
        "preset": "fast",
        "max_vocabulary": 20,
        "min_count": 9,
        "n_dimensions": 2,
        "context": "LR2",
        "kappa": 3.0,
        "lower": True,
        "fold_digits": True,
        "boundaries": True,
        "random_state": 5,
    },
    grid={"n_clusters": [6, 12]},
    bad_fits={
        "empty": lambda model: model.fit([]),
        "only empty sentences": lambda model: model.fit([[], []]),
        "one word only": lambda model: model.fit([["a", "a", "a"]]),
        "not words": lambda model: model.fit([[1, 2, 3]]),
        "empty words": lambda model: model.fit([["a", "", "b"]]),
        "more clusters than words": lambda model: model.set_params(n_clusters=10_000).fit(TEXT),
        "no clusters": lambda model: model.set_params(n_clusters=0).fit(TEXT),
        "no such file": lambda model: model.fit("no/such/file.txt"),
        "unknown context": lambda model: model.set_params(context="LR3").fit(TEXT),
        "negative smoothing": lambda model: model.set_params(kappa=-1.0).fit(TEXT),
        "no word frequent enough": lambda model: model.set_params(min_count=10**6).fit(TEXT),
    },
)
