"""What factors see of a token: columns made of its word, and the further columns of the observation, as numbers.

    w  word      l  in lower case      s  shape      a b c d  last 1 .. 4 letters      p q r g  first 1 .. 4 letters

A, B, ... are the further columns. Numbers are checksums of the texts, so words that training has not seen need no
vocabulary. Other columns would give features other places: raise :data:`spectragram.inference.hashed.VERSION` after a
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from string import ascii_uppercase
from zlib import crc32

import numpy as np

__all__ = ["COLUMNS", "surface_columns"]

COLUMNS = "wlsabcdpqrg"
"""A letter for each column that is made of the word."""
MAX_SHAPE = 10
"""Characters of a shape that count. Chosen by hand, not tuned."""


def surface_columns(types: Sequence[tuple[str, ...]]) -> np.ndarray:
    """What templates see of each type of observation, as numbers: int64 (n_columns, n_types)."""
    words = [observation[0] for observation in types]
    lower = [word.lower() for word in words]
    columns = [words, lower, [_shape(word) for word in words]]
    # A word that is not longer than an affix has none: the affix would be the word again.
    columns += [[word[-n:] if len(word) > n else "" for word in lower] for n in (1, 2, 3, 4)]
    columns += [[word[:n] if len(word) > n else "" for word in lower] for n in (1, 2, 3, 4)]
    columns += [list(column) for column in zip(*types, strict=True)][1 : 1 + len(ascii_uppercase)]
    numbers = np.empty((len(columns), len(types)), np.int64)
    for row, column in zip(numbers, columns, strict=True):
        number_of = {text: crc32(text.encode("utf-8", "surrogatepass")) for text in set(column)}
        row[:] = [number_of[text] for text in column]
    return numbers


def _shape(word: str) -> str:
    """Capitals as X, small letters as x, digits as d, each run once.

    >>> _shape("Mid-1990s")
    'Xx-dx'
    """
    marks = ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)
    return "".join(mark for mark, _ in groupby(marks))[:MAX_SHAPE]
