"""Balle, Carreras, Luque & Quattoni (2014): automata (figures 3 to 5) and split head-automata grammars."""

from __future__ import annotations

from pathlib import Path

from spectragram.reproduce.balle_2014_shag import head_automata
from spectragram.reproduce.balle_2014_wer import next_tags
from spectragram.reproduce.consistency import consistency
from spectragram.reproduce.report import Report

__all__ = ["run"]


def run(report: Report, data: Path) -> None:
    """Reproduce all parts of the paper for which there is data."""
    consistency(report, ["automaton", "dependency"])
    next_tags(report, data)
    head_automata(report, data)
