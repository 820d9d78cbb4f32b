"""EM of refinement HMMs: it climbs, it counts, and it does not depend on threads."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest

from spectragram.synthetic.rhmm import RefinementHMM
from spectragram.tagging.em import CellEmissions, Pulls, TrainingChain, chain_from_states, run_em
from spectragram.tagging.lexicon import learn_lexicon
from spectragram.tagging.sequences import encode_labels, read_observations


@pytest.fixture
def corpus(rng: np.random.Generator) -> tuple:
    sample = RefinementHMM.random(2, 2, 6, rng=rng).sample(300, rng)
    observed = read_observations([sample.observations.decode(i) for i in range(300)])
    labels, _ = encode_labels([sample.labels.decode(i) for i in range(300)], observed.offsets)
    return observed, labels


SMOOTH, PLAIN = Pulls(), Pulls(0.0, 0.0, 0.0)


def start(corpus: tuple, rng: np.random.Generator, pulls: Pulls = SMOOTH) -> tuple:
    observed, labels = corpus
    _, cells = learn_lexicon(observed, labels, 2, kappa=1e-9, by_looks=False)
    chain = TrainingChain(labels, observed.offsets, np.array([2, 3]), pulls)
    emissions = CellEmissions(cells, chain, mix=0.0)
    states = (rng.random(len(labels)) * chain.sizes[labels]).astype(np.int64)
    return chain, chain_from_states(chain, states, emissions), emissions


def test_likelihood_rises_without_smoothing(corpus: tuple, rng: np.random.Generator) -> None:
    values = [value for _, value in islice(run_em(*start(corpus, rng, PLAIN)), 15)]
    assert all(after > before for before, after in pairwise(values))


def test_parameters_are_distributions(corpus: tuple, rng: np.random.Generator) -> None:
    model, _ = next(run_em(*start(corpus, rng)))
    assert model.initial.sum() == pytest.approx(1)
    np.testing.assert_allclose(model.transition.sum(axis=1) + model.final, 1)
    assert min(model.initial.min(), model.transition.min(), model.final.min()) > 0


def test_threads_do_not_show(corpus: tuple, rng: np.random.Generator) -> None:
    seeds = rng.integers(1 << 30)
    first, second = (next(run_em(*start(corpus, np.random.default_rng(seeds)), n_jobs=n_jobs))[0] for n_jobs in (1, 3))
    np.testing.assert_array_equal(first.transition, second.transition)


def test_counts_from_given_states_by_hand() -> None:
    observed = read_observations([["x", "y", "x"], ["y"]])
    labels = np.array([0, 1, 0, 0], np.int32)
    _, cells = learn_lexicon(observed, labels, 2, kappa=1e-12, by_looks=False)
    chain = TrainingChain(labels, observed.offsets, np.array([2, 1]), PLAIN)
    emissions = CellEmissions(cells, chain, mix=0.0)
    model = chain_from_states(chain, np.array([0, 0, 1, 1]), emissions)
    assert model.initial.tolist() == [0.5, 0.5, 0.0]
    assert model.transition.tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert model.final.tolist() == [0, 1, 0]
    # p(h|x,a) / p(h|a): label 0 has states shared 1:2; x was seen once in each, y only in the second.
    np.testing.assert_allclose(emissions.of_tokens()[[0, 3]], [[1.5, 0.75], [0, 1.5]], atol=1e-9)
