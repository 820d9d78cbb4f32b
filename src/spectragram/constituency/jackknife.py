"""Jackknifing: posteriors as they look for new sentences, for the training of factors.

Grammars are too sure about the trees that they learned from. So every part of the treebank is parsed by grammars of the
other parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.constituency.brackets import LabelSet, SpanPosteriors
from spectragram.constituency.factors import FOLDS, Example, Factors, learn_factors
from spectragram.constituency.model import Model
from spectragram.constituency.parsing import average_posteriors
from spectragram.constituency.rule_factors import RuleExample, RuleFactors, learn_rule_factors
from spectragram.constituency.settings import FACTOR_STEPS
from spectragram.data.trees import Tree
from spectragram.data.word_paths import WordPaths
from spectragram.engine import map_threads
from spectragram.engine.progress import Report, silent
from spectragram.learning.ensembles import train_members
from spectragram.learning.folds import fold_numbers

__all__ = ["fit_factors"]

FEWEST_TREES = 100
"""Smaller treebanks get no factors. Chosen by hand, not tuned: grammars of a few dozen trees tell little."""
MOST_TREES = 10_000
"""Trees that are parsed at most. Chosen by hand: so many weigh features well, and take minutes to parse."""
MOST_WORDS = 80
"""Longer sentences are left out: they take long to parse and are rare."""

Examples = tuple[Example, list[RuleExample]]
"""What a sentence teaches factors of brackets and, with a forest for each binarisation, factors of rules."""
Learn = Callable[[Sequence[Tree], np.ndarray | None, int, int], Model]
"""``learn(trees, weights, number, n_jobs)`` makes grammars for the fold of this number."""


def fit_factors(
    trees: Sequence[Tree],
    labels: LabelSet,
    learn: Learn,
    *,
    weights: np.ndarray | None = None,
    paths: WordPaths | None = None,
    random_state: int = 0,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> tuple[Factors, RuleFactors] | None:
    """Factors beside grammars of these trees, or None if there are too few.

    ``weights`` say how often each tree counts; with ``paths`` factors look at word clusters, too.
    """
    held_out = np.flatnonzero([len(tree.leaves()) <= MOST_WORDS for tree in trees])
    if len(held_out) < FEWEST_TREES:
        _skip(FACTOR_STEPS, report)
        return None
    folds = fold_numbers(len(trees), FOLDS)
    # Whole folds come first, so that large treebanks need fewer grammars.
    held_out = held_out[np.argsort(folds[held_out], kind="stable")][:MOST_TREES]
    n_tokens = sum(len(trees[number].leaves()) for number in held_out.tolist())
    factors, of_rules = Factors.empty(n_tokens, paths), RuleFactors.empty(n_tokens, paths)
    parse = _Parse(list(trees), weights, folds, held_out, learn, factors, of_rules, labels)
    n_folds = int(folds[held_out].max()) + 1
    found = train_members(parse, n_folds, n_jobs, report, side_by_side=True)
    _skip(FOLDS - n_folds, report)
    brackets = [example for part in found for example, _ in part]
    rules = [example for part in found for _, examples in part for example in examples]
    rng = np.random.default_rng(random_state)
    learned = learn_factors(factors, brackets, rng=rng, n_jobs=n_jobs, report=report)
    return learned, learn_rule_factors(of_rules, rules, rng=rng, n_jobs=n_jobs, report=report)


def _skip(n: int, report: Report) -> None:
    """Move the progress bar over steps that are not needed."""
    for _ in range(n):
        report()


@dataclass(frozen=True)
class _Parse:
    """The examples of a fold, parsed by grammars of the others, here or on a worker."""

    trees: list[Tree]
    weights: np.ndarray | None
    folds: np.ndarray
    held_out: np.ndarray
    learn: Learn
    factors: Factors
    rule_factors: RuleFactors
    labels: LabelSet

    def __call__(self, fold: int, n_jobs: int, report: Report) -> list[Examples]:
        own = self.held_out[self.folds[self.held_out] == fold]
        others = np.flatnonzero(self.folds != fold)
        weights = None if self.weights is None else self.weights[others]
        model = self.learn([self.trees[number] for number in others.tolist()], weights, fold, n_jobs)

        def parse(number: int) -> Examples:
            weight = 1.0 if self.weights is None else float(self.weights[number])
            return self._examples(model, self.trees[number], weight)

        found = map_threads(parse, own.tolist(), n_jobs)
        report()
        return found

    def _examples(self, model: Model, tree: Tree, weight: float) -> Examples:
        """A tree with the posteriors of a model, whose labels may be fewer."""
        words, labels = tree.leaves(), self.labels
        found = average_posteriors(model.grammars, words)
        spans = np.zeros((len(found.posteriors.spans), len(labels.phrases)))
        tags = np.zeros((len(words), len(labels.tags)))
        spans[:, [labels.phrase_index[label] for label in model.labels.phrases]] = found.posteriors.spans
        tags[:, [labels.tag_index[tag] for tag in model.labels.tags]] = found.posteriors.tags
        posteriors = SpanPosteriors(spans, tags)
        inner = tree.without_root()
        gold = frozenset((i, j, label) for label, i, j in inner.spans())
        numbered = frozenset((i, j, labels.phrase_index[label]) for i, j, label in gold)
        brackets = self.factors.example(words, posteriors, numbered)
        rules = (self.rule_factors.example(words, posteriors, one, gold, tree.tags()) for one in found.forests)
        weighted = [example._replace(weight=weight) for example in rules if example is not None]
        return brackets._replace(weight=weight), weighted
