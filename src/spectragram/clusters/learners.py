"""Four ways from counts to clusters and their hierarchy, behind one signature.

    exchange            over-cluster, move words, merge, again and again (the default: best and quickest)
    spectral            the paper: word vectors and Ward's algorithm
    spectral+exchange   the paper's clusters, then refined as in exchange
    brown               Brown's algorithm, the baseline

``<unk>``, where there is one, is a cluster by itself in all of them and counts as one of ``n_clusters``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectragram.clusters.bigrams import Bigrams, class_mutual_information, class_table
from spectragram.clusters.brown import brown_classes
from spectragram.clusters.exchange import exchange
from spectragram.clusters.hierarchy import labels_after
from spectragram.clusters.merging import merge_classes
from spectragram.clusters.spectral import spectral_hierarchy, ward_classes

__all__ = ["LEARNERS", "SCHEDULES", "Clustering", "Problem", "Schedule"]


@dataclass(frozen=True)
class Schedule:
    """How to refine: clusters at each stage as multiples of the number wanted, and how often to move words.

    At most ``first_passes``, ``passes`` and ``last_passes`` over all words at the first, the middle and the last
    stage, fewer when one gains less than ``tolerance`` nats.
    """

    sizes: tuple[float, ...]
    first_passes: int
    passes: int
    last_passes: int
    tolerance: float

    def passes_at(self, stage: int, n_stages: int) -> int:
        """Passes at one of the stages."""
        if stage == n_stages - 1:
            return self.last_passes
        return self.first_passes if stage == 0 else self.passes


_DEFAULT = Schedule((2.5, 1.8, 1.4, 1.15, 1.0), 3, 2, 10, 2e-5)
SCHEDULES: dict[str, tuple[Schedule, ...]] = {
    "fast": (Schedule((1.25, 1.0), 2, 2, 4, 2e-4),),
    "default": (_DEFAULT,),
    "best": (
        _DEFAULT,
        Schedule((2.0, 1.6, 1.3, 1.15, 1.0), 2, 2, 10, 2e-5),
        Schedule((2.5, 2.0, 1.6, 1.3, 1.15, 1.07, 1.0), 3, 3, 10, 2e-5),
        Schedule((3.0, 2.2, 1.6, 1.25, 1.1, 1.0), 3, 2, 10, 2e-5),
    ),
}
"""Ways to refine by preset. Each ends in another local optimum, by luck a little better or worse: the best is kept."""


@dataclass(frozen=True)
class Problem:
    """What a learner is given.

    n_words of the words are to be put into n_open clusters; the words after them (``<unk>``) have their own.
    ``vectors`` computes the word vectors, shape (n, d), when they are needed.
    """

    bigrams: Bigrams
    n_words: int
    n_clusters: int
    schedules: tuple[Schedule, ...]
    vectors: Callable[[], np.ndarray]
    n_jobs: int

    @property
    def n_closed(self) -> int:
        """Clusters that belong to one word each: that of ``<unk>``."""
        return self.bigrams.n_words - self.n_words

    @property
    def n_open(self) -> int:
        """Clusters that words can be put into."""
        return self.n_clusters - self.n_closed

    def complete(self, labels: np.ndarray, n_open: int) -> np.ndarray:
        """Labels of the words, with those of the words that have clusters of their own."""
        return np.concatenate([labels, np.arange(n_open, n_open + self.n_closed)]).astype(np.int32)


@dataclass(frozen=True)
class Clustering:
    """Clusters of all words (int32), the tree over them (merges, see hierarchy.py), and how it went."""

    labels: np.ndarray
    merges: np.ndarray
    facts: dict[str, Any]


def learn_exchange(problem: Problem) -> Clustering:
    """Refine from a start that spreads words of like frequency over all clusters."""
    return _refine(problem, lambda n_open: np.arange(problem.n_words) % n_open, {})


def learn_spectral_exchange(problem: Problem) -> Clustering:
    """Refine from the paper's clusters."""
    facts: dict[str, Any] = {}

    def start(n_open: int) -> np.ndarray:
        labels, facts["gamma"] = ward_classes(problem.vectors()[: problem.n_words], n_open)
        return labels

    return _refine(problem, start, facts)


def learn_spectral(problem: Problem) -> Clustering:
    """The paper's algorithm, nothing else."""
    vectors = problem.vectors()
    labels, gamma = ward_classes(vectors[: problem.n_words], problem.n_open)
    labels = problem.complete(labels, problem.n_open)
    return Clustering(labels, spectral_hierarchy(vectors, labels), {"gamma": gamma})


def learn_brown(problem: Problem) -> Clustering:
    """Brown's algorithm."""
    labels = problem.complete(brown_classes(problem.bigrams, problem.n_open, problem.n_words), problem.n_open)
    return Clustering(labels, _hierarchy(problem, labels), {})


def _refine(problem: Problem, start: Callable[[int], np.ndarray], facts: dict[str, Any]) -> Clustering:
    """Refine along each schedule and keep the clustering of the highest mutual information."""
    refined = [_refine_once(problem, start, schedule) for schedule in problem.schedules]
    labels, _ = max(refined, key=lambda found: class_mutual_information(problem.bigrams, found[0]))
    facts["passes"] = sum(n_passes for _, n_passes in refined)
    return Clustering(labels, _hierarchy(problem, labels), facts)


def _refine_once(problem: Problem, start: Callable[[int], np.ndarray], schedule: Schedule) -> tuple[np.ndarray, int]:
    """From many clusters to few: at each stage merge what costs least, then move words to where they fit best.

    More clusters than wanted leave room to correct; merging them in several steps, with moves in between, ends
    at a higher mutual information than moving words alone. Returns labels and the number of passes.
    """
    wanted = (int(size * problem.n_clusters) - problem.n_closed for size in schedule.sizes)
    sizes = sorted({min(n_open, problem.n_words) for n_open in wanted}, reverse=True)
    labels = problem.complete(start(sizes[0]), sizes[0])
    n_passes = 0
    for stage, n_open in enumerate(sizes):
        if stage > 0:
            labels = _merge(problem, labels, sizes[stage - 1], n_open)
        labels, gains = exchange(
            problem.bigrams,
            labels,
            n_classes=n_open + problem.n_closed,
            n_movable=problem.n_words,
            max_passes=schedule.passes_at(stage, len(sizes)),
            tolerance=schedule.tolerance,
            n_jobs=problem.n_jobs,
        )
        n_passes += len(gains)
    return labels, n_passes


def _merge(problem: Problem, labels: np.ndarray, before: int, after: int) -> np.ndarray:
    table = class_table(problem.bigrams, labels, before + problem.n_closed)
    merges, _ = merge_classes(table, before, after, n_jobs=problem.n_jobs)
    return labels_after(merges, len(table))[labels]


def _hierarchy(problem: Problem, labels: np.ndarray) -> np.ndarray:
    """The tree over clusters by least loss of mutual information."""
    table = class_table(problem.bigrams, labels, problem.n_clusters)
    return merge_classes(table, problem.n_clusters, 1, n_jobs=problem.n_jobs)[0]


LEARNERS: dict[str, Callable[[Problem], Clustering]] = {
    "exchange": learn_exchange,
    "spectral": learn_spectral,
    "spectral+exchange": learn_spectral_exchange,
    "brown": learn_brown,
}
