"""Nodes of binarised trees as objects, and features of them that users write.

A feature function takes a :class:`Node` and returns what is true of it: hashable features, or a dictionary of features
and their values. phi (``inside_features``) should look at the node and what is below it, psi (``outside_features``) at
everything else: given the hidden state of the node the two must be independent (Cohen et al. 2012, section 6.1).

For the pivot learners a function stands for the K feature functions of Cohen & Collins (2014, section 6.2): it returns
a list with one feature of each, and all nodes of a label have equally many.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from spectragram.data.treebank import Treebank
from spectragram.errors import ParameterError

__all__ = ["FeatureFunction", "Node", "require_recoverable", "user_features", "user_templates"]


@dataclass(frozen=True)
class Node:
    """A node of a binarised tree; ``treebank`` and ``number`` say which."""

    treebank: Treebank
    number: int

    def _other(self, column: np.ndarray) -> Node | None:
        number = int(column[self.number])
        return Node(self.treebank, number) if number >= 0 else None

    @property
    def label(self) -> str:
        """The symbol, such as ``NP``; symbols that binarisation introduced have their own names."""
        return self.treebank.productions.labels[int(self.treebank.symbol[self.number])]

    @property
    def left(self) -> Node | None:
        """The left child, or the only one; None for a tag."""
        return self._other(self.treebank.left)

    @property
    def right(self) -> Node | None:
        """The right child; None for a tag and above a unary rule."""
        return self._other(self.treebank.right)

    @property
    def parent(self) -> Node | None:
        """The node above; None for the root."""
        return self._other(self.treebank.parent)

    @property
    def is_left(self) -> bool:
        """Whether it is a left (or only) child."""
        parent = self.parent
        return parent is not None and int(self.treebank.left[parent.number]) == self.number

    @property
    def rule(self) -> tuple[str, ...]:
        """The label and those of the children, or the word of a tag."""
        children = [child.label for child in (self.left, self.right) if child is not None]
        return (self.label, *(children or [self.words[0]]))

    @property
    def sentence(self) -> list[str]:
        """All words of the tree."""
        sentences, names = self.treebank.sentences, self.treebank.productions.words.words
        tree = int(self.treebank.tree_of_node[self.number])
        return [names[w] for w in sentences.tokens[sentences.offsets[tree] : sentences.offsets[tree + 1]]]

    @property
    def span(self) -> tuple[int, int]:
        """The first word below the node and the one after the last, counted from the begin of the sentence."""
        tree = int(self.treebank.tree_of_node[self.number])
        first = int(self.treebank.sentences.offsets[tree])
        return int(self.treebank.start[self.number]) - first, int(self.treebank.end[self.number]) - first

    @property
    def words(self) -> list[str]:
        """The words below the node."""
        names = self.treebank.productions.words.words
        tokens = self.treebank.sentences.tokens[self.treebank.start[self.number] : self.treebank.end[self.number]]
        return [names[w] for w in tokens]


FeatureFunction = Callable[[Node], Iterable[Hashable] | Mapping[Hashable, float]]
"""From a node to its features, or to the values of its features."""


def user_features(treebank: Treebank, function: FeatureFunction, parameter: str) -> csr_matrix:
    """Values of the features of all nodes, (n_nodes, n_features); features are numbered as they are first seen."""
    index: dict[Hashable, int] = {}
    indptr, columns, values = [0], [], []
    for number in range(treebank.n_nodes):
        found = _features_of(treebank, number, function, parameter)
        pairs = found.items() if isinstance(found, Mapping) else ((feature, 1.0) for feature in found)
        for feature, value in pairs:
            columns.append(index.setdefault(feature, len(index)))
            values.append(float(value))
        indptr.append(len(columns))
    matrix = csr_matrix((values, columns, indptr), shape=(treebank.n_nodes, max(len(index), 1)))
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise ParameterError(parameter, function, "returned a value that is not finite", remedy="return finite numbers")
    return matrix


def _features_of(
    treebank: Treebank, number: int, function: FeatureFunction, parameter: str
) -> Iterable[Hashable] | Mapping[Hashable, float]:
    """What the function returns for a node, checked."""
    found = function(Node(treebank, number))
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        remedy = "return a list of features, or a dictionary of features and their values"
        raise ParameterError(parameter, function, f"returned {found!r}", remedy=remedy)
    return found


def user_templates(treebank: Treebank, function: FeatureFunction, parameter: str) -> np.ndarray:
    """The k-th feature of every node in column k, int32, (n_nodes, K); -1 where the nodes of a label have fewer.

    Equal numbers in a column are the same feature of the same label.
    """
    rows: list[list[int]] = []
    index: dict[tuple[int, int, Hashable], int] = {}
    sizes: dict[int, int] = {}
    for number, label in enumerate(treebank.symbol.tolist()):
        found = _features_of(treebank, number, function, parameter)
        if isinstance(found, Mapping):
            remedy = "return a list with one feature of each kind: pivots are single features, which have no values"
            raise ParameterError(parameter, function, "returned a dictionary for a pivot learner", remedy=remedy)
        row = [index.setdefault((label, k, feature), len(index)) for k, feature in enumerate(found)]
        if not row or sizes.setdefault(label, len(row)) != len(row):
            name = treebank.productions.labels[label]
            trouble = f"returned {len(row)} features for a node {name}, {sizes.get(label, 'no')} for another"
            raise ParameterError(parameter, function, trouble, remedy="return equally many for all nodes of a label")
        rows.append(row)
    columns = np.full((len(rows), max(map(len, rows), default=1)), -1, np.int32)
    for number, row in enumerate(rows):
        columns[number, : len(row)] = row
    return columns


def require_recoverable(treebank: Treebank, inside: np.ndarray, outside: np.ndarray) -> None:
    """The two assumptions of section 6.1, without which pi and q cannot be read off the first features.

    The first inside feature of a tag is its word, and roots share a first outside feature that no other node has.
    ``inside`` and ``outside`` are templates, (n_nodes, K), as of :func:`user_templates`.
    """
    leaves = treebank.leaves
    pairs = {
        *zip(
            treebank.symbol[leaves].tolist(),
            treebank.sentences.tokens.tolist(),
            inside[leaves, 0].tolist(),
            strict=True,
        )
    }
    if not len(pairs) == len({pair[:2] for pair in pairs}) == len({pair[2] for pair in pairs}):
        remedy = "return the word first (section 6.1 of Cohen & Collins 2014), or set evidence='mean'"
        raise ParameterError(
            "inside_features", "a function", "whose first feature of a tag is not its word", remedy=remedy
        )
    at_root = np.zeros(treebank.n_nodes, bool)
    at_root[treebank.roots] = True
    labels = treebank.symbol[treebank.roots]
    shared = len(np.unique(outside[at_root, 0])) == len(np.unique(labels))
    if not shared or np.isin(outside[~at_root, 0], outside[at_root, 0]).any():
        remedy = "return one first feature for all roots and for them only (section 6.1), or set evidence='mean'"
        raise ParameterError("outside_features", "a function", "whose first feature does not mark roots", remedy=remedy)
