"""From binarised trees to flat arrays: number labels, words and rules, and link the nodes."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numba import njit

from spectragram.data.corpus import Vocabulary
from spectragram.data.productions import BINARY, LEXICAL, UNARY, Chain, Productions
from spectragram.data.trees import Tree
from spectragram.errors import InputError

__all__ = ["NodeCollector", "link_nodes", "offsets_of"]


class NodeCollector:
    """Collects the nodes of binarised trees, children before parents.

    Labels, words and chains are numbered as they appear; :meth:`finish` replaces these numbers with the final ones.
    """

    def __init__(self) -> None:
        self.tags: dict[str, int] = {}
        self.phrases: dict[str, int] = {}
        self.words: dict[str, int] = {}
        self.chains: dict[Chain, int] = {(): 0}
        self.kinds = bytearray()
        self.names = array("i")  # tag or phrase of each node, by its kind
        self.details = array("i")  # word, chain, or 0
        self.n_nodes = array("q")  # of each tree
        self.n_words = array("q")

    def add(self, tree: Tree) -> None:
        """Append the nodes of a tree with at most two children each."""
        tags, phrases, words, chains = self.tags, self.phrases, self.words, self.chains
        kinds, names, details = bytearray(), [], []
        stack = [tree]
        while stack:
            node = stack.pop()
            children = node.children
            if node.word is not None:
                kinds.append(LEXICAL)
                names.append(tags.setdefault(node.label, len(tags)))
                details.append(words.setdefault(node.word, len(words)))
                continue
            names.append(phrases.setdefault(node.label, len(phrases)))
            kinds.append(len(children))
            if len(children) == BINARY:
                details.append(0)
                stack += children
            elif len(children) == UNARY:
                chain, lowest = _unary_chain(children[0])
                details.append(chains.setdefault(chain, len(chains)))
                stack.append(lowest)
            else:
                raise InputError(f"a phrase {node.label!r} with {len(children)} children", remedy="binarise it first")
        # Parents came first and right before left: backwards, children precede parents, left before right.
        self.kinds += kinds[::-1]
        self.names.extend(reversed(names))
        self.details.extend(reversed(details))
        self.n_nodes.append(len(kinds))
        self.n_words.append(kinds.count(LEXICAL))

    def finish(self, known: Productions | None) -> tuple[Productions, np.ndarray, dict[str, np.ndarray]]:
        """The productions, the word numbers, and arrays over nodes under the names they have in a Treebank.

        With productions ``known`` from another treebank, labels, words and rules that they lack get -1.
        """
        kind = np.frombuffer(self.kinds, np.int8).copy()
        names = np.frombuffer(self.names, np.int32)
        details = np.frombuffer(self.details, np.int32)
        table = self._symbols(details[kind == LEXICAL]) if known is None else known
        tags, phrases = table.labels[: table.n_tags], table.labels[table.n_tags :]
        phrase_number = _renumber(self.phrases, phrases)
        phrase_number[phrase_number >= 0] += table.n_tags
        symbol = np.empty(len(kind), np.int32)
        is_word = kind == LEXICAL
        symbol[is_word] = _renumber(self.tags, tags)[names[is_word]]
        symbol[~is_word] = phrase_number[names[~is_word]]
        token = _renumber(self.words, table.words.words)[details[is_word]]

        links = link_nodes(kind, offsets_of(self.n_nodes))
        left, right = links["left"], links["right"]
        above, pair = np.flatnonzero(kind == UNARY), np.flatnonzero(kind == BINARY)
        chain = _renumber(self.chains, table.chains)[details[above]]
        columns = {
            "lexical": (is_word, (symbol[is_word], token)),
            "unary": (above, (symbol[above], symbol[left[above]], chain)),
            "binary": (pair, (symbol[pair], symbol[left[pair]], symbol[right[pair]])),
        }
        rule = np.empty(len(kind), np.int32)
        rules = {}
        for name, (nodes, parts) in columns.items():
            fixed = None if known is None else getattr(known, name)
            rules[name], rule[nodes] = _number_rules(parts, table.sizes[name], fixed)
        if known is None:
            table = Productions(table.labels, table.n_tags, table.words, table.chains, **rules)
        return table, token, {"kind": kind, "symbol": symbol, "rule": rule, **links}

    def _symbols(self, tokens: np.ndarray) -> Productions:
        """Labels, words and chains in their final order, without rules yet."""
        counts = np.bincount(tokens, minlength=len(self.words))
        words = Vocabulary.from_counts(dict(zip(self.words, counts.tolist(), strict=True)), unknown=None)
        labels = (*sorted(self.tags), *sorted(self.phrases))
        none = np.zeros((0, 0), np.int32)
        return Productions(labels, len(self.tags), words, tuple(sorted(self.chains)), none, none, none)


def _unary_chain(node: Tree) -> tuple[Chain, Tree]:
    """Labels from ``node`` down to the first node that is not a phrase with one child, and that node."""
    labels = []
    while len(node.children) == UNARY:
        labels.append(node.label)
        (node,) = node.children
    return tuple(labels), node


def _renumber(numbers: Iterable[object], final: Sequence[object]) -> np.ndarray:
    """For every key of ``numbers``, in order, its position in ``final``, or -1."""
    places = {key: i for i, key in enumerate(final)}
    return np.array([places.get(key, -1) for key in numbers], np.int32)


def _number_rules(
    columns: tuple[np.ndarray, ...], sizes: tuple[int, ...], known: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of the columns in ascending order (or the rows ``known``), and the number of each row."""
    if math.prod(sizes) >= 1 << 63:
        raise InputError(f"rules over {sizes} symbols", remedy="use a smaller horizontal or vertical order")
    keys = _pack(columns, sizes)
    if known is None:
        distinct, number = np.unique(keys, return_inverse=True)
        return np.stack(np.unravel_index(distinct, sizes), axis=1).astype(np.int32), number.astype(np.int32)
    known_keys = _pack(tuple(known.T), sizes)
    place = np.searchsorted(known_keys, keys)
    found = np.append(known_keys, -1)[place] == keys
    seen = found & np.all([column >= 0 for column in columns], axis=0)
    return known, np.where(seen, place, -1).astype(np.int32)


