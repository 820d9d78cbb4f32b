"""The expected calibration error, by hand and of probabilities that are true."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.metrics import calibration_error


def test_gaps_of_bins_are_weighted_by_their_choices() -> None:
    # Three choices at 0.95, of which two are right, and one at 0.2 that is right: (|2 - 2.85| + |1 - 0.2|) / 4.
    error = calibration_error(np.array([0.95, 0.95, 0.95, 0.2]), np.array([True, True, False, True]))
    assert error == pytest.approx((0.85 + 0.8) / 4)


def test_true_probabilities_are_calibrated_and_sharpened_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.3, 1.0, 50_000)
    right = rng.random(len(p)) < p
    assert calibration_error(p, right) < 0.01
    assert calibration_error(np.sqrt(p), right) > 0.08


def test_edges() -> None:
    assert calibration_error(np.zeros(0), np.zeros(0, bool)) == 0.0
    assert calibration_error(np.array([1.0, 1.0 + 1e-9]), np.array([True, True])) == 0.0
    assert calibration_error(np.array([np.nan, 0.9]), np.array([True, True])) == pytest.approx(0.1)
    with pytest.raises(InputError, match="one of each"):
        calibration_error(np.ones(2), np.ones(3, bool))
