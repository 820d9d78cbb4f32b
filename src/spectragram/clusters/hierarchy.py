"""Binary trees over classes: from merges to bit strings, coarser classes, and the order of the leaves.

A tree over m leaves is an int array ``merges`` of shape (m - 1, 2). Row t names the two nodes that become node m + t;
nodes below m are the leaves and the last node is the root. Fewer rows describe the merges made so far.
"""

from __future__ import annotations

import numpy as np

__all__ = ["bit_strings", "is_tree", "labels_after", "numbered_from_left_to_right"]


def bit_strings(merges: np.ndarray, n_leaves: int) -> list[str]:
    """Path from the root to each leaf: ``0`` for the first of the two merged nodes, ``1`` for the second.

    A tree with a single leaf has the path ``0``, so that every word has a path.

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


def numbered_from_left_to_right(labels: np.ndarray, merges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same classes and the same tree, with classes renumbered in the order of the leaves of the tree.

    >>> labels, merges = numbered_from_left_to_right(np.array([0, 1, 2]), np.array([[1, 2], [3, 0]]))
    >>> labels.tolist(), merges.tolist()
    ([2, 0, 1], [[0, 1], [3, 2]])
    """
    m = len(merges) + 1
    place = np.arange(2 * m - 1)
    place[np.argsort(bit_strings(merges, m))] = np.arange(m)
    return place[labels].astype(np.int32), place[merges]


def is_tree(merges: np.ndarray) -> bool:
    """Whether an array describes a complete tree: every node but the root is merged once, after it was made.

    >>> is_tree(np.array([[1, 2], [0, 3]])), is_tree(np.array([[3, 2], [0, 1]]))
    (True, False)
    """
    m = len(merges) + 1
    if merges.shape != (m - 1, 2) or not np.array_equal(np.sort(merges.ravel()), np.arange(2 * m - 2)):
        return False
    return bool((merges < m + np.arange(m - 1)[:, None]).all())
