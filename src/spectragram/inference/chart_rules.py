"""The arrays that represent a grammar and a packed chart, shared by all dynamic programs over charts.

A span (i, j) covers words i .. j-1. Over each span a symbol may stand on two layers: the *bottom* layer is built
by a binary rule or by a word, the *top* layer is a bottom item taken as it is (*kept*) or put under one unary rule;
children of binary rules and roots are top items. So there is at most one unary rule per span, and one unary
rule may stand for a whole unary chain.

The weights of a grammar with hidden states are laid out for the kernels as tensors for rules and vectors for symbols:

paper (Cohen et al. 2012)   here                                shape
C^{a -> b c}                binary[start:stop] as [x, y, z]     (m_a, m_b, m_c): parent, left, right
c^1_a                       root                                (m_a,)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = [
    "Forest",
    "Operators",
    "Rules",
    "SpanMask",
    "Weights",
    "free_mask",
    "layout",
    "make_operators",
    "make_rules",
    "make_weights",
]


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


class SpanMask(NamedTuple):
    """What the chart may build over each span; see :func:`free_mask` for the one that allows everything."""

    cells: np.ndarray  #: int32 (n_cells,): 0 allows everything, -1 nothing, c > 0 what row c - 1 allows
    kept: np.ndarray  #: bool (n_rows, n_symbols): bottom items that may be kept as top items
    unary: np.ndarray  #: bool (n_rows, n_unary): unary rules, in the order of ``Rules.by_child``


def free_mask(rules: Rules, n: int) -> SpanMask:
    """The mask of n words that allows everything."""
    nothing = np.zeros((0, rules.n_symbols), np.bool_), np.zeros((0, len(rules.unary)), np.bool_)
    return SpanMask(np.zeros(n * (n + 1) // 2, np.int32), *nothing)


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


class Operators(NamedTuple):
    """The weights of a grammar with ``n_states[a]`` hidden states for symbol a.

    Attributes
    ----------
    n_states : int32 array, shape (n_symbols,)
    state_start : int64 array, shape (n_symbols + 1,)
        Symbol a owns ``state_start[a]:state_start[a + 1]`` of ``kept`` and ``root``.
    binary_start : int64 array, shape (n_binary + 1,)
    binary : float64 array; float32 after training
        Tensor of rule a -> b c, as parent, left, right.
    binary_up : like binary
        The same tensors as left, right, parent, so that the inside pass, too, reads memory in order.
    unary_start : int64 array, shape (n_unary + 1,)
    unary : float64 array
        Matrix of a unary rule, as parent, child.
    kept : float64 array
        Weight of a top item that is its bottom item, for each state.
    root : float64 array
    """

    n_states: np.ndarray
    state_start: np.ndarray
    binary_start: np.ndarray
    binary: np.ndarray
    binary_up: np.ndarray
    unary_start: np.ndarray
    unary: np.ndarray
    kept: np.ndarray
    root: np.ndarray

    def rounded(self) -> Operators:
        """The same operators with weights in single precision, as model files hold them.

        Charts read tensors from memory most of their time, so these are float32. What is small stays float64, which
        holds the same numbers.
        """
        narrow = {name: getattr(self, name).astype(np.float32) for name in ("binary", "binary_up")}
        small = {name: getattr(self, name).astype(np.float32) for name in ("unary", "kept", "root")}
        return self._replace(**narrow, **{name: part.astype(np.float64) for name, part in small.items()})


def make_operators(
    rules: Rules,
    n_states: np.ndarray,
    binary: np.ndarray,
    unary: np.ndarray,
    kept: np.ndarray,
    root: np.ndarray,
) -> Operators:
    """Lay out flat tensors (rules in order, each as parent, left, right) for the kernels."""
    n_states = np.ascontiguousarray(n_states, np.int32)
    state_start, binary_start, unary_start = layout(rules, n_states)
    binary = np.ascontiguousarray(binary, np.float64)
    return Operators(
        n_states,
        state_start,
        binary_start,
        binary,
        _turned(rules.binary, n_states, binary_start, binary),
        unary_start,
        np.ascontiguousarray(unary, np.float64),
        np.ascontiguousarray(kept, np.float64),
        np.ascontiguousarray(root, np.float64),
    )


def layout(rules: Rules, n_states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the vector of each symbol, the tensor of each binary and the matrix of each unary rule begin."""
    sizes = n_states.astype(np.int64)

    def starts(lengths: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    return (
        starts(sizes),
        starts(sizes[rules.binary].prod(axis=1)),
        starts(sizes[rules.unary].prod(axis=1)),
    )


@njit(cache=True, nogil=True)
def _turned(binary_rules: np.ndarray, n_states: np.ndarray, start: np.ndarray, binary: np.ndarray) -> np.ndarray:
    """Every tensor from (parent, left, right) to (left, right, parent)."""
    turned = np.empty_like(binary)
    for r in range(len(binary_rules)):
        n_parent = n_states[binary_rules[r, 0]]
        n_pairs = n_states[binary_rules[r, 1]] * n_states[binary_rules[r, 2]]
        for x in range(n_parent):
            for pair in range(n_pairs):
                turned[start[r] + pair * n_parent + x] = binary[start[r] + x * n_pairs + pair]
    return turned
