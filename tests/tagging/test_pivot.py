"""Anchors find the states of a model that has them, and give probabilities whatever the data."""

from __future__ import annotations

import numpy as np

from spectragram.synthetic.rhmm import RefinementHMM
from spectragram.tagging import Tagger


def anchored_model() -> RefinementHMM:
    """Two labels with two states each: 0-1 and 2-3 give away the state, 4-5 hint at the label.

    Labels alternate in one state and persist in the other, which no chain of labels alone can tell.
    """
    emission = np.zeros((2, 2, 6))
    for label, hints in enumerate(([0.55, 0.15], [0.15, 0.55])):
        emission[label, 0] = [0.15, 0.15, 0, 0, *hints]
        emission[label, 1] = [0, 0, 0.15, 0.15, *hints]
    transition = np.array(
        [
            [[[0.1, 0.0], [0.7, 0.0]], [[0.0, 0.7], [0.0, 0.1]]],
            [[[0.6, 0.0], [0.2, 0.0]], [[0.0, 0.1], [0.0, 0.7]]],
        ]
    )
    return RefinementHMM(np.array([[0.4, 0.1], [0.4, 0.1]]), transition, emission, np.full((2, 2), 0.2))


def test_pivot_recovers_a_model_with_anchors(rng: np.random.Generator) -> None:
    model = anchored_model()
    sample = model.sample(6000, rng)
    X, y = ([part.decode(i) for i in range(6000)] for part in sample)
    held_out = model.sample(200, rng).observations
    lines = [held_out.decode(i)[:8] for i in range(200)]
    exact = [model.brute_force_marginals([int(x[1:]) for x in line]) for line in lines]
    truth = np.concatenate([e / e.sum(axis=1, keepdims=True) for e in exact])
    errors = {
        learner: np.abs(np.concatenate(Tagger(2, learner).fit(X, y).marginals(lines)) - truth).mean()
        for learner in ("hmm", "pivot")
    }
    assert errors["pivot"] < 0.3 * errors["hmm"], errors


def test_pivot_gives_probabilities_on_any_data(rng: np.random.Generator) -> None:
    X = [[f"w{i}" for i in rng.integers(0, 30, 8)] for _ in range(100)]
    y = [[f"L{i}" for i in rng.integers(0, 3, 8)] for _ in range(100)]
    tagger = Tagger(4, "pivot").fit(X, y)
    operators = tagger.members_[0].operators
    assert operators.transition.min() > 0 and operators.initial.min() >= 0
    np.testing.assert_allclose(operators.transition.sum(axis=1) + operators.final, 1)
    assert tagger.marginals(X).diagnostics == {"negative": 0, "fallbacks": 0}
