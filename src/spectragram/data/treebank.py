"""A treebank as flat integer arrays, from which grammars are counted.

Trees are binarised. Their nodes are stored one after the other, children before parents, so a compiled inside pass
is one loop and an outside pass is the same loop backwards::

    for node in range(offsets[i], offsets[i + 1]):      the root is the last node
        kind[node]                                      LEXICAL, UNARY or BINARY
        left[node], right[node]                         -1 if there is none

Rules are numbers into the tables of :class:`~spectragram.data.productions.Productions`, by kind. Node and word numbers
run through the whole treebank: ``parent[parent]``, ``symbol[left]`` and the like are single numpy expressions.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numba import njit

from spectragram.data.binarization import Binarizer, base_label, is_intermediate, unbinarize
from spectragram.data.corpus import Corpus, even_parts
from spectragram.data.heads import HeadRules
from spectragram.data.productions import BINARY, LEXICAL, UNARY, Productions
from spectragram.data.treebank_encoding import NodeCollector, link_nodes, offsets_of
from spectragram.data.trees import ROOTS, Tree, make_tree
from spectragram.errors import InputError

__all__ = ["Treebank", "head_words"]


@dataclass(frozen=True)
class Treebank:
    """Binarised trees over one set of productions, at 29 bytes per node.

    A root ``TOP`` (``ROOT``, ``S1``) over one tree is removed; :meth:`decode` restores it.

    Attributes
    ----------
    productions : Productions
        Labels, words and rules.
    sentences : Corpus
        The words of the trees.
    offsets : int64 array, shape (n_trees + 1,)
        Tree i has the nodes ``offsets[i]`` to ``offsets[i + 1] - 1``, the last of which is its root.
    outer : int8 array, shape (n_trees,)
        Which of ``ROOTS`` was removed from the tree, or -1.
    kind : int8 array, shape (n_nodes,)
        LEXICAL, UNARY or BINARY.
    symbol, rule : int32 arrays, shape (n_nodes,)
        A number into ``productions.labels``, and into the rules of the node's kind.
    left, right, parent : int32 arrays, shape (n_nodes,)
        Nodes, or -1; the child of a unary node is its left.
    start, end : int32 arrays, shape (n_nodes,)
        The node covers ``sentences.tokens[start:end]``.
    """

    productions: Productions
    sentences: Corpus
    offsets: np.ndarray
    outer: np.ndarray
    kind: np.ndarray
    symbol: np.ndarray
    rule: np.ndarray
    left: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    start: np.ndarray
    end: np.ndarray

    @classmethod
    def from_trees(
        cls, trees: Iterable[Tree], binarizer: Binarizer | None = None, productions: Productions | None = None
    ) -> Self:
        """Binarise and encode trees one at a time; they need not fit into memory as objects.

        Parameters
        ----------
        trees : iterable of Tree
        binarizer : Binarizer, optional
            By default right-branching, with symbols that remember nothing.
        productions : Productions, optional
            Those of another treebank, binarised the same way: symbols, words and rules keep their numbers, and new
            ones get -1 (such trees cannot be decoded).
        """
        binarizer = binarizer or Binarizer()
        collector = NodeCollector()
        outer = array("b")
        for tree in trees:
            has_root = tree.label in ROOTS and len(tree.children) == 1
            outer.append(ROOTS.index(tree.label) if has_root else -1)
            collector.add(binarizer(tree.children[0] if has_root else tree))
        if not outer:
            raise InputError("no trees", remedy="give at least one")
        table, tokens, nodes = collector.finish(productions)
        return cls(
            productions=table,
            sentences=Corpus(tokens, offsets_of(collector.n_words), table.words),
            offsets=offsets_of(collector.n_nodes),
            outer=np.array(outer, np.int8),
            **nodes,
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_nodes(self) -> int:
        """Total number of nodes."""
        return len(self.kind)

    @property
    def roots(self) -> np.ndarray:
        """The root node of each tree, shape (n_trees,)."""
        return self.offsets[1:] - 1

    @property
    def leaves(self) -> np.ndarray:
        """The tag node of each word, shape (n_tokens,): ``symbol[leaves]`` are the tags of ``sentences.tokens``."""
        return np.flatnonzero(self.kind == LEXICAL)

    @property
    def tree_of_node(self) -> np.ndarray:
        """Which tree each node belongs to, shape (n_nodes,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def production(self) -> np.ndarray:
        """How each node is rewritten, ignoring words: shape (n_nodes,), below ``n_productions``.

        Tags stand for themselves; unary rules and then binary rules follow them.
        """
        n_tags, n_unary = self.productions.n_tags, len(self.productions.unary)
        number = np.where(self.kind == BINARY, n_tags + n_unary + self.rule, n_tags + self.rule)
        return np.where(self.kind == LEXICAL, self.symbol, number)

    def decode(self, i: int, *, binarized: bool = False) -> Tree:
        """Tree i as it was passed in, or in its binarised form."""
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        nodes = slice(self.offsets[i], self.offsets[i + 1])
        if (self.rule[nodes] < 0).any():
            raise InputError(f"tree {i} has rules that its productions lack", remedy="keep the Tree itself")
        tree = self.productions.tree(
            self.kind[nodes].tolist(),
            self.symbol[nodes].tolist(),
            self.rule[nodes].tolist(),
            self.sentences.decode(i),
        )
        if not binarized:
            tree = unbinarize(tree)
        return tree if self.outer[i] < 0 else make_tree(ROOTS[self.outer[i]], (tree,))

    def __iter__(self) -> Iterator[Tree]:
        return (self.decode(i) for i in range(len(self)))

    def slice(self, first: int, stop: int) -> Self:
        """Trees ``first`` to ``stop`` as a treebank of their own, with the same productions."""
        nodes = slice(self.offsets[first], self.offsets[stop])
        offsets = self.offsets[first : stop + 1] - self.offsets[first]
        return type(self)(
            productions=self.productions,
            sentences=self.sentences.slice(first, stop),
            offsets=offsets,
            outer=self.outer[first:stop],
            kind=self.kind[nodes],
            symbol=self.symbol[nodes],
            rule=self.rule[nodes],
            **link_nodes(self.kind[nodes], offsets),
        )

    def shards(self, n: int) -> list[Self]:
        """At most ``n`` consecutive parts of about the same number of nodes, in order."""
        return [self.slice(first, stop) for first, stop in even_parts(self.offsets, n)]


def head_words(treebank: Treebank, rules: HeadRules) -> np.ndarray:
    """The head word of each node, intermediate symbols included: shape (n_nodes,), into ``sentences.tokens``.

    The head of a phrase is that of the tree before binarisation, however it was binarised. The head of an intermediate
    symbol is the child that would be the head of its phrase if the phrase had only the children below the symbol.
    The head's tag is ``treebank.symbol[treebank.leaves[head_words(...)]]``.
    """
    label, intermediate, rank, rightmost = _tables(treebank.productions, rules)
    return _head_words(
        treebank.kind,
        treebank.symbol,
        treebank.left,
        treebank.right,
        treebank.start,
        label,
        intermediate,
        rank,
        rightmost,
    )


def _tables(productions: Productions, rules: HeadRules) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The treebank's own label of each symbol, as a number; whether a symbol is intermediate; preferences.

    Preferences are the rank and ``rightmost`` of each label (column) as a child of each label (row).
    """
    n_tags = productions.n_tags
    tags, phrases = productions.labels[:n_tags], productions.labels[n_tags:]
    names = [*tags, *map(base_label, phrases)]
    distinct = sorted(set(names))
    number = {name: i for i, name in enumerate(distinct)}
    label = np.array([number[name] for name in names], np.int32)
    intermediate = np.array([False] * n_tags + [is_intermediate(phrase) for phrase in phrases])
    rank = np.zeros((len(distinct), len(distinct)), np.int32)
    rightmost = np.zeros(rank.shape, np.bool_)
    for phrase in {names[symbol] for symbol in range(n_tags, len(names))}:
        for child in distinct:
            preference = rules.preference(phrase, child)
            rank[number[phrase], number[child]] = preference.rank
            rightmost[number[phrase], number[child]] = preference.rightmost
    return label, intermediate, rank, rightmost


@njit(cache=True, nogil=True)
def _head_words(
    kind: np.ndarray,
    symbol: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    start: np.ndarray,
    label: np.ndarray,
    intermediate: np.ndarray,
    rank: np.ndarray,
    rightmost: np.ndarray,
) -> np.ndarray:
    """(n_nodes,) x 5, (n_symbols,) x 2, (n_labels, n_labels) x 2 -> (n_nodes,)."""
    head = np.empty(len(kind), np.int32)
    stands_for = np.empty(len(kind), np.int32)  # the label with which a node competes to be its parent's head
    for node in range(len(kind)):
        phrase = label[symbol[node]]
        stands_for[node] = phrase
        if kind[node] == LEXICAL:
            head[node] = start[node]
            continue
        winner = left[node]
        if kind[node] != UNARY:
            a, b = stands_for[left[node]], stands_for[right[node]]
            if rank[phrase, b] < rank[phrase, a] or (rank[phrase, b] == rank[phrase, a] and rightmost[phrase, b]):
                winner = right[node]
        head[node] = head[winner]
        if intermediate[symbol[node]]:
            stands_for[node] = stands_for[winner]
    return head
