"""What all models of a parser believe about a sentence, averaged; it works for every sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from spectragram.constituency.brackets import SpanPosteriors, bracket_tree
from spectragram.constituency.model import Model
from spectragram.constituency.parsing import BinaryGrammar, Status
from spectragram.data.trees import Tree
from spectragram.engine import map_threads
from spectragram.inference.chart_coarse import span_id
from spectragram.metrics.brackets import bracket_scores

__all__ = ["Judge", "average_posteriors"]


def average_posteriors(grammars: Sequence[BinaryGrammar], words: list[str]) -> tuple[SpanPosteriors, Status, int]:
    """Posteriors averaged over the models of all grammars.

    Also the worst status among the grammars, and how many posteriors were negative.
    """
    n, labels = len(words), grammars[0].labels
    spans = np.zeros((n * (n + 1) // 2, len(labels.phrases)))
    tags = np.zeros((n, len(labels.tags)))
    worst, n_negative = Status.PRUNED, 0
    total = sum(len(grammar.models) for grammar in grammars)
    for grammar in grammars:
        weight = len(grammar.models) / total
        forest, status = grammar.prune(words)
        if forest is None:
            _add_pieces(grammar, words, weight, spans, tags)
        else:
            values = [grammar.posteriors(model, forest, words) for model in grammar.models]
            # A model that gives the sentence no value at all has no say; without any, the middle one decides.
            good = [value for value in values if value.sign != 0.0]
            good = good or [grammar.posteriors(grammar.middle, forest, words)]
            for value in good:
                grammar.add_posteriors(forest, value, weight / len(good), spans, tags)
                n_negative += value.n_negative
        worst = max(worst, status)
    return SpanPosteriors(spans, tags), worst, n_negative


def _add_pieces(grammar: BinaryGrammar, words: list[str], weight: float, spans: np.ndarray, tags: np.ndarray) -> None:
    """Parse the pieces of a sentence that has no parse, each by itself; they will hang under one label."""
    for start, end in grammar.pieces(words):
        piece = words[start:end]
        forest, _ = grammar.prune(piece, start == 0, any_root=True)
        if forest is None:
            for i in range(start, end):
                possible, vectors = grammar.coarse.lexicon.vectors(words[i], i == 0)
                tags[i, possible[vectors[:, 0].argmax()]] += weight
            continue
        n = end - start
        inner = np.zeros((n * (n + 1) // 2, spans.shape[1]))
        value = grammar.posteriors(grammar.middle, forest, piece, start == 0, any_root=True)
        grammar.add_posteriors(forest, value, weight, inner, tags[start:end])
        for j in range(1, n + 1):
            for i in range(j):
                spans[span_id(start + i, start + j)] += inner[span_id(i, j)]


class Judge:
    """F1 of a single model on held-out trees."""

    def __init__(self, trees: list[Tree], n_jobs: int = 1) -> None:
        self.trees, self.n_jobs = trees, n_jobs
        self.sentences = [tree.leaves() for tree in trees]

    def __call__(self, grammar: BinaryGrammar, model: Model) -> float:
        """F1 in percent."""
        single = [replace(grammar, models=[model])]

        def parse(words: list[str]) -> Tree:
            return bracket_tree(words, average_posteriors(single, words)[0], grammar.labels)

        return bracket_scores(self.trees, map_threads(parse, self.sentences, self.n_jobs))["f1"]
