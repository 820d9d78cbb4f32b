"""Constituency trees, as bracketed files hold them.

A tree is a *pre-terminal* (a tag over one word) or a *phrase* (a label over one or more trees)::

    Tree("NP", [Tree("DT", word="the"), Tree("NN", word="dog")])      (NP (DT the) (NN dog))

Labels and words are the tokens of the file, unchanged: a parenthesis is the token ``-LRB-`` or ``-RRB-``. No operation
here recurses, so a tree may be deeper than Python's stack.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from spectragram.display import shown_by
from spectragram.errors import InputError
from spectragram.files import SEPARATORS

__all__ = ["ROOT", "ROOTS", "UNTAGGED", "Tree", "fold"]

ROOT = "TOP"
"""Label given to an outer bracket without one, as in the Penn Treebank's ``( (S ...) )``."""

ROOTS = (ROOT, "ROOT", "S1")
"""Labels that occur only above a whole tree, here and in other tools."""

UNTAGGED = "X"
"""Tag given to a word without one, as in ``(NP the (NN dog))``."""

_NOT_A_TOKEN = re.compile(rf"[{SEPARATORS}()]")

Node = TypeVar("Node")
Result = TypeVar("Result")


class Tree:
    """A constituency tree. Treat it as immutable: subtrees may be shared.

    Attributes
    ----------
    label : str
        Tag of a pre-terminal, category of a phrase.
    children : tuple of Tree
        Empty for a pre-terminal.
    word : str or None
        None for a phrase.
    """

    __slots__ = ("children", "label", "word")

    def __init__(self, label: str, children: Iterable[Tree] = (), word: str | None = None) -> None:
        self.label = _token(label, "label")
        self.children = tuple(children)
        self.word = word if word is None else _token(word, "word")
        if bool(self.children) == (word is not None):
            raise InputError(
                f"a tree {label!r} with {len(self.children)} children and word {word!r}",
                remedy="give a phrase its children and a pre-terminal its word",
            )

    @property
    def is_tag(self) -> bool:
        """Whether this is a pre-terminal, a tag over a word."""
        return self.word is not None

    def subtrees(self) -> Iterator[Tree]:
        """This tree and all trees below it: parents first, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def without_root(self) -> Tree:
        """The tree below a root (``ROOTS``) that stands over one constituent; otherwise this tree."""
        return self.children[0] if self.label in ROOTS and len(self.children) == 1 else self

    def leaves(self) -> list[str]:
        """The words, left to right."""
        return [node.word for node in self.subtrees() if node.word is not None]

    def tags(self) -> list[str]:
        """The tags, left to right."""
        return [node.label for node in self.subtrees() if node.word is not None]

    def pos(self) -> list[tuple[str, str]]:
        """The ``(word, tag)`` pairs, left to right."""
        return [(node.word, node.label) for node in self.subtrees() if node.word is not None]

    def spans(self) -> list[tuple[str, int, int]]:
        """``(label, start, end)`` of every phrase, parents first; tags are not phrases.

        The phrase covers the words ``leaves()[start:end]``.
        """
        spans: list[tuple[str, int, int]] = []
        lengths = _lengths(self)
        start = 0
        for node, length in zip(self.subtrees(), lengths, strict=True):
            # Parents come first: all words of earlier subtrees have been counted, and none of this one.
            if node.word is None:
                spans.append((node.label, start, start + length))
            else:
                start += 1
        return spans

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        stack = [(self, other)]
        while stack:
            a, b = stack.pop()
            if a is b:
                continue
            if a.label != b.label or a.word != b.word or len(a.children) != len(b.children):
                return False
            stack.extend(zip(a.children, b.children, strict=True))
        return True

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        """The tree in brackets on one line."""
        parts: list[str] = []
        stack: list[Tree | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                parts.append(")")
            elif node.word is not None:
                parts.append(f" ({node.label} {node.word})")
            else:
                parts.append(f" ({node.label}")
                stack.append(None)
                stack.extend(reversed(node.children))
        return "".join(parts)[1:]

    def __repr__(self) -> str:
        return f"parse_tree({str(self)!r})"

    _repr_svg_ = shown_by("tree_svg")

    def pretty(self, width: int = 80) -> str:
        """The tree in brackets on several lines, indented by two; a phrase that fits into ``width`` is on one line."""

        def lines(node: Tree, below: list[list[str]]) -> list[str]:
            if node.word is not None:
                return [str(node)]
            inner = [line for block in below for line in block]
            if len(inner) == len(below):
                whole = f"({node.label} {' '.join(inner)})"
                if len(whole) <= width:
                    return [whole]
            inner[-1] += ")"
            return [f"({node.label}", *("  " + line for line in inner)]

        rendered: list[str] = fold(self, lines)
        return "\n".join(rendered)

    def __reduce__(self) -> tuple:
        # A flat form: the default one recurses and fails on deep trees.
        nodes = list(self.subtrees())
        return _from_preorder, ([(node.label, node.word, len(node.children)) for node in nodes],)


def make_tree(label: str, children: tuple[Tree, ...] = (), word: str | None = None) -> Tree:
    """A tree from valid parts, without checks: for readers and for transforms of existing trees."""
    tree = _new(Tree)
    tree.label = label
    tree.children = children
    tree.word = word
    return tree


_new = object.__new__


def fold(
    tree: Node,
    combine: Callable[[Node, list[Result]], Result],
    children_of: Callable[[Node], Sequence[Node]] = operator.attrgetter("children"),
) -> Result:
    """Compute a value bottom-up: ``combine(node, values of its children)`` for every node, children first.

    ``children_of`` says which nodes to visit below a node; they may be of any type.

    >>> fold(Tree("NP", [Tree("NN", word="dog")]), lambda node, below: 1 + max(below, default=0))
    2
    """
    order: list[tuple[Node, int]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        children = children_of(node)
        order.append((node, len(children)))
        stack.extend(reversed(children))
    # Backwards, children come before parents and the leftmost child last, so it is on top of the stack.
    values: list[Result] = []
    for node, n_children in reversed(order):
        below = [values.pop() for _ in range(n_children)]
        values.append(combine(node, below))
    return values.pop()


def _token(text: str, what: str) -> str:
    if not isinstance(text, str):
        raise InputError(f"a {what} of type {type(text).__name__} ({text!r})", remedy="give a string")
    if not text or _NOT_A_TOKEN.search(text):
        raise InputError(
            f"the {what} {text!r} cannot be written in a bracketed tree",
            remedy="it must not be empty or contain white space or parentheses (see escape_word)",
        )
    return text


def _lengths(tree: Tree) -> list[int]:
    """Number of words under each of ``tree.subtrees()``, in that order."""
    lengths: list[int] = []

    def count(node: Tree, below: list[int]) -> int:
        lengths.append(sum(below) if below else 1)
        return lengths[-1]

    fold(tree, count)
    return lengths[::-1]


def _from_preorder(nodes: Sequence[tuple[str, str | None, int]]) -> Tree:
    built: list[Tree] = []
    for label, word, n_children in reversed(nodes):
        children = tuple(built.pop() for _ in range(n_children))
        built.append(make_tree(label, children, word))
    return built.pop()
