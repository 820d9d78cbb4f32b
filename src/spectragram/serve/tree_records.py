"""A bracketed tree that may be unfinished: ``(? (NP (? the) (NN dog)) (? barks))``.

Brackets that are there are known; ``?`` is a label or tag that is not. A tree that has no ``?`` is finished, and has
no other brackets than those that are there. So a tree whose brackets and tags all have labels, but which may lack
brackets, has one more around it, ``(? ...)``. ``!NP`` and ``!`` are brackets that are known not to be there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from spectragram.data.brackets import EMPTY_TAG, escape_word, parse_tree, unescape_word
from spectragram.data.trees import UNTAGGED, Tree
from spectragram.errors import InputError
from spectragram.serve.records import Step, label_of, status_of, unknown_step, word_of

__all__ = ["OPEN", "Span", "TreeRecord"]

OPEN = "?"
"""A label that is not known."""
NOT = "!"
"""Begins the label of a bracket that is not there."""

Span = tuple[int, int, str]
"""Words ``start`` to ``end - 1``, counted from 0, and a label."""


@dataclass(frozen=True)
class TreeRecord:
    """What is known of a tree.

    Attributes
    ----------
    leaves : tuple of str
        The words as trees have them, with parentheses escaped.
    tags : tuple of str
        ``?`` where unknown.
    spans : tuple of (start, end, label)
        Larger ones first; of several over the same words, the upper first.
    finished : bool
        Whether there are no other brackets.
    source : str
        The tree as it was in the file, with what stood before it; empty once it was changed.
    """

    leaves: tuple[str, ...]
    tags: tuple[str, ...]
    spans: tuple[Span, ...]
    finished: bool
    source: str = ""

    @classmethod
    def from_words(cls, words: list[str]) -> Self:
        """Words of which nothing is known."""
        leaves = tuple(map(escape_word, words))
        return cls(leaves, (OPEN,) * len(leaves), (), finished=False)

    @classmethod
    def from_tree(cls, tree: Tree, source: str = "") -> Self:
        """What a tree of a file says."""
        labels = [node.label for node in tree.subtrees()]
        partial = any(label == OPEN or label.startswith(NOT) for label in labels)
        spans = [(start, end, label) for label, start, end in tree.spans()]
        tags = tree.tags()
        if partial:
            tags = [OPEN if tag == UNTAGGED else tag for tag in tags]
            if spans and spans[0][2] == OPEN and spans[0][:2] == (0, len(tags)):
                spans = spans[1:]  # every sentence is a constituent: this says only that the tree is not finished
        return cls(tuple(tree.leaves()), tuple(tags), tuple(spans), not partial, source)

    @property
    def words(self) -> list[str]:
        """The words, with parentheses."""
        return list(map(unescape_word, self.leaves))

    @property
    def status(self) -> str:
        """A finished tree is done."""
        return "done" if self.finished else status_of(bool(self.n_known), 2)

    @property
    def n_known(self) -> int:
        """Known brackets and tags."""
        return len(self.spans) + sum(tag != OPEN for tag in self.tags)

    def tree(self) -> Tree:
        """The tree that the file has."""
        whole = (0, len(self.leaves))
        spans = list(self.spans)
        leaves = [Tree(tag, word=word) for tag, word in zip(self.tags, self.leaves, strict=True)]
        if self.finished and not spans:
            return leaves[0]  # a tree that is one tagged word
        labels = {label for *_, label in spans} | set(self.tags)
        marked = OPEN in labels or any(label.startswith(NOT) for label in labels)
        if not (self.finished or marked) or not spans or spans[0][:2] != whole or spans[0][2].startswith(NOT):
            spans.insert(0, (*whole, OPEN))
        return _nested(spans, leaves)

    def text(self) -> str:
        """The tree on one line, or as it was in the file if nothing changed."""
        return self.source or f"{self.tree()}\n"

    def known(self) -> dict[str, Any]:
        """``tags`` (null where unknown), ``spans`` (with null for an unknown label) and ``forbidden`` spans."""
        there = [span for span in self.spans if not span[2].startswith(NOT)]
        return {
            "tags": [None if tag == OPEN else tag for tag in self.tags],
            "spans": [[start, end, None if label == OPEN else label] for start, end, label in there],
            "forbidden": [[a, b, label[1:] or None] for a, b, label in self.spans if label.startswith(NOT)],
        }

    def after(self, step: Step) -> Self:
        """Steps: ``span``, ``forget`` (a known or forbidden span), ``forbid``, ``tag``, ``accept``, ``clear``."""
        if any(tag == EMPTY_TAG for tag in self.tags):
            raise InputError(
                "this tree has traces, which would be lost", remedy="remove the traces from the file first"
            )
        op = step.get("op")
        if op == "accept":
            return self._accepted(step)
        if op == "clear":
            return type(self).from_words(self.words)
        if op == "tag":
            place = word_of(step, len(self.leaves)) - 1
            tags = (*self.tags[:place], label_of(step, "tag", unknown=OPEN), *self.tags[place + 1 :])
            return replace(self, tags=tags, finished=self.finished and OPEN not in tags, source="")
        if op == "span":
            return self._with_span(*self._span(step), replaced=step.get("replaces"))
        if op == "forbid":
            start, end, label = self._span(step)
            return self._with_span(start, end, NOT + ("" if label == OPEN else label))
        if op == "forget":
            return self._without_span(*self._span(step))
        raise unknown_step(step, "span, forget, forbid, tag, accept, clear")

    def _span(self, step: Step) -> Span:
        n = len(self.leaves)
        start = word_of(step, n - 1, "start", least=0)
        return start, word_of(step, n, "end", least=start + 1), label_of(step, "label", unknown=OPEN)

    def _with_span(self, start: int, end: int, label: str, replaced: object = None) -> Self:
        """The newest decision wins: known brackets that cross it, or contradict it, are forgotten."""
        new = (start, end, label)
        kept = [span for span in self.spans if not _cross(span, new) and not _contradict(span, new)]
        old = [(start, end, replaced), (start, end, OPEN)] if not label.startswith(NOT) else []
        place = next((kept.index(span) for span in old if span in kept), None)  # type: ignore[arg-type]
        if place is not None:
            kept[place] = new
        elif new not in kept:
            kept.insert(0, new)  # the uppermost of those over the same words, since sorting keeps their order
        spans = tuple(sorted(kept, key=lambda span: (span[0] - span[1], span[0])))
        return replace(self, spans=spans, finished=self.finished and place is not None, source="")

    def _without_span(self, start: int, end: int, label: str) -> Self:
        among = [(start, end, label), (start, end, NOT + ("" if label == OPEN else label))]
        spans = tuple(span for span in self.spans if span not in among)
        if len(spans) == len(self.spans):
            raise InputError(f"no known bracket {label} over words {start + 1} to {end}", remedy="reload the page")
        return replace(self, spans=spans, finished=False, source="")

    def _accepted(self, step: Step) -> Self:
        """The whole tree that the page showed."""
        text = step.get("tree")
        if not isinstance(text, str):
            raise InputError("a tree is needed", remedy="give it in brackets")
        found = type(self).from_tree(parse_tree(text))
        if found.leaves != self.leaves:
            raise InputError("a tree of another sentence", remedy="reload the page")
        return found


def _cross(span: Span, other: Span) -> bool:
    (a, b, _), (c, d, _) = span, other
    return a < c < b < d or c < a < d < b


def _contradict(span: Span, new: Span) -> bool:
    """Whether one bracket is there and the other says that it is not."""
    if span[:2] != new[:2]:
        return False
    here, gone = (span[2], new[2]) if new[2].startswith(NOT) else (new[2], span[2])
    return gone.startswith(NOT) and not here.startswith(NOT) and gone in (NOT, NOT + here)


def _nested(spans: list[Span], leaves: list[Tree]) -> Tree:
    """The tree of spans that do not cross, the first over all words, larger and upper ones first."""
    built: list[tuple[int, int, Tree]] = [(place, place + 1, leaf) for place, leaf in enumerate(leaves)]
    for start, end, label in reversed(spans):
        inside = [part for part in built if start <= part[0] and part[1] <= end]
        first = built.index(inside[0])
        built[first : first + len(inside)] = [(start, end, Tree(label, [tree for *_, tree in inside]))]
    return built[0][2]
