"""Projections and clusters of tree nodes: what the parser asks of the shared code."""

from __future__ import annotations

import numpy as np

from spectragram.constituency.features import FeatureColumns, cluster_shares, project_labels, random_shares


def nodes(rng: np.random.Generator, n: int = 600) -> tuple[FeatureColumns, np.ndarray, np.ndarray]:
    """Nodes of two symbols with three hidden kinds each; the last symbol has a single node that resembles nothing."""
    symbol = rng.integers(0, 2, n)
    kind = rng.integers(0, 3, n)
    sides = []
    for _ in range(2):
        noisy = np.where(rng.random((n, 4)) < 0.8, kind[:, None], rng.integers(0, 3, (n, 4)))
        sides.append((symbol[:, None] * 3 + noisy).astype(np.int32))
    sides[0][symbol == 1, 3] = -1  # this template does not apply to the second symbol
    sides = [np.vstack([side, np.full(4, 6)]).astype(np.int32) for side in sides]
    return FeatureColumns(*sides), np.append(symbol, 2), kind


def test_clusters_of_projections_are_the_hidden_kinds(rng: np.random.Generator) -> None:
    columns, symbol, kind = nodes(rng)
    projections = project_labels(columns, symbol, 3, 3)
    assert [len(projection.sigma) for projection in projections] == [3, 3, 1]
    for a, projection in enumerate(projections):
        np.testing.assert_array_equal(projection.nodes, np.flatnonzero(symbol == a))
    shares = cluster_shares(projections, np.array([3, 3, 1]), len(symbol))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    for a in (0, 1):
        own = np.flatnonzero(symbol[:-1] == a)
        table = np.zeros((3, 3))
        np.add.at(table, (shares[own].argmax(axis=1), kind[own]), 1)
        assert table.max(axis=1).sum() > 0.9 * len(own), "each cluster has nodes of one kind"
        assert len(set(table.argmax(axis=1))) == 3


def test_a_node_that_resembles_no_other_gets_a_constant(rng: np.random.Generator) -> None:
    columns, symbol, _ = nodes(rng)
    alone = project_labels(columns, symbol, 3, 3)[2]
    np.testing.assert_array_equal(alone.inside, [[1.0]])
    np.testing.assert_array_equal(alone.sigma, [1.0])


def test_leading_dimensions(rng: np.random.Generator) -> None:
    columns, symbol, _ = nodes(rng)
    projection = project_labels(columns, symbol, 3, 3)[0]
    first = projection.first(2)
    np.testing.assert_array_equal(first.inside, projection.inside[:, :2])
    np.testing.assert_array_equal(first.sigma, projection.sigma[:2])


def test_random_shares_are_within_the_states_of_a_symbol(rng: np.random.Generator) -> None:
    shares = random_shares(np.array([0, 1, 1]), np.array([1, 4]), rng)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert (shares[1:] > 0).all()
