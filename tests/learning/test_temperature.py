"""The temperature that undoes another one."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.learning.temperature import fit_temperature, tempered
from spectragram.metrics import calibration_error


@pytest.mark.parametrize("sharper", [0.6, 1.0, 1.6])
def test_the_temperature_of_sharpened_probabilities_is_found(sharper: float) -> None:
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.full(3, 0.5), 40_000)
    gold = (rng.random((len(true), 1)) > true.cumsum(axis=1)).sum(axis=1)
    given = tempered(true, 1.0 / sharper)
    found = fit_temperature(given, gold, calibration_error)
    assert found == pytest.approx(sharper, rel=0.06)
    assert calibration_error(tempered(given, found).max(axis=1), true.argmax(axis=1) == gold) < 0.01


def test_order_zeros_and_empty_rows_stay() -> None:
    rows = np.array([[0.7, 0.3, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = tempered(rows, 2.0)
    np.testing.assert_allclose(found.sum(axis=1), [1.0, 1.0, 0.0])
    assert found[0, 0] > found[0, 1] > found[0, 2] == 0.0
    assert tempered(rows, 1.0) is rows
    assert fit_temperature(np.zeros((0, 3)), np.zeros(0, int), calibration_error) == 1.0
