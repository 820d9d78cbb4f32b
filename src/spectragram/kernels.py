"""What compiled functions have in common."""

from __future__ import annotations

__all__ = ["REORDER"]

REORDER = {"reassoc", "contract", "nsz"}
"""For ``fastmath``: sums may be taken in any order, so that wide registers can be used; the same on every run."""
