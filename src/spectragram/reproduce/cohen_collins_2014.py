"""Cohen & Collins (2014): table 1 (parsing) and table 2 (language model)."""

from __future__ import annotations

from pathlib import Path

from spectragram.reproduce.cohen_collins_2014_lm import language_model
from spectragram.reproduce.cohen_collins_2014_parsing import parsing
from spectragram.reproduce.report import Report

__all__ = ["run"]


def run(report: Report, data: Path) -> None:
    """All parts of the paper that the data allow."""
    parsing(report, data)
    language_model(report, data)
