"""A canvas that writes SVG: shapes go in, one self-contained string comes out.

Coordinates are pixels, y grows downwards. All text is escaped, so a word from a corpus can never break the
picture or smuggle markup into it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from spectragram.files import atomic_write

__all__ = ["FONT", "INK", "MUTED", "PALETTE", "Drawing", "mix", "text_width"]

FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
INK = "#1f2933"
MUTED = "#7b8794"
PALETTE = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
"""Colours that stay apart for most colour-blind readers, on white."""

_NARROW = set("iljtf.,:;'|!()[] ")
_WIDE = set("mwMW@%")
# Control characters and lone surrogates have no place in XML 1.0.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: object) -> str:
    """Text as XML can hold it: forbidden characters become U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", str(text))


def text_width(text: str, size: float) -> float:
    """Estimated width of ``text`` in pixels; fonts differ, so it errs on the wide side."""
    units = sum(
        0.32 if c in _NARROW else 0.9 if c in _WIDE else 1.0 if ord(c) > 0x2E80 else 0.68 if c.isupper() else 0.58
        for c in text
    )
    return units * size


def mix(share: float, low: str = "#ffffff", high: str = "#2563eb") -> str:
    """The colour ``share`` (0 to 1) of the way from ``low`` to ``high``."""
    share = min(max(share, 0.0), 1.0)
    channels = (round(int(low[i : i + 2], 16) * (1 - share) + int(high[i : i + 2], 16) * share) for i in (1, 3, 5))
    return "#" + "".join(f"{channel:02x}" for channel in channels)


class Drawing:
    """Collects shapes; ``str()`` gives the SVG, notebooks show it, :meth:`save` writes it."""

    def __init__(self, width: float, height: float, title: str = "") -> None:
        self.width, self.height, self.title = width, height, title
        self._parts: list[str] = []

    def _add(self, tag: str, attributes: dict[str, Any], body: str = "", tip: str = "") -> None:
        listed = "".join(
            f" {name.rstrip('_').replace('_', '-')}={quoteattr(_short(value))}"
            for name, value in attributes.items()
            if value is not None
        )
        if tip:
            body = f"<title>{escape(clean(tip))}</title>" + body
        self._parts.append(f"<{tag}{listed}>{body}</{tag}>" if body else f"<{tag}{listed}/>")

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str = INK, **more: Any) -> None:
        """A straight line."""
        self._add("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "stroke": stroke, **more})

    def polyline(self, points: Sequence[tuple[float, float]], stroke: str = INK, **more: Any) -> None:
        """A line through many points."""
        listed = " ".join(f"{_short(x)},{_short(y)}" for x, y in points)
        self._add("polyline", {"points": listed, "fill": "none", "stroke": stroke, **more})

    def rect(self, x: float, y: float, w: float, h: float, fill: str = "none", tip: str = "", **more: Any) -> None:
        """A rectangle; ``tip`` shows when the pointer rests on it."""
        self._add("rect", {"x": x, "y": y, "width": w, "height": h, "fill": fill, **more}, tip=tip)

    def circle(self, x: float, y: float, r: float, fill: str = INK, tip: str = "", **more: Any) -> None:
        """A disc."""
        self._add("circle", {"cx": x, "cy": y, "r": r, "fill": fill, **more}, tip=tip)

    def path(self, d: str, stroke: str = INK, fill: str = "none", tip: str = "", **more: Any) -> None:
        """Any path; ``d`` in SVG's own notation."""
        self._add("path", {"d": d, "stroke": stroke, "fill": fill, **more}, tip=tip)

    def arrow_head(self, x: float, y: float, dx: float, dy: float, size: float = 6, fill: str = INK) -> None:
        """A filled arrow head with its tip at (x, y), pointing along (dx, dy)."""
        length = (dx * dx + dy * dy) ** 0.5 or 1.0
        ux, uy = dx / length, dy / length
        bx, by = x - size * ux, y - size * uy
        side = size * 0.45
        points = [(x, y), (bx - side * uy, by + side * ux), (bx + side * uy, by - side * ux)]
        self._add("polygon", {"points": " ".join(f"{_short(a)},{_short(b)}" for a, b in points), "fill": fill})

    def text(
        self,
        x: float,
        y: float,
        text: object,
        size: float = 12,
        anchor: str = "start",
        fill: str = INK,
        tip: str = "",
        **more: Any,
    ) -> None:
        """Text with its baseline at y; ``anchor`` is start, middle or end."""
        attributes = {"x": x, "y": y, "font_size": size, "text_anchor": anchor, "fill": fill, **more}
        self._add("text", attributes, escape(clean(text)), tip)

    def place(self, other: Drawing, x: float, y: float) -> None:
        """Put another drawing's shapes here, moved by (x, y)."""
        self._parts.append(f'<g transform="translate({_short(x)},{_short(y)})">' + "".join(other._parts) + "</g>")

    def __str__(self) -> str:
        w, h = _short(self.width), _short(self.height)
        title = f"<title>{escape(clean(self.title))}</title>" if self.title else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" '
            f'font-family="{FONT}">{title}<rect width="{w}" height="{h}" fill="#ffffff"/>'
            + "".join(self._parts)
            + "</svg>"
        )

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: str | Path) -> None:
        """Write the SVG file, atomically."""
        with atomic_write(path, "w") as stream:
            stream.write(str(self) + "\n")


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return clean(value)
