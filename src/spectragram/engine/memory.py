"""Refuse work that cannot fit into memory before it starts."""

from __future__ import annotations

import os

from spectragram.errors import InputError

__all__ = ["require_memory"]


def require_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Raise an error if ``what`` needs more memory than this machine has.

    Without this check the operating system would kill the process without any message.
    """
    try:
        available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # this system does not report its memory
        return
    if n_bytes > available:
        needed = f"{n_bytes / 1e9:.0f} GB of memory, and this machine has {available / 1e9:.0f}"
        raise InputError(f"{what} needs {needed}", remedy=remedy)
