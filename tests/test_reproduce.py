"""Reports remember what they computed, every paper has a module, and the synthetic experiments show what they claim."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.plots.charts import line_chart
from spectragram.reproduce import PAPERS, Report, reproduce
from spectragram.synthetic.lpcfg import LatentPCFG


def test_cells_are_computed_once_and_survive_an_interruption(tmp_path: Path) -> None:
    calls = []

    def compute() -> int:
        calls.append(1)
        return 7

    assert Report("paper", "Title", tmp_path, quick=False).cell("a", compute) == 7
    again = Report("paper", "Title", tmp_path, quick=False)
    assert again.cell("a", compute) == 7
    assert len(calls) == 1
    assert Report("paper", "Title", tmp_path, quick=True).cell("a", compute) == 7
    assert len(calls) == 2  # a quick run is another one
    stored = json.loads((tmp_path / "paper.json").read_text())
    assert stored["cells"] == {"a": 7}


def test_numbers_of_another_version_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / "paper.json").write_text(json.dumps({"library": "0.0.0", "cells": {"a": 1}}))
    assert Report("paper", "Title", tmp_path, quick=False).cell("a", lambda: 2) == 2


def test_a_report_is_markdown_with_pictures(tmp_path: Path) -> None:
    report = Report("paper", "Title", tmp_path, quick=True)
    report.section("Table 1", "A smaller corpus.")
    report.table(["", "ours", "paper"], [["EM", 81.5, None]])
    report.figure("curve", line_chart({"a": [(1, 2), (3, 4)]}), "A curve")
    text = report.write().read_text()
    assert text.startswith("# paper: Title\n")
    assert "| EM | 81.50 |  |" in text
    assert "![A curve](paper.quick-curve.svg)" in text
    assert (tmp_path / "paper.quick-curve.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_can_be_run(paper: str) -> None:
    assert callable(import_module("spectragram.reproduce." + paper.replace("-", "_")).run)


def test_unknown_papers_and_missing_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one of balle-2014"):
        reproduce("nobody-1900", tmp_path, tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        reproduce("stratos-2014", tmp_path / "missing", tmp_path)


def test_counted_moments_approach_the_exact_ones(rng: np.random.Generator) -> None:
    grammar = LatentPCFG.random(2, 3, 5, 2, rng=rng)
    exact = grammar.moments()
    sample = grammar.sample(40_000, rng)
    errors = []
    for n in (400, 40_000):
        counted = grammar.counted_moments(sample.slice(0, n))
        parts = ("inside_outside", "binary", "lexical", "root")
        errors.append([float(np.abs(getattr(counted, p) - getattr(exact, p)).max()) for p in parts])
    assert max(errors[1]) < 0.02
    assert all(large > 3 * small for large, small in zip(*errors, strict=True))


def test_theorems_hold_by_numbers() -> None:
    from spectragram.reproduce.cohen_2012 import _errors
    from spectragram.reproduce.stratos_2014 import _recovered

    found = _errors(2, (300, 30_000))
    assert found["exact"] < 1e-9
    assert found["counted"][1] < 0.3 * found["counted"][0]
    assert _recovered(2_000, n_models=3) < _recovered(100_000, n_models=3) == 1.0
