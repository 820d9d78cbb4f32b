"""Labelled brackets, scored as EVALB does with COLLINS.prm.

    rule of COLLINS.prm                    here
    DELETE_LABEL TOP, also ROOT and S1     these brackets are ignored, and so are outermost brackets without a label
    DELETE_LABEL , : `` '' .               words with these *gold* tags are removed before spans are compared
    DELETE_LABEL -NONE-                    traces are removed from each tree according to its own tags
    EQ_LABEL ADVP PRT                      both count as the same label
    CUTOFF_LEN 40                          every field is repeated with ``_40`` for sentences of at most 40 words,
                                           including punctuation

Functional tags and indices (``NP-SBJ=2``) are stripped as in EVALB. A bracket that spans no words is ignored.

EVALB leaves sentences without a valid parse out of all figures, which rewards a parser for giving up. Here their gold
brackets and words stay in the denominators, so they lower recall, tag accuracy and exact match. Crossing brackets are
averaged over valid parses, since only those have brackets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, Protocol

from spectragram.metrics.ratios import f1, paired, percent

__all__ = ["BracketedTree", "SentenceBrackets", "bracket_scores", "sentence_brackets"]

_PUNCTUATION = frozenset([",", ":", "``", "''", "."])
_TRACE = "-NONE-"
_ROOTS = frozenset(["TOP", "ROOT", "S1", ""])
_CUTOFF = 40  # CUTOFF_LEN of COLLINS.prm
_CACHED_LABELS = 65536  # more than the labels of any treebank; it only bounds the memory

Span = tuple[str, int, int]


class BracketedTree(Protocol):
    """A tree that can be scored. ``word`` is None except on pre-terminals."""

    @property
    def label(self) -> str:
        """The label of a phrase or the tag of a pre-terminal."""

    @property
    def children(self) -> Sequence[BracketedTree]:
        """The children, an empty sequence for a pre-terminal."""

    @property
    def word(self) -> str | None:
        """The word of a pre-terminal."""


class SentenceBrackets(NamedTuple):
    """The counts for one sentence, as EVALB prints them on one line."""

    length: int  #: words, including punctuation
    valid: bool  #: whether there was a parse of the same words
    matched: int
    gold: int
    predicted: int
    crossing: int  #: predicted brackets that cross a gold bracket
    words: int  #: words that are not punctuation
    tags: int  #: correctly tagged words that are not punctuation

    @property
    def exact(self) -> bool:
        """Whether the brackets are exactly those of the gold tree."""
        return self.valid and self.matched == self.gold == self.predicted


def bracket_scores(gold: Iterable[BracketedTree], predicted: Iterable[BracketedTree | None]) -> dict[str, float]:
    """Precision, recall, F1 and the other fields of EVALB, in percent, over a whole test set.

    Parameters
    ----------
    gold, predicted : iterables of trees
        Trees in the same order, with ``None`` for a sentence without a parse.

    Returns
    -------
    dict
        ``f1 precision recall exact tag_accuracy`` in percent; ``crossing`` (brackets per sentence), ``no_crossing``
        and ``two_or_less_crossing`` (percent of valid parses); ``sentences valid errors``. All of them are repeated
        with the suffix ``_40`` for sentences of at most 40 words.
    """
    sentences = [sentence_brackets(g, p) for g, p in paired(gold, predicted, "trees")]
    scores = _summary(sentences)
    short = _summary([sentence for sentence in sentences if sentence.length <= _CUTOFF])
    return scores | {f"{key}_{_CUTOFF}": value for key, value in short.items()}


def _summary(sentences: Sequence[SentenceBrackets]) -> dict[str, float]:
    matched = sum(s.matched for s in sentences)
    precision = percent(matched, sum(s.predicted for s in sentences))
    recall = percent(matched, sum(s.gold for s in sentences))
    valid = [s for s in sentences if s.valid]
    return {
        "f1": f1(precision, recall),
        "precision": precision,
        "recall": recall,
        "exact": percent(sum(s.exact for s in sentences), len(sentences)),
        "tag_accuracy": percent(sum(s.tags for s in sentences), sum(s.words for s in sentences)),
        "crossing": sum(s.crossing for s in valid) / max(len(valid), 1),
        "no_crossing": percent(sum(s.crossing == 0 for s in valid), len(valid)),
        "two_or_less_crossing": percent(sum(s.crossing <= 2 for s in valid), len(valid)),
        "sentences": len(sentences),
        "valid": len(valid),
        "errors": len(sentences) - len(valid),
    }


def sentence_brackets(gold: BracketedTree, predicted: BracketedTree | None) -> SentenceBrackets:
    """Score one parse. It is not valid if it is None or its words differ from those of the gold tree."""
    gold_nodes, words, tags = _read(gold)
    # kept[i] is the number of words among the first i that are not punctuation by their gold tag.
    kept = list(accumulate((tag not in _PUNCTUATION for tag in tags), initial=0))
    gold_spans = _spans(gold_nodes, kept)
    counts = SentenceBrackets(len(words), False, 0, len(gold_spans), 0, 0, kept[-1], 0)
    if predicted is None:
        return counts
    predicted_nodes, predicted_words, predicted_tags = _read(predicted)
    if predicted_words != words:
        return counts
    predicted_spans = _spans(predicted_nodes, kept)
    return counts._replace(
        valid=True,
        matched=(Counter(gold_spans) & Counter(predicted_spans)).total(),
        predicted=len(predicted_spans),
        crossing=_n_crossing(gold_spans, predicted_spans),
        tags=sum(a == b and a not in _PUNCTUATION for a, b in zip(tags, predicted_tags, strict=True)),
    )


def _read(tree: BracketedTree) -> tuple[list[Span], list[str], list[str]]:
    """The brackets, words and tags of a tree without its traces. It does not recurse because trees can be deep."""
    nodes: list[Span] = []
    words: list[str] = []
    tags: list[str] = []
    stack: list[tuple[BracketedTree, int]] = [(tree, -1)]
    while stack:
        node, start = stack.pop()
        if start >= 0:  # all children of the node have been visited
            nodes.append((node.label, start, len(words)))
        elif node.word is None:
            stack.append((node, len(words)))
            stack.extend([(child, -1) for child in reversed(node.children)])
        elif node.label != _TRACE:
            words.append(node.word)
            tags.append(node.label)
    return nodes, words, tags


def _spans(nodes: Iterable[Span], kept: Sequence[int]) -> list[Span]:
    """The brackets that are scored, with positions that only count words that are scored."""
    renumbered = [(_canonical(label), kept[start], kept[end]) for label, start, end in nodes]
    return [span for span in renumbered if span[0] and span[1] < span[2]]


@lru_cache(maxsize=_CACHED_LABELS)
def _canonical(label: str) -> str:
    """The label in the form that is compared, or "" for a label that is ignored.

    >>> _canonical("NP-SBJ=2"), _canonical("PRT"), _canonical("TOP")
    ('NP', 'ADVP', '')
    """
    if not label.startswith("-"):
        for separator in "-=|":
            label = label.partition(separator)[0]
    if label in _ROOTS:
        return ""
    return "ADVP" if label == "PRT" else label


def _n_crossing(gold: Iterable[Span], predicted: Iterable[Span]) -> int:
    """Number of predicted brackets that overlap a gold bracket while neither contains the other."""
    extents = {(start, end) for _, start, end in gold}
    # A bracket that is also in the gold tree crosses no gold bracket, which saves most of the comparisons.
    suspects = [(start, end) for _, start, end in predicted if (start, end) not in extents]
    return sum(any(a < i < b < j or i < a < j < b for a, b in extents) for i, j in suspects)
