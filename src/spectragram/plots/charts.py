"""Line charts, bar charts and heat maps for spectra, learning curves and comparisons.

All sizes are in pixels and were chosen by eye.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from spectragram.data.corpus import END
from spectragram.learning.measures import Measures
from spectragram.plots.svg import MUTED, PALETTE, Drawing, mix, text_width

__all__ = ["bar_chart", "heat_map", "line_chart", "measures_chart", "spectrum_chart", "surprisal_chart"]

Points = Sequence[tuple[float, float]]

TITLE, LABEL, SMALL = 14, 12, 11
"""Font sizes of titles, of axis labels and legends, and of ticks and values."""
GRID = "#e4e7eb"
LEFT, BOTTOM = 66, 50
"""Room for the ticks and labels of a line chart's axes."""
LEGEND_ROW, BAR_ROW = 19, 22
"""Height of a line in the legend and of a bar with the gap above it."""
PADDING = 0.04
"""Share of an axis that is left empty at either end, so that markers stay inside the frame."""
STEPS = (1, 2, 2.5, 5, 10)
"""Distances between ticks, up to a power of ten."""
ROUNDING = 1e-9
"""Keeps ticks at the ends of an axis in spite of rounding errors; any tiny value does."""
MOST_POWERS = 10
"""Powers of ten at which a logarithmic axis has ticks; in the height of a chart more would touch each other."""
COSINE = 0.75
"""Height of a label at 45 degrees over its width: cos 45 = 0.71, and a little room."""


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers in [low, high], roughly ``about`` of them.

    >>> nice_ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        high = low + (abs(low) or 1.0) * 0.1
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    # A step may be 0.1 % too small, so that rounding errors never push it to the next one.
    step = next(s * power for s in STEPS if s * power >= raw * 0.999)
    first, last = math.ceil(low / step - ROUNDING), math.floor(high / step + ROUNDING)
    return [round(i * step, 10) for i in range(first, last + 1)]


