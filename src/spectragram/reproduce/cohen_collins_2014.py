"""Cohen & Collins (2014): table 1 (parsing) and table 2 (language model)."""

from __future__ import annotations

from pathlib import Path

from spectragram.reproduce.cohen_collins_2014_lm import language_model
from spectragram.reproduce.cohen_collins_2014_parsing import parsing
from spectragram.reproduce.consistency import consistency
from spectragram.reproduce.report import Report

__all__ = ["run"]


def run(report: Report, data: Path) -> None:
    """Reproduce all parts of the paper for which there is data."""
    consistency(report, ["pivot", "lm"])
    parsing(report, data)
    language_model(report, data)
