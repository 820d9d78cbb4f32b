"""The tree of all prefixes of a corpus, so that common prefixes of strings are processed once.

A forward vector depends only on the prefix, so strings with a common prefix share it. The same holds backwards for
expected counts, since a node receives the sum over all strings below it. A sample of short strings has several times
fewer prefixes than tokens.

A *group* of nodes reached by the same symbol, all of whose parents come before it, is one matrix product
(:mod:`spectragram.inference.chain`). Products of a few rows are slow, and grouping by depth leaves few rows wherever
strings have different lengths. Nodes are therefore ordered like tasks on a machine: the prefix with the longest string
still ahead of it is due, and its group is filled up with those ready prefixes of the same symbol that have the next
longest strings ahead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

__all__ = ["PrefixTree", "gather_strings", "grow_chains", "grow_prefix_tree", "grow_prefix_trees", "sum_along_paths"]

MOST_ROWS = 256
"""Most nodes of a group: matrix products gain nothing from more rows, and this many still fit into the cache."""


@dataclass(frozen=True)
class PrefixTree:
    """All prefixes of some strings; node 0 is the empty one and a node's parent comes before it.

    Attributes
    ----------
    parent, symbol : int64 arrays, shape (n_nodes,)
        Node i is its parent's prefix followed by the symbol; -1 at the root.
    groups : int64 array, shape (n_groups + 1,)
        Nodes ``groups[g]`` to ``groups[g + 1] - 1`` have one symbol (unless groups are mixed), and their parents are in
        earlier groups; group 0 is the root alone.
    ends, through : float64 arrays, shape (n_nodes,)
        Total weight of the strings that end at a node, and of those that pass it or end there.
    end_of : int64 array, shape (n_strings,)
        The node at which each string ends.
    """

    parent: np.ndarray
    symbol: np.ndarray
    groups: np.ndarray
    ends: np.ndarray
    through: np.ndarray
    end_of: np.ndarray

    def __len__(self) -> int:
        return len(self.parent)


def grow_prefix_tree(
    tokens: np.ndarray, offsets: np.ndarray, weights: np.ndarray | None = None, *, mixed: bool = False
) -> PrefixTree:
    """The tree of the strings ``tokens[offsets[i]:offsets[i + 1]]``, each of weight 1 unless given.

    ``mixed`` groups may hold different symbols, for models in which all symbols move with the same matrix.
    """
    tokens, offsets = np.asarray(tokens, np.int64), np.asarray(offsets, np.int64)
    parent, symbol, end_of = _insert(tokens, offsets)
    return _arranged(parent, symbol, end_of, weights, mixed)


def grow_chains(offsets: np.ndarray) -> PrefixTree:
    """Sequences ``offsets[i]`` to ``offsets[i + 1] - 1`` of a common array as a tree in which nothing is shared.

    The symbol of a node is its place in that array.
    """
    offsets = np.asarray(offsets, np.int64)
    places = np.arange(offsets[-1])
    parent = np.concatenate([[0], places])
    parent[offsets[:-1][np.diff(offsets) > 0] + 1] = 0
    end_of = np.where(np.diff(offsets) > 0, offsets[1:], 0)
    return _arranged(parent, np.concatenate([[-1], places]), end_of, None, True)


def _arranged(
    parent: np.ndarray, symbol: np.ndarray, end_of: np.ndarray, weights: np.ndarray | None, mixed: bool
) -> PrefixTree:
    order, groups = _schedule(parent, np.minimum(symbol, 0) if mixed else symbol, 1 if mixed else int(symbol.max()) + 1)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    parent, symbol, end_of = place[parent[order]], symbol[order], place[end_of]
    parent[0] = -1
    ends = np.bincount(end_of, weights, minlength=len(order)).astype(np.float64)
    return PrefixTree(parent, symbol, groups, ends, _sum_of_descendants(parent, ends), end_of)


def grow_prefix_trees(
    tokens: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    tokens_per_tree: int = 100_000,
    mixed: bool = False,
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
        return [grow_prefix_tree(tokens, offsets, weights, mixed=mixed)]
    order = np.argsort(_first_symbols(tokens, offsets), kind="stable")
    cuts = np.searchsorted(np.cumsum(lengths[order]), np.linspace(0, len(tokens), n_trees + 1)[1:-1])
    trees = []
    for part in np.split(order, cuts):
        if len(part):
            part_tokens, part_offsets = gather_strings(tokens, offsets, part)
            part_weights = None if weights is None else weights[part]
            trees.append(grow_prefix_tree(part_tokens, part_offsets, part_weights, mixed=mixed))
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
def _insert(tokens: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes in order of insertion, found through a hash table over (parent, symbol)."""
    capacity = 16
    while capacity < 2 * (len(tokens) + 1):
        capacity *= 2
    slots = np.full(capacity, -1, np.int64)
    parent = np.empty(len(tokens) + 1, np.int64)
    symbol = np.empty(len(tokens) + 1, np.int64)
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
                parent[n_nodes], symbol[n_nodes] = node, tokens[t]
                n_nodes += 1
            node = slots[slot]
        end_of[i] = node
    return parent[:n_nodes].copy(), symbol[:n_nodes].copy(), end_of


