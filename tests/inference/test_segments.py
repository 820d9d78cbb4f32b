"""Segmentations: kernels against sums over all of them."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from spectragram.inference.segments import (
    N_KINDS,
    Shape,
    best_segments,
    count_kinds,
    find_candidates,
    length_buckets,
    segment_marginals,
)

LONGEST = 4


def random_case(seed: int, n: int = 7) -> tuple[np.ndarray, Shape, np.ndarray]:
    rng = np.random.default_rng(seed)
    nested = np.append(0, np.cumsum(rng.integers(-1, 2, n)))
    mirrored = np.append(0, np.cumsum(rng.integers(0, 2, n)))
    verbs = np.append(0, np.cumsum(rng.integers(0, 2, n)))
    return rng.normal(size=n), Shape(length_buckets(LONGEST), nested, mirrored, verbs), rng.normal(size=N_KINDS)


def every_segmentation(n: int) -> list[np.ndarray]:
    """Borders of all segmentations of n items into segments of at most LONGEST items."""
    found = []
    for cuts in product([False, True], repeat=n - 1):
        borders = np.array([0, *(i + 1 for i, cut in enumerate(cuts) if cut), n])
        if np.diff(borders).max() <= LONGEST:
            found.append(borders)
    return found


def score(borders: np.ndarray, cuts: np.ndarray, shape: Shape, kinds: np.ndarray) -> float:
    total = 0.0
    for i, j in pairwise(borders.tolist()):
        nested = np.sign(shape.nested[j] - shape.nested[i])
        odd = (shape.mirrored[j] - shape.mirrored[i]) % 2
        balance = 32 + 2 * {0: 0, 1: 1, -1: 2}[int(nested)] + odd
        size = sum(j - i > bound for bound in (2, 5, 11))
        activity = 38 + 4 * size + min(3, int(shape.verbs[j] - shape.verbs[i]))
        total += cuts[j - 1] + kinds[shape.buckets[j - i]] + kinds[balance] + kinds[activity]
    return float(total)


@pytest.mark.parametrize("seed", range(5))
def test_marginals_are_sums_over_all_segmentations(seed: int) -> None:
    cuts, shape, kinds = random_case(seed)
    n = len(cuts)
    listed = every_segmentation(n)
    scores = np.array([score(borders, cuts, shape, kinds) for borders in listed])
    log_sum = np.logaddexp.reduce(scores)
    marginals, expected = np.zeros(n), np.zeros(N_KINDS)
    for borders, share in zip(listed, np.exp(scores - log_sum), strict=True):
        marginals[borders[1:] - 1] += share
        expected += share * count_kinds(borders, shape)
    found = segment_marginals(cuts, np.arange(n + 1), shape, kinds)
    np.testing.assert_allclose(found[0], marginals)
    np.testing.assert_allclose(found[1], expected)
    assert found[2] == pytest.approx(log_sum)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("price", [0.0, 0.3])
def test_the_best_segmentation_has_the_largest_sum_of_chances(seed: int, price: float) -> None:
    cuts, shape, kinds = random_case(seed)
    n = len(cuts)
    listed = every_segmentation(n)
    scores = np.array([score(borders, cuts, shape, kinds) for borders in listed])
    shares = np.exp(scores - np.logaddexp.reduce(scores))
    chance: dict[tuple[int, int], float] = {}
    for borders, share in zip(listed, shares, strict=True):
        for segment in pairwise(borders.tolist()):
            chance[segment] = chance.get(segment, 0.0) + share
    best = max(listed, key=lambda borders: sum(chance[segment] - price for segment in pairwise(borders.tolist())))
    chosen, chances = best_segments(cuts, np.arange(n + 1), shape, kinds, price)
    assert (np.flatnonzero(chosen) + 1).tolist() == best[1:].tolist()
    np.testing.assert_allclose(chances[chosen], [chance[segment] for segment in pairwise(best.tolist())])


def test_only_candidates_become_cuts() -> None:
    cuts, shape, kinds = random_case(3)
    marginals, _, _ = segment_marginals(cuts, np.array([0, 3, 7]), shape, kinds)
    np.testing.assert_allclose(marginals, [0, 0, 1, 0, 0, 0, 1])


def test_candidates_are_likely_cuts_gold_cuts_and_close_enough_together() -> None:
    cuts = np.full(10, -50.0)
    cuts[1] = 0.0
    gold = np.zeros(10, np.bool_)
    gold[2] = True
    assert find_candidates(cuts, gold, 100).tolist() == [0, 2, 3, 10]
    assert find_candidates(cuts, gold, 8).tolist() == [0, 2, 3, 7, 10]
