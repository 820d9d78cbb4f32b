"""F1-MBR decoding: from posteriors of labelled spans and tags to a tree.

If several labels of a span are chosen, their order is the usual one in the unary chains of the treebank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.binarization import base_label
from spectragram.data.productions import UNARY
from spectragram.data.treebank import Treebank
from spectragram.data.trees import ROOTS, Tree, make_tree
from spectragram.estimator import State
from spectragram.inference.chart_coarse import span_id
from spectragram.inference.chart_decode import best_brackets
from spectragram.schema import Array, Maybe, Schema, Strings, Text

__all__ = ["MBR_THRESHOLD", "LabelSet", "SpanPosteriors", "bracket_tree"]

MBR_THRESHOLD = 0.4
"""A bracket is worth its place if its posterior is larger than this. Tuned on the dev part of wsj-sample. It is below
1/2 because when many brackets are uncertain, F1 loses more by a missing bracket than by a wrong one."""


@dataclass(frozen=True)
class LabelSet:
    """The labels of trees: those of phrases and of words, and those that whole trees begin with.

    Attributes
    ----------
    phrases, tags : lists of str, sorted
    height : float array, shape (n_phrases,)
        Of two labels over the same words, the one with the larger height is above.
    outer : str or None
        Label of the bracket around every tree, such as TOP; None if trees have none.
    top : str
        The label of a whole sentence if nothing else is known: the most frequent one.
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
        """Collect the labels of a treebank; all its binarisations give the same."""
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
        # Add-one smoothing: a label that is in no chain is in the middle.
        height = (above + 0.5) / (above + below + 1.0)
        return cls(phrases, list(productions.labels[:n_tags]), height, outer_label, top)

    SCHEMA: ClassVar[Schema] = Schema(
        "Labels of trees",
        "The labels of phrases and of words.",
        values={
            "outer": Maybe(Text("the label around every tree", choices=ROOTS)),
            "top": Text("the most frequent label of whole sentences"),
        },
        arrays={
            "phrases": Strings("n_phrases", "labels of phrases", distinct=True, rule=("none is empty", all)),
            "tags": Strings("n_tags", "labels of words", rule=("none is empty", all)),
            "height": Array("f8", ("n_phrases",), "where a label stands in chains of unary rules"),
        },
        rule=lambda values, arrays, sizes: (
            None if values["top"] in (*arrays["phrases"], *ROOTS) else "'top' is not the label of a phrase"
        ),
    )

    def to_state(self) -> State:
        """Plain values, and arrays and lists of strings, for model files."""
        return (
            {"outer": self.outer, "top": self.top},
            {"phrases": self.phrases, "tags": self.tags, "height": self.height},
        )

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        height = np.asarray(arrays["height"], np.float64)
        if height.shape != (len(arrays["phrases"]),):
            raise ValueError("heights that do not fit the labels")
        return cls(list(arrays["phrases"]), list(arrays["tags"]), height, values["outer"], values["top"])


@dataclass(frozen=True)
class SpanPosteriors:
    """Posteriors of the labels and tags of a sentence of n words.

    Attributes
    ----------
    spans : array, shape (n * (n + 1) / 2, n_phrases)
        Row ``j * (j - 1) / 2 + i`` holds the posterior of each label over words i .. j-1. Columns are in the order of
        ``labels_`` of the parser.
    tags : array, shape (n, n_tags)
        Posterior of each tag of each word; columns are in the order of ``tags_`` of the parser.
    """

    spans: np.ndarray
    tags: np.ndarray

    def __iter__(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield ``(i, j, row)`` for every span of words i .. j-1; the row, (n_phrases,), is that of ``spans``."""
        for j in range(1, len(self.tags) + 1):
            for i in range(j):
                yield i, j, self.spans[span_id(i, j)]


def bracket_tree(
    words: Sequence[str], posteriors: SpanPosteriors, labels: LabelSet, threshold: float = MBR_THRESHOLD
) -> Tree:
    """The tree whose brackets exceed the threshold by the largest total.

    A span may have several labels, each with a bracket of its own. If no label of the whole sentence exceeds the
    threshold, the sentence gets its most probable one anyway.
    """
    n = len(words)
    split = best_brackets(n, posteriors.spans, threshold)
    chosen = posteriors.spans > threshold
    tags = [labels.tags[t] for t in posteriors.tags.argmax(axis=1)]
    built: list[list[Tree]] = []
    # List the spans from the whole sentence down, then build in reverse: both halves of a span come before it.
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
