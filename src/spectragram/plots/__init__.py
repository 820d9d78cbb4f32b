"""Pictures as self-contained SVG and HTML: no graphviz, no browser, no network needed."""

from spectragram.plots.charts import bar_chart, heat_map, line_chart
from spectragram.plots.page import html_page
from spectragram.plots.svg import Drawing

__all__ = ["Drawing", "bar_chart", "heat_map", "html_page", "line_chart"]
