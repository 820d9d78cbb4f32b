"""Self-contained SVG pictures and HTML pages that need no graphviz, browser or network.

The functions that draw trees, automata and other model objects are imported on first use, so that charts alone do not
load any model.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from spectragram.plots.charts import bar_chart, heat_map, line_chart, spectrum_chart
from spectragram.plots.page import html_page
from spectragram.plots.svg import Drawing

_DRAWINGS = {
    "draw_automaton": "automata",
    "draw_chart": "trees",
    "draw_dependencies": "dependency",
    "draw_tree": "trees",
    "graph_of_dfa": "automata",
    "graph_of_wfa": "automata",
    "hierarchy_drawing": "clusters",
}

__all__ = ["Drawing", "bar_chart", "heat_map", "html_page", "line_chart", "spectrum_chart"]
__all__ += list(_DRAWINGS)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _DRAWINGS:
        return getattr(import_module(f"spectragram.plots.{_DRAWINGS[name]}"), name)
    raise AttributeError(f"module 'spectragram.plots' has no attribute {name!r}; it has {', '.join(__all__)}")
