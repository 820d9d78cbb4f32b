"""Plain numbers in text files."""

from __future__ import annotations

__all__ = ["plain_number"]


def plain_number(text: str) -> int:
    """The value of a number below a thousand million written in ASCII digits only; -1 for anything else.

    Stricter than ``int``, which takes ``+1``, ``1_000`` and digits of other scripts and raises on long ones.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
