"""Pictures as self-contained SVG and HTML: no graphviz, no browser, no network needed.

What draws a model's own objects is imported when first named, so that charts alone load no model.
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


def __getattr__(name: str) -> Any:
    if name in _DRAWINGS:
        return getattr(import_module(f"spectragram.plots.{_DRAWINGS[name]}"), name)
    raise AttributeError(f"module 'spectragram.plots' has no attribute {name!r}; it has {', '.join(__all__)}")
