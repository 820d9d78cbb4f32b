"""Collapse chains of unary phrases into one label, and expand them again.

    (S (VP (VB go) (ADVP (RB home))))  <->  (S+VP (VB go) (ADVP (RB home)))

Tags stay apart: a phrase over a single tag, like the ADVP here, remains a phrase over that tag.
"""

from __future__ import annotations

from functools import lru_cache

from spectragram.data.labels import Marks
from spectragram.data.trees import Tree, fold, make_tree

__all__ = ["collapse_unaries", "expand_unaries"]

_MARKS = Marks("+")


def collapse_unaries(tree: Tree, *, collapse_root: bool = False) -> Tree:
    """Join each maximal chain of phrases with one child into a phrase whose label lists them, top first.

    The root stays by itself unless ``collapse_root``: it is there in every tree, and rarely worth a label of its
    own with each of its children.
    """

    def chain(node: Tree) -> tuple[list[str], Tree]:
        """The labels from ``node`` down to the first phrase that branches or covers a tag, and that phrase."""
        labels = [_MARKS.escape(node.label)]
        if collapse_root or node is not tree:
            while len(node.children) == 1 and node.children[0].word is None:
                (node,) = node.children
                labels.append(_MARKS.escape(node.label))
        return labels, node

    def join(node: Tree, below: list[Tree]) -> Tree:
        return node if node.word is not None else make_tree("+".join(chain(node)[0]), tuple(below))

    return fold(tree, join, lambda node: chain(node)[1].children)


def expand_unaries(tree: Tree) -> Tree:
    """Inverse of :func:`collapse_unaries`."""

    def split(node: Tree, below: list[Tree]) -> Tree:
        if node.word is not None:
            return node
        children = tuple(below)
        for label in _chain(node.label):
            children = (make_tree(label, children),)
        return children[0]

    return fold(tree, split)


@lru_cache(maxsize=1 << 16)
def _chain(label: str) -> tuple[str, ...]:
    """Labels of a collapsed chain, lowest first."""
    return tuple(_MARKS.unescape(part) for part in reversed(_MARKS.split(label)))