class _Axis:
    """Maps values to pixels, linearly or logarithmically, and computes its ticks."""

    def __init__(self, values: Sequence[float], start: float, stop: float, log: bool) -> None:
        self.log = log
        scaled = [self._scale(v) for v in values] or [0.0, 1.0]
        low, high = min(scaled), max(scaled)
        # If all values are equal, they stand in the middle of an axis of any length.
        margin = (high - low) * PADDING or abs(high) * 0.1 or 0.5
        self.low, self.high = low - margin, high + margin
        self.start, self.stop = start, stop

    def _scale(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def __call__(self, value: float) -> float:
        share = (self._scale(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self) -> list[float]:
        if not self.log:
            return nice_ticks(self.low, self.high)
        # Less than three powers of ten would give too few ticks.
        apart = math.ceil((self.high - self.low) / MOST_POWERS)
        powers = range(math.floor(self.low / apart) * apart, math.ceil(self.high) + 1, apart)
        steps = (1, 2, 5) if self.high - self.low < 3 else (1,)
        ticks = [s * 10.0**p for p in powers for s in steps]
        return [t for t in ticks if self.low <= math.log10(t) <= self.high]


def _frame(drawing: Drawing, x: _Axis, y: _Axis, x_label: str, y_label: str) -> None:
    for tick in y.ticks():
        drawing.line(x.start, y(tick), x.stop, y(tick), stroke=GRID)
        drawing.text(x.start - 6, y(tick) + 4, f"{tick:g}", size=SMALL, anchor="end", fill=MUTED)
    for tick in x.ticks():
        drawing.line(x(tick), y.start, x(tick), y.start + 4, stroke=MUTED)
        drawing.text(x(tick), y.start + 17, f"{tick:g}", size=SMALL, anchor="middle", fill=MUTED)
    drawing.line(x.start, y.start, x.stop, y.start, stroke=MUTED)
    drawing.text((x.start + x.stop) / 2, y.start + 36, x_label, size=LABEL, anchor="middle")
    middle = (y.start + y.stop) / 2
    drawing.text(16, middle, y_label, size=LABEL, anchor="middle", transform=f"rotate(-90 16 {middle:.1f})")


def line_chart(
    series: Mapping[str, Points],
    *,
    x_label: str = "",
    y_label: str = "",
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    lines: bool = True,
    width: float = 640,
    height: float = 380,
) -> Drawing:
    """One line with markers for each series of (x, y) points, or a scatter plot if ``lines`` is false.

    Points that are not finite are left out.
    """
    series = {name: [p for p in listed if all(map(math.isfinite, p))] for name, listed in series.items()}
    legend = max((text_width(name, LABEL) for name in series), default=0.0) + 34
    drawing = Drawing(width, height, title)
    points = [p for listed in series.values() for p in listed]
    x = _Axis([p[0] for p in points], LEFT, width - legend - 14, log_x)
    y = _Axis([p[1] for p in points], height - BOTTOM, 40 if title else 18, log_y)
    drawing.text(LEFT, 24, title, size=TITLE, font_weight="bold")
    _frame(drawing, x, y, x_label, y_label)
    for i, (name, listed) in enumerate(series.items()):
        colour = PALETTE[i % len(PALETTE)]
        placed = [(x(a), y(b)) for a, b in listed]
        if lines and len(placed) > 1:
            drawing.polyline(placed, stroke=colour, stroke_width=2, stroke_linejoin="round")
        for (px, py), (a, b) in zip(placed, listed, strict=True):
            drawing.circle(px, py, 3.2 if lines else 5, fill=colour, tip=f"{name}: {a:g}, {b:g}")
        row = y.stop + 8 + LEGEND_ROW * i
        drawing.line(x.stop + 12, row, x.stop + 28, row, stroke=colour, stroke_width=3)
        drawing.text(x.stop + 33, row + 4, name, size=LABEL)
    return drawing


def spectrum_chart(singular_values: Sequence[float] | np.ndarray, title: str = "") -> Drawing:
    """Singular values, largest first, on a logarithmic axis; they show how many states the moments support."""
    points = [(float(i), float(value)) for i, value in enumerate(singular_values, 1) if value > 0]
    return line_chart({"singular values": points}, title=title, x_label="number", y_label="singular value", log_y=True)


def bar_chart(values: Mapping[str, float], *, title: str = "", x_label: str = "", width: float = 560) -> Drawing:
    """Horizontal bars, one per row, with the value beside each; bars of negative values extend to the left."""
    labels = max((text_width(name, LABEL) for name in values), default=0.0) + 18
    top = 40.0 if title else 14.0
    drawing = Drawing(width, top + BAR_ROW * len(values) + 34, title)
    drawing.text(12, 24, title, size=TITLE, font_weight="bold")
    largest = max((abs(v) for v in values.values()), default=1.0) or 1.0
    negative = any(v < 0 for v in values.values())
    room = (width - labels - 70) / (2 if negative else 1)
    zero = labels + (room if negative else 0)
    for i, (name, value) in enumerate(values.items()):
        row = top + BAR_ROW * i
        length = room * abs(value) / largest
        drawing.text(labels - 8, row + 15, name, anchor="end")
        drawing.rect(zero if value >= 0 else zero - length, row + 3, length, 16, fill=PALETTE[value < 0], rx=2)
        drawing.text(zero + max(length if value >= 0 else 0, 0) + 6, row + 15, f"{value:.4g}", size=SMALL, fill=MUTED)
    drawing.text(zero, top + BAR_ROW * len(values) + 20, x_label, size=SMALL, fill=MUTED)
    return drawing


def heat_map(
    values: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str = "",
    cell: float = 26,
) -> Drawing:
    """A matrix as shaded cells, the darkest for the largest absolute value, with names and tips."""
    left = max((text_width(name, SMALL) for name in rows), default=0.0) + 18
    top = max((text_width(name, SMALL) for name in columns), default=0.0) * COSINE + (46 if title else 22)
    # Only the slanted names of the last columns can stick out on the right.
    right = max((text_width(name, SMALL) for name in columns[-3:]), default=0.0) * COSINE
    drawing = Drawing(left + cell * len(columns) + right + 12, top + cell * len(rows) + 14, title)
    drawing.text(12, 22, title, size=TITLE, font_weight="bold")
    largest = max((abs(v) for row in values for v in row), default=1.0) or 1.0
    for j, name in enumerate(columns):
        cx, cy = left + cell * (j + 0.5), top - 6
        drawing.text(cx, cy, name, size=SMALL, transform=f"rotate(-45 {cx:.1f} {cy:.1f})")
    for i, (name, row) in enumerate(zip(rows, values, strict=True)):
        drawing.text(left - 8, top + cell * (i + 0.5) + 4, name, size=SMALL, anchor="end")
        for j, value in enumerate(row):
            colour = mix(abs(value) / largest, high=PALETTE[value < 0])
            tip = f"{name}, {columns[j]}: {value:.4g}"
            drawing.rect(left + cell * j, top + cell * i, cell - 1, cell - 1, fill=colour, tip=tip)
    return drawing


def measures_chart(found: Measures) -> Drawing:
    """What a model says about the words of a sentence, and about its end if it predicts that."""
    words = [*found.words, END][: len(found.surprisal)]
    if found.syntactic is None or found.lexical is None:
        return surprisal_chart(words, found.surprisal.tolist())
    return surprisal_chart(words, found.lexical.tolist(), found.syntactic.tolist())


def surprisal_chart(
    words: Sequence[str], lexical: Sequence[float], syntactic: Sequence[float] | None = None, *, title: str = ""
) -> Drawing:
    """Bits of every word as columns, the syntactic part below the lexical one where a model has both."""
    columns = [max(text_width(word, LABEL) + 10, 34.0) for word in words]
    height, top = 170.0, 44.0 if title else 26.0
    drawing = Drawing(LEFT + sum(columns) + 20, top + height + 60, title)
    drawing.text(12, 24, title, size=TITLE, font_weight="bold")
    below = [0.0] * len(words) if syntactic is None else [float(bits) for bits in syntactic]
    largest = max((a + b for a, b in zip(lexical, below, strict=True)), default=1.0) or 1.0
    for tick in nice_ticks(0.0, largest):
        y = top + height * (1.0 - tick / largest)
        drawing.line(LEFT, y, LEFT + sum(columns), y, stroke=GRID)
        drawing.text(LEFT - 8, y + 4, f"{tick:g}", size=SMALL, fill=MUTED, anchor="end")
    x = float(LEFT)
    for word, upper, lower, width in zip(words, lexical, below, columns, strict=True):
        base = top + height
        for bits, color in ((lower, PALETTE[1]), (float(upper), PALETTE[0])):
            size = height * bits / largest
            drawing.rect(x + 5, base - size, width - 10, size, fill=color)
            base -= size
        drawing.text(x + width / 2, base - 4, f"{upper + lower:.1f}", size=SMALL, fill=MUTED, anchor="middle")
        drawing.text(x + width / 2, top + height + 18, word, anchor="middle")
        x += width
    legend = "bits" if syntactic is None else "bits: syntactic part below, lexical part above"
    drawing.text(LEFT, top + height + 42, legend, size=SMALL, fill=MUTED)
    return drawing
