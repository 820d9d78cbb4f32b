"""Every estimator, trained as its paper says on samples of a known model, has an error that falls like 1 / sqrt(n)."""

from __future__ import annotations

import pytest

from spectragram.reproduce.consistency import EXPERIMENTS, TOLERANCE, mean_errors, slope_of


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_error_falls_with_the_square_root_of_the_sample(name: str) -> None:
    sizes = [EXPERIMENTS[name].smallest, 8 * EXPERIMENTS[name].smallest]
    slope = slope_of(sizes, mean_errors(name, sizes, 5))
    assert slope == pytest.approx(-0.5, abs=TOLERANCE)
