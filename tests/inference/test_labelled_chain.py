"""Tensor forward-backward against enumeration of all label sequences, and decoding against enumeration of paths."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from spectragram.inference.labelled_chain import (
    ChainOperators,
    batches,
    best_legal_path,
    diagonal_operators,
    forward_backward,
)
from spectragram.synthetic.rhmm import RefinementHMM

LENGTHS = [3, 1, 4, 2, 4, 1]


@pytest.fixture
def model(rng: np.random.Generator) -> RefinementHMM:
    return RefinementHMM.random(3, 2, 4, rng=rng)


@pytest.fixture
def observations(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.integers(0, 4, n) for n in LENGTHS]


def in_true_basis(model: RefinementHMM) -> tuple[ChainOperators, np.ndarray]:
    size = model.n_labels * model.n_states
    starts = np.arange(0, size + 1, model.n_states)
    operators = diagonal_operators(
        model.initial.ravel(), model.transition.reshape(size, size), model.stop.ravel(), starts
    )
    return operators, model.emission.reshape(size, -1).T


def in_random_basis(model: RefinementHMM, rng: np.random.Generator) -> tuple[ChainOperators, np.ndarray]:
    """Theorem 4.1 with random G^a, H^a."""
    l, m = model.initial.shape
    G, H = rng.standard_normal((2, l, m, m))
    inverse_G = np.linalg.inv(G)
    # C^{b|a}[f, p, r] = sum_hk G^b[f,k] t(b,k|a,h) H^a[r,h] G^a^-1[h,p]; rows are pairs (a, p, r).
    tensor = np.einsum("bfk,ahbk,arh,ahp->aprbf", G, model.transition, H, inverse_G)
    final = np.einsum("ah,arh,ahp->apr", model.stop, H, inverse_G)
    states = np.arange(l * m).reshape(l, m)
    operators = ChainOperators(
        np.einsum("ahk,ak->ah", G, model.initial).ravel(),
        tensor.reshape(l * m * m, l * m),
        final.ravel(),
        np.tile(states[:, None, :], (1, m, 1)).ravel(),
        np.repeat(states, m, axis=1).ravel(),
        np.arange(0, l * m + 1, m),
    )
    # c_x^a = o_x^a H^-1
    return operators, np.einsum("ahx,ahr->xar", model.emission, np.linalg.inv(H)).reshape(-1, l * m)


def solve(
    operators: ChainOperators, table: np.ndarray, sequences: list[np.ndarray]
) -> tuple[list[np.ndarray], np.ndarray]:
    tokens = np.concatenate(sequences)
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in sequences])])
    marginals = np.full((len(tokens), len(operators.label_starts) - 1), np.nan)
    values = np.full(len(sequences), np.nan)
    for group in batches(offsets, tokens=5):
        rows, found, logs = forward_backward(operators, offsets, group, lambda i: table[tokens[i]])
        marginals[rows], values[group] = found, logs
    return np.split(marginals, offsets[1:-1]), values


@pytest.mark.parametrize("basis", ["true", "random"])
def test_marginals_equal_enumeration(
    basis: str, model: RefinementHMM, observations: list[np.ndarray], rng: np.random.Generator
) -> None:
    operators, table = in_true_basis(model) if basis == "true" else in_random_basis(model, rng)
    marginals, log_values = solve(operators, table, observations)
    for sequence, found, log_value in zip(observations, marginals, log_values, strict=True):
        exact = model.brute_force_marginals(sequence.tolist())
        np.testing.assert_allclose(found / found.sum(axis=1, keepdims=True), exact / exact.sum(axis=1, keepdims=True))
        assert log_value == pytest.approx(np.log(exact[0].sum()))


def test_long_sequences_stay_finite(model: RefinementHMM, rng: np.random.Generator) -> None:
    operators, table = in_true_basis(model)
    marginals, values = solve(operators, table, [rng.integers(0, 4, 5000)])
    assert np.isfinite(values).all() and values[0] < -745  # exp would be zero
    assert np.isfinite(marginals[0]).all() and (marginals[0].sum(axis=1) > 0).all()


def test_the_sign_of_a_marginal_survives_scaling() -> None:
    """A single label of one dimension: mu is the product of all factors."""
    operators = ChainOperators(
        np.array([2.0]), np.array([[-3.0]]), np.array([1.0]), np.zeros(1, int), np.zeros(1, int), np.array([0, 1])
    )
    for length, sign in ((1, 1), (2, -1), (3, 1), (4, -1)):
        (marginals,), _ = solve(operators, np.ones((1, 1)), [np.zeros(length, int)])
        assert (np.sign(marginals) == sign).all()


def test_batches_hold_every_sequence_once() -> None:
    offsets = np.cumsum([0, 3, 0, 7, 1, 1, 2])
    groups = batches(offsets, tokens=4)
    assert sorted(np.concatenate(groups).tolist()) == [0, 2, 3, 4, 5]  # the empty one is left out
    lengths = np.diff(offsets)
    for group in groups:
        assert (np.diff(lengths[group]) <= 0).all()


def test_best_legal_path_equals_enumeration(rng: np.random.Generator) -> None:
    n_labels = 3
    for _ in range(30):
        may_follow = rng.random((n_labels, n_labels)) < 0.6
        may_follow[np.arange(n_labels), np.arange(n_labels)] = True  # some path always exists
        may_start = rng.random(n_labels) < 0.6
        may_start[rng.integers(n_labels)] = True
        offsets = np.array([0, 4, 4, 5])
        scores = rng.standard_normal((5, n_labels))
        path = best_legal_path(offsets, scores, may_follow, may_start)
        for start, stop in ((0, 4), (4, 5)):
            legal = [
                p
                for p in product(range(n_labels), repeat=stop - start)
                if may_start[p[0]] and all(may_follow[a, b] for a, b in pairwise(p))
            ]
            best = max(legal, key=lambda p: sum(scores[start + i, a] for i, a in enumerate(p)))
            assert tuple(path[start:stop]) == best


def test_a_step_without_legal_labels_is_left_free() -> None:
    nothing = np.zeros((2, 2), bool)
    path = best_legal_path(np.array([0, 2]), np.array([[0.0, 1.0], [3.0, 0.0]]), nothing, np.zeros(2, bool))
    assert path.tolist() == [1, 0]