def _pack(columns: tuple[np.ndarray, ...], sizes: tuple[int, ...]) -> np.ndarray:
    """Each row as one integer; integers compare as the rows do."""
    key = np.zeros(len(columns[0]), np.int64)
    for column, size in zip(columns, sizes, strict=True):
        key = key * size + column
    return key


def offsets_of(lengths: Iterable[int]) -> np.ndarray:
    """Where consecutive parts of these lengths begin and end: int64, shape (n_parts + 1,)."""
    return np.concatenate([[0], np.cumsum(np.fromiter(lengths, np.int64))])


def link_nodes(kind: np.ndarray, offsets: np.ndarray) -> dict[str, np.ndarray]:
    """``left``, ``right``, ``parent``, ``start`` and ``end`` of nodes stored with children before parents."""
    names = ("left", "right", "parent", "start", "end")
    return dict(zip(names, _link(kind, offsets), strict=True))


@njit(cache=True, nogil=True)
def _link(kind: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Find children, parents and spans: kind (n_nodes,), offsets (n_trees + 1,) -> five (n_nodes,) int32 arrays.

    Returns left (the only child of a unary node), right and parent, -1 where there is none, and start and end,
    positions among the words of all trees.
    """
    n_nodes = len(kind)
    left = np.full(n_nodes, -1, np.int32)
    right = np.full(n_nodes, -1, np.int32)
    parent = np.full(n_nodes, -1, np.int32)
    start = np.empty(n_nodes, np.int32)
    end = np.empty(n_nodes, np.int32)
    waiting = np.empty(n_nodes, np.int32)  # nodes whose parent is still to come
    n_words = 0
    for tree in range(len(offsets) - 1):
        top = 0
        for node in range(offsets[tree], offsets[tree + 1]):
            if kind[node] == LEXICAL:
                start[node] = n_words
                n_words += 1
                end[node] = n_words
            else:
                if kind[node] == BINARY:
                    top -= 1
                    right[node] = waiting[top]
                    parent[waiting[top]] = node
                    end[node] = end[waiting[top]]
                top -= 1
                left[node] = waiting[top]
                parent[waiting[top]] = node
                start[node] = start[waiting[top]]
                if kind[node] == UNARY:
                    end[node] = end[waiting[top]]
            waiting[top] = node
            top += 1
    return left, right, parent, start, end
