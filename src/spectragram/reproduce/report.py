"""Reports of reproductions: they keep finished results and write Markdown, JSON and pictures."""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spectragram._version import __version__
from spectragram.display import format_value
from spectragram.files import atomic_write
from spectragram.plots.svg import Drawing

__all__ = ["Claim", "Report"]


@dataclass(frozen=True)
class Claim:
    """What a paper says, and what our figures say about it.

    ``holds`` and ``opposite`` are computed from the figures: a claim is *reproduced* if it holds, *reversed* if its
    opposite does, and *not reproduced* otherwise.
    """

    says: str
    figures: str
    holds: bool
    opposite: bool = False

    @property
    def verdict(self) -> str:
        """``reproduced``, ``reversed`` or ``not reproduced``.

        >>> Claim("A beats B.", "A 3, B 5.", 3 > 5, 3 < 5).verdict
        'reversed'
        """
        return "reproduced" if self.holds else "reversed" if self.opposite else "not reproduced"


class Report:
    """A report that is built up section by section.

    Every expensive number goes through :meth:`cell`, which writes its result to ``<out>/<paper>[.quick].json`` at once,
    so that an interrupted reproduction continues where it stopped. Delete that file to start again.
    """

    def __init__(self, paper: str, title: str, out: Path, *, quick: bool) -> None:
        self.paper, self.title, self.out, self.quick = paper, title, out, quick
        out.mkdir(parents=True, exist_ok=True)
        self.stem = paper + (".quick" if quick else "")
        self.store = out / f"{self.stem}.json"
        known = json.loads(self.store.read_text(encoding="utf-8")) if self.store.exists() else {}
        known = known if known.get("library") == __version__ else {}
        self.cells: dict[str, Any] = known.get("cells", {})
        self.processor_seconds: dict[str, float] = known.get("processor_seconds", {})
        self.parts: list[str] = []

    def cell(self, name: str, compute: Callable[[], Any]) -> Any:
        """The stored value ``name``, which is computed and stored if it is missing; it must be valid JSON."""
        if name not in self.cells:
            started = _processor_time()
            self.cells[name] = compute()
            self.processor_seconds[name] = round(_processor_time() - started, 2)
            self._remember()
        return self.cells[name]

    def _remember(self) -> None:
        known = {"paper": self.paper, "library": __version__, "cells": self.cells}
        with atomic_write(self.store, "w") as stream:
            json.dump(known | {"processor_seconds": self.processor_seconds}, stream, indent=1)

    def section(self, heading: str, text: str = "") -> None:
        """Start a section with a paragraph of text, which should say how the corpus differs from the paper's."""
        self.parts.append(f"## {heading}\n\n{text}".rstrip())

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Add a table; its header should mark the rows or columns with the paper's results."""
        lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
        lines += ["| " + " | ".join("" if v is None else format_value(v) for v in row) + " |" for row in rows]
        self.parts.append("\n".join(lines))

    def claims(self, claims: Sequence[Claim]) -> None:
        """Add one sentence for each claim of the paper: whether it holds on our data, and the figures behind that."""
        self.parts.append("\n".join(f"- **{claim.verdict}**: {claim.says} {claim.figures}" for claim in claims))

    def figure(self, name: str, drawing: Drawing, caption: str) -> None:
        """Add a picture and save it beside the document."""
        file = f"{self.stem}-{name}.svg"
        drawing.save(self.out / file)
        self.parts.append(f"![{caption}]({file})")

    def markdown(self) -> str:
        """The whole report as Markdown."""
        made = (
            f"Made {datetime.date.today().isoformat()} by `spectragram reproduce {self.paper}"
            f"{' --quick' if self.quick else ''} --data DIR`, spectragram {__version__}, "
            f"Python {platform.python_version()}, {os.cpu_count()} cores, "
            f"{sum(self.processor_seconds.values()):,.0f} processor seconds."
        )
        return "\n\n".join([f"# {self.paper}: {self.title}", made, *self.parts]) + "\n"

    def write(self) -> Path:
        """Write the Markdown file and return its path."""
        path = self.out / f"{self.stem}.md"
        with atomic_write(path, "w") as stream:
            stream.write(self.markdown())
        return path


def _processor_time() -> float:
    """Seconds of processor time of all threads of this process and of its finished children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
