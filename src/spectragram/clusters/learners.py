"""Four ways from counts to clusters and their hierarchy, behind one signature.

    exchange            over-cluster, move words, merge, again and again (the default: best and quickest)
    spectral            the paper: word vectors and Ward's algorithm
    spectral+exchange   the paper's clusters, then refined as in exchange
    brown               Brown's algorithm, the baseline

``<unk>``, where there is one, is a cluster by itself in all of them and counts as one of ``n_clusters``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from spectragram.clusters.brown import brown_classes
from spectragram.clusters.contexts import ContextCounts
from spectragram.clusters.counts import CONTEXTS, PairCounts
from spectragram.clusters.exchange import exchange
from spectragram.clusters.hierarchy import labels_after, numbered_from_left_to_right
from spectragram.clusters.information import Bigrams, class_mutual_information, class_table
from spectragram.clusters.merging import merge_classes
from spectragram.clusters.model import Model
from spectragram.clusters.settings import LEARNERS, LEAST_PASSES, PASS_WORK, Schedule, Settings
from spectragram.clusters.spectral import spectral_hierarchy, ward_classes, word_vectors
from spectragram.clusters.unfinished import NOT_KEPT, Unfinished
from spectragram.engine.progress import Report, progress

__all__ = ["learn"]

MANY_PAIRS = 20_000_000
"""From here on vectors are made from the pairs as they are, not from a matrix, which takes 32 bytes for each."""

Clustering = tuple[np.ndarray, np.ndarray, dict[str, Any]]
"""Clusters of all words (int32), the tree over them (see hierarchy.py), and facts for the summary."""

Start = Callable[[int, int], np.ndarray]
"""Clusters to start from, 0 .. n_open - 1, given n_open and the number of words, the most frequent ones."""


def learn(counts: PairCounts, settings: Settings, unfinished: Unfinished = NOT_KEPT) -> tuple[Model, dict[str, Any]]:
    """Cluster the words that were counted, build the hierarchy and the vectors; also facts for the summary.

    ``unfinished`` keeps clusters on the way, and has those of a training that was interrupted.
    """
    words = _Words(counts, settings, unfinished)
    labels, merges, facts = _LEARNERS[settings.learner](words)
    labels, merges = numbered_from_left_to_right(labels, merges)
    model = Model(
        vocabulary=counts.vocabulary,
        clusters=labels,
        merges=merges,
        vectors=words.vectors.astype(np.float32),
        class_counts=class_table(words.bigrams, labels, words.n_clusters),
        options=counts.options,
    )
    return model, facts


@dataclass(frozen=True)
class _Words:
    """The words that a learner puts into clusters, in the forms that learners read."""

    counts: PairCounts
    settings: Settings
    unfinished: Unfinished

    def progress(self, what: str, total: int | None = None) -> AbstractContextManager[Report]:
        """Progress of a phase, if it is wanted."""
        return progress(what, total, enabled=self.settings.verbose)

    @cached_property
    def bigrams(self) -> Bigrams:
        """Neighbouring words, as the kernels read them."""
        memory = self.settings.memory
        return Bigrams.from_counts(self.counts.tables[0], None if memory is None else memory // 2)

    @cached_property
    def vectors(self) -> np.ndarray:
        """Word vectors, shape (n, d), made when first asked for."""
        n_dimensions = self.settings.dimensions_for(self.n_clusters)
        if n_dimensions == 0:
            return np.zeros((len(self.counts.vocabulary), 0))
        matrix: Any = self._context_counts()
        kappa = self.settings.kappa_for(self.counts.n_tokens)
        rng = np.random.default_rng(self.settings.seed)
        with self.progress("vectors"):
            return word_vectors(matrix, n_dimensions, kappa, rng, self.settings.svd_tolerance)[0]

    def _context_counts(self) -> Any:
        """A sparse matrix, or the pairs as they are where a copy of them would take too much memory."""
        places = CONTEXTS[self.settings.context]
        if len(self.counts.tables[0].keys) < MANY_PAIRS or max(places) > 1:
            return self.counts.context_matrix(self.settings.context)
        return ContextCounts(self.bigrams, places)

    @cached_property
    def n_clusters(self) -> int:
        """Number of clusters wanted."""
        return self.settings.clusters_for(self.counts)

    @property
    def n_words(self) -> int:
        """Number of words without ``<unk>``, unless it is a word like the others."""
        return self.counts.n_words if self.settings.unknown_alone else len(self.counts.vocabulary)

    @property
    def n_closed(self) -> int:
        """Number of clusters that belong to one word each: 1 if there is ``<unk>``, otherwise 0."""
        return len(self.counts.vocabulary) - self.n_words

    @property
    def n_open(self) -> int:
        """Number of clusters that words can be put into."""
        return self.n_clusters - self.n_closed

    def complete(self, labels: np.ndarray, n_open: int) -> np.ndarray:
        """Labels of the first words, of those that wait, together in the last class, and of ``<unk>``."""
        waiting = np.full(self.n_words - len(labels), n_open + self.n_closed)
        return np.concatenate([labels, waiting, np.arange(n_open, n_open + self.n_closed)]).astype(np.int32)

    def stages(self, schedule: Schedule) -> list[tuple[int, int, int]]:
        """Numbers of open clusters, of words that move among them, most frequent first, and of passes at most.

        All words take part in the last stage, and in those before it as many as :data:`PASS_WORK` allows: the
        others wait. That depends on the text and the number of clusters, and not on the machine.
        """
        wanted = (int(size * self.n_clusters) - self.n_closed for size in schedule.sizes)
        sizes = sorted({min(n_open, self.n_words) for n_open in wanted}, reverse=True)
        found = []
        for stage, n_open in enumerate(sizes):
            passes, work = schedule.passes_at(stage, len(sizes)), self._work(n_open)
            if stage == len(sizes) - 1:
                affordable = int(schedule.last_passes * PASS_WORK // max(work[-1], 1))
                found.append((n_open, self.n_words, min(passes, max(LEAST_PASSES, affordable))))
            else:
                found.append((n_open, max(n_open, int(np.searchsorted(work, PASS_WORK, side="right"))), passes))
        return found

    def _work(self, n_classes: int) -> np.ndarray:
        """What a pass over the first words costs, for each number of them, float array, shape (n_words,)."""
        starts = self.bigrams.next_starts, self.bigrams.previous_starts
        beside = sum(np.minimum(np.diff(ends[: self.n_words + 1]), n_classes) for ends in starts)
        return np.cumsum(beside) * float(n_classes)


def _exchange(words: _Words) -> Clustering:
    """Refine from a start that spreads words of similar frequency over all clusters."""
    return _refine(words, lambda n_open, n_words: np.arange(n_words) % n_open, {})


def _spectral_exchange(words: _Words) -> Clustering:
    """Refine from the paper's clusters."""
    facts: dict[str, Any] = {}

    def start(n_open: int, n_words: int) -> np.ndarray:
        labels, facts["gamma"] = ward_classes(words.vectors[:n_words], n_open)
        return labels

    return _refine(words, start, facts)


