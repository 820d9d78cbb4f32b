"""How values and objects show themselves: numbers in tables, models and trees in a notebook.

What draws pictures of objects is above them in the order of imports, so a class names its picture as text, and the
function in :mod:`spectragram.plots.notebook` is imported when a notebook asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["format_value", "shown_by"]


def shown_by(name: str) -> Callable[[Any], str | None]:
    """A ``_repr_svg_`` or ``_repr_html_`` method: calls ``plots.notebook.<name>`` with the object.

    None, which notebooks take for "show the text instead", is what it gives where there is nothing to draw.
    """

    def representation(self: Any) -> str | None:
        shown: str | None = getattr(import_module("spectragram.plots.notebook"), name)(self)
        return shown

    representation.__doc__ = "What notebooks show instead of the text."
    return representation


def format_value(value: Any) -> str:
    """Numbers short enough to read, everything else as it is."""
    if isinstance(value, dict):
        return " ".join(f"{name}:{format_value(part)}" for name, part in value.items())
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or (math.isfinite(value) and value == int(value) and abs(value) >= 1000):
        return str(int(value))
    return f"{value:.4g}" if abs(value) < 1 or abs(value) >= 1e9 else f"{value:.2f}"
