"""Marks that transforms put into labels, kept apart from the same characters in the labels of a treebank.

A transform owns a few characters, its marks. Wherever a treebank's label holds one of them it is written with a
backslash before it, so marks and labels never mix and every transform can be undone exactly.
"""

from __future__ import annotations

import re

__all__ = ["Marks"]


class Marks:
    """The characters one transform uses for itself.

    >>> plus = Marks("+")
    >>> plus.escape("Q+NUM"), plus.split(r"NP+Q\\+NUM"), plus.unescape(r"Q\\+NUM")
    ('Q\\\\+NUM', ['NP', 'Q\\\\+NUM'], 'Q+NUM')
    """

    def __init__(self, characters: str) -> None:
        kinds = re.escape(characters)
        self._special = re.compile(rf"[\\{kinds}]")
        self._part = re.compile(rf"(?:\\.|[^\\{kinds}])+", re.DOTALL)
        self._escaped = re.compile(r"\\(.)", re.DOTALL)

    def escape(self, label: str) -> str:
        """Write the label so that no character of it is taken for a mark."""
        return self._special.sub(r"\\\g<0>", label)

    def unescape(self, label: str) -> str:
        """Inverse of :meth:`escape`."""
        return self._escaped.sub(r"\1", label)

    def split(self, text: str) -> list[str]:
        """The parts between marks, still escaped."""
        return self._part.findall(text)
