"""Ward's algorithm against trying every pair of active clusters; trees and bit strings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spectragram.clusters.hierarchy import bit_strings, is_tree, labels_after
from spectragram.clusters.spectral import ward


def figure_5(points: np.ndarray, n_active: int) -> list[set[frozenset[int]]]:
    """The pairs of clusters that are merged, in order, by trying them all."""
    active: list[frozenset[int]] = []
    entered = 0
    merges = []

    def cost(c: frozenset[int], d: frozenset[int]) -> float:
        gap = points[list(c)].mean(axis=0) - points[list(d)].mean(axis=0)
        return len(c) * len(d) / (len(c) + len(d)) * (gap @ gap)

    for _ in range(len(points) - 1):
        while len(active) < n_active and entered < len(points):
            active.append(frozenset([entered]))
            entered += 1
        c, d = min(itertools.combinations(active, 2), key=lambda pair: cost(*pair))
        active = [e for e in active if e not in (c, d)] + [c | d]
        merges.append({c, d})
    return merges


@pytest.mark.parametrize("n_active", [2, 5, 30])
def test_lazy_bounds_find_the_cheapest_merges(rng: np.random.Generator, n_active: int) -> None:
    points = rng.standard_normal((30, 3))
    merges, gamma = ward(points, np.ones(30), n_active, 1)
    members = {i: frozenset([i]) for i in range(30)}
    for t, ((a, b), expected) in enumerate(zip(merges, figure_5(points, n_active), strict=True)):
        assert {members[a], members[b]} == expected
        members[30 + t] = members[a] | members[b]
    assert 0 <= gamma < n_active


def test_going_on_from_clusters_is_the_same_as_going_on(rng: np.random.Generator) -> None:
    points = rng.standard_normal((25, 4))
    labels = labels_after(ward(points, np.ones(25), 7, 6)[0], 25)
    means = np.array([points[labels == c].mean(axis=0) for c in range(6)])
    tree = ward(means, np.bincount(labels), 6, 1)[0]
    whole = ward(points, np.ones(25), 7, 1)[0]
    for k in range(1, 6):
        np.testing.assert_array_equal(labels_after(tree[: 6 - k], 6)[labels], labels_after(whole[: 25 - k], 25))


def test_bit_strings_are_prefix_free_and_follow_the_tree() -> None:
    assert bit_strings(np.array([[0, 3], [1, 2], [4, 5]]), 4) == ["00", "10", "11", "01"]
    assert bit_strings(np.empty((0, 2), int), 1) == ["0"]
    chain = np.array([[0, 1]] + [[2000 + t, t + 2] for t in range(1998)])
    paths = bit_strings(chain, 2000)
    assert len(set(paths)) == 2000
    assert max(map(len, paths)) == 1999


def test_trees_are_told_from_other_arrays() -> None:
    assert is_tree(np.empty((0, 2), int))
    assert is_tree(np.array([[0, 3], [1, 2], [4, 5]]))
    assert not is_tree(np.array([[0, 1], [0, 3], [4, 5]])), "a node is merged twice"
    assert not is_tree(np.array([[5, 3], [1, 2], [4, 0]])), "a node is merged before it was made"
    assert not is_tree(np.array([[0, 1, 2]]))
