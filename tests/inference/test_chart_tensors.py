"""Tensors applied to many pairs of vectors against sums that are written out."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.inference.chart_rules import make_operators, make_rules
from spectragram.inference.chart_tensors import AT_ONCE, LEFT, PARENT, RIGHT, group_tensors, multiply

BINARY = [[2, 0, 1], [2, 2, 3], [3, 0, 2], [3, 2, 1], [3, 3, 3], [2, 1, 3]]
"""Tags are 0 and 1: every pair of a tag or phrase with a tag or phrase is there."""
SIZES = np.array([3, 1, 2, 2], np.int32)
N_TAG_STATES, SIZE = 4, 8


@pytest.mark.parametrize("first, second", [(LEFT, RIGHT), (PARENT, LEFT)])
def test_products_are_sums_over_rules_and_terms(rng, first, second):
    rules = make_rules(np.array(BINARY), np.zeros((0, 2), np.int64), len(SIZES))
    tensors = [rng.random(SIZES[rule]) for rule in rules.binary]
    flat = np.concatenate([tensor.ravel() for tensor in tensors])
    operators = make_operators(rules, SIZES, flat, np.zeros(0), np.ones(SIZE), np.ones(SIZE))
    vectors = rng.random((12, SIZE)).astype(np.float32)
    vectors[4:, :N_TAG_STATES] = 0.0  # longer spans have no tags
    vectors[6, N_TAG_STATES:] = 0.0
    rows = rng.integers(12, size=(AT_ONCE + 5, 3, 2))
    factors = rng.random((len(rows), 3)).astype(np.float32)

    found = multiply(
        group_tensors(rules, operators, [flat, 2.0 * flat], N_TAG_STATES, first, second),
        vectors,
        vectors,
        rows,
        factors,
    )

    start = operators.state_start
    expected = np.zeros((len(rows), SIZE))
    third = ({PARENT, LEFT, RIGHT} - {first, second}).pop()
    for rule, tensor in zip(rules.binary, tensors, strict=True):
        one, other, target = (slice(start[rule[place]], start[rule[place] + 1]) for place in (first, second, third))
        turned = tensor.transpose(first, second, third)
        expected[:, target] += np.einsum(
            "yzx,ik,iky,ikz->ix", turned, factors, vectors[rows[:, :, 0], one], vectors[rows[:, :, 1], other]
        )
    np.testing.assert_allclose(found, np.hstack([expected, 2.0 * expected]), rtol=1e-5)
