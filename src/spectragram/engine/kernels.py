"""Settings that compiled kernels share."""

from __future__ import annotations

__all__ = ["REORDER"]

REORDER = {"reassoc", "contract", "nsz"}
"""For ``fastmath``: sums may be reordered to use wide registers; infinities and NaN keep their meaning. The order is
fixed when the kernel is compiled, so every run gives the same bits."""
