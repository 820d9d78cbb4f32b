"""Two ways to keep rare features from explaining the training text.

A long feature, such as three words in a row, is often unique in the training text. Its weight then explains its token,
and the shorter features, which are all that new text has, learn little from it. So features that occur once get no
weight (:func:`freeze_rare`), and every training example sees a random part of the templates (:class:`Dropout`;
Srivastava et al. 2014), whose scores must be right without the others.
"""

from __future__ import annotations

import numpy as np

from spectragram.inference.hashed import Weights
from spectragram.inference.token_factors import token_places

__all__ = ["Dropout", "freeze_rare"]

BLOCK = 1 << 16
"""Tokens whose features are counted at a time, so that memory is small. Chosen by hand."""


class Dropout:
    """Chooses templates for each visit of an example, whatever the order of examples and the number of threads."""

    def __init__(self, kept: float, n_examples: int, seed: int) -> None:
        self.kept = kept
        self._visits = np.zeros(n_examples, np.int64)
        self._seed = seed

    def choose(self, example: int, places: np.ndarray) -> np.ndarray:
        """Some of the columns of ``places`` (n, t), each with probability ``kept``; at least one."""
        self._visits[example] += 1
        rng = np.random.default_rng([self._seed, example, int(self._visits[example])])
        drawn = rng.random((places.shape[1],))
        drawn[drawn.argmin()] = 0.0
        return places[:, drawn < self.kept]


def freeze_rare(weights: Weights, columns: np.ndarray, atoms: np.ndarray, fewest: int) -> None:
    """Keep the weights of features that occur less than ``fewest`` times at zero, for models with a single label.

    columns (c, n) of the training text, atoms (t, a, 2) of the templates. AdaGrad divides steps by the root of the sum
    of squared gradients; that sum becomes infinite.
    """
    n, size = columns.shape[1], len(weights.table)
    counts = np.zeros(size, np.int64)
    for at in range(0, n, BLOCK):
        places = token_places(columns, np.arange(at, min(at + BLOCK, n)), atoms, size)
        counts += np.bincount(places.ravel(), minlength=size)
    weights.squares[counts < fewest] = np.inf
