"""What every command prints: a summary after training, scores as a table or as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spectragram.display import format_value

__all__ = ["note", "print_scores", "print_table", "remark_unknown", "trained", "write_page"]


def note(text: str, *, quiet: bool = False) -> None:
    """A remark for the person at the terminal: standard error, so that pipes stay clean."""
    if not quiet:
        print(text, file=sys.stderr)


def trained(path: Path, summary: Mapping[str, Any], *, quiet: bool = False) -> None:
    """Say where the model went and how training went."""
    facts = ", ".join(f"{name.replace('_', ' ')} {format_value(value)}" for name, value in summary.items())
    note(f"wrote {path}" + (f" ({facts})" if facts else ""), quiet=quiet)


def print_scores(scores: Mapping[str, Any], *, as_json: bool) -> None:
    """One JSON object, or one ``name value`` line per score."""
    if as_json:
        print(json.dumps({name: _jsonable(value) for name, value in scores.items()}))
        return
    plain = {name: value for name, value in scores.items() if not isinstance(value, (dict, list))}
    width = max((len(name) for name in plain), default=0)
    for name, value in plain.items():
        print(f"{name:<{width}}  {format_value(value)}")


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Aligned columns, numbers to the right; plain text, so that it can be piped and pasted."""
    cells = [[str(name) for name in header]] + [[format_value(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    numeric = [all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(header))]
    for row in cells:
        parts = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        print("  ".join(parts).rstrip())


def remark_unknown(n_unknown: int, n_tokens: int) -> None:
    """A text of which the model knows less than half is probably not what was meant."""
    if n_unknown > n_tokens / 2:
        note(f"the model does not know {n_unknown} of {n_tokens} words: is this the right file?")


def write_page(path: Path, page: str) -> None:
    """Write an HTML page and say so."""
    from spectragram.plots.page import save_page

    save_page(path, page)
    note(f"wrote {path}")


def _jsonable(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    # JSON has no infinities; null says "no finite value" in every parser.
    return None if isinstance(value, float) and not math.isfinite(value) else value
