"""What compiled kernels share.

Kernels are written so that they compile fast, since the first run of every kind waits for that: loops where numpy's
functions would be compiled for every type and layout (``max`` takes half a second, a slice to which an array is added
more than two), and numbers of one type (a kernel that is given a plain number is compiled for it alone).
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["REORDER", "largest_of"]

REORDER = {"reassoc", "contract", "nsz"}
"""For ``fastmath``: sums may be reordered to use wide registers; infinities and NaN keep their meaning. The order is
fixed when the kernel is compiled, so every run gives the same bits."""


@njit(cache=True, nogil=True)
def largest_of(values: np.ndarray) -> int:
    """The largest of some whole numbers, of which there is at least one."""
    largest = values[0]
    for i in range(1, len(values)):
        if values[i] > largest:
            largest = values[i]
    return largest
