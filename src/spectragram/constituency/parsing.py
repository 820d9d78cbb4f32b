"""Parse with one grammar: prune from coarse to fine, then ask its members about what is left.

    sentence -> coarse PCFG over the whole chart -> forest -> few states -> smaller forest -> all states -> posteriors

The first member prunes once more for the others. What is left of the first binarisation guides the chart of the second
(:mod:`spectragram.constituency.guides`).

Every sentence gets an answer. If the pruned forest has no parse, pruning is lifted; if there is no parse at all, the
sentence is cut into the fewest pieces that have one. The status of a sentence says which of these happened.
:func:`average_posteriors` puts the members of all grammars together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from spectragram.constituency.brackets import SpanPosteriors, bracket_tree
from spectragram.constituency.constraints import Known, chart_constraints
from spectragram.constituency.model import Grammar, Member
from spectragram.constituency.rule_factors import GrammarForest
from spectragram.data.known_spans import SpanConstraints
from spectragram.data.trees import Tree
from spectragram.engine import map_threads
from spectragram.inference.chart_coarse import coarse_inside, fewest_pieces, span_id
from spectragram.inference.chart_decode import add_label_posteriors
from spectragram.inference.chart_forest import Posteriors, forest_posteriors
from spectragram.inference.chart_prune import coarse_forest, thin_forest, thin_with_posteriors
from spectragram.inference.chart_rules import Forest, free_mask
from spectragram.metrics.brackets import bracket_scores

__all__ = [
    "Found",
    "HeldOutF1",
    "Status",
    "add_posteriors",
    "average_posteriors",
    "cut_into_pieces",
    "max_words",
    "posteriors",
    "prune",
]

MAX_CHART_BYTES = 400_000_000
"""A sentence whose coarse chart would be larger is cut into pieces. Chosen by hand: a small part of the memory of a
laptop, even with one sentence per core; for the WSJ sample it allows about 570 words."""
CELL_BYTES = 3 * 8 + 2
"""Bytes that a symbol takes in a cell of the coarse chart: inside values of two layers and an outside value (float64),
and the number of an active symbol (uint16)."""
UNPRUNED_WORDS = 40
"""Longest sentence that is tried without any pruning. Chosen by hand, not tuned: the time for a whole chart grows with
the cube of the length."""
NEARLY_UNPRUNED = 1e-12
"""Threshold of the second attempt at longer sentences. Chosen by hand, not tuned."""


class Status(IntEnum):
    """How a sentence was parsed: within the pruned chart, without pruning, beside demands, or glued from pieces.

    Demands that the grammar cannot derive do not count in the chart and are imposed on the tree (``RELAXED``). A very
    long sentence was cut before it was parsed (``SPLIT``).
    """

    PRUNED = 0
    UNPRUNED = 1
    RELAXED = 2
    GLUED = 3
    SPLIT = 4


def max_words(grammar: Grammar) -> int:
    """Length of the longest sentence whose coarse chart fits into ``MAX_CHART_BYTES``."""
    return max(2, int(np.sqrt(2 * MAX_CHART_BYTES / (grammar.productions.n_symbols * CELL_BYTES))))


def prune(
    grammar: Grammar,
    words: Sequence[str],
    *,
    first: bool = True,
    any_root: bool = False,
    known: Known | None = None,
) -> tuple[Forest | None, Status]:
    """The pruned forest of a sentence, of trees that agree with what is ``known``, or None if it has no parse.

    For a piece of a sentence, ``first`` says whether it begins the sentence, and ``any_root`` allows every symbol as
    its root.
    """
    if len(words) > max_words(grammar):
        return None, Status.GLUED
    lexical = _coarse_lexical(grammar, words, first, None if known is None else known.tags)
    mask = None if known is None else known.mask
    weights = grammar.weights
    if any_root:
        weights = weights._replace(root=np.ones_like(weights.root))
    nearly = 0.0 if len(words) <= UNPRUNED_WORDS else NEARLY_UNPRUNED
    for threshold, status in ((grammar.thresholds.coarse, Status.PRUNED), (nearly, Status.UNPRUNED)):
        forest = coarse_forest(grammar.rules, weights, lexical, threshold, mask)
        if forest is None:
            break
        found = posteriors(grammar, grammar.middle, forest, words, first=first, any_root=any_root)
        if found.sign > 0.0:
            return thin_forest(forest, found, grammar.thresholds.middle), status
    return None, Status.GLUED


def posteriors(
    grammar: Grammar,
    member: Member,
    forest: Forest,
    words: Sequence[str],
    *,
    first: bool = True,
    any_root: bool = False,
) -> Posteriors:
    """Inside-outside of a member over a forest of these words; ``first`` and ``any_root`` as in :func:`prune`."""
    operators = member.operators
    if any_root:
        operators = operators._replace(root=np.ones_like(operators.root))
    return forest_posteriors(grammar.rules, forest, operators, _lexical_vectors(member, forest, words, first))


def cut_into_pieces(grammar: Grammar, words: Sequence[str]) -> list[tuple[int, int]]:
    """Start and end of the fewest parts of a sentence that have a parse each."""
    limit = max_words(grammar)
    if len(words) > limit:
        return [(i, min(i + limit, len(words))) for i in range(0, len(words), limit)]
    lexical = _coarse_lexical(grammar, words, True)
    inside = coarse_inside(grammar.rules, grammar.weights, *lexical, free_mask(grammar.rules, len(words)))
    return [(int(i), int(j)) for i, j in fewest_pieces(len(words), inside)]


def add_posteriors(
    grammar: Grammar, forest: Forest, found: Posteriors, weight: float, spans: np.ndarray, tags: np.ndarray
) -> None:
    """Add weighted posteriors of labels to ``spans``, (n_spans, n_phrases), and of tags to ``tags``, (n, n_tags)."""
    # The values of a signed model are not probabilities. Decoding uses their absolute values, as Cohen et al. (2012)
    # do, and Posteriors.n_negative says how many are negative.
    items, links = np.abs(found.items), np.abs(found.links)
    add_label_posteriors(forest, items, links, *grammar.label_maps, weight, spans)
    at = np.flatnonzero((forest.items[:, 1] == 0) & (forest.items[:, 0] < grammar.productions.n_tags))
    words = forest.spans[forest.items[at, 2], 0]
    np.add.at(tags, (words, forest.items[at, 0]), weight * items[at])


def _coarse_lexical(
    grammar: Grammar, words: Sequence[str], first: bool, known: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The likely tags of all words and their values, and where those of each word begin.

    A ``known`` tag, (n,) with -1 for none, is the only one, unless the lexicon does not find it possible.
    """
    starts, tags, values = [0], [], []
    for i, word in enumerate(words):
        possible, vectors = grammar.coarse.lexicon.vectors(word, first and i == 0)
        likely = vectors[:, 0] > grammar.thresholds.tags * vectors[:, 0].max()
        if known is not None and known[i] in possible:
            likely = possible == known[i]
        tags.append(possible[likely])
        values.append(vectors[likely, 0])
        starts.append(starts[-1] + len(tags[-1]))
    return np.array(starts, np.int32), np.concatenate(tags).astype(np.int32), np.concatenate(values)


