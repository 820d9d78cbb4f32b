"""Greedy merges against trying every pair; Brown's algorithm against figure 1 done by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spectragram.clusters.brown import brown_classes
from spectragram.clusters.merging import merge_classes
from tests.clusters.brute import bigrams_of, information, merged, random_pairs


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("mean", [0.3, 3.0])
def test_every_merge_is_the_cheapest_of_all(rng: np.random.Generator, mean: float, n_jobs: int) -> None:
    table = random_pairs(rng, 14, mean)
    merges, losses = merge_classes(table, 14, 1, n_jobs=n_jobs)
    nodes = list(range(14))
    for t, (pair, loss) in enumerate(zip(merges, losses, strict=True)):
        now = information(table)
        options = {
            (i, j): now - information(merged(table, i, j)) for i, j in itertools.combinations(range(len(nodes)), 2)
        }
        i, j = sorted((nodes.index(pair[0]), nodes.index(pair[1])))
        assert loss == pytest.approx(options[i, j], abs=1e-10)
        assert loss == pytest.approx(min(options.values()), abs=1e-10)
        table = merged(table, i, j)
        nodes[i] = 14 + t
        nodes.pop(j)


def test_the_table_is_not_changed_and_later_classes_stay(rng: np.random.Generator) -> None:
    table = random_pairs(rng, 10)
    before = table.copy()
    merges, _ = merge_classes(table, 8, 3)
    np.testing.assert_array_equal(table, before)
    assert len(merges) == 5
    assert not {8, 9} & set(merges.ravel().tolist())


def figure_1(pairs: np.ndarray, m: int) -> list[set[int]]:
    """Figure 1 with the likelihood over active words only, margins of the whole corpus, every pair tried."""
    left, right = pairs.sum(axis=1), pairs.sum(axis=0)

    def objective(clusters: list[set[int]]) -> float:
        value = 0.0
        for c, d in itertools.product(clusters, repeat=2):
            n = sum(pairs[a, b] for a in c for b in d)
            if n:
                value += n * np.log(n / (sum(left[a] for a in c) * sum(right[b] for b in d)))
        return value

    clusters = [{word} for word in range(m)]
    for word in range(m, len(pairs)):
        clusters.append({word})
        options = []
        for i, j in itertools.combinations(range(len(clusters)), 2):
            rest = [c for k, c in enumerate(clusters) if k not in (i, j)]
            options.append([*rest, clusters[i] | clusters[j]])
        clusters = max(options, key=objective)
    return clusters


def test_brown_follows_figure_1(rng: np.random.Generator) -> None:
    pairs = random_pairs(rng, 16, mean=2.0)
    labels = brown_classes(bigrams_of(pairs), 4, 16)
    ours = [set(np.flatnonzero(labels == c).tolist()) for c in range(4)]
    assert sorted(map(sorted, ours)) == sorted(map(sorted, figure_1(pairs, 4)))
