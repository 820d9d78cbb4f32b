"""Self-contained HTML pages that work offline, print well and contain no scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from spectragram.files import atomic_write
from spectragram.plots.svg import clean

__all__ = ["html_page", "html_table", "save_page", "summary_table"]

_STYLE = """
body{font:15px/1.5 Helvetica,Arial,sans-serif;color:#1f2933;max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid #e4e7eb;padding-bottom:.2rem}
table{border-collapse:collapse;margin:.6rem 0}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #e4e7eb}
td.n{text-align:right;font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}
.wide{overflow-x:auto}.wide svg{max-width:none}footer{color:#7b8794;margin-top:3rem;font-size:.85rem}
""".strip()


_SMALL = 1e-3
"""Smaller numbers are shown in scientific notation: with four digits they would be mostly zeros."""


def html_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table. Numbers are aligned to the right, and all text is escaped."""
    head = "".join(f"<th>{escape(clean(name))}</th>" for name in header)
    body = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def summary_table(summary: Mapping[str, Any]) -> str:
    """A table of a model's ``summary_``, one fact per line; the parts are left out since they have their own table."""
    return html_table(["", ""], [[key.replace("_", " "), value] for key, value in summary.items() if key != "parts"])


def _cell(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        small = 0 < abs(value) < _SMALL
        shown = (f"{value:.1e}" if small else f"{value:.4g}") if isinstance(value, float) else str(value)
        return f'<td class="n">{shown}</td>'
    if isinstance(value, Mapping):
        value = ", ".join(f"{name}: {part}" for name, part in value.items())
    elif isinstance(value, (list, tuple)):
        value = ", ".join(map(str, value))
    return f"<td>{escape(clean(value))}</td>"


def html_page(title: str, sections: Iterable[tuple[str, str]], footer: str = "") -> str:
    """A page of ``(heading, body)`` sections; each body is HTML, such as a table, a drawing or escaped text."""
    parts = "".join(
        f'<section><h2>{escape(clean(heading))}</h2><div class="wide">{body}</div></section>'
        for heading, body in sections
    )
    name = escape(clean(title))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{name}</h1>{parts}"
        f"<footer>{escape(clean(footer))}</footer></body></html>\n"
    )


def save_page(path: str | Path, page: str) -> None:
    """Write a page to a file, atomically."""
    with atomic_write(path, "w") as stream:
        stream.write(page)