def _lexical_vectors(member: Member, forest: Forest, words: Sequence[str], first: bool) -> np.ndarray:
    """The vectors of the bottom items over single words, one after the other, as the kernels read them."""
    n_states, lexicon = member.operators.n_states, member.lexicon
    found = [lexicon.vectors(word, first and i == 0) for i, word in enumerate(words)]
    n_tags = len(lexicon.mean)
    possible = np.concatenate([tags + i * n_tags for i, (tags, _) in enumerate(found)])
    lengths = forest.spans[:, 1] - forest.spans[:, 0]
    items = forest.items[: forest.first_item[np.searchsorted(lengths, 2)]]
    items = items[items[:, 1] == 0]
    wanted = forest.spans[items[:, 2], 0] * n_tags + items[:, 0]
    values = np.concatenate([vectors for _, vectors in found])[np.searchsorted(possible, wanted)]
    return values[np.arange(values.shape[1]) < n_states[items[:, 0]][:, None]]


class Found(NamedTuple):
    """What the grammars of a parser find in a sentence."""

    posteriors: SpanPosteriors  #: averaged over the members of all grammars
    status: Status  #: the worst among the grammars
    n_negative: int  #: number of negative posteriors
    forests: list[GrammarForest]  #: of the grammars that have a parse of the whole sentence


