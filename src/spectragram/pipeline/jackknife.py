"""Jackknifing: columns as they look when they are predicted, for the training of what comes behind.

A parser that learned from gold columns trusts them too much. So the columns of every part of the treebank are predicted
by a model of the other parts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.engine import map_threads
from spectragram.engine.progress import Report, silent
from spectragram.pipeline.morphology import MorphologySettings, learn_morphology

__all__ = ["jackknife"]

BLOCKS_A_FOLD = 10
"""A fold is made of so many runs of neighbouring sentences, from all over the treebank: single sentences would leave
others of the same document to learn from, and one run might leave out a whole genre. Chosen by hand, not tuned."""


def jackknife(
    sentences: Sequence[Sentence],
    n_folds: int = 4,
    settings: MorphologySettings | str = "fast",
    *,
    columns: Collection[str] | None = None,
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
    random_state : int
    n_jobs : int, optional
        Folds are learned side by side.
    report : callable
        Called after every epoch of every fold.
    """
    n = len(sentences)
    folds = fold_numbers(n, n_folds)
    if n < 2:
        return list(sentences)

    def predict(fold: int) -> list[Sentence]:
        others = [sentence for sentence, of in zip(sentences, folds, strict=True) if of != fold]
        own = [sentence for sentence, of in zip(sentences, folds, strict=True) if of == fold]
        morphology = learn_morphology(others, settings, random_state=random_state + fold, report=report)
        return morphology.annotate(own, columns)

    found: list[Sentence] = list(sentences)
    numbers = range(int(folds.max()) + 1)
    for fold, predicted in zip(numbers, map_threads(predict, numbers, n_jobs), strict=True):
        for place, sentence in zip(np.flatnonzero(folds == fold).tolist(), predicted, strict=True):
            found[place] = sentence
    return found


def fold_numbers(n: int, n_folds: int) -> np.ndarray:
    """The fold of each of n sentences, int64 (n,); no fold is empty.

    >>> fold_numbers(6, 2).tolist()
    [0, 1, 0, 1, 0, 1]
    """
    n_folds = max(1, min(n_folds, n))
    n_blocks = min(n, n_folds * BLOCKS_A_FOLD)
    return np.arange(n, dtype=np.int64) * n_blocks // max(n, 1) % n_folds
