"""Theorem 3 by hand, backwards, and above the error that is seen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spectragram.constituency.bounds import Coefficients, error_bound, examples_needed, marginal_nodes
from spectragram.errors import ParameterError
from spectragram.reproduce.cohen_2012 import coefficients_of, mean_error
from spectragram.synthetic.lpcfg import LatentPCFG

FOUND = Coefficients(n_states=2, n_rules=12, least=0.3, sigma=0.5)


def test_the_formula_by_hand() -> None:
    root = 1.2 ** (1 / 7) - 1
    expected = 128 * 4 / (root**2 * 0.09 * 0.0625) * math.log(2 * 2 * 12 / 0.1)
    assert examples_needed(FOUND, 3, epsilon=0.2, delta=0.1) == pytest.approx(expected)


def test_the_bound_is_the_inverse_and_falls_with_the_root_of_the_examples() -> None:
    n = examples_needed(FOUND, 5, epsilon=0.01)
    assert error_bound(FOUND, 5, n) == pytest.approx(0.01)
    assert error_bound(FOUND, 5, 4 * n) == pytest.approx(0.005, rel=0.01)


def test_marginals_of_a_sentence_need_as_much_as_its_trees() -> None:
    assert marginal_nodes(4) == 7
    with pytest.raises(ParameterError, match="n_words"):
        marginal_nodes(0)
    with pytest.raises(ParameterError, match="epsilon"):
        examples_needed(FOUND, 3, epsilon=0.0)


def test_errors_stay_below_the_bound() -> None:
    rng = np.random.default_rng(3)
    grammar = LatentPCFG.random(2, 3, 6, 2, rng=rng)
    found = coefficients_of(grammar)
    sample = grammar.sample(3000, rng)
    probes = [tree for tree in grammar.sample(200, rng) if len(tree) <= 5]
    seen = mean_error(grammar, grammar.counted_moments(sample), probes)
    assert 0.0 < seen < error_bound(found, 5, 3000)