def average_posteriors(
    grammars: Sequence[Grammar], words: Sequence[str], given: SpanConstraints | None = None
) -> Found:
    """Posteriors averaged over the members of all grammars, each with the same weight.

    Where a grammar cannot derive what is demanded, it votes with the trees that at least cross no required span or, if
    there are none, with all trees; the status is then :attr:`Status.RELAXED`.
    """
    n, labels = len(words), grammars[0].labels
    spans = np.zeros((n * (n + 1) // 2, len(labels.phrases)))
    tags = np.zeros((n, len(labels.tags)))
    worst, n_negative = Status.PRUNED, 0
    forests: list[GrammarForest] = []
    total = sum(len(grammar.members) for grammar in grammars)
    for grammar in grammars:
        weight = len(grammar.members) / total
        forest, status = _prune_within(grammar, words, given, forests[0] if forests else None)
        if forest is None:
            _add_pieces(grammar, words, weight, spans, tags)
        else:
            forest, good = _ask_members(grammar, forest, words)
            mean = _mean(good)
            add_posteriors(grammar, forest, mean, weight, spans, tags)
            n_negative += sum(value.n_negative for value in good)
            forests.append(GrammarForest(grammar, weight, forest, mean))
        worst = max(worst, status)
    return Found(SpanPosteriors(spans, tags), worst, n_negative, forests)


def _ask_members(grammar: Grammar, forest: Forest, words: Sequence[str]) -> tuple[Forest, list[Posteriors]]:
    """The posteriors of all members over the part of a forest that the first one, too, finds likely.

    A member for which the sentence has no value at all cannot vote. If none can, the middle one does.
    """
    good: list[Posteriors] = []
    for member in grammar.members:
        found = posteriors(grammar, member, forest, words)
        if found.sign == 0.0:
            continue
        if not good and len(grammar.members) > 1 and found.n_negative == 0:
            forest, found = thin_with_posteriors(forest, found, grammar.thresholds.middle)
        good.append(found)
    return forest, good or [posteriors(grammar, grammar.middle, forest, words)]


def _mean(found: Sequence[Posteriors]) -> Posteriors:
    """The average of several members over one forest, of absolute values as in :func:`add_posteriors`."""
    if len(found) == 1:
        return found[0]
    parts = zip(*(value[2:] for value in found), strict=True)
    return Posteriors(1.0, 0.0, *(np.mean(np.abs(part), axis=0) for part in parts))


def _prune_guided(grammar: Grammar, words: Sequence[str], first: GrammarForest | None) -> tuple[Forest | None, Status]:
    """The pruned forest within what another grammar found likely; none at all if it cannot tell."""
    guide = None if first is None or grammar.thresholds.coarse == 0.0 else grammar.guide_from(first.grammar)
    if first is None or guide is None:
        return None, Status.GLUED
    mask = guide.mask(len(words), first.forest)
    return prune(grammar, words, known=Known(mask, np.full(len(words), -1, np.int32)))


def _prune_within(
    grammar: Grammar, words: Sequence[str], given: SpanConstraints | None, first: GrammarForest | None
) -> tuple[Forest | None, Status]:
    """The forest of what is demanded; if it is empty, of as much of it as the grammar can derive.

    Without demands, the forest of a ``first`` grammar guides the chart if it can.
    """
    if given is None or given.is_empty:
        forest, status = _prune_guided(grammar, words, first)
        return (forest, status) if status == Status.PRUNED else prune(grammar, words)
    for labels in (True, False):
        known = chart_constraints(grammar, given, labels=labels)
        forest, status = (None, Status.GLUED) if known is None else prune(grammar, words, known=known)
        if forest is not None:
            return forest, status if labels else Status.RELAXED
    forest, status = prune(grammar, words)
    return forest, max(status, Status.RELAXED)


def _add_pieces(grammar: Grammar, words: Sequence[str], weight: float, spans: np.ndarray, tags: np.ndarray) -> None:
    """Parse the pieces of a sentence without a parse one by one; decoding puts them under one label."""
    for start, end in cut_into_pieces(grammar, words):
        piece = words[start:end]
        forest, _ = prune(grammar, piece, first=start == 0, any_root=True)
        if forest is None:
            for i in range(start, end):
                possible, vectors = grammar.coarse.lexicon.vectors(words[i], i == 0)
                tags[i, possible[vectors[:, 0].argmax()]] += weight
            continue
        n = end - start
        inner = np.zeros((n * (n + 1) // 2, spans.shape[1]))
        value = posteriors(grammar, grammar.middle, forest, piece, first=start == 0, any_root=True)
        add_posteriors(grammar, forest, value, weight, inner, tags[start:end])
        for j in range(1, n + 1):
            for i in range(j):
                spans[span_id(start + i, start + j)] += inner[span_id(i, j)]


class HeldOutF1:
    """Scores a single member on held-out trees by its F1."""

    def __init__(self, trees: list[Tree], n_jobs: int = 1) -> None:
        self.trees, self.n_jobs = trees, n_jobs
        self.sentences = [tree.leaves() for tree in trees]

    def __call__(self, grammar: Grammar, member: Member) -> float:
        """F1 in percent."""
        single = [replace(grammar, middle=grammar.middle.rounded(), members=(member.rounded(),))]

        def parse(words: list[str]) -> Tree:
            return bracket_tree(words, average_posteriors(single, words)[0], grammar.labels)

        return bracket_scores(self.trees, map_threads(parse, self.sentences, self.n_jobs))["f1"]
