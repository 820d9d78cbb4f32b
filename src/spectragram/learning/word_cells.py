"""Count a back-off tree on training data, and sum and estimate in its cells (:mod:`spectragram.learning.words`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numba import njit

from spectragram.learning.words import ROOT, BackOffTree

__all__ = ["Cells", "count_words", "grow"]

Denominator = Literal["node", "cell"]


@dataclass(frozen=True)
class Cells:
    """Which cells of a tree the observations of the training data are counted in.

    A *pair* is a type of observation with a label that it has.

    Attributes
    ----------
    tree : BackOffTree
    pair_of : int64 array, shape (n_observations,)
        The pair of each observation.
    finest_of_pair : int64 array, shape (n_pairs,)
        The finest cell of each pair.
    sums : sparse matrix, shape (n_cells, n_pairs)
        1 where a cell counts a pair.
    parents : int64 array, shape (n_cells,)
        The cell of the same label at the parent node, which has a smaller number; -1 below the root.
    """

    tree: BackOffTree
    pair_of: np.ndarray
    finest_of_pair: np.ndarray
    sums: sp.csr_matrix
    parents: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        """The label of each cell, int64 (n_cells,)."""
        return self.tree.cell_labels

    @property
    def finest(self) -> np.ndarray:
        """The finest cell of each observation, int64 (n_observations,)."""
        return self.finest_of_pair[self.pair_of]

    def add_up(self, vectors: np.ndarray) -> np.ndarray:
        """S(x,a): sums of the vectors of observations, (n_observations, width) -> (n_cells, width)."""
        n_pairs, n = len(self.finest_of_pair), len(self.pair_of)
        by_pair = sp.csr_matrix((np.ones(n), (self.pair_of, np.arange(n))), (n_pairs, n))
        return self.sums @ (by_pair @ vectors)

    def back_off(
        self, sums: np.ndarray, root: np.ndarray, *, per: Denominator, kappa: float | None = None
    ) -> np.ndarray:
        """E(x,a) of every cell, (n_cells, width).

        Parameters
        ----------
        sums : array, shape (n_cells, width)
            S(x,a), see :meth:`add_up`.
        root : array, shape (n_labels, width)
            E at the root.
        per : {"node", "cell"}
            Whether to divide by C(x) or by C(x,a).
        kappa : float, optional
            In place of the tree's own.
        """
        tree = self.tree
        strength = tree.node_kappa[tree.cell_nodes] if kappa is None else np.full(len(sums), float(kappa))
        counts = tree.totals[tree.cell_nodes] if per == "node" else tree.cell_counts
        return _back_off(np.asarray(sums, np.float64), counts, strength, self.parents, root[self.labels])

    def leave_one_out(self, root: np.ndarray) -> np.ndarray:
        """P(a|x) of every pair as if one observation of it had never been made: (n_pairs, n_labels).

        This is how probabilities look to data that were not counted: an observation that was made once backs off to
        its classes, as an unknown one does.

        Parameters
        ----------
        root : array, shape (n_labels,)
            P at the root.
        """
        tree, by_pair = self.tree, self.sums.tocsc()
        return _leave_one_out(
            self.finest_of_pair,
            by_pair.indptr.astype(np.int64),
            by_pair.indices.astype(np.int64),
            self.parents,
            tree.cell_nodes,
            tree.totals,
            tree.node_kappa,
            tree.cell_starts,
            tree.cell_labels,
            tree.cell_counts,
            root,
        )


def count_words(words: Sequence[str], counts: np.ndarray) -> dict[str, float]:
    """How often each word was seen; a word may have several entries.

    >>> count_words(["saw", "the", "saw"], np.array([1.0, 5.0, 2.0]))
    {'saw': 3.0, 'the': 5.0}
    """
    seen: dict[str, float] = {}
    for word, count in zip(words, counts.tolist(), strict=True):
        seen[word] = seen.get(word, 0.0) + count
    return seen


def grow(
    keys: Sequence[Sequence[str]],
    counted: np.ndarray,
    types: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    kappa: float | Sequence[float],
    pooled: np.ndarray | None = None,
) -> Cells:
    """Build the tree over the types of observations and count labels in its cells.

    Parameters
    ----------
    keys : n_types sequences of n_levels strings
        Names of the classes of each type, finest first, without the root. If types disagree about the parent of a
        class, the last one decides.
    counted : bool array, shape (n_types, n_levels)
        At which of its classes a type is counted; always at the first, its finest. A class that counts no type at all
        does not exist; the paths of types that would belong to it pass it by.
    types, labels : int arrays, shape (n_observations,)
    weights : array, shape (n_observations,), optional
        How often each observation was made; once by default.
    kappa : float or n_levels floats
        How many observations the parent's estimate is worth, in all levels or in each.
    pooled : int array, shape (n_types,), optional
        Types of equal numbers are the same word in several positions: the finest class of each counts the observations
        of all of them, while each backs off to its own coarser classes. By default no types are pooled.
    """
    n_levels, n_labels = counted.shape[1], int(labels.max(initial=0)) + 1
    names, paths = _paths(keys, counted)
    pooled = np.arange(len(keys)) if pooled is None else pooled
    pair_type, pair_label, pool = _pairs(types, labels, pooled, n_labels)
    pair_of = np.searchsorted(pair_type * n_labels + pair_label, types.astype(np.int64) * n_labels + labels)
    # A pair has a cell at every node on the path of its type but the root.
    nodes = paths[pair_type, :-1]
    path_keys = nodes * n_labels + pair_label[:, None]
    cell_keys = np.unique(path_keys[nodes != ROOT])
    on_path = np.where(nodes == ROOT, -1, np.searchsorted(cell_keys, path_keys))
    cell_node, cell_label = np.divmod(cell_keys, n_labels)
    sums = _counting_matrix(on_path, counted[pair_type], pool, len(cell_keys))
    levels = np.full(len(names), n_levels, np.int64)
    for level in range(n_levels - 1, -1, -1):
        levels[paths[:, level][paths[:, level] != paths[:, level + 1]]] = level
    tree = BackOffTree(
        names,
        _parents(paths[:, :-1], len(names), root=ROOT),
        levels,
        np.broadcast_to(np.asarray(kappa, np.float64), n_levels).copy(),
        np.searchsorted(cell_node, np.arange(len(names) + 1)).astype(np.int64),
        cell_label,
        sums @ np.bincount(pair_of, weights, len(pair_type)).astype(np.float64),
    )
    return Cells(tree, pair_of, on_path[:, 0], sums, _parents(on_path, len(cell_keys), root=-1))


def _paths(keys: Sequence[Sequence[str]], counted: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names of nodes, coarse levels first; the nodes of each type, finest first and the root last.

    Where a class does not exist, the path repeats the next coarser node.
    """
    n_types, n_levels = counted.shape
    index: dict[str, int] = {"": ROOT}
    paths = np.zeros((n_types, n_levels + 1), np.int64)
    for level in range(n_levels - 1, -1, -1):
        for i in np.flatnonzero(counted[:, level]).tolist():
            paths[i, level] = index.setdefault(keys[i][level], len(index))
        for i in np.flatnonzero(~counted[:, level]).tolist():
            paths[i, level] = index.get(keys[i][level], paths[i, level + 1])
    return list(index), paths


