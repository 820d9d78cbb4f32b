"""Members of an ensemble share the cores, in order."""

from __future__ import annotations

import pytest

from spectragram.learning.ensembles import train_members


@pytest.mark.parametrize(
    ("n_models", "n_jobs", "each"), [(1, 1, 1), (4, 2, 1), (2, 2, 1), (2, 3, 3), (1, 4, 4), (3, None, 1)]
)
def test_every_core_has_work(n_models: int, n_jobs: int | None, each: int) -> None:
    found = train_members(lambda number, n_jobs, report: (number, n_jobs), n_models, n_jobs)
    assert found == [(number, each) for number in range(n_models)]
