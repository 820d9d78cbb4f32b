"""Trees of very long sentences: pieces are parsed one by one, and their roots depend on the root of the first one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.errors import InputError

__all__ = ["LONGEST", "MARK", "PUNCTUATION", "join_pieces", "require_chart"]

LONGEST = 400
"""Words of the longest sentence that is parsed in one piece: the time of the chart grows with the cube, and such a
sentence takes about a second. No sentence of Universal Dependencies is longer than a few hundred words."""
LONGEST_CHART = 1000
"""Words of the longest sentence whose marginals can be had, or whose known heads are kept: about ten seconds."""
PUNCTUATION, MARK = "PUNCT", ","
"""The coarse tag behind which sentences are cut, and what stands for it."""


def require_chart(n_words: int) -> None:
    """Refuse a sentence that is too long for the marginals of all its arcs."""
    if n_words > LONGEST_CHART:
        raise InputError(
            f"a sentence has {n_words} words, too many for the marginals of all its arcs",
            remedy=f"cut it into parts of at most {LONGEST_CHART} words, or ask for its tree alone",
        )


def join_pieces(found: Sequence[np.ndarray]) -> np.ndarray:
    """Heads of the whole sentence, int32 (n,), from those of its pieces in order.

    >>> join_pieces([np.array([2, 0]), np.array([0, 1])]).tolist()
    [2, 0, 2, 3]
    """
    heads, start, top = [], 0, 0
    for own in found:
        own_top = int(np.flatnonzero(own == 0)[0]) + 1
        heads.append(np.where(own > 0, own + start, top))
        top = top or own_top
        start += len(own)
    return np.concatenate(heads).astype(np.int32)
