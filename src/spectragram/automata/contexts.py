"""Substrings next to a gap, and which of them fit at each gap of a corpus.

A string of T symbols has T + 1 *gaps*: one before each symbol, and one before its end. The *past* of a gap is what lies
to its left, read away from the gap and closed by the begin marker; its *future* is what lies to its right, closed by
the end marker. Both markers are written as the symbol ``n_symbols``, which can only be the last thing that is read.

    element                       as a past (right to left)            as a future (left to right)
    ()                            fits every gap                       fits every gap
    (a, b)                        the two symbols before are a b       the two symbols after are a b
    (marker, a) or (a, marker)    the string so far is a               the rest of the string is a

One kernel therefore counts all statistics of Balle et al. 2014: substrings use elements without markers, prefixes
anchor the past, strings anchor both sides, and a mixture of these kinds gives the initial and the final weights without
inverting a matrix.

Elements form a tree in which the shorter versions of an element lie above it. The longest element that fits at a gap
tells which others do, so a gap costs one walk and one count, however many elements match.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit
from scipy import sparse

from spectragram.errors import InputError
from spectragram.inference.prefix_tree import PrefixTree
from spectragram.schema import Array, Schema

__all__ = ["FUTURE", "PAST", "ContextTree", "Element", "Gaps", "find_gaps", "frequent_contexts"]

Element = tuple[int, ...]
PAST, FUTURE = -1, 1
"""The direction in which elements are read."""
LONGEST_STORED = 1000
"""Most symbols of an element in a model file. Chosen by hand: the time to make a tree grows with their squares."""


@dataclass(frozen=True)
class Gaps:
    """All strings in one array with a marker at both ends of each, and the places of the gaps.

    Attributes
    ----------
    marked : int32 array, shape (n_tokens + 2 n_strings,)
        marker x_1 ... x_T marker, string after string.
    places : int64 array, shape (n_tokens + n_strings,)
        Gap g lies before ``marked[places[g]]``.
    n_symbols : int
        Size of the alphabet; also the marker.
    """

    marked: np.ndarray
    places: np.ndarray
    n_symbols: int

    @property
    def following(self) -> np.ndarray:
        """The symbol after each gap, ``n_symbols`` at the end of a string, shape (n_gaps,)."""
        return self.marked[self.places]


def find_gaps(tokens: np.ndarray, offsets: np.ndarray, n_symbols: int) -> Gaps:
    """Mark both ends of every string and list the gaps in order."""
    n_strings = len(offsets) - 1
    marked = np.full(len(tokens) + 2 * n_strings, n_symbols, np.int32)
    begins = offsets[:-1] + 2 * np.arange(n_strings)
    inside = np.ones(len(marked), np.bool_)
    inside[begins] = False
    places = np.flatnonzero(inside)
    inside[begins + np.diff(offsets) + 1] = False
    marked[inside] = tokens
    return Gaps(marked, places, n_symbols)


@dataclass(frozen=True)
class ContextTree:
    """Pasts (``step`` -1) or futures (+1) as a tree; node 0 is the empty one and parents come first.

    Attributes
    ----------
    children : int32 array, shape (n_nodes, n_symbols + 1)
        The node that one more symbol leads to, -1 if there is none.
    parent : int64 array, shape (n_nodes,)
    elements : tuple of tuples of symbols
        One for each node that is an element; the other nodes only lead to elements.
    places : int64 array, shape (n_elements,)
        The node of each element.
    """

    children: np.ndarray
    parent: np.ndarray
    elements: tuple[Element, ...]
    places: np.ndarray
    step: int

    @classmethod
    def of(cls, elements: Iterable[Sequence[int]], n_symbols: int, step: int, *, marked: bool = True) -> ContextTree:
        """The tree of the given elements, in their order.

        Their shorter versions and, if ``marked``, the bare marker become nodes too, without being elements.
        """
        listed = tuple(dict.fromkeys(tuple(int(s) for s in element) for element in elements))
        _check_elements(listed, n_symbols, step)
        node_of: dict[Element, int] = {(): 0}
        parent, symbol = [-1], [-1]
        for element in (*listed, (n_symbols,)) if marked else listed:
            read = element[::-1] if step == PAST else element
            for length in range(1, len(read) + 1):
                if read[:length] not in node_of:
                    node_of[read[:length]] = len(parent)
                    parent.append(node_of[read[: length - 1]])
                    symbol.append(read[length - 1])
        children = np.full((len(parent), n_symbols + 1), -1, np.int32)
        children[parent[1:], symbol[1:]] = np.arange(1, len(parent))
        places = [node_of[element[::-1] if step == PAST else element] for element in listed]
        return cls(children, np.array(parent), listed, np.array(places, np.int64), step)

    @property
    def n_symbols(self) -> int:
        """Size of the alphabet; the marker does not count."""
        return self.children.shape[1] - 1

    @property
    def marker_node(self) -> int:
        """The node of the bare marker, the very begin (or end) of a string; the root where there is none."""
        return max(0, int(self.children[0, self.n_symbols]))

    def locate(self, gaps: Gaps) -> np.ndarray:
        """The deepest node that fits at each gap, shape (n_gaps,)."""
        return _locate(gaps.marked, gaps.places, self.children, self.step)

    def locate_nodes(self, tree: PrefixTree) -> np.ndarray:
        """For pasts: the deepest node that fits after each prefix, shape (n_nodes of the tree,)."""
        return _locate_in_tree(tree.parent, tree.symbol, self.children)

    def ancestors(self) -> sparse.csr_array:
        """1 where a node (column) is above another (row) or equal to it: it fits wherever that one does."""
        nodes = above = np.arange(len(self.parent))
        rows, columns = [], []
        while len(nodes):
            rows.append(nodes)
            columns.append(above)
            going_up = self.parent[above] >= 0
            nodes, above = nodes[going_up], self.parent[above[going_up]]
        index = np.concatenate(rows), np.concatenate(columns)
        return sparse.coo_array((np.ones(len(index[0])), index), shape=(len(self.parent),) * 2).tocsr()

    SCHEMA: ClassVar[Schema] = Schema(
        "Contexts",
        "Recent pasts, one after the other.",
        arrays={
            "lengths": Array("i8", ("n_elements",), "symbols of each", least=0, most=LONGEST_STORED),
            "symbols": Array("i8", ("n_listed",), "the symbols of all", least=0, below="n_symbols + 1"),
        },
        rule=lambda values, arrays, sizes: (
            "lengths and symbols of contexts do not fit together"
            if arrays["lengths"].sum() != sizes["n_listed"]
            else None
        ),
    )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The elements one after the other, with their lengths; everything else follows from them."""
        lengths = np.array([len(element) for element in self.elements], np.int64)
        symbols = np.array([symbol for element in self.elements for symbol in element], np.int64)
        return {"lengths": lengths, "symbols": symbols}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], n_symbols: int, step: int, *, marked: bool = True
    ) -> ContextTree:
        """Inverse of :meth:`to_arrays`; whether there is a marker is for the owner to know."""
        ends = np.cumsum(arrays["lengths"])
        elements = [tuple(part.tolist()) for part in np.split(arrays["symbols"], ends[:-1])] if len(ends) else []
        return cls.of(elements, n_symbols, step, marked=marked)


