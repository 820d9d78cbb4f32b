"""What a release says about itself is the same in every file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import spectragram

ROOT = Path(__file__).parents[1]


def test_version_and_date_agree() -> None:
    newest = re.search(r"^## \[(.+)\] - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    citation = (ROOT / "CITATION.cff").read_text()
    assert newest[1] == spectragram.__version__
    assert f"version: {newest[1]}\ndate-released: {newest[2]}\n" in citation


def test_every_python_that_is_named_is_tested() -> None:
    workflow = ROOT / ".github" / "workflows" / "test.yml"
    if not workflow.exists():
        pytest.skip("a source distribution has no workflows")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [c.rsplit(" ", 1)[1] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert f"python: {named}".replace("'", '"') in workflow.read_text()
    assert project["requires-python"] == f">={named[0]}"


def test_everything_beside_the_code_is_in_the_source_distribution() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    kept = set(build["targets"]["sdist"]["include"])
    assert {path.name for path in ROOT.glob("*.*") if path.suffix in (".md", ".cff")} <= kept
