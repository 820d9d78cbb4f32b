"""Lists of strings as tensors: all their bytes in one array, and where each string ends in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from spectragram.errors import InputError

__all__ = ["join_strings", "pack_strings", "split_strings", "unpack_strings"]

BYTES, ENDS = ".utf8", ".ends"


def pack_strings(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The UTF-8 bytes of all strings, uint8, and the end of each string among them, int64 (n_strings,).

    >>> pack_strings(["a", "", "bc"])[1].tolist()
    [1, 1, 3]
    """
    # surrogatepass: words that were not valid text keep their escaped bytes.
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def unpack_strings(utf8: np.ndarray, ends: np.ndarray) -> list[str]:
    """Inverse of :func:`pack_strings`; ``ValueError`` where the two arrays do not fit or the bytes are not UTF-8."""
    if utf8.dtype != np.uint8 or utf8.ndim != 1 or ends.dtype != np.int64 or ends.ndim != 1:
        raise ValueError("strings need a row of bytes and a row of whole numbers")
    bounds = np.concatenate([[0], ends])
    if (np.diff(bounds) < 0).any() or bounds[-1] != len(utf8):
        raise ValueError("the ends of strings do not fit their bytes")
    text = utf8.tobytes()
    return [text[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(bounds.tolist())]


def split_strings(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Replace every list of strings by its two tensors."""
    tensors: dict[str, np.ndarray] = {}
    for name, value in arrays.items():
        if not isinstance(value, (list, tuple)):
            tensors[name] = value
            continue
        if not all(isinstance(string, str) for string in value):
            raise InputError(f"'{name}' holds something that is not a string", remedy="give strings, or an array")
        tensors[name + BYTES], tensors[name + ENDS] = pack_strings(value)
    return tensors


def join_strings(tensors: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Inverse of :func:`split_strings`; ``ValueError`` names the strings whose tensors do not fit together."""
    arrays: dict[str, Any] = dict(tensors)
    for name in tensors:
        stem = name.removesuffix(BYTES)
        if stem == name:
            continue
        try:
            arrays[stem] = unpack_strings(arrays.pop(name), arrays.pop(stem + ENDS))
        except (KeyError, ValueError) as trouble:
            raise ValueError(f"its strings '{stem[:60]}' cannot be read ({trouble})") from None
    return arrays
