"""The examples in the docstrings of the data package are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import spectragram.data

MODULES = [module.name for module in pkgutil.iter_modules(spectragram.data.__path__, "spectragram.data.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
