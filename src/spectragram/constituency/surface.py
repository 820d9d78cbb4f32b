"""What factors see of a word, as numbers.

    w  word in lower case      c  its shape      s  its last three letters      t  its most probable tag

Numbers of texts are checksums, so words that training has not seen need no vocabulary. Other columns would give
features other places: raise :data:`spectragram.inference.hashed.VERSION` after a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np

from spectragram.data.signatures import run_shape

__all__ = ["COLUMNS", "surface_columns"]

COLUMNS = "wcst"
"""A letter for each column."""
SUFFIX = 3
"""Letters of an ending. Chosen by hand, not tuned."""
CACHED_WORDS = 100_000
"""Words whose numbers are kept. A bound on memory for endless input; most texts have fewer different words."""


def surface_columns(words: Sequence[str], tags: np.ndarray) -> np.ndarray:
    """What templates see of the words of a sentence: int64 (4, n). ``tags`` (n,) are numbers."""
    columns = np.empty((len(COLUMNS), len(words)), np.int64)
    columns[:-1] = np.array([_numbers(word) for word in words], np.int64).T
    columns[-1] = tags
    return columns


@lru_cache(CACHED_WORDS)
def _numbers(word: str) -> tuple[int, ...]:
    lower = word.lower()
    return tuple(crc32(text.encode("utf-8", "surrogatepass")) for text in (lower, run_shape(word), lower[-SUFFIX:]))
