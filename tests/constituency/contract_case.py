"""How the constituency parser joins the contract of all estimators."""

from __future__ import annotations

import numpy as np

from spectragram.constituency import ConstituencyParser
from spectragram.synthetic.english import english_trees
from tests.test_estimator_contract import ContractCase

SENTENCES = [tree.leaves() for tree in english_trees(14, seed=3)]


def outputs(model: ConstituencyParser) -> list[np.ndarray]:
    posteriors = model.marginals(SENTENCES[:8])
    trees = [str(tree) for tree in model.parse(SENTENCES)]
    return [part for p in posteriors for part in (p.spans, p.tags)] + [np.array(trees)]


CASE = ContractCase(
    make=lambda **changes: ConstituencyParser(
        **{"preset": "fast", "n_states": 4, "n_models": 2, "max_iter": 2, "n_jobs": 1} | changes
    ),
    fit=lambda model: model.fit(english_trees(120)),
    outputs=outputs,
    bad_fits={
        "empty": lambda model: model.fit([]),
        "a string": lambda model: model.fit("(S (NP x))"),
        "numbers": lambda model: model.fit([1, 2]),
        "unbalanced": lambda model: model.fit(["(S (NP x)"]),
        "no states": lambda model: model.set_params(n_states=0).fit(english_trees(5)),
        "binarisation": lambda model: model.set_params(binarisations=("up",)).fit(english_trees(5)),
    },
)
