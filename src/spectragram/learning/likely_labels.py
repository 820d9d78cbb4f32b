"""The few most probable labels of words, where a table of all words and all labels would not fit into memory.

P(a|x) is interpolated along the path of classes as in :mod:`spectragram.learning.words`; labels that no class on the
path has seen are left out, and of the others the most probable ones are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.learning.word_cells import Cells
from spectragram.learning.words import BackOffTree

__all__ = ["LikelyLabels", "labels_of_nodes", "labels_without_one"]


class LikelyLabels(NamedTuple):
    """Lists of labels: list i is ``starts[i]:starts[i + 1]`` of labels (int64) and probabilities (float64)."""

    starts: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray


def labels_of_nodes(
    tree: BackOffTree, prior: np.ndarray, nodes: np.ndarray, *, most: int, least: float
) -> LikelyLabels:
    """The likely labels of each node, most probable first, at least one.

    Parameters
    ----------
    tree : BackOffTree
    prior : array, shape (n_labels,)
        P at the root.
    nodes : int array, shape (n,)
    most : int
        Labels of a list at most.
    least : float
        How probable a label must be, compared with the most probable one.
    """
    nobody = np.full(len(nodes), -1)
    arrays = (tree.parents, tree.totals, tree.node_kappa, tree.cell_starts, tree.cell_labels, tree.cell_counts)
    nothing = np.zeros(len(nodes) + 1, np.int64)
    return LikelyLabels(
        *_likely(np.asarray(nodes, np.int64), nobody, nothing, np.zeros(0, np.int64), *arrays, prior, most, least)
    )


def labels_without_one(cells: Cells, prior: np.ndarray, *, most: int, least: float) -> LikelyLabels:
    """The likely labels of each pair of the training data as if one observation of it had never been made.

    This is how words look that training has not counted. The pair's own label is always in its list.
    """
    tree, by_pair = cells.tree, cells.sums.tocsc()
    arrays = (tree.parents, tree.totals, tree.node_kappa, tree.cell_starts, tree.cell_labels, tree.cell_counts)
    finest = cells.finest_of_pair
    return LikelyLabels(
        *_likely(
            tree.cell_nodes[finest],
            cells.labels[finest],
            by_pair.indptr.astype(np.int64),
            by_pair.indices.astype(np.int64),
            *arrays,
            prior,
            most,
            least,
        )
    )


@njit(cache=True, nogil=True)
def _likely(
    nodes: np.ndarray,
    own: np.ndarray,
    counting_starts: np.ndarray,
    counting: np.ndarray,
    parents: np.ndarray,
    totals: np.ndarray,
    kappa: np.ndarray,
    cell_starts: np.ndarray,
    cell_labels: np.ndarray,
    cell_counts: np.ndarray,
    prior: np.ndarray,
    most: int,
    least: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """own (n,): the label to leave out once, -1 for none; ``counting`` of i are the cells that count it."""
    n = len(nodes)
    starts = np.zeros(n + 1, np.int64)
    labels, probabilities = np.empty(n * most, np.int64), np.empty(n * most)
    values, met, is_met = np.zeros(len(prior)), np.empty(len(prior), np.int64), np.zeros(len(prior), np.bool_)
    for i in range(n):
        counts_it = counting[counting_starts[i] : counting_starts[i + 1]]
        n_met, node, share = 0, nodes[i], 1.0  # share: the weight of everything coarser than what has been added
        while node > 0:
            left_out = -1
            for cell in range(cell_starts[node], cell_starts[node + 1]):
                if cell_labels[cell] == own[i]:
                    for other in counts_it:
                        if other == cell:
                            left_out = cell
            scale = share / (totals[node] - (left_out >= 0) + kappa[node])
            for cell in range(cell_starts[node], cell_starts[node + 1]):
                label = cell_labels[cell]
                if not is_met[label]:
                    is_met[label] = True
                    met[n_met] = label
                    n_met += 1
                values[label] += scale * (cell_counts[cell] - (cell == left_out))
            share = scale * kappa[node]
            node = parents[node]
        if n_met == 0:
            met[0] = prior.argmax()
            n_met = 1
        starts[i + 1] = starts[i] + _keep(
            met[:n_met],
            values,
            share,
            prior,
            own[i],
            most,
            least,
            labels[starts[i] :],
            probabilities[starts[i] :],
        )
        for k in range(n_met):
            values[met[k]] = 0.0
            is_met[met[k]] = False
    return starts, labels[: starts[n]].copy(), probabilities[: starts[n]].copy()


@njit(cache=True, nogil=True)
def _keep(
    met: np.ndarray,
    values: np.ndarray,
    share: float,
    prior: np.ndarray,
    own: int,
    most: int,
    least: float,
    labels: np.ndarray,
    probabilities: np.ndarray,
) -> int:
    """Write the likely ones of the labels ``met``, and ``own``, to the beginning of both arrays; returns how many."""
    found = np.empty(len(met))
    for k in range(len(met)):
        found[k] = values[met[k]] + share * prior[met[k]]
    order = np.argsort(-found)
    n, has_own = 0, own < 0
    for k in order:
        if n == most or (n > 0 and found[k] < least * found[order[0]]):
            break
        labels[n], probabilities[n] = met[k], found[k]
        has_own = has_own or met[k] == own
        n += 1
    if not has_own:
        n = min(n, most - 1)
        labels[n], probabilities[n] = own, values[own] + share * prior[own]
        n += 1
    return n
