"""The randomisation test against enumeration of all signs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.metrics.significance import paired_randomization


def test_p_is_the_share_of_all_assignments_of_signs() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 10, 10), rng.integers(0, 8, 10)
    difference = first - second
    sums = [abs(sum(s * d for s, d in zip(signs, difference, strict=True))) for signs in product((-1, 1), repeat=10)]
    exact = np.mean([value >= abs(difference.sum()) for value in sums])
    assert paired_randomization(first, second) == pytest.approx(exact, abs=0.02)


def test_equal_systems_are_not_different() -> None:
    assert paired_randomization(np.ones(5), np.ones(5)) == 1.0


def test_scores_of_no_units_are_refused() -> None:
    with pytest.raises(InputError, match="one score"):
        paired_randomization(np.zeros(0), np.zeros(0))
