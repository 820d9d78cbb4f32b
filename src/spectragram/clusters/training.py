"""What a training run decides before it clusters, and how it numbers what it found."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from spectragram.clusters.counts import PairCounts
from spectragram.clusters.hierarchy import bit_strings
from spectragram.clusters.learners import Clustering
from spectragram.data.vocabulary import UNKNOWN
from spectragram.errors import InputError

__all__ = ["Stopwatch", "from_left_to_right", "number_of_clusters", "usual_kappa", "vector_size"]

DEFAULT_CLUSTERS = 1000
WORDS_PER_CLUSTER = 10


def number_of_clusters(asked: int | None, counts: PairCounts) -> int:
    """How many clusters to make: what was asked for, if the words allow it, or what suits them."""
    n_all = len(counts.vocabulary)
    least = n_all - counts.n_words + 1
    if asked is None:
        return max(least, min(DEFAULT_CLUSTERS, n_all // WORDS_PER_CLUSTER))
    if not least <= asked <= n_all:
        raise InputError(
            f"{asked} clusters of {counts.n_words} words"
            + (f" and {UNKNOWN}, which has a cluster of its own" if least > 1 else ""),
            remedy=f"ask for {least} to {n_all} clusters, or keep more words",
        )
    return asked


def vector_size(learner: str, n_dimensions: int, n_clusters: int) -> int:
    """Length of the word vectors; learners that cluster vectors need some."""
    if learner == "spectral":
        return n_clusters
    return max(2, n_dimensions) if learner == "spectral+exchange" else n_dimensions


def usual_kappa(learner: str, counts: PairCounts) -> float:
    """Smoothing in tokens: Ward's clusters do best with little, nearest neighbours with more."""
    n_tokens = int(counts.vocabulary.counts.sum())
    return float(n_tokens**0.5 / (200 if learner.startswith("spectral") else 20))


def from_left_to_right(clustering: Clustering) -> Clustering:
    """The same clusters, numbered in the order of the leaves of their tree."""
    m = len(clustering.merges) + 1
    place = np.empty(2 * m - 1, np.int64)
    place[np.argsort(bit_strings(clustering.merges, m))] = np.arange(m)
    place[m:] = np.arange(m, 2 * m - 1)
    return replace(clustering, labels=place[clustering.labels].astype(np.int32), merges=place[clustering.merges])


class Stopwatch:
    """Seconds from lap to lap."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Write down the seconds since the last lap."""
        now = time.perf_counter()
        self.laps[name] = round(now - self._last, 3)
        self._last = now
