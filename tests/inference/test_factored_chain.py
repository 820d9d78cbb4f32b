"""Chains with log-linear factors against enumeration of all labels and all hidden states."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from spectragram.inference.factored_chain import Chain, Tokens, factored_marginals, label_sequences
from spectragram.inference.token_factors import label_pair_scores, token_places, token_scores

STARTS = np.array([0, 2, 3, 6])
"""Three labels with two, one and three states."""
N_LABELS, N_STATES = 3, 6
LABEL_OF = np.repeat(np.arange(N_LABELS), np.diff(STARTS))


@pytest.fixture
def chain(rng: np.random.Generator) -> Chain:
    transition = rng.random((N_STATES, N_STATES))
    return Chain(rng.random(N_STATES), transition, np.ascontiguousarray(transition.T), rng.random(N_STATES), STARTS)


def weights_of_paths(chain: Chain, vectors: np.ndarray, scores: np.ndarray, pairs: np.ndarray) -> dict:
    """The weight of every sequence of states, by the definition."""
    found = {}
    for states in product(range(N_STATES), repeat=len(scores)):
        labels = LABEL_OF[list(states)]
        weight = chain.initial[states[0]] * chain.final[states[-1]]
        for i, (s, a) in enumerate(zip(states, labels, strict=True)):
            weight *= vectors[i, s] * np.exp(scores[i, a])
        for (s, a), (t, b) in pairwise(zip(states, labels, strict=True)):
            weight *= chain.transition[s, t] * np.exp(pairs[a, b])
        found[states] = weight
    return found


@pytest.mark.parametrize("n", [1, 2, 4])
def test_marginals_are_sums_over_all_paths(chain: Chain, n: int, rng: np.random.Generator) -> None:
    types, rows = rng.random((5, N_STATES)), rng.integers(0, 5, n)
    scores, pairs = rng.normal(size=(n, N_LABELS)) * 3, rng.normal(size=(N_LABELS, N_LABELS))
    scores[0, 1] = scores[-1, 0] = -np.inf
    marginals, expected, log_sum = factored_marginals(chain, types, rows, scores, np.exp(pairs))
    paths = weights_of_paths(chain, types[rows], scores, pairs)
    total = sum(paths.values())
    wanted, wanted_pairs = np.zeros((n, N_LABELS)), np.zeros((N_LABELS, N_LABELS))
    for states, weight in paths.items():
        labels = LABEL_OF[list(states)]
        wanted[np.arange(n), labels] += weight / total
        for a, b in pairwise(labels):
            wanted_pairs[a, b] += weight / total
    np.testing.assert_allclose(marginals, wanted, atol=1e-12)
    np.testing.assert_allclose(expected, wanted_pairs, atol=1e-12)
    assert log_sum == pytest.approx(np.log(total))


def test_gold_minus_expected_is_the_gradient(chain: Chain, rng: np.random.Generator) -> None:
    gold, rows = np.array([0, 2, 1]), np.arange(3)
    vectors, scores, pairs = rng.random((3, N_STATES)), rng.normal(size=(3, 3)), rng.normal(size=(3, 3))

    def log_likelihood(scores: np.ndarray, pairs: np.ndarray) -> float:
        paths = weights_of_paths(chain, vectors, scores, pairs)
        right = sum(weight for states, weight in paths.items() if (LABEL_OF[list(states)] == gold).all())
        return float(np.log(right) - np.log(sum(paths.values())))

    marginals, expected, _ = factored_marginals(chain, vectors, rows, scores, np.exp(pairs))
    seen = np.zeros((3, 3))
    np.add.at(seen, (gold[:-1], gold[1:]), 1.0)
    h = 1e-5
    for place in product(range(3), repeat=2):
        nudge = np.zeros((3, 3))
        nudge[place] = h
        slope = (log_likelihood(scores + nudge, pairs) - log_likelihood(scores - nudge, pairs)) / (2 * h)
        assert (np.eye(3)[gold] - marginals)[place] == pytest.approx(slope, abs=1e-7)
        slope = (log_likelihood(scores, pairs + nudge) - log_likelihood(scores, pairs - nudge)) / (2 * h)
        assert (seen - expected)[place] == pytest.approx(slope, abs=1e-7)


def test_sequences_without_a_path_have_no_marginals(chain: Chain) -> None:
    vectors = np.ones((2, N_STATES))
    vectors[1, :2] = 0.0
    scores = np.array([[0.0, 0.0, 0.0], [0.0, -np.inf, -np.inf]])
    marginals, expected, log_sum = factored_marginals(chain, vectors, np.arange(2), scores, np.ones((3, 3)))
    assert log_sum == -np.inf
    assert not marginals.any() and not expected.any()


def test_long_sequences_do_not_underflow(chain: Chain) -> None:
    marginals, _, log_sum = factored_marginals(
        chain, np.full((1, N_STATES), 1e-3), np.zeros(2000, np.int64), np.zeros((2000, N_LABELS)), np.ones((3, 3))
    )
    np.testing.assert_allclose(marginals.sum(axis=1), 1)
    assert np.isfinite(log_sum)


def test_whole_corpora_are_labelled_sequence_by_sequence(chain: Chain, rng: np.random.Generator) -> None:
    types = rng.integers(0, 4, 9)
    possible = rng.random((4, N_LABELS)) < 0.5
    possible[:, 1] = True
    tokens = Tokens(types, rng.integers(0, 9, (2, 4)), types, rng.random((4, N_STATES)), possible)
    atoms = np.array([[[0, 0], [-1, -1]], [[0, -1], [1, 2]]])
    table = rng.normal(size=1 << 10).astype(np.float32)
    offsets, allowed = np.array([0, 3, 3, 4, 9]), np.ones((9, N_LABELS), bool)
    allowed[5] = [False, False, True]
    marginals, log_sums = np.zeros((9, N_LABELS)), np.zeros(4)
    label_sequences(chain, tokens, atoms, table, offsets, 0, 4, allowed, marginals, log_sums)
    for begin, end in ((0, 3), (3, 4), (4, 9)):
        own = possible[types[begin:end]]
        if begin == 4:
            own[1] = [False, False, True]
        scores = token_scores(token_places(tokens.columns, types[begin:end], atoms, len(table)), own, table)
        pairs = label_pair_scores(N_LABELS, table)
        wanted, _, log_sum = factored_marginals(chain, tokens.vectors, types[begin:end], scores, np.exp(pairs))
        np.testing.assert_allclose(marginals[begin:end], wanted, atol=1e-14)
        assert log_sum == pytest.approx(log_sums[np.searchsorted(offsets, begin, side="right") - 1])
    assert marginals[5, 2] == 1.0
