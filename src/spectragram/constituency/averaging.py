"""Average the posteriors of all members of a parser; this works for every sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from spectragram.constituency.brackets import SpanPosteriors, bracket_tree
from spectragram.constituency.model import Grammar, Member
from spectragram.constituency.parsing import Status, add_posteriors, cut_into_pieces, posteriors, prune
from spectragram.data.trees import Tree
from spectragram.engine import map_threads
from spectragram.inference.chart_coarse import span_id
from spectragram.metrics.brackets import bracket_scores

__all__ = ["Judge", "average_posteriors"]


def average_posteriors(grammars: Sequence[Grammar], words: Sequence[str]) -> tuple[SpanPosteriors, Status, int]:
    """Posteriors averaged over the members of all grammars, each with the same weight.

    Also the worst status among the grammars, and the number of negative posteriors.
    """
    n, labels = len(words), grammars[0].labels
    spans = np.zeros((n * (n + 1) // 2, len(labels.phrases)))
    tags = np.zeros((n, len(labels.tags)))
    worst, n_negative = Status.PRUNED, 0
    total = sum(len(grammar.members) for grammar in grammars)
    for grammar in grammars:
        weight = len(grammar.members) / total
        forest, status = prune(grammar, words)
        if forest is None:
            _add_pieces(grammar, words, weight, spans, tags)
        else:
            found = [posteriors(grammar, member, forest, words) for member in grammar.members]
            # A member for which the sentence has no value at all cannot vote. If none can, the middle one does.
            good = [value for value in found if value.sign != 0.0]
            good = good or [posteriors(grammar, grammar.middle, forest, words)]
            for value in good:
                add_posteriors(grammar, forest, value, weight / len(good), spans, tags)
                n_negative += value.n_negative
        worst = max(worst, status)
    return SpanPosteriors(spans, tags), worst, n_negative


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


class Judge:
    """Scores a single member on held-out trees by its F1."""

    def __init__(self, trees: list[Tree], n_jobs: int = 1) -> None:
        self.trees, self.n_jobs = trees, n_jobs
        self.sentences = [tree.leaves() for tree in trees]

    def __call__(self, grammar: Grammar, member: Member) -> float:
        """F1 in percent."""
        single = [replace(grammar, members=(member,))]

        def parse(words: list[str]) -> Tree:
            return bracket_tree(words, average_posteriors(single, words)[0], grammar.labels)

        return bracket_scores(self.trees, map_threads(parse, self.sentences, self.n_jobs))["f1"]
