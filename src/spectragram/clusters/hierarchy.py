"""Binary trees over classes: merges to bit strings, and cuts.

A tree over m leaves is an int array ``merges`` of shape (m - 1, 2): row t names the two nodes that become node
m + t; nodes below m are the leaves, the last node is the root.
"""

from __future__ import annotations

import numpy as np

__all__ = ["bit_strings", "labels_after"]


def bit_strings(merges: np.ndarray, n_leaves: int) -> list[str]:
    """Path from the root to each leaf: ``0`` for the first of the two merged nodes, ``1`` for the second.

    A tree of one leaf has the path ``0``, so that no word is without one.

    >>> bit_strings(np.array([[1, 2], [0, 3]]), 3)
    ['0', '10', '11']
    """
    if n_leaves == 1:
        return ["0"]
    paths = [""] * (n_leaves + len(merges))
    for t in range(len(merges) - 1, -1, -1):
        first, second = merges[t]
        paths[first] = paths[n_leaves + t] + "0"
        paths[second] = paths[n_leaves + t] + "1"
    return paths[:n_leaves]


def labels_after(merges: np.ndarray, n_leaves: int) -> np.ndarray:
    """New class of each leaf after the given merges, int32, numbered in the order of their first leaf.

    >>> labels_after(np.array([[1, 2]]), 4).tolist()
    [0, 1, 1, 2]
    """
    top = np.arange(n_leaves + len(merges))
    for t in range(len(merges) - 1, -1, -1):
        top[merges[t]] = top[n_leaves + t]
    tops, first, labels = np.unique(top[:n_leaves], return_index=True, return_inverse=True)
    rank = np.empty(len(tops), np.int32)
    rank[np.argsort(first)] = np.arange(len(tops))
    return rank[labels]
