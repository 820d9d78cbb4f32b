"""Reproductions of the tables and figures of five papers on public data, with the published results beside ours."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from spectragram.errors import InputError
from spectragram.reproduce.report import Report

__all__ = ["PAPERS", "Report", "reproduce"]

PAPERS = {
    "balle-2014": "Spectral learning of weighted automata: automata and split head-automata grammars",
    "cohen-2012": "Spectral learning of latent-variable PCFGs",
    "cohen-collins-2014": "A provably correct learning algorithm for latent-variable PCFGs: parsing, language model",
    "stratos-2013": "Spectral learning of refinement HMMs",
    "stratos-2014": "A spectral algorithm for learning class-based n-gram models",
}


def reproduce(paper: str, data: Path, out: Path, *, quick: bool = False) -> Report:
    """Run the experiments of a paper, or resume them, and write ``<out>/<paper>.md``, ``.json`` and pictures."""
    if paper not in PAPERS:
        raise InputError(f"'{paper}' is not a known paper", remedy=f"choose one of {', '.join(PAPERS)}")
    module = "spectragram.reproduce." + paper.replace("-", "_")
    if not data.is_dir():
        raise InputError("is not a folder", path=data, remedy="name the folder that holds the corpora with --data")
    report = Report(paper, PAPERS[paper], out, quick=quick)
    import_module(module).run(report, data)
    report.write()
    return report
