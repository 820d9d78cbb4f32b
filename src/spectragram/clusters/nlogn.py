"""n log n, the only function that the mutual information of integer counts needs.

With N tokens, bigram counts n(c, c') and margins n(c, .), n(., c'),

    N I(C) = sum n(c,c') log n(c,c') - sum n(c,.) log n(c,.) - sum n(.,c') log n(.,c') + N log N

so every change of a clustering is a sum of differences of f(n) = n log n. Most counts are small: they come from
a table.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["TABLE", "nlogn", "nlogn_array"]

TABLE_SIZE = 1 << 16


def _table() -> np.ndarray:
    n = np.arange(TABLE_SIZE, dtype=np.float64)
    return n * np.log(np.maximum(n, 1.0))


TABLE = _table()
"""f(0), f(1), ...: passed to the kernels, which would otherwise freeze a copy each."""


def nlogn_array(n: np.ndarray) -> np.ndarray:
    """N log n of an array of natural numbers, 0 at 0."""
    return n * np.log(np.maximum(n, 1))


@njit(cache=True, nogil=True)
def nlogn(table, n):  # type: ignore[no-untyped-def]
    """N log n of a natural number, 0 at 0."""
    if n < table.shape[0]:
        return table[n]
    return n * np.log(n)
