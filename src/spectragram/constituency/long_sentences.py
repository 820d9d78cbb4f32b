"""Trees of very long sentences: pieces are parsed one by one and stand side by side under one label."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spectragram.constituency.brackets import LabelSet
from spectragram.constituency.parsing import Status
from spectragram.data.known_spans import SpanConstraints
from spectragram.data.pieces import pieces
from spectragram.data.trees import Tree, make_tree
from spectragram.errors import InputError

__all__ = ["LONGEST", "parse_in_pieces", "require_chart"]

LONGEST = 150
"""Words of the longest sentence that is parsed in one piece. With the default model of the WSJ sample such a sentence
takes about a second; no sentence of that treebank is longer."""
LONGEST_CHART = 600
"""Words of the longest sentence whose posteriors can be had: they take space with the square of the length."""

Parse = Callable[[SpanConstraints], tuple[Tree, Status, int]]


def parse_in_pieces(words: Sequence[str], parse: Parse, labels: LabelSet) -> tuple[Tree, Status, int]:
    """The tree of a sentence that is longer than ``LONGEST``, and how many posteriors were negative."""
    parts: list[Tree] = []
    n_negative = 0
    for start, end in pieces(words, LONGEST):
        tree, _, n = parse(SpanConstraints(tuple(words[start:end])))
        parts += tree.children if labels.outer is not None and tree.label == labels.outer else (tree,)
        n_negative += n
    whole = make_tree(labels.top, tuple(parts))
    return whole if labels.outer is None else make_tree(labels.outer, (whole,)), Status.SPLIT, n_negative


def require_chart(sentences: Sequence[SpanConstraints]) -> None:
    """Refuse sentences that are too long for posteriors of all their spans."""
    for number, given in enumerate(sentences, start=1):
        if len(given.words) > LONGEST_CHART:
            raise InputError(
                f"sentence {number} has {len(given.words)} words, too many for the posteriors of all its spans",
                remedy=f"cut it into parts of at most {LONGEST_CHART} words, or ask for its tree alone",
            )