def _spectral(words: _Words) -> Clustering:
    """The paper's algorithm and nothing else."""
    order = np.arange(words.n_words)
    if not words.settings.unknown_alone:  # words are sorted by frequency, but <unk> comes last
        order = np.argsort(-words.counts.vocabulary.counts, kind="stable")
    found, gamma = ward_classes(words.vectors[order], words.n_open)
    labels = np.empty_like(found)
    labels[order] = found
    labels = words.complete(labels, words.n_open)
    return labels, spectral_hierarchy(words.vectors, labels), {"gamma": gamma}


def _brown(words: _Words) -> Clustering:
    """Brown's algorithm."""
    labels = words.complete(brown_classes(words.bigrams, words.n_open, words.n_words), words.n_open)
    return labels, _hierarchy(words, labels), {}


_LEARNERS: dict[str, Callable[[_Words], Clustering]] = dict(
    zip(LEARNERS, (_exchange, _spectral, _spectral_exchange, _brown), strict=True)
)


def _refine(words: _Words, start: Start, facts: dict[str, Any]) -> Clustering:
    """Refine along each schedule and keep the clustering with the highest mutual information."""
    refined = [_refine_once(words, start, number) for number in range(len(words.settings.schedules))]
    labels, _ = max(refined, key=lambda found: class_mutual_information(words.bigrams, found[0]))
    facts["passes"] = sum(n_passes for _, n_passes in refined)
    return labels, _hierarchy(words, labels), facts


def _refine_once(words: _Words, start: Start, number: int) -> tuple[np.ndarray, int]:
    """From many clusters to few: at each stage merge what costs least, then move words to where they fit best.

    Having more clusters than wanted leaves room for corrections. Merging them in several steps, with moves in between,
    ends at a higher mutual information than moving words alone. Returns labels and the number of passes.
    """
    schedule = words.settings.schedules[number]
    stages = words.stages(schedule)
    place = words.unfinished.place(number)
    labels = words.complete(start(*stages[0][:2]), stages[0][0]) if place.labels is None else place.labels
    n_passes = place.n_passes
    for stage, (n_open, n_movable, most_passes) in enumerate(stages):
        if stage < place.stage:
            continue
        made = place.passes if stage == place.stage else 0
        if stage > 0 and made == 0:
            labels = _merge(words, labels, stages[stage - 1][0], n_open)
            labels = _enter(words, labels, stages[stage - 1][1], n_movable, n_open)
        left = most_passes - made
        if left > 0 and not (made and place.last_gain < schedule.tolerance):
            keep = partial(words.unfinished.keep, number, stage, made, n_passes)
            with words.progress(f"moving words among {n_open + words.n_closed} classes", left * n_movable) as report:
                labels, gains = exchange(
                    words.bigrams,
                    labels,
                    n_classes=int(labels.max()) + 1,
                    n_movable=n_movable,
                    n_open=n_open,
                    max_passes=left,
                    tolerance=schedule.tolerance,
                    n_jobs=words.settings.n_jobs,
                    report=report,
                    after_pass=keep,
                )
            n_passes += len(gains)
    return labels, n_passes


def _merge(words: _Words, labels: np.ndarray, before: int, after: int) -> np.ndarray:
    table = class_table(words.bigrams, labels, int(labels.max()) + 1)
    with words.progress(f"merging {before} classes into {after}"):
        merges, _ = merge_classes(table, before, after, n_jobs=words.settings.n_jobs)
    return labels_after(merges, len(table))[labels]


def _enter(words: _Words, labels: np.ndarray, before: int, after: int, n_open: int) -> np.ndarray:
    """Words ``before`` to ``after`` leave the class where they waited, each for the one where it gains most."""
    if after == before:
        return labels
    with words.progress(f"placing words in {n_open} classes", after - before) as report:
        entered, _ = exchange(
            words.bigrams,
            labels,
            n_classes=int(labels.max()) + 1,
            n_movable=after,
            n_open=n_open,
            first=before,
            max_passes=1,
            n_jobs=words.settings.n_jobs,
            report=report,
        )
    return entered


def _hierarchy(words: _Words, labels: np.ndarray) -> np.ndarray:
    """The tree over clusters, by merges that lose the least mutual information."""
    table = class_table(words.bigrams, labels, words.n_clusters)
    with words.progress("hierarchy"):
        return merge_classes(table, words.n_clusters, 1, n_jobs=words.settings.n_jobs)[0]
