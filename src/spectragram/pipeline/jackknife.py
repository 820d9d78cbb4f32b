"""Jackknifing: columns as they look when they are predicted, for the training of what comes behind.

A parser that learned from gold columns trusts them too much. So the columns of every part of the treebank are predicted
by a model of the other parts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.word_paths import WordPaths
from spectragram.engine.progress import Report, silent
from spectragram.learning.ensembles import train_members
from spectragram.learning.folds import fold_numbers
from spectragram.pipeline.morphology import MorphologySettings, learn_morphology

__all__ = ["jackknife"]


def jackknife(
    sentences: Sequence[Sentence],
    n_folds: int = 4,
    settings: MorphologySettings | str = "fast",
    *,
    columns: Collection[str] | None = None,
    paths: WordPaths | None = None,
    random_state: int = 0,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> list[Sentence]:
    """The sentences with columns that were predicted by models of the other folds.

    Parameters
    ----------
    sentences : sequence of Sentence
        A treebank. A single sentence, which has no others to learn from, comes back as it is.
    n_folds : int
    settings : MorphologySettings or str
        Of the models; see :func:`~spectragram.pipeline.morphology.learn_morphology`.
    columns : collection of str, optional
        The columns to predict, by default all that the treebank has.
    paths : WordPaths, optional
        Of word clusters.
    random_state : int
    n_jobs : int, optional
        Folds are learned side by side.
    report : callable
        Called after every fold.
    """
    n = len(sentences)
    folds = fold_numbers(n, n_folds)
    if n < 2:
        return list(sentences)
    found: list[Sentence] = list(sentences)
    predict = _Predict(list(sentences), folds, settings, columns, paths, random_state)
    predictions = train_members(predict, int(folds.max()) + 1, n_jobs, report, side_by_side=True)
    for fold, predicted in enumerate(predictions):
        for place, sentence in zip(np.flatnonzero(folds == fold).tolist(), predicted, strict=True):
            found[place] = sentence
    return found


@dataclass(frozen=True)
class _Predict:
    """The sentences of a fold with what a model of the others predicts, here or on a worker."""

    sentences: list[Sentence]
    folds: np.ndarray
    settings: MorphologySettings | str
    columns: Collection[str] | None
    paths: WordPaths | None
    random_state: int

    def __call__(self, fold: int, n_jobs: int, report: Report) -> list[Sentence]:
        others = [sentence for sentence, of in zip(self.sentences, self.folds, strict=True) if of != fold]
        own = [sentence for sentence, of in zip(self.sentences, self.folds, strict=True) if of == fold]
        seed = self.random_state + fold
        morphology = learn_morphology(others, self.settings, paths=self.paths, random_state=seed, n_jobs=n_jobs)
        predicted = morphology.annotate(own, self.columns)
        report()
        return predicted
