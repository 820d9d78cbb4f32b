"""The arrays that represent a grammar and a packed chart, shared by all dynamic programs over charts.

A span (i, j) covers words i .. j-1. Over each span a symbol may stand on two layers: the *bottom* layer is built
by a binary rule or by a word, the *top* layer is a bottom item taken as it is (*kept*) or put under one unary rule;
children of binary rules and roots are top items. So there is at most one unary rule per span, and one unary
rule may stand for a whole unary chain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Forest", "Rules", "Weights", "make_rules", "make_weights"]


class Rules(NamedTuple):
    """The rules of a grammar without their weights, in any order, and the same sorted for the chart.

    Attributes
    ----------
    binary : int32 array, shape (n_binary, 3)
        ``parent, left, right``.
    unary : int32 array, shape (n_unary, 2)
        ``parent, child``; a pair may occur several times, for different chains between the two.
    by_children : uint32 array, shape (n_binary, 2)
        ``parent, rule`` of the rules sorted by their children; unsigned, which saves the kernels a test of the sign.
    pairs : uint32 array, shape (n_pairs + 1, 2)
        ``right child, first row of by_children`` of each pair of children that some rule has, sorted by left child.
    left_start : int32 array, shape (n_symbols + 1,)
        Pairs with left child b are ``pairs[left_start[b]:left_start[b + 1]]``.
    by_child : int32 array, shape (n_unary, 2)
        ``parent, rule`` of the unary rules sorted by their child.
    child_start : int32 array, shape (n_symbols + 1,)
    """

    binary: np.ndarray
    unary: np.ndarray
    by_children: np.ndarray
    pairs: np.ndarray
    left_start: np.ndarray
    by_child: np.ndarray
    child_start: np.ndarray

    @property
    def n_symbols(self) -> int:
        """Number of symbols, tags included."""
        return len(self.left_start) - 1


class Weights(NamedTuple):
    """One number per rule: a plain PCFG over :class:`Rules`."""

    by_children: np.ndarray  #: (n_binary,) in the order of ``Rules.by_children``
    by_child: np.ndarray  #: (n_unary,) in the order of ``Rules.by_child``
    kept: np.ndarray  #: (n_symbols,) weight of a top item that is its bottom item
    root: np.ndarray  #: (n_symbols,)


class Forest(NamedTuple):
    """The part of a chart that is worth computing: items, and how they are built from smaller ones.

    Items are numbered by span, shorter spans first; within a span bottom items come before top items.

    Attributes
    ----------
    spans : int32 array, shape (n_spans, 2)
        ``start, end``; the last one is the whole sentence.
    first_item, first_edge, first_link : int32 arrays, shape (n_spans + 1,)
        Where the items, edges and links of each span begin.
    items : int32 array, shape (n_items, 3)
        ``symbol, 1 if top else 0, span``.
    edges : int32 array, shape (n_edges, 4)
        ``parent (bottom item), binary rule, left (top item), right (top item)``; in a span sorted by rule.
    links : int32 array, shape (n_links, 3)
        ``top item, unary rule or -1 if the bottom item is kept, bottom item``.
    """

    spans: np.ndarray
    first_item: np.ndarray
    first_edge: np.ndarray
    first_link: np.ndarray
    items: np.ndarray
    edges: np.ndarray
    links: np.ndarray


def make_rules(binary: np.ndarray, unary: np.ndarray, n_symbols: int) -> Rules:
    """Sort rules for the chart: ``binary`` (n, 3) parent, left, right; ``unary`` (n, 2) parent, child."""
    binary = np.ascontiguousarray(binary, np.int32).reshape(-1, 3)
    unary = np.ascontiguousarray(unary, np.int32).reshape(-1, 2)
    order = np.lexsort((binary[:, 0], binary[:, 2], binary[:, 1]))
    child_order = np.lexsort((unary[:, 0], unary[:, 1]))
    key = binary[order, 1].astype(np.int64) * n_symbols + binary[order, 2]
    pair, first = np.unique(key, return_index=True)
    everything = np.arange(n_symbols + 1)
    return Rules(
        binary,
        unary,
        np.column_stack([binary[order, 0], order]).astype(np.uint32),
        np.column_stack([np.append(pair % n_symbols, 0), np.append(first, len(key))]).astype(np.uint32),
        np.searchsorted(pair // n_symbols, everything).astype(np.int32),
        np.column_stack([unary[child_order, 0], child_order]).astype(np.int32),
        np.searchsorted(unary[child_order, 1], everything).astype(np.int32),
    )


def make_weights(rules: Rules, binary: np.ndarray, unary: np.ndarray, kept: np.ndarray, root: np.ndarray) -> Weights:
    """Weights of a plain PCFG; ``binary`` and ``unary`` in the order of ``rules.binary`` and ``rules.unary``."""
    return Weights(
        np.ascontiguousarray(binary[rules.by_children[:, 1]], np.float64),
        np.ascontiguousarray(unary[rules.by_child[:, 1]], np.float64),
        np.ascontiguousarray(kept, np.float64),
        np.ascontiguousarray(root, np.float64),
    )
