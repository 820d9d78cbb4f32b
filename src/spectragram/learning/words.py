"""Estimates for words seen often, rarely or never: back-off along a path of ever coarser classes.

An observation (a word, or a word with further columns) belongs to several classes, finest first, such as

    the word itself -> shape and suffix -> shape -> kind of word -> any word

The classes are nodes of a tree whose root is "any word". A *cell* is a node x with a label a that occurred below it.
Cells hold counts C(x,a), or sums S(x,a) of vectors, of the observations counted at x. With p the parent of x,

    E(x,a) = (S(x,a) + kappa_x E(p,a)) / (D + kappa_x)

where kappa_x is how many observations the parent's estimate is worth. There are two denominators:

    D                    E(x,a) is
    C(x), per node       with S = C: P(a|x); with vectors: the joint estimate P(a|x) E[vector | x,a]
    C(x,a), per cell     E[vector | x,a]

:mod:`spectragram.learning.word_cells` builds the tree from training data and sums in its cells. Which classes an
observation has is the business of the task, which names them by strings (``keys``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numba import njit

from spectragram.schema import Array, Schema, Strings

__all__ = ["LEAST_KAPPA", "RARE", "SEPARATOR", "BackOffTree", "class_key"]

RARE = 5
"""Words seen at most this often resemble unknown words: classes by spelling are counted on them alone. Other cut-offs
change F1 on wsj-sample dev by less than seeds do."""
SEPARATOR = "\x1f"
"""Between the parts of a key; the control character "unit separator", which occurs in no sensible text."""
LEAST_KAPPA = 1e-12
"""Stands for a strength of 0, where a class without observations must take the estimate of its parent; any tiny value
does."""
ROOT = 0
PARENTS_FIRST = (
    "parents come before their children",
    lambda parents: parents[0] == 0 and bool((parents[1:] < np.arange(1, len(parents))).all()),
)
"""What model files must hold, or walks towards the root would not end."""
ARRAYS = ("keys", "parents", "levels", "kappa", "cell_starts", "cell_labels", "cell_counts")


def class_key(level: object, *parts: str) -> str:
    """The name of a class. The level is part of it, since classes of several levels may be spelled the same.

    >>> class_key(3, "Xxx", "NNP").replace(SEPARATOR, "/")
    '3/Xxx/NNP'
    """
    return SEPARATOR.join([str(level), *parts])


@dataclass(frozen=True)
class BackOffTree:
    """Classes of observations with the labels seen in each. Parents have smaller numbers than their children.

    Attributes
    ----------
    keys : list of str, length n_nodes
        Names of nodes; the root, node 0, is "".
    parents : int64 array, shape (n_nodes,)
        The root is its own parent.
    levels : int64 array, shape (n_nodes,)
        0 for the finest classes, n_levels for the root.
    kappa : float64 array, shape (n_levels,)
        How many observations the parent's estimate is worth, by level.
    cell_starts : int64 array, shape (n_nodes + 1,)
        Node x has cells ``cell_starts[x]:cell_starts[x + 1]``; the root has none.
    cell_labels : int64 array, shape (n_cells,)
        Ascending within each node.
    cell_counts : float64 array, shape (n_cells,)
        C(x,a). It is zero where a label occurred below x only with observations that are not counted at x.
    """

    keys: list[str]
    parents: np.ndarray
    levels: np.ndarray
    kappa: np.ndarray
    cell_starts: np.ndarray
    cell_labels: np.ndarray
    cell_counts: np.ndarray

    @cached_property
    def _index(self) -> dict[str, int]:
        return {key: node for node, key in enumerate(self.keys)}

    @cached_property
    def cell_nodes(self) -> np.ndarray:
        """The node of each cell, int64 (n_cells,)."""
        return np.repeat(np.arange(len(self.keys)), np.diff(self.cell_starts))

    @cached_property
    def totals(self) -> np.ndarray:
        """C(x), float64 (n_nodes,)."""
        return np.bincount(self.cell_nodes, self.cell_counts, len(self.keys))

    @cached_property
    def node_kappa(self) -> np.ndarray:
        """kappa_x of every node, float64 (n_nodes,); zero for the root, which does not back off."""
        return np.append(self.kappa, 0.0)[self.levels]

    def find(self, keys: Iterable[str]) -> int:
        """The finest known node of an observation whose classes are ``keys``, finest first; the root if none is
        known."""
        index = self._index
        return next((index[key] for key in keys if key in index), ROOT)

    def get(self, key: str) -> int | None:
        """The node of this name, or None."""
        return self._index.get(key)

    def labels_at(self, node: int) -> np.ndarray:
        """Labels that have a cell at the node, ascending."""
        return self.cell_labels[self.cell_starts[node] : self.cell_starts[node + 1]]

    def interpolate(self, nodes: np.ndarray, sums: np.ndarray, root: np.ndarray) -> np.ndarray:
        """E(x,a) of nodes for all labels, per node: (n,) -> (n, n_labels, width).

        Parameters
        ----------
        nodes : int array, shape (n,)
        sums : array, shape (n_cells, width)
            S(x,a).
        root : array, shape (n_labels, width)
            E at the root.
        """
        return _interpolate(
            np.asarray(nodes, np.int64),
            self.parents,
            self.totals,
            self.node_kappa,
            self.cell_starts,
            self.cell_labels,
            np.ascontiguousarray(sums, np.float64),
            np.ascontiguousarray(root, np.float64),
        )

    def finest(self, nodes: np.ndarray, estimates: np.ndarray, root: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """What the finest cell of each label says about nodes, labels one after the other: (n,) -> (n, starts[-1]).

        This is how estimates per cell are looked up: a label without a cell at x has no count there, so its
        estimate is that of the parent.

        Parameters
        ----------
        nodes : int array, shape (n,)
        estimates : array, shape (n_cells, width)
            E(x,a), of which label a uses the first ``starts[a + 1] - starts[a]`` columns.
        root : array, shape (starts[-1],)
            E at the root.
        starts : int array, shape (n_labels + 1,)
            Where the columns of each label begin.
        """
        return _finest(
            np.asarray(nodes, np.int64), self.parents, self.cell_starts, self.cell_labels, estimates, root, starts
        )

    SCHEMA: ClassVar[Schema] = Schema(
        "Back-off tree",
        "Classes of observations, from words to ever coarser ones, with the labels that were seen in each.",
        arrays={
            "keys": Strings("n_nodes", "names of the classes; the root, class 0, is the empty string"),
            "parents": Array("i8", ("n_nodes",), "the coarser class", least=0, rule=PARENTS_FIRST),
            "levels": Array("i8", ("n_nodes",), "0 for the finest classes", least=0, below="n_levels + 1"),
            "kappa": Array("f8", ("n_levels",), "what the parent's estimate is worth, by level", least=LEAST_KAPPA),
            "cell_starts": Array("i8", ("n_nodes + 1",), "where the cells of each class begin", starts="n_cells"),
            "cell_labels": Array("i8", ("n_cells",), "the label of each cell", least=0, below="n_labels"),
            "cell_counts": Array("f8", ("n_cells",), "how often it was seen there", least=0),
        },
        sizes={"n_nodes": 1, "n_labels": 1},
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values (none) and arrays, for model files."""
        return {}, {name: getattr(self, name) for name in ARRAYS}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; raises ``ValueError`` where the parts do not fit together."""
        tree = cls(**{name: arrays[name] for name in ARRAYS})
        n_nodes, n_cells = len(tree.keys), len(tree.cell_labels)
        fits = (
            n_nodes > 0
            and len(tree.parents) == len(tree.levels) == len(tree.cell_starts) - 1 == n_nodes
            and tree.cell_starts[0] == 0
            and (np.diff(tree.cell_starts) >= 0).all()
            and tree.cell_starts[-1] == n_cells == len(tree.cell_counts)
            and (tree.parents[1:] < np.arange(1, n_nodes)).all()
            and (tree.parents >= 0).all()
            and ((tree.levels >= 0) & (tree.levels <= len(tree.kappa))).all()
            and (tree.cell_labels >= 0).all()
        )
        if not fits:
            raise ValueError("the parts of the lexicon do not fit together")
        return tree


@njit(cache=True, nogil=True)
def _interpolate(
    nodes: np.ndarray,
    parents: np.ndarray,
    totals: np.ndarray,
    kappa: np.ndarray,
    cell_starts: np.ndarray,
    labels: np.ndarray,
    sums: np.ndarray,
    root: np.ndarray,
) -> np.ndarray:
    found = np.zeros((len(nodes), root.shape[0], root.shape[1]))
    for i in range(len(nodes)):
        node, share = nodes[i], 1.0  # share: the weight of everything coarser than what has been added
        while node > 0:
            scale = share / (totals[node] + kappa[node])
            for cell in range(cell_starts[node], cell_starts[node + 1]):
                for j in range(root.shape[1]):
                    found[i, labels[cell], j] += scale * sums[cell, j]
            share = scale * kappa[node]
            node = parents[node]
        for a in range(root.shape[0]):
            for j in range(root.shape[1]):
                found[i, a, j] += share * root[a, j]
    return found


@njit(cache=True, nogil=True)
def _finest(
    nodes: np.ndarray,
    parents: np.ndarray,
    cell_starts: np.ndarray,
    labels: np.ndarray,
    estimates: np.ndarray,
    root: np.ndarray,
    starts: np.ndarray,
) -> np.ndarray:
    found = np.empty((len(nodes), len(root)))
    done = np.empty(len(starts) - 1, np.bool_)
    for i in range(len(nodes)):
        for j in range(len(root)):
            found[i, j] = root[j]
        done[:] = False
        node = nodes[i]
        while node > 0:
            for cell in range(cell_starts[node], cell_starts[node + 1]):
                a = labels[cell]
                if not done[a]:
                    done[a] = True
                    for j in range(starts[a + 1] - starts[a]):
                        found[i, starts[a] + j] = estimates[cell, j]
            node = parents[node]
    return found
