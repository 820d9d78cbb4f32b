"""How objects show themselves in a notebook.

What draws them sits above them in the order of imports, so a class names its picture as text, and the function in
:mod:`spectragram.plots.notebook` is imported when a notebook asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["shown_by"]


def shown_by(name: str) -> Callable[[Any], str | None]:
    """A ``_repr_svg_`` or ``_repr_html_`` method: calls ``plots.notebook.<name>`` with the object.

    None, which notebooks take for "show the text instead", is what it gives where there is nothing to draw.
    """

    def representation(self: Any) -> str | None:
        shown: str | None = getattr(import_module("spectragram.plots.notebook"), name)(self)
        return shown

    representation.__doc__ = "What notebooks show instead of the text."
    return representation
