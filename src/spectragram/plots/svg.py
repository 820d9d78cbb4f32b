"""A canvas that collects shapes and writes them as one self-contained SVG string.

Coordinates are in pixels, and y grows downwards. All text is escaped, so that a word from a corpus can neither break
the picture nor add markup to it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from spectragram.files import atomic_write

__all__ = ["FONT", "INK", "MUTED", "PALETTE", "Drawing", "mix", "text_width"]

FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
INK = "#1f2933"
MUTED = "#7b8794"
PALETTE = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
"""Colours that most colour-blind readers can distinguish on white."""

_NARROW = set("iljtf.,:;'|!()[] ")
_WIDE = set("mwMW@%")
_FIRST_IDEOGRAPH = 0x2E80  # where Unicode's East Asian blocks begin; their characters are square
# XML 1.0 does not allow control characters and lone surrogates.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: object) -> str:
    """The text with all characters that XML forbids replaced by U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", str(text))


def text_width(text: str, size: float) -> float:
    """Estimated width of ``text`` in pixels. Fonts differ, so the estimate is on the wide side."""
    return sum(map(_width_in_ems, text)) * size


def _width_in_ems(character: str) -> float:
    """Width of a character relative to the font size, set by hand slightly above the widths of Helvetica and Arial."""
    if character in _NARROW:
        return 0.32
    if character in _WIDE:
        return 0.9
    if ord(character) > _FIRST_IDEOGRAPH:
        return 1.0
    return 0.68 if character.isupper() else 0.58


def is_right_to_left(words: Iterable[str]) -> bool:
    """Whether a text runs from right to left: its first letter with a direction decides.

    >>> is_right_to_left(["(", "\u05d0\u05d1"]), is_right_to_left(["a", "\u05d0"])
    (True, False)
    """
    directions = (unicodedata.bidirectional(character) for word in words for character in word)
    return next((direction for direction in directions if direction in ("L", "R", "AL")), "L") != "L"


def mix(share: float, low: str = "#ffffff", high: str = "#2563eb") -> str:
    """The colour at ``share`` (0 to 1) of the way from ``low`` to ``high``."""
    share = min(max(share, 0.0), 1.0)
    channels = (round(int(low[i : i + 2], 16) * (1 - share) + int(high[i : i + 2], 16) * share) for i in (1, 3, 5))
    return "#" + "".join(f"{channel:02x}" for channel in channels)


class Drawing:
    """A canvas: ``str()`` gives its SVG, notebooks display it, and :meth:`save` writes it to a file."""

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
        """Draw a straight line."""
        self._add("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "stroke": stroke, **more})

    def polyline(self, points: Sequence[tuple[float, float]], stroke: str = INK, **more: Any) -> None:
        """Draw a line through a sequence of points."""
        listed = " ".join(f"{_short(x)},{_short(y)}" for x, y in points)
        self._add("polyline", {"points": listed, "fill": "none", "stroke": stroke, **more})

    def rect(self, x: float, y: float, w: float, h: float, fill: str = "none", tip: str = "", **more: Any) -> None:
        """Draw a rectangle; ``tip`` is shown while the pointer rests on it."""
        self._add("rect", {"x": x, "y": y, "width": w, "height": h, "fill": fill, **more}, tip=tip)

    def circle(self, x: float, y: float, r: float, fill: str = INK, tip: str = "", **more: Any) -> None:
        """Draw a filled circle."""
        self._add("circle", {"cx": x, "cy": y, "r": r, "fill": fill, **more}, tip=tip)

    def path(self, d: str, stroke: str = INK, fill: str = "none", tip: str = "", **more: Any) -> None:
        """Draw a path; ``d`` is in SVG's path notation."""
        self._add("path", {"d": d, "stroke": stroke, "fill": fill, **more}, tip=tip)

    def arrow_head(self, x: float, y: float, dx: float, dy: float, size: float = 6, fill: str = INK) -> None:
        """Draw a filled arrow head with its tip at (x, y), pointing in the direction (dx, dy)."""
        length = (dx * dx + dy * dy) ** 0.5 or 1.0
        ux, uy = dx / length, dy / length
        bx, by = x - size * ux, y - size * uy
        side = size * 0.45  # half the width of its base, chosen by eye
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
        """Write text with its baseline at y; ``anchor`` is "start", "middle" or "end"."""
        attributes = {"x": x, "y": y, "font_size": size, "text_anchor": anchor, "fill": fill, **more}
        self._add("text", attributes, escape(clean(text)), tip)

    def place(self, other: Drawing, x: float, y: float) -> None:
        """Add the shapes of another drawing, moved by (x, y)."""
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
        """Write the SVG to a file, atomically."""
        with atomic_write(path, "w") as stream:
            stream.write(str(self) + "\n")


def _short(value: object) -> str:
    """An attribute as text; a hundredth of a pixel is precise enough and keeps files small."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return clean(value)
