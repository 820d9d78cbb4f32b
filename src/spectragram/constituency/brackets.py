"""From posteriors of labelled spans and tags to a tree: F1-MBR decoding, for one sentence.

Which labels of a span stand above which is learned from the unary chains of the treebank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from spectragram.data.binarization import base_label
from spectragram.data.productions import UNARY
from spectragram.data.treebank import Treebank
from spectragram.data.trees import ROOTS, Tree, make_tree
from spectragram.inference.chart_coarse import span_id
from spectragram.inference.chart_decode import best_brackets

__all__ = ["LabelSet", "SpanPosteriors", "bracket_tree"]

MBR_THRESHOLD = 0.4
"""A label is worth its bracket when its posterior exceeds this; below 1/2 because F1 forgives a wrong bracket more
readily than a missing one when many are uncertain."""


@dataclass(frozen=True)
class LabelSet:
    """What trees can hold: labels of phrases and of words, and how trees begin.

    Attributes
    ----------
    phrases, tags : lists of str, sorted
    height : float array, shape (n_phrases,)
        Of two labels over the same words, the one with the larger height is above.
    outer : str or None
        Label of the bracket around every tree; None where trees have none.
    top : str
        The label of a whole sentence where nothing else is known.
    """

    phrases: list[str]
    tags: list[str]
    height: np.ndarray
    outer: str | None
    top: str
    phrase_index: dict[str, int] = field(init=False, repr=False)
    tag_index: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "phrase_index", {label: i for i, label in enumerate(self.phrases)})
        object.__setattr__(self, "tag_index", {label: i for i, label in enumerate(self.tags)})

    @classmethod
    def of_treebank(cls, treebank: Treebank) -> Self:
        """Collect labels; the binarisation of the treebank does not matter."""
        productions = treebank.productions
        n_tags = productions.n_tags
        own = [base_label(label) for label in productions.labels[n_tags:]]
        chains = [[base_label(label) for label in chain] for chain in productions.chains]
        phrases = sorted(set(own).union(*chains))
        index = {label: i for i, label in enumerate(phrases)}
        above, below = np.zeros(len(phrases)), np.zeros(len(phrases))
        times = np.bincount(treebank.rule[treebank.kind == UNARY], minlength=len(productions.unary))
        for (upper, lower, chain), n in zip(productions.unary, times, strict=True):
            labels = [own[upper - n_tags], *chains[chain]] + ([own[lower - n_tags]] if lower >= n_tags else [])
            for place, label in enumerate(labels):
                above[index[label]] += n * (len(labels) - 1 - place)
                below[index[label]] += n * place
        roots = np.bincount(treebank.symbol[treebank.roots], minlength=productions.n_symbols)[n_tags:]
        top = own[int(roots.argmax())] if len(own) else ROOTS[0]
        outer = np.bincount(treebank.outer[treebank.outer >= 0], minlength=len(ROOTS))
        outer_label = ROOTS[int(outer.argmax())] if outer.any() else None
        height = (above + 0.5) / (above + below + 1.0)
        return cls(phrases, list(productions.labels[:n_tags]), height, outer_label, top)

    def to_state(self) -> dict[str, Any]:
        """A JSON-ready form, for model files."""
        return {
            "phrases": self.phrases,
            "tags": self.tags,
            "height": self.height.tolist(),
            "outer": self.outer,
            "top": self.top,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        return cls(state["phrases"], state["tags"], np.array(state["height"]), state["outer"], state["top"])


@dataclass(frozen=True)
class SpanPosteriors:
    """Posteriors of one sentence.

    Attributes
    ----------
    spans : array, shape (n * (n + 1) / 2, n_phrases)
        Of each label over words i .. j-1, in row ``j * (j - 1) / 2 + i``.
    tags : array, shape (n, n_tags)
    """

    spans: np.ndarray
    tags: np.ndarray

    def __iter__(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """``(i, j, row)`` of every span of words i .. j-1, the row (n_phrases,) with the posteriors of its labels."""
        for j in range(1, len(self.tags) + 1):
            for i in range(j):
                yield i, j, self.spans[span_id(i, j)]


def bracket_tree(
    words: Sequence[str], posteriors: SpanPosteriors, labels: LabelSet, threshold: float = MBR_THRESHOLD
) -> Tree:
    """The tree of nested spans whose labels' posteriors exceed the threshold by the most in total."""
    n = len(words)
    split = best_brackets(n, posteriors.spans, threshold)
    chosen = posteriors.spans > threshold
    tags = [labels.tags[t] for t in posteriors.tags.argmax(axis=1)]
    built: list[list[Tree]] = []
    # Spans from the whole down; built up again in reverse, so that both halves of a span are ready before it.
    order = []
    stack = [(0, n)]
    while stack:
        i, j = stack.pop()
        order.append((i, j))
        if j - i > 1:
            k = int(split[span_id(i, j)])
            stack += [(i, k), (k, j)]
    for i, j in reversed(order):
        if j - i == 1:
            parts = [make_tree(tags[i], (), words[i])]
        else:
            right = built.pop()
            parts = built.pop() + right
        over = np.flatnonzero(chosen[span_id(i, j)])
        for label in sorted(over, key=labels.height.__getitem__):
            parts = [make_tree(labels.phrases[label], tuple(parts))]
        built.append(parts)
    parts = built.pop()
    if len(parts) > 1:
        row = posteriors.spans[span_id(0, n)]
        best = labels.phrases[int(row.argmax())] if row.max(initial=0.0) > 0.0 else labels.top
        parts = [make_tree(best, tuple(parts))]
    return parts[0] if labels.outer is None else make_tree(labels.outer, tuple(parts))
