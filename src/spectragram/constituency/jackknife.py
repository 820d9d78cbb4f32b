"""Jackknifing: posteriors as they look for new sentences, for the training of factors.

Grammars are too sure about the trees that they learned from. So every part of the treebank is parsed by grammars of the
other parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.constituency.brackets import LabelSet, SpanPosteriors
from spectragram.constituency.factors import EPOCHS, FOLDS, Example, Factors, learn_factors
from spectragram.constituency.model import Model
from spectragram.constituency.parsing import average_posteriors
from spectragram.data.trees import ROOTS, Tree
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

Learn = Callable[[Sequence[Tree], np.ndarray | None, int, int], Model]
"""``learn(trees, weights, number, n_jobs)`` makes grammars for the fold of this number."""


def fit_factors(
    trees: Sequence[Tree],
    labels: LabelSet,
    learn: Learn,
    *,
    weights: np.ndarray | None = None,
    random_state: int = 0,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> Factors | None:
    """Factors beside grammars of these trees, or None if there are too few; ``weights`` say how often each counts."""
    held_out = np.flatnonzero([len(tree.leaves()) <= MOST_WORDS for tree in trees])
    if len(held_out) < FEWEST_TREES:
        _skip(FOLDS + EPOCHS, report)
        return None
    folds = fold_numbers(len(trees), FOLDS)
    # Whole folds come first, so that large treebanks need fewer grammars.
    held_out = held_out[np.argsort(folds[held_out], kind="stable")][:MOST_TREES]
    factors = Factors.empty(sum(len(trees[number].leaves()) for number in held_out.tolist()))
    parse = _Parse(list(trees), weights, folds, held_out, learn, factors, labels)
    n_folds = int(folds[held_out].max()) + 1
    found = train_members(parse, n_folds, n_jobs, report, side_by_side=True)
    _skip(FOLDS - n_folds, report)
    examples = [example for part in found for example in part]
    return learn_factors(factors, examples, rng=np.random.default_rng(random_state), n_jobs=n_jobs, report=report)


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
    labels: LabelSet

    def __call__(self, fold: int, n_jobs: int, report: Report) -> list[Example]:
        own = self.held_out[self.folds[self.held_out] == fold]
        others = np.flatnonzero(self.folds != fold)
        weights = None if self.weights is None else self.weights[others]
        model = self.learn([self.trees[number] for number in others.tolist()], weights, fold, n_jobs)

        def parse(number: int) -> Example:
            example = _example(self.factors, model, self.trees[number], self.labels)
            return example if self.weights is None else example._replace(weight=float(self.weights[number]))

        found = map_threads(parse, own.tolist(), n_jobs)
        report()
        return found


def _example(factors: Factors, model: Model, tree: Tree, labels: LabelSet) -> Example:
    """A tree with the posteriors of a model, whose labels may be fewer."""
    words = tree.leaves()
    found, _, _ = average_posteriors(model.grammars, words)
    spans = np.zeros((len(found.spans), len(labels.phrases)))
    tags = np.zeros((len(words), len(labels.tags)))
    spans[:, [labels.phrase_index[label] for label in model.labels.phrases]] = found.spans
    tags[:, [labels.tag_index[tag] for tag in model.labels.tags]] = found.tags
    inner = tree.children[0] if tree.label in ROOTS and len(tree.children) == 1 and not tree.is_tag else tree
    gold = frozenset((i, j, labels.phrase_index[label]) for label, i, j in inner.spans())
    return factors.example(words, SpanPosteriors(spans, tags), gold)
