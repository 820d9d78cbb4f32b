"""What factors see of a token: columns made of its word, and the further columns of the observation, as numbers.

    w  word      l  in lower case      s  shape      a b c d  last 1 .. 4 letters      p q r g  first 1 .. 4 letters
    h i j k  prefixes of 4, 6, 10 and 20 bits of the path of its cluster, where there are clusters

A, B, ... are the further columns. Numbers are checksums of the texts, so words that training has not seen need no
vocabulary. Other columns would give features other places: raise :data:`spectragram.inference.hashed.VERSION` after a
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from zlib import crc32

import numpy as np

from spectragram.data.signatures import run_shape
from spectragram.data.word_paths import WordPaths

__all__ = ["COLUMNS", "PATH_COLUMNS", "surface_columns"]

NO_PATHS = WordPaths.of({})

PATH_COLUMNS = "hijk"
PREFIXES = (4, 6, 10, 20)
"""Lengths of the prefixes of paths, those usual since Ratinov & Roth (2009)."""
COLUMNS = "wlsabcdpqrg" + PATH_COLUMNS
"""A letter for each column that is made of the word."""


def surface_columns(types: Sequence[tuple[str, ...]], paths: WordPaths | None = None) -> np.ndarray:
    """What templates see of each type of observation, as numbers: int64 (n_columns, n_types)."""
    words = [observation[0] for observation in types]
    lower = [word.lower() for word in words]
    columns = [words, lower, [run_shape(word) for word in words]]
    # A word that is not longer than an affix has none: the affix would be the word again.
    columns += [[word[-n:] if len(word) > n else "" for word in lower] for n in (1, 2, 3, 4)]
    columns += [[word[:n] if len(word) > n else "" for word in lower] for n in (1, 2, 3, 4)]
    columns += (paths or NO_PATHS).prefixes(words, PREFIXES)
    columns += [list(column) for column in zip(*types, strict=True)][1 : 1 + len(ascii_uppercase)]
    numbers = np.empty((len(columns), len(types)), np.int64)
    for row, column in zip(numbers, columns, strict=True):
        number_of = {text: crc32(text.encode("utf-8", "surrogatepass")) for text in set(column)}
        row[:] = [number_of[text] for text in column]
    return numbers
