"""Arrays that are mostly zeros, as model files hold them: a bit for every place, and the values where the bit is set.

A table of hashed weights has room for many more features than occur, and most weights are too small to matter. In
this form it takes an eighth of a byte for each place and two bytes for each value, and no bit can point outside of it.
"""

from __future__ import annotations

import numpy as np

__all__ = ["pack_sparse", "unpack_sparse"]

SMALLEST = 1024
"""Arrays with fewer entries are not worth two tensors. Chosen by hand."""
LARGEST_SHARE = 0.75
"""Of the bytes that an array takes as it is; what saves less stays as it is. Chosen by hand."""


def pack_sparse(array: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The bits, uint8 (n / 8,), and values, of a float32 array (n,); None where that would not save much.

    Values are float16 if that loses nothing, float32 otherwise.

    >>> bits, values = pack_sparse(np.arange(2048, dtype=np.float32) // 2000)
    >>> bits.shape, values.shape, values.dtype
    ((256,), (48,), dtype('float16'))
    """
    if array.ndim != 1 or array.dtype != np.float32 or len(array) < SMALLEST or len(array) % 8:
        return None
    used = np.ascontiguousarray(array).view(np.uint32) != 0  # bit by bit: -0.0 is not 0.0
    values = array[used]
    with np.errstate(over="ignore"):
        half = values.astype(np.float16)
    if np.array_equal(half.astype(np.float32), values):
        values = half
    bits = np.packbits(used, bitorder="little")
    return (bits, values) if bits.nbytes + values.nbytes <= LARGEST_SHARE * array.nbytes else None


def unpack_sparse(bits: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Inverse of :func:`pack_sparse`; ``ValueError`` where the two do not fit together."""
    if bits.dtype != np.uint8 or bits.ndim != 1 or values.dtype not in (np.float16, np.float32) or values.ndim != 1:
        raise ValueError("a sparse array needs a row of bytes and a row of floats")
    used = np.unpackbits(bits, bitorder="little").view(np.bool_)
    if np.count_nonzero(used) != len(values):
        raise ValueError(f"{np.count_nonzero(used)} bits are set for {len(values)} values")
    array = np.zeros(len(used), np.float32)
    array[used] = values
    return array
