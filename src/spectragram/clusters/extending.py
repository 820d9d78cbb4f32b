"""New words for clusters that are finished: each goes where its neighbours predict it best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from spectragram.clusters.assigning import assign_words
from spectragram.clusters.counts import PairCounts
from spectragram.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    from spectragram.clusters.estimator import WordClusters

__all__ = ["add_words", "assign_new_words"]


def assign_new_words(model: WordClusters, counts: PairCounts, min_count: int) -> dict[str, int]:
    """Clusters of the words in ``counts`` that the model does not know and that were seen ``min_count`` times."""
    words = counts.vocabulary.words
    ids = model.vocabulary_.encode(words)
    known = np.array([word in model.vocabulary_ or word == counts.vocabulary.unknown for word in words])
    new = np.flatnonzero(~known & (counts.vocabulary.counts >= min_count))
    # Neighbours that are not known themselves: those of <unk>, or no cluster in particular.
    table, labels = model.class_counts_, np.append(model.labels_, np.int32(len(model.class_counts_)))[ids]
    is_open = np.ones(len(table), bool)
    if model.unknown_cluster_ >= 0:
        is_open[model.unknown_cluster_] = False
    else:
        table = np.pad(table, (0, 1))
        is_open = np.append(is_open, False)
    chosen = assign_words(table, counts, labels, new, is_open)
    return {words[i]: int(c) for i, c in zip(new, chosen, strict=True) if c >= 0}


def add_words(model: WordClusters, assigned: Mapping[str, int], seen: Vocabulary) -> None:
    """Put the ``assigned`` words, with their counts in ``seen``, before the model's unknown word."""
    old = model.vocabulary_
    n = old.unknown_id if old.unknown else len(old)
    added = np.array([int(seen.counts[seen.index[word]]) for word in assigned], np.int64)
    clusters = np.fromiter(assigned.values(), np.int32, len(assigned))
    vectors = _cluster_means(model)[clusters]
    model.vocabulary_ = Vocabulary(
        [*old.words[:n], *assigned, *old.words[n:]],
        np.concatenate([old.counts[:n], added, old.counts[n:]]),
        old.unknown,
    )
    model.labels_ = np.concatenate([model.labels_[:n], clusters, model.labels_[n:]])
    model.vectors_ = np.concatenate([model.vectors_[:n], vectors, model.vectors_[n:]])


def _cluster_means(model: WordClusters) -> np.ndarray:
    means = np.zeros((len(model.cluster_paths_), model.vectors_.shape[1]), np.float32)
    np.add.at(means, model.labels_, model.vectors_)
    return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-30)
