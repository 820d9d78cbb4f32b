"""How the constituency parser joins the contract of all estimators."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spectragram.constituency import ConstituencyParser
from spectragram.constituency.settings import RECIPES
from spectragram.data.brackets import write_trees
from spectragram.synthetic.english import english_trees
from tests.test_estimator_contract import ContractCase

SENTENCES = [tree.leaves() for tree in english_trees(14, seed=3)]


def outputs(model: ConstituencyParser) -> list[np.ndarray]:
    posteriors = model.marginals(SENTENCES[:8])
    trees = [str(tree) for tree in model.predict(SENTENCES)]
    ranked = [str(tree) for (tree, _), *_ in model.kbest(SENTENCES, 2)]
    return [
        *(part for p in posteriors for part in (p.spans, p.tags)),
        np.array(trees),
        np.array(ranked),
        model.log_prob(SENTENCES),
        *model.surprisal(SENTENCES[:2]),
    ]


def write(folder: Path) -> Path:
    path = folder / "train.trees"
    write_trees(english_trees(100), path)
    return path


CASE = ContractCase(
    make=lambda **changes: ConstituencyParser(
        **{"preset": "fast", "n_states": 4, "n_models": 2, "max_iter": 2} | changes
    ),
    X=lambda: english_trees(100),
    outputs=outputs,
    write=write,
    options=["--fast", "--states", "4", "--models", "2", "--iterations", "2"],
    changed=RECIPES["paper"]
    | {
        "recipe": "paper",
        "clusters": "no-such-file",
        "inside_features": print,
        "outside_features": print,
        "n_states": 2,
        "learner": "spectral",
        "preset": "best",
        "n_models": 1,
        "max_iter": 0,
        "binarisations": ["left"],
        "decoder": "goodman",
        "noise": 0.0,
        "temperature": 2.0,
        "random_state": 5,
    },
    grid={"learner": ["pcfg", "em"]},
    bad_fits={
        "empty": lambda model: model.fit([]),
        "a string": lambda model: model.fit("(S (NP x))"),
        "numbers": lambda model: model.fit([1, 2]),
        "unbalanced": lambda model: model.fit(["(S (NP x)"]),
        "traces only": lambda model: model.fit(["(S (NP (-NONE- *)))"]),
        "no states": lambda model: model.set_params(n_states=0).fit(english_trees(5)),
        "binarisation": lambda model: model.set_params(binarisations=("up",)).fit(english_trees(5)),
    },
)