def frequent_contexts(gaps: Gaps, step: int, n_elements: int, *, max_length: int, markers: bool) -> list[Element]:
    """The substrings of at most ``max_length`` symbols that fit at the most gaps, most frequent first.

    The empty one is always among them. With ``markers`` those that reach an end of the string count too, and the bare
    marker is always among them. An element is never more frequent than a shorter version of itself, so only frequent
    ones are extended.
    """
    marker = gaps.n_symbols
    found: list[tuple[int, Element]] = [(len(gaps.places), ())]
    level: list[Element] = [()]
    active, here = np.arange(len(gaps.places)), np.zeros(len(gaps.places), np.int64)
    counts = np.array([len(gaps.places)])
    for length in range(1, max_length + 1):
        read = gaps.marked[gaps.places[active] + (-length if step == PAST else length - 1)]
        if not markers:
            active, here, read = active[read != marker], here[read != marker], read[read != marker]
        keys = here * (marker + 1) + read
        table = np.bincount(keys, minlength=len(level) * (marker + 1))
        counts = np.sort(np.concatenate([counts, table[table > 0]]))[-n_elements:]
        least = counts[0] if len(counts) == n_elements else 1
        kept = np.flatnonzero(table >= least)
        if markers and length == 1:
            kept = np.union1d(kept, marker)
        level = [_extended(level[key // (marker + 1)], int(key % (marker + 1)), step) for key in kept]
        found += zip(table[kept].tolist(), level, strict=True)
        number = np.full(len(table), -1)
        number[kept] = np.arange(len(kept))
        here = number[keys]
        goes_on = (here >= 0) & (read != marker)
        active, here = active[goes_on], here[goes_on]
        if not len(active):
            break
    always = {(), (marker,)} if markers else {()}
    found.sort(key=lambda item: (item[1] not in always, -item[0], len(item[1]), item[1]))
    return [element for _, element in found[: max(n_elements, len(always))]]


def _extended(element: Element, symbol: int, step: int) -> Element:
    return (symbol, *element) if step == PAST else (*element, symbol)


def _check_elements(elements: tuple[Element, ...], n_symbols: int, step: int) -> None:
    for element in elements:
        inner = element[1:] if step == PAST else element[:-1]
        if any(not 0 <= s <= n_symbols for s in element) or n_symbols in inner:
            raise InputError(
                f"basis element {element} over an alphabet of {n_symbols} symbols",
                remedy=f"use 0 to {n_symbols - 1}; {n_symbols} marks the {'begin' if step == PAST else 'end'} only",
            )


@njit(cache=True, nogil=True)
def _locate(marked: np.ndarray, places: np.ndarray, children: np.ndarray, step: int) -> np.ndarray:
    marker = children.shape[1] - 1
    found = np.empty(len(places), np.int64)
    for g in range(len(places)):
        at = places[g] - 1 if step < 0 else places[g]
        node = 0
        while children[node, marked[at]] >= 0:
            node = children[node, marked[at]]
            if marked[at] == marker:
                break
            at += step
        found[g] = node
    return found


@njit(cache=True, nogil=True)
def _locate_in_tree(parent: np.ndarray, symbol: np.ndarray, children: np.ndarray) -> np.ndarray:
    marker = children.shape[1] - 1
    found = np.zeros(len(parent), np.int64)
    for prefix in range(len(parent)):
        at, node = prefix, 0
        while True:
            read = marker if at == 0 else symbol[at]
            # Symbols that the tree does not know end the walk.
            if read > marker or (read == marker and at != 0) or children[node, read] < 0:
                break
            node = children[node, read]
            if at == 0:
                break
            at = parent[at]
        found[prefix] = node
    return found
