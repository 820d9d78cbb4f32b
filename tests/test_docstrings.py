"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import spectragram

ROOT = Path(spectragram.__file__).parent
MODULES = [
    ".".join(["spectragram", *path.relative_to(ROOT).with_suffix("").parts])
    for path in sorted(ROOT.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
