"""The tree of all prefixes of a corpus, so that common prefixes of strings are processed once.

A forward vector depends only on the prefix, so strings with a common prefix share it. The same holds backwards for
expected counts, since a node receives the sum over all strings below it. A sample of short strings has several times
fewer prefixes than tokens.

Nodes are ordered by depth and, within a depth, by symbol: a *group* of nodes reached by the same symbol at the same
depth is one matrix product (:mod:`spectragram.inference.chain`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

__all__ = ["PrefixTree", "gather_strings", "grow_prefix_tree", "grow_prefix_trees", "sum_along_paths"]


@dataclass(frozen=True)
class PrefixTree:
    """All prefixes of some strings; node 0 is the empty one and a node's parent comes before it.

    Attributes
    ----------
    parent, symbol : int64 arrays, shape (n_nodes,)
        Node i is its parent's prefix followed by the symbol; -1 at the root.
    groups : int64 array, shape (n_groups + 1,)
        Nodes ``groups[g]`` to ``groups[g + 1] - 1`` have one depth and one symbol; group 0 is the root alone.
    by_symbol : int64 array, shape (n_nodes - 1,)
        All nodes but the root, ordered by symbol.
    ends, through : float64 arrays, shape (n_nodes,)
        Total weight of the strings that end at a node, and of those that pass it or end there.
    end_of : int64 array, shape (n_strings,)
        The node at which each string ends.
    """

    parent: np.ndarray
    symbol: np.ndarray
    groups: np.ndarray
    by_symbol: np.ndarray
    ends: np.ndarray
    through: np.ndarray
    end_of: np.ndarray

    def __len__(self) -> int:
        return len(self.parent)


def grow_prefix_tree(tokens: np.ndarray, offsets: np.ndarray, weights: np.ndarray | None = None) -> PrefixTree:
    """The tree of the strings ``tokens[offsets[i]:offsets[i + 1]]``, each of weight 1 unless given."""
    tokens, offsets = np.asarray(tokens, np.int64), np.asarray(offsets, np.int64)
    parent, symbol, depth, end_of = _insert(tokens, offsets)
    order = np.lexsort((parent, symbol, depth))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    parent, symbol, depth, end_of = place[parent[order]], symbol[order], depth[order], place[end_of]
    parent[0] = -1
    borders = np.flatnonzero((depth[1:] != depth[:-1]) | (symbol[1:] != symbol[:-1])) + 1
    groups = np.concatenate([[0], borders, [len(order)]]).astype(np.int64)
    ends = np.bincount(end_of, weights, minlength=len(order)).astype(np.float64)
    by_symbol = np.argsort(symbol[1:], kind="stable") + 1
    return PrefixTree(parent, symbol, groups, by_symbol, ends, _sum_of_descendants(parent, ends), end_of)


def grow_prefix_trees(
    tokens: np.ndarray, offsets: np.ndarray, weights: np.ndarray | None = None, *, tokens_per_tree: int = 40_000
) -> list[PrefixTree]:
    """The same strings as several trees of about ``tokens_per_tree`` tokens, for threads and flat memory.

    Strings with the same first symbols go to the same tree, so that little sharing is lost. The number of trees
    depends only on the corpus, so sums over them are the same for any number of threads. The default size, chosen by
    hand, gives threads enough work and fits into memory.
    """
    tokens, offsets = np.asarray(tokens, np.int64), np.asarray(offsets, np.int64)
    lengths = np.diff(offsets)
    n_trees = max(1, round(len(tokens) / tokens_per_tree))
    if n_trees == 1:
        return [grow_prefix_tree(tokens, offsets, weights)]
    order = np.argsort(_first_symbols(tokens, offsets), kind="stable")
    cuts = np.searchsorted(np.cumsum(lengths[order]), np.linspace(0, len(tokens), n_trees + 1)[1:-1])
    trees = []
    for part in np.split(order, cuts):
        if len(part):
            part_tokens, part_offsets = gather_strings(tokens, offsets, part)
            trees.append(grow_prefix_tree(part_tokens, part_offsets, None if weights is None else weights[part]))
    return trees


def _first_symbols(tokens: np.ndarray, offsets: np.ndarray, n: int = 4) -> np.ndarray:
    """The first ``n`` symbols of every string as one number with the same order.

    Four symbols tell strings apart well enough (any small number would do); large alphabets only leave room for two.
    """
    base = int(tokens.max(initial=0)) + 2
    if base**n >= 2**62:
        base, n = 2**31, 2
    keys = np.zeros(len(offsets) - 1, np.int64)
    for k in range(n):
        present = offsets[:-1] + k < offsets[1:]
        keys *= base
        keys[present] += tokens[offsets[:-1][present] + k] + 1
    return keys


def gather_strings(tokens: np.ndarray, offsets: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and offsets of the ``chosen`` strings, in that order."""
    lengths = np.diff(offsets)[chosen]
    new_offsets = np.concatenate([[0], np.cumsum(lengths)])
    index = np.arange(new_offsets[-1]) + np.repeat(offsets[chosen] - new_offsets[:-1], lengths)
    return tokens[index], new_offsets


@njit(cache=True, nogil=True)
def _insert(tokens: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Nodes in order of insertion, found through a hash table over (parent, symbol)."""
    capacity = 16
    while capacity < 2 * (len(tokens) + 1):
        capacity *= 2
    slots = np.full(capacity, -1, np.int64)
    parent = np.empty(len(tokens) + 1, np.int64)
    symbol = np.empty(len(tokens) + 1, np.int64)
    depth = np.zeros(len(tokens) + 1, np.int64)
    end_of = np.empty(len(offsets) - 1, np.int64)
    parent[0], symbol[0], n_nodes = 0, -1, 1
    for i in range(len(offsets) - 1):
        node = 0
        for t in range(offsets[i], offsets[i + 1]):
            mixed = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(tokens[t] + 1) * np.uint64(
                0xC2B2AE3D27D4EB4F
            )
            slot = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(capacity - 1))
            while slots[slot] >= 0 and not (parent[slots[slot]] == node and symbol[slots[slot]] == tokens[t]):
                slot = (slot + 1) & (capacity - 1)
            if slots[slot] < 0:
                slots[slot] = n_nodes
                parent[n_nodes], symbol[n_nodes], depth[n_nodes] = node, tokens[t], depth[node] + 1
                n_nodes += 1
            node = slots[slot]
        end_of[i] = node
    return parent[:n_nodes].copy(), symbol[:n_nodes].copy(), depth[:n_nodes].copy(), end_of


@njit(cache=True, nogil=True)
def _sum_of_descendants(parent: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of ``values`` over each node and all nodes below it."""
    total = values.copy()
    for node in range(len(parent) - 1, 0, -1):
        total[parent[node]] += total[node]
    return total


@njit(cache=True, nogil=True)
def sum_along_paths(parent: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of ``values`` over each node and all nodes above it, (n_nodes,) -> (n_nodes,)."""
    total = values.copy()
    for node in range(1, len(parent)):
        total[node] += total[parent[node]]
    return total
