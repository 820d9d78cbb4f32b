"""Chains over labels with parts, against the sum over all paths."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from spectragram.inference.part_chain import Candidates, Parts, Surface, chain_marginals, choice_marginals
from spectragram.inference.part_chain_steps import train_epoch
from spectragram.learning.factors import start_weights

N_LABELS = 5


def random_parts(rng: np.random.Generator) -> Parts:
    """Labels with one to three of four parts, and one or two of three linked ones."""
    own = [sorted(rng.choice(4, rng.integers(1, 4), replace=False)) for _ in range(N_LABELS - 1)] + [[3]]
    linked = [sorted(rng.choice(3, rng.integers(1, 3), replace=False)) for _ in range(N_LABELS - 1)] + [[2]]
    arrays = []
    for lists in (own, linked):
        arrays += [np.cumsum([0, *map(len, lists)]), np.concatenate(lists).astype(np.int64)]
    return Parts(*arrays)


def random_candidates(rng: np.random.Generator, n_rows: int, rows: np.ndarray) -> Candidates:
    lists = [rng.choice(N_LABELS, rng.integers(1, N_LABELS), replace=False) for _ in range(n_rows)]
    starts = np.cumsum([0, *map(len, lists)])
    return Candidates(rows, starts, np.concatenate(lists).astype(np.int64), rng.normal(size=starts[-1]))


def brute_force(
    scores: np.ndarray, rows: np.ndarray, candidates: Candidates, parts: Parts, links: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Marginals of candidates (n, w), and of pairs of candidates for each token but the first."""

    def linked(label: int) -> np.ndarray:
        return parts.linked[parts.linked_starts[label] : parts.linked_starts[label + 1]]

    lists = [candidates.labels[candidates.starts[row] : candidates.starts[row + 1]] for row in rows]
    marginals = np.zeros(scores.shape)
    pairs = [np.zeros((len(a), len(b))) for a, b in pairwise(lists)]
    for path in product(*(range(len(labels)) for labels in lists)):
        total = sum(scores[i, c] for i, c in enumerate(path))
        for i in range(1, len(path)):
            a, b = lists[i - 1][path[i - 1]], lists[i][path[i]]
            total += links[np.ix_(linked(a), linked(b))].sum()
        for i, c in enumerate(path):
            marginals[i, c] += np.exp(total)
        for i in range(1, len(path)):
            pairs[i - 1][path[i - 1], path[i]] += np.exp(total)
    whole = marginals[0].sum()
    return marginals / whole, [pair / whole for pair in pairs]


@pytest.mark.parametrize("seed", range(4))
def test_marginals_are_sums_over_all_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, size=5)
    parts, candidates = random_parts(rng), random_candidates(rng, 3, rows)
    links = rng.normal(size=(3, 3)).astype(np.float32)
    sizes = np.diff(candidates.starts)[rows]
    scores = rng.normal(size=(5, sizes.max()))
    scores[np.arange(sizes.max()) >= sizes[:, None]] = -np.inf
    marginals, pairs, starts = choice_marginals(scores, rows, candidates, parts, links)
    expected, expected_pairs = brute_force(scores, rows, candidates, parts, links)
    np.testing.assert_allclose(marginals, expected, rtol=1e-5)
    for i in range(1, 5):
        found = pairs[starts[i] : starts[i] + sizes[i - 1] * sizes[i]]
        np.testing.assert_allclose(found.reshape(sizes[i - 1], sizes[i]), expected_pairs[i - 1], rtol=1e-5)


def test_paths_that_all_underflow_do_not_give_nan() -> None:
    parts = Parts(*(np.array(x) for x in ([0, 1, 2], [0, 1], [0, 1, 2], [0, 1])))
    rows = np.array([0, 0])
    candidates = Candidates(rows, np.array([0, 2]), np.array([0, 1]), np.zeros(2))
    # The first token can only be the first label, from which every step is worse than any from the second.
    scores = np.array([[0.0, -5000.0], [0.0, 1.0]])
    links = np.array([[-5000.0, -5000.0], [0.0, 0.0]], np.float32)
    marginals, _, _ = choice_marginals(scores, rows, candidates, parts, links)
    assert np.isfinite(marginals).all()
    np.testing.assert_allclose(marginals[-1].sum(), 1.0)


def test_weights_of_parts_are_added_to_base_scores() -> None:
    rng = np.random.default_rng(3)
    parts, candidates = random_parts(rng), random_candidates(rng, 1, np.array([0]))
    columns, atoms = np.zeros((1, 1), np.int64), np.zeros((1, 1, 2), np.int64)
    surface = Surface(columns, np.zeros(1, np.int64), atoms, np.array([0, 1]))
    table = rng.normal(size=16).astype(np.float32)
    from spectragram.inference.token_factors import token_places

    place = token_places(columns, np.zeros(1, np.int64), atoms, 16)[0, 0]
    labels = candidates.labels
    assert len(labels) > 1
    scores = candidates.base.copy()
    for k, label in enumerate(labels):
        own = parts.parts[parts.starts[label] : parts.starts[label + 1]]
        scores[k] += sum(table[(place + part) % 16] for part in own)
    found = np.zeros((1, len(labels)))
    chain_marginals(surface, candidates, parts, table, np.zeros((3, 3), np.float32), 0, 1, found)
    np.testing.assert_allclose(found[0], np.exp(scores) / np.exp(scores).sum(), rtol=1e-5)


def test_training_climbs_to_the_gold_labels() -> None:
    rng = np.random.default_rng(2)
    types = np.array([0, 1, 0, 1, 0, 1])
    rows = types.copy()
    parts = Parts(*(np.array(x) for x in ([0, 1, 2], [0, 1], [0, 1, 2], [0, 1])))
    candidates = Candidates(rows, np.array([0, 2, 4]), np.array([0, 1, 0, 1]), np.zeros(4))
    surface = Surface(np.array([[3, 4]]), types, np.zeros((1, 1, 2), np.int64), np.array([0, 2, 4, 6]))
    gold = np.array([0, 1, 0, 1, 0, 1])
    weights = start_weights(np.zeros(64, np.float32))
    links = start_weights(np.zeros((2, 2), np.float32))
    likelihoods = [
        train_epoch(rng.permutation(3), surface, candidates, parts, gold, weights, links, 0.5, 3 * epoch)
        for epoch in range(10)
    ]
    assert likelihoods[0] < likelihoods[4] < likelihoods[-1] < 0
    assert likelihoods[-1] > -1
    assert links.table[0, 1] > 0 > links.table[1, 0]
