"""Shared fixtures: where the real corpora are, and a seeded generator."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# A slow or busy machine is no failure, and a failure belongs to the change that caused it, so every run tries the same
# examples. `pytest --hypothesis-profile=explore` looks for new ones.
settings.register_profile("spectragram", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("spectragram")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real corpora; tests that need it skip, visibly, where it is not set."""
    folder = os.environ.get("SPECTRAGRAM_DATA")
    if not folder:
        pytest.skip("SPECTRAGRAM_DATA is not set: real corpora are not here")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"SPECTRAGRAM_DATA={folder} is not a folder")
    return path


@pytest.fixture
def rng() -> np.random.Generator:
    """A fresh generator with a fixed seed for every test."""
    return np.random.default_rng(20120708)


@pytest.fixture(autouse=True)
def no_lines_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow machines print the same as fast ones: progress is shown late."""
    monkeypatch.setattr("spectragram.engine.progress.FIRST_SECONDS", 3600.0)
