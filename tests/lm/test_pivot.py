"""Pivot: exact recovery of a class model that satisfies the pivot assumption, and a start that EM improves."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from spectragram.learning.counts import TupleCounts
from spectragram.lm.em import ClassModel, em
from spectragram.lm.pivot import Anchoring, pivot


def separable_model(n_words: int, n_states: int, rng: np.random.Generator) -> ClassModel:
    """s(w|h) with one word per state that no other state emits; every word is a possible history."""
    emissions = rng.dirichlet(np.full(n_words - n_states, 0.5), size=n_states)
    emissions = np.hstack([0.3 * np.eye(n_states), 0.7 * emissions]).T
    histories = rng.dirichlet(np.full(n_states, 0.4), size=n_words)
    return ClassModel(histories, emissions, histories.mean(axis=0))


def population_counts(model: ClassModel, rng: np.random.Generator) -> TupleCounts:
    """Joint probabilities of all bigrams in place of counts, so large that nothing counts as rare."""
    n_words = len(model.histories)
    joint = rng.dirichlet(np.full(n_words, 5.0))[:, None] * (model.histories @ model.emissions.T)
    keys = np.arange(n_words**2)
    return TupleCounts(keys, np.round(joint.ravel() * 1e15).astype(np.int64), n_words, 2)


def test_exact_recovery_from_population_moments(rng: np.random.Generator) -> None:
    true = separable_model(40, 5, rng)
    counts = population_counts(true, rng)
    found = pivot(counts, 5, how=Anchoring(smoothing=0.0, history_steps=3000), min_count=1, rng=rng)
    distance = np.abs(found.emissions[:, :, None] - true.emissions[:, None, :]).sum(axis=0)
    rows, columns = linear_sum_assignment(distance)
    assert distance[rows, columns].max() < 1e-6
    all_pairs = np.repeat(np.arange(40), 40), np.tile(np.arange(40), 40)
    np.testing.assert_allclose(found.prob(*all_pairs), true.prob(*all_pairs), atol=1e-3)


def test_anchors_are_frequent_by_default(rng: np.random.Generator) -> None:
    """Without a floor, a word seen once with an odd neighbour would span a class of its own."""
    true = separable_model(60, 3, rng)
    stream = [0]
    for _ in range(6000):
        stream.append(int(rng.choice(60, p=true.histories[stream[-1]] @ true.emissions.T)))
    tokens = np.array(stream, np.int32)
    keys, counts = np.unique(tokens[:-1].astype(np.int64) * 60 + tokens[1:], return_counts=True)
    bigrams = TupleCounts(keys, counts, 60, 2)
    start = pivot(bigrams, 3, prior=1.0, rng=rng)
    np.testing.assert_allclose(start.histories.sum(axis=1), 1)
    np.testing.assert_allclose(start.emissions.sum(axis=0), 1)

    def loss(model: ClassModel) -> float:
        return -float(counts @ np.log(model.prob(keys // 60, keys % 60)))

    better, n_iter, losses = em(bigrams, start, max_iter=5, loss=loss)
    assert n_iter == 5
    assert loss(better) < losses[0]