def _pairs(
    types: np.ndarray, labels: np.ndarray, pooled: np.ndarray, n_labels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Type, label and pool of every pair, ordered by type and label.

    Pairs of the same label whose types are pooled have the same pool. Each type has all labels of its pool.
    """
    seen = np.unique(pooled[types].astype(np.int64) * n_labels + labels)
    group, label = np.divmod(seen, n_labels)
    first = np.searchsorted(group, pooled)
    n_seen = np.searchsorted(group, pooled, side="right") - first
    pair_type = np.repeat(np.arange(len(pooled)), n_seen)
    pool = np.arange(len(pair_type)) - np.repeat(np.cumsum(n_seen) - n_seen, n_seen) + first[pair_type]
    return pair_type, label[pool], pool


def _counting_matrix(on_path: np.ndarray, counted: np.ndarray, pool: np.ndarray, n_cells: int) -> sp.csr_matrix:
    """1 where a cell counts a pair: (n_cells, n_pairs)."""
    n_pairs, n_pools = len(pool), int(pool.max(initial=-1)) + 1
    members = sp.csr_matrix((np.ones(n_pairs), (pool, np.arange(n_pairs))), (n_pools, n_pairs))
    finest = sp.csr_matrix((np.ones(n_pairs), (on_path[:, 0], pool)), (n_cells, n_pools))
    finest.data[:] = 1.0  # pooled types may even share their finest class: it counts the pool once
    finest = finest @ members
    pair, level = np.nonzero(counted[:, 1:])
    coarser = sp.csr_matrix((np.ones(len(pair)), (on_path[pair, level + 1], pair)), (n_cells, n_pairs))
    return (finest + coarser).tocsr()


def _parents(paths: np.ndarray, n: int, root: int) -> np.ndarray:
    """The next coarser entry of every entry of the paths, repetitions skipped; ``root`` above the coarsest."""
    parents = np.full(n, root, np.int64)
    above = np.full(len(paths), root)
    for level in range(paths.shape[1] - 1, -1, -1):
        here = paths[:, level]
        new = here != above if level == paths.shape[1] - 1 else here != paths[:, level + 1]
        parents[here[new]] = above[new]
        above = here
    return parents


@njit(cache=True, nogil=True)
def _back_off(
    sums: np.ndarray, counts: np.ndarray, kappa: np.ndarray, parents: np.ndarray, roots: np.ndarray
) -> np.ndarray:
    """E of cells, parents first; ``sums``, ``roots`` and result (n_cells, width), the others (n_cells,)."""
    found = np.empty_like(sums)
    for cell in range(len(counts)):
        prior = found[parents[cell]] if parents[cell] >= 0 else roots[cell]
        for j in range(sums.shape[1]):
            found[cell, j] = (sums[cell, j] + kappa[cell] * prior[j]) / (counts[cell] + kappa[cell])
    return found


@njit(cache=True, nogil=True)
def _leave_one_out(
    finest: np.ndarray,
    starts_of_pair: np.ndarray,
    cells_of_pair: np.ndarray,
    parents: np.ndarray,
    cell_nodes: np.ndarray,
    totals: np.ndarray,
    kappa: np.ndarray,
    cell_starts: np.ndarray,
    labels: np.ndarray,
    counts: np.ndarray,
    root: np.ndarray,
) -> np.ndarray:
    """P(a|x) of pairs without one observation of each; ``cells_of_pair`` are the cells that count a pair."""
    found = np.zeros((len(finest), len(root)))
    for pair in range(len(finest)):
        cell, share = finest[pair], 1.0  # share: the weight of everything coarser than what has been added
        while cell >= 0:
            node, left_out = cell_nodes[cell], 0.0
            for at in range(starts_of_pair[pair], starts_of_pair[pair + 1]):
                if cells_of_pair[at] == cell:
                    left_out = 1.0
            scale = share / (totals[node] - left_out + kappa[node])
            for other in range(cell_starts[node], cell_starts[node + 1]):
                found[pair, labels[other]] += scale * counts[other]
            found[pair, labels[cell]] -= scale * left_out
            share = scale * kappa[node]
            cell = parents[cell]
        for label in range(len(root)):
            found[pair, label] += share * root[label]
    return found
