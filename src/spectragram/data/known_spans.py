"""What is known about the phrases of a sentence: spans that are constituents or are not, with or without labels; tags.

In brackets, ``?`` stands for what is not known, and ``!`` denies::

    (? (NP the old dog) barked)      "the old dog" is an NP; nothing else is known
    (? (? old dog) barked)           "old dog" is a constituent with some label
    (? the (!NP old dog) barked)     "old dog" is not an NP
    (? the (! old dog) barked)       "old dog" is not a constituent at all
    (? (? the) (NN dog) (? barked))  "dog" has the tag NN

Every bracket is a demand; there may be further brackets anywhere, above, below and in between. Words without a bracket
of their own have unknown tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from spectragram.data.brackets import clean, escape_word
from spectragram.data.trees import UNTAGGED, Tree
from spectragram.errors import InputError

__all__ = ["DENIED", "OPEN", "SpanConstraints", "is_partial"]

OPEN, DENIED = "?", "!"
"""The label of brackets that may have any label and of tags that are not known; the mark of brackets that are not
there."""

Demand = tuple[int, int, str | None]
"""Start, end and label of a span; None for any label."""


@dataclass(frozen=True)
class SpanConstraints:
    """What is known about a sentence.

    Attributes
    ----------
    words : tuple of str
    tags : tuple of str or None
        One for each word, None where it is not known; an empty tuple if none is.
    required : tuple of (start, end, label or None)
        Words start .. end - 1 are a constituent with this label, or with any label. A span may have several labels.
    forbidden : tuple of (start, end, label or None)
        They are not a constituent with this label, or not a constituent at all.

    Examples
    --------
    >>> from spectragram.data import parse_tree
    >>> SpanConstraints.from_tree(parse_tree("(? (NP the (NN dog)) (!VP barked loudly))")).forbidden
    ((2, 4, 'VP'),)
    """

    words: tuple[str, ...]
    tags: tuple[str | None, ...] = ()
    required: tuple[Demand, ...] = ()
    forbidden: tuple[Demand, ...] = ()

    def __post_init__(self) -> None:
        words = tuple(escape_word(word) for word in self.words)
        if not words or not all(words):
            raise InputError("a sentence without words, or with an empty one", remedy="give at least one word")
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "tags", tuple(self.tags) or (None,) * len(words))
        object.__setattr__(self, "required", _demands(self.required))
        object.__setattr__(self, "forbidden", _demands(self.forbidden))
        if len(self.tags) != len(words):
            self._refuse(f"{len(self.tags)} tags for {len(words)} words", "give one for each word, None if unknown")
        self._check()

    @classmethod
    def from_tree(cls, tree: Tree) -> Self:
        """The demands of brackets."""
        plain = clean(tree)
        if plain is None:
            raise InputError("a tree without words", remedy="give a tree with at least one word")
        tree = plain.without_root()
        required, forbidden = [], []
        for label, start, end in tree.spans():
            if label.startswith(DENIED):
                forbidden.append((start, end, label[len(DENIED) :].strip(OPEN) or None))
            else:
                required.append((start, end, None if label == OPEN else label))
        n = len(tree.leaves())
        required = [demand for demand in required if demand != (0, n, None)]
        tags = tuple(None if tag in (OPEN, UNTAGGED) else tag for tag in tree.tags())
        return cls(tuple(tree.leaves()), tags, tuple(required), tuple(forbidden))

    def to_tree(self) -> Tree:
        """The same as brackets, inverse of :meth:`from_tree`; refuses spans that cross."""
        n = len(self.words)
        marked = [(i, j, label or OPEN) for i, j, label in self.required]
        marked += [(i, j, DENIED + (label or "")) for i, j, label in self.forbidden]
        parts: list[tuple[int, int, Tree]] = [
            (i, i + 1, Tree(tag or OPEN, word=word))
            for i, (tag, word) in enumerate(zip(self.tags, self.words, strict=True))
        ]
        for i, j, label in sorted([*marked, (0, n, OPEN)], key=lambda span: (span[1] - span[0], span[2] == OPEN)):
            inside = [part for part in parts if i <= part[0] and part[1] <= j]
            if sum(end - start for start, end, _ in inside) != j - i:
                self._refuse(f"words {i + 1} to {j} cross another span", "brackets cannot say this")
            first = parts.index(inside[0])
            parts[first : first + len(inside)] = [(i, j, Tree(label, [tree for _, _, tree in inside]))]
        return parts[0][2]

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known."""
        return not self.required and not self.forbidden and all(tag is None for tag in self.tags)

    def _check(self) -> None:
        n = len(self.words)
        for start, end, _ in (*self.required, *self.forbidden):
            if not 0 <= start < end <= n:
                self._refuse(f"the span ({start}, {end}) of {n} words", "spans are pairs 0 <= start < end <= words")
        spans = sorted({(start, end) for start, end, _ in self.required}, key=lambda span: (span[0], -span[1]))
        open_until: list[int] = []
        for start, end in spans:
            while open_until and open_until[-1] <= start:
                open_until.pop()
            if open_until and open_until[-1] < end:
                self._refuse(f"the constituent ({start}, {end}) crosses one that ends at {open_until[-1]}", "drop one")
            open_until.append(end)
        nowhere = {(start, end) for start, end, label in self.forbidden if label is None}
        for start, end, label in self.required:
            if (start, end) in nowhere or (label is not None and (start, end, label) in self.forbidden):
                self._refuse(f"({start}, {end}) is both required and forbidden", "drop one")
        if (0, n) in nowhere:
            self._refuse("the whole sentence is not to be a constituent", "drop that demand")

    def _refuse(self, problem: str, remedy: str) -> None:
        raise InputError(f"{problem}, in the sentence {' '.join(self.words)!r:.60}", remedy=remedy)


def _demands(given: Iterable[Sequence]) -> tuple[Demand, ...]:
    return tuple((int(start), int(end), label) for start, end, label in given)


def is_partial(tree: Tree) -> bool:
    """Whether a tree says only some of what there is to know: a label is ``?`` or begins with ``!``."""
    return any(node.label == OPEN or (node.word is None and node.label.startswith(DENIED)) for node in tree.subtrees())
