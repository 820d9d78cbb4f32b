"""What factors see of a word, as numbers.

    w  word in lower case      c  its shape      s  its last three letters      t  its most probable tag
    l j h                      the first 20, 10 and 6 bits of the path of its cluster, where there are clusters

Numbers of texts are checksums, so words that training has not seen need no vocabulary. Other columns would give
features other places: raise :data:`spectragram.inference.hashed.VERSION` after a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np

from spectragram.constituency.lexicon import PREFIXES
from spectragram.data.signatures import run_shape
from spectragram.data.word_paths import WordPaths

__all__ = ["COLUMNS", "OF_PATHS", "surface_columns"]

OF_PATHS = "ljh"
"""Columns of the prefixes of paths, in the order of ``PREFIXES``."""
COLUMNS = "wcst" + OF_PATHS
"""A letter for each column."""
SUFFIX = 3
"""Letters of an ending. Chosen by hand, not tuned."""
CACHED_WORDS = 100_000
"""Words whose numbers are kept. A bound on memory for endless input; most texts have fewer different words."""


def surface_columns(words: Sequence[str], tags: np.ndarray, paths: WordPaths | None = None) -> np.ndarray:
    """What templates see of the words of a sentence: int64 (n_columns, n). ``tags`` (n,) are numbers.

    Without ``paths`` the columns of prefixes are missing.
    """
    looks = np.array([_numbers(word) for word in words], np.int64).T
    rows = [] if paths is None else [[_checksum(path) for path in row] for row in paths.prefixes(words, PREFIXES)]
    return np.concatenate([looks, tags[None].astype(np.int64), np.array(rows, np.int64).reshape(-1, len(words))])


def _checksum(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


@lru_cache(CACHED_WORDS)
def _numbers(word: str) -> tuple[int, int, int]:
    lower = word.lower()
    return _checksum(lower), _checksum(run_shape(word)), _checksum(lower[-SUFFIX:])
