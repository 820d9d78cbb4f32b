"""Ratios that every score uses."""

from __future__ import annotations

import pytest

from spectragram.metrics import per_second
from spectragram.metrics.ratios import f1, percent


def test_percentages_of_nothing_are_zero() -> None:
    assert (percent(1, 4), percent(0, 0)) == (25, 0)
    assert (f1(100, 50), f1(0, 0)) == (pytest.approx(200 / 3), 0)


def test_speed_is_rounded_and_survives_a_clock_that_stands_still() -> None:
    assert per_second(100, 3.0) == 33.3
    assert 0 < per_second(1, 0.0) < float("inf")