@njit(cache=True, nogil=True)
def _schedule(parent: np.ndarray, symbol: np.ndarray, n_symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """An order in which groups are large: the nodes in that order, and the borders of the groups.

    Each symbol has a heap of its ready nodes (their parents are done); a node's priority is the length of the longest
    string ahead of it. The symbol of the node of highest priority is next, with at most MOST_ROWS nodes.
    """
    n = len(parent)
    height = np.zeros(n, np.int64)
    n_children = np.zeros(n + 1, np.int64)
    room = np.zeros(n_symbols + 1, np.int64)
    for node in range(n - 1, 0, -1):
        height[parent[node]] = max(height[parent[node]], height[node] + 1)
        n_children[parent[node] + 1] += 1
        room[symbol[node] + 1] += 1
    first_child, heaps = np.cumsum(n_children), np.cumsum(room)
    filled = first_child[:-1].copy()
    children = np.empty(max(n - 1, 0), np.int64)
    for node in range(1, n):
        children[filled[parent[node]]] = node
        filled[parent[node]] += 1
    heap, sizes = np.empty(max(n - 1, 0), np.int64), np.zeros(n_symbols, np.int64)
    order, groups, n_groups = np.empty(n, np.int64), np.empty(n + 1, np.int64), 1
    order[0], groups[0], groups[1], done = 0, 0, 1, 1
    while True:
        for node in order[groups[n_groups - 1] : done]:
            for child in children[first_child[node] : first_child[node + 1]]:
                s = symbol[child]
                _push(heap[heaps[s] : heaps[s + 1]], sizes[s], child, height)
                sizes[s] += 1
        best, highest = -1, -1
        for s in range(n_symbols):
            if sizes[s] > 0 and height[heap[heaps[s]]] > highest:
                best, highest = s, height[heap[heaps[s]]]
        if best < 0:
            return order, groups[: n_groups + 1].copy()
        rows = min(sizes[best], MOST_ROWS)
        for _ in range(rows):
            order[done] = _pop(heap[heaps[best] : heaps[best + 1]], sizes[best], height)
            sizes[best] -= 1
            done += 1
        n_groups += 1
        groups[n_groups] = done


@njit(cache=True, nogil=True)
def _push(heap: np.ndarray, size: int, node: int, height: np.ndarray) -> None:
    """Add a node to a binary heap of ``size`` nodes, the highest on top."""
    at = size
    while at > 0 and height[heap[(at - 1) // 2]] < height[node]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = node


@njit(cache=True, nogil=True)
def _pop(heap: np.ndarray, size: int, height: np.ndarray) -> int:
    """Take the highest node from a binary heap of ``size`` nodes."""
    top, last, at = heap[0], heap[size - 1], 0
    while 2 * at + 1 < size - 1:
        below = 2 * at + 1
        if below + 1 < size - 1 and height[heap[below + 1]] > height[heap[below]]:
            below += 1
        if height[heap[below]] <= height[last]:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = last
    return int(top)


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
