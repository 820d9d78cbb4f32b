"""How to exercise WordClusters quickly."""

from __future__ import annotations

import numpy as np

from spectragram.clusters import WordClusters
from spectragram.synthetic import english_text
from tests.test_estimator_contract import ContractCase

TEXT = english_text(400, seed=3)


def make(**changes: object) -> WordClusters:
    return WordClusters(**({"n_clusters": 12, "n_dimensions": 5, "min_count": 2} | changes))


def outputs(model: WordClusters) -> list[np.ndarray]:
    return [
        np.concatenate(model.transform([*TEXT[:20], ["never-seen"]])),
        np.array(list(model.paths_.values())),
        model.vectors_,
        np.array([model.score(TEXT[:50])]),
    ]


CASE = ContractCase(
    make=make,
    fit=lambda model: model.fit(TEXT),
    outputs=outputs,
    bad_fits={
        "empty": lambda model: model.fit([]),
        "only empty sentences": lambda model: model.fit([[], []]),
        "one word only": lambda model: model.fit([["a", "a", "a"]]),
        "strings instead of lists": lambda model: model.fit(["a b c", "b c"]),
        "not words": lambda model: model.fit([[1, 2, 3]]),
        "empty words": lambda model: model.fit([["a", "", "b"]]),
        "more clusters than words": lambda model: model.set_params(n_clusters=10_000).fit(TEXT),
        "no clusters": lambda model: model.set_params(n_clusters=0).fit(TEXT),
        "no such file": lambda model: model.fit("no/such/file.txt"),
        "unknown preset": lambda model: model.set_params(preset="slow").fit(TEXT),
        "unknown context": lambda model: model.set_params(context="LR3").fit(TEXT),
        "negative smoothing": lambda model: model.set_params(kappa=-1.0).fit(TEXT),
    },
)
