"""The folds of a jackknife."""

from __future__ import annotations

import numpy as np

__all__ = ["fold_numbers"]

BLOCKS_A_FOLD = 10
"""A fold is made of so many runs of neighbouring sentences, from all over the treebank: single sentences would leave
others of the same document to learn from, and one run might leave out a whole genre. Chosen by hand, not tuned."""


def fold_numbers(n: int, n_folds: int) -> np.ndarray:
    """The fold of each of n sentences, int64 (n,); no fold is empty.

    >>> fold_numbers(6, 2).tolist()
    [0, 1, 0, 1, 0, 1]
    """
    n_folds = max(1, min(n_folds, n))
    n_blocks = min(n, n_folds * BLOCKS_A_FOLD)
    return np.arange(n, dtype=np.int64) * n_blocks // max(n, 1) % n_folds
