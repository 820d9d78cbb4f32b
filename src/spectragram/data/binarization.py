"""Binarise trees with Markovised intermediate symbols, and undo it exactly.

The children of a phrase are split off one by one; an intermediate symbol stands for those that remain::

    (NP (DT the) (JJ old) (NN dog))   ->   (NP (DT the) (@NP|DT (JJ old) (NN dog)))        right, horizontal=1

The last child to remain is the *pivot*: the rightmost child (direction ``right``, as above), the leftmost (``left``)
or the head (``head``). Children right of the pivot are split off first, outermost first, then those left of it.

========== ====================================================== ==========================
parameter  what a symbol remembers                                example
========== ====================================================== ==========================
horizontal labels of the last children split off (None: all)      ``@NP``, ``@NP|DT``, ...
vertical   labels of the phrases above, the phrase itself included ``NP``, ``NP^S``, ...
========== ====================================================== ==========================

Tags and unary phrases keep their shape. ``@``, ``|`` and ``^`` in the treebank's own labels are escaped
(:class:`Marks`), so undoing it is exact.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from spectragram.data.heads import ENGLISH_HEADS, HeadRules
from spectragram.data.trees import Tree, fold, make_tree
from spectragram.errors import InputError

__all__ = ["Binarizer", "Marks", "base_label", "binarize", "is_intermediate", "unbinarize"]

Direction = Literal["left", "right", "head"]


class Marks:
    """The characters that a transform adds to labels, kept apart from the same characters in a treebank's own labels.

    Where a treebank's label contains one of these characters, it is escaped with a backslash. Marks and labels never
    mix, so the transform can be undone exactly.

    >>> plus = Marks("+")
    >>> plus.escape("Q+NUM"), plus.split(r"NP+Q\\+NUM"), plus.unescape(r"Q\\+NUM")
    ('Q\\\\+NUM', ['NP', 'Q\\\\+NUM'], 'Q+NUM')
    """

    def __init__(self, characters: str) -> None:
        kinds = re.escape(characters)
        self._special = re.compile(rf"[\\{kinds}]")
        self._part = re.compile(rf"(?:\\.|[^\\{kinds}])+", re.DOTALL)
        self._escaped = re.compile(r"\\(.)", re.DOTALL)

    def escape(self, label: str) -> str:
        """Write the label so that none of its characters is mistaken for a mark."""
        return self._special.sub(r"\\\g<0>", label)

    def unescape(self, label: str) -> str:
        """Inverse of :meth:`escape`."""
        return self._escaped.sub(r"\1", label)

    def split(self, text: str) -> list[str]:
        """The parts between marks, still escaped."""
        return self._part.findall(text)


_MARKS = Marks("@|^")

# How the children of a phrase are put together: the pivot, then (symbol to make, child to add), innermost first.
_Plan = tuple[int, list[tuple[str, int]]]


def is_intermediate(label: str) -> bool:
    """Whether a phrase label of a binarised tree is an intermediate symbol."""
    return label.startswith("@")


@lru_cache(maxsize=1 << 16)
def base_label(label: str) -> str:
    """The treebank's own label for a phrase label of a binarised tree, intermediate or not.

    >>> base_label("@NP^S|DT|JJ"), base_label("NP^S")
    ('NP', 'NP')
    """
    return _MARKS.unescape(_MARKS.split(label)[0])


@dataclass(frozen=True)
class Binarizer:
    """A way to binarise trees; call it with a tree.

    Attributes
    ----------
    direction : 'right', 'left' or 'head'
    horizontal : int or None
        How many of the children split off an intermediate symbol remembers; None for all.
    vertical : int
        How many phrases a symbol names: 1 for itself, 2 for its parent too, ...
    head_rules : HeadRules
        For direction ``head``.
    """

    direction: Direction = "right"
    horizontal: int | None = 0
    vertical: int = 1
    head_rules: HeadRules = ENGLISH_HEADS
    _plans: dict[tuple, _Plan] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.direction not in ("left", "right", "head"):
            raise InputError(f"direction={self.direction!r}", remedy="choose 'left', 'right' or 'head'")
        if self.horizontal is not None and self.horizontal < 0:
            raise InputError(f"horizontal={self.horizontal}", remedy="give 0 or more, or None for all")
        if self.vertical < 1:
            raise InputError(f"vertical={self.vertical}", remedy="give 1 or more")

    def __call__(self, tree: Tree) -> Tree:
        """The tree with at most two children per node; :func:`unbinarize` is the inverse."""
        order: list[tuple[Tree, tuple[str, ...]]] = []
        stack: list[tuple[Tree, tuple[str, ...]]] = [(tree, ())]
        n_above = self.vertical - 1
        while stack:
            node, above = stack.pop()
            order.append((node, above))
            if node.children:
                inner = (node.label, *above)[:n_above]
                stack.extend([(child, inner) for child in reversed(node.children)])
        built: list[Tree] = []
        for node, above in reversed(order):
            if node.word is None:
                children = [built.pop() for _ in node.children]
                built.append(self._put_together(node, above, children))
            else:
                built.append(node)
        return built.pop()

    def _put_together(self, node: Tree, above: tuple[str, ...], children: list[Tree]) -> Tree:
        labels = tuple([child.label for child in node.children])
        key = (node.label, above, labels)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(node.label, above, labels)
        pivot, steps = plan
        current = children[pivot]
        for symbol, added in steps:
            if added < pivot:
                current = make_tree(symbol, (children[added], current))
            elif added > pivot:
                current = make_tree(symbol, (current, children[added]))
            else:
                current = make_tree(symbol, (current,))
        return current

    def _plan(self, label: str, above: tuple[str, ...], children: Sequence[str]) -> _Plan:
        n = len(children)
        symbol = "^".join([_MARKS.escape(label), *map(_MARKS.escape, above)])
        if n == 1:
            return 0, [(symbol, 0)]
        pivot = self._pivot(label, children)
        split_off = [*range(n - 1, pivot, -1), *range(pivot)]
        steps = []
        for t in range(n - 2, 0, -1):
            first = 0 if self.horizontal is None else max(0, t - self.horizontal)
            remembered = [_MARKS.escape(children[k]) for k in split_off[first:t]]
            steps.append(("|".join([f"@{symbol}", *remembered]), split_off[t]))
        steps.append((symbol, split_off[0]))
        return pivot, steps

    def _pivot(self, label: str, children: Sequence[str]) -> int:
        if self.direction == "left":
            return 0
        if self.direction == "right":
            return len(children) - 1
        return self.head_rules.head_index(label, children)


def binarize(
    tree: Tree,
    direction: Direction = "right",
    horizontal: int | None = 0,
    vertical: int = 1,
    head_rules: HeadRules = ENGLISH_HEADS,
) -> Tree:
    """Binarise one tree; for many, make a :class:`Binarizer` once and call that.

    >>> from spectragram.data.brackets import parse_tree
    >>> str(binarize(parse_tree("(NP (DT the) (JJ old) (NN dog))"), horizontal=1))
    '(NP (DT the) (@NP|DT (JJ old) (NN dog)))'
    """
    return Binarizer(direction, horizontal, vertical, head_rules)(tree)


def unbinarize(tree: Tree) -> Tree:
    """Inverse of :func:`binarize`, whatever its parameters."""
    return fold(tree, _restore, _real_children)


def _restore(node: Tree, below: list[Tree]) -> Tree:
    return node if node.word is not None else make_tree(base_label(node.label), tuple(below))


def _real_children(node: Tree) -> list[Tree]:
    """Children of a phrase with intermediate symbols removed."""
    real: list[Tree] = []
    pending = list(reversed(node.children))
    while pending:
        child = pending.pop()
        if child.word is None and is_intermediate(child.label):
            pending.extend(reversed(child.children))
        else:
            real.append(child)
    return real
