"""Reduce annotated treebank trees to what parsers are trained on and scored against.

( (S (NP-SBJ-1 (DT The) (NN ceiling)) (VP (VBD was) (VP (VBN lifted) (NP (-NONE- *-1)))) (. .)) )
(TOP (S (NP (DT The) (NN ceiling)) (VP (VBD was) (VP (VBN lifted))) (. .)))
"""

from __future__ import annotations

import re
from functools import lru_cache

from spectragram.data.trees import Tree, fold, make_tree

__all__ = ["EMPTY_TAG", "clean", "plain_label"]

EMPTY_TAG = "-NONE-"
"""Tag of traces and other empty elements in the Penn Treebank."""

_FUNCTION = re.compile(r"(?<=.)[-=|].*")


@lru_cache(maxsize=1 << 16)
def plain_label(label: str) -> str:
    """The label up to its functional tags, indices and alternatives; one that starts with a mark stays whole.

    >>> plain_label("NP-SBJ-1=2"), plain_label("ADVP|PRT"), plain_label("-LRB-"), plain_label("S.NF.P")
    ('NP', 'ADVP', '-LRB-', 'S.NF.P')
    """
    return label if label[0] in "-=|" else _FUNCTION.sub("", label)


def clean(tree: Tree) -> Tree | None:
    """Strip empty elements with all that they empty, functional tags and indices; unary chains stay.

    None for a tree of empty elements only. Cleaning twice is cleaning once.
    """
    return fold(tree, _clean_node)


def _clean_node(node: Tree, below: list[Tree | None]) -> Tree | None:
    if node.label == EMPTY_TAG and node.word is not None:
        return None
    children = tuple(child for child in below if child is not None)
    if node.word is None and not children:
        return None
    return make_tree(plain_label(node.label), children, node.word)
