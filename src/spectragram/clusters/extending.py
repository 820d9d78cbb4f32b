"""New words for clusters that are finished: each goes where its neighbours in new text predict it best.

A new word goes where it raises the mutual information most, with the clusters as they are: the gain of
:mod:`spectragram.clusters.exchange` for a word that comes from nowhere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse

from spectragram.clusters.counts import PairCounts
from spectragram.clusters.information import nlogn_array
from spectragram.clusters.model import Model
from spectragram.data.corpus import Vocabulary

__all__ = ["assign_new_words", "extended"]

SMALLEST = 1e-30
"""A guard against division by zero; any tiny value of single precision does."""


def assign_new_words(model: Model, counts: PairCounts, min_count: int) -> dict[str, int]:
    """Clusters of the words in ``counts`` that the model does not know.

    Words seen less than ``min_count`` times, and words without any neighbour, are left out.
    """
    words, unknown = counts.vocabulary.words, model.unknown_cluster
    known = np.array([word in model.vocabulary or word == counts.vocabulary.unknown for word in words])
    new = np.flatnonzero(~known & (counts.vocabulary.counts >= min_count))
    # Neighbours that are unknown themselves count as <unk> or, where there is none, as one more cluster.
    class_counts = model.class_counts if unknown >= 0 else np.pad(model.class_counts, (0, 1))
    closed = unknown if unknown >= 0 else model.n_clusters
    neighbours = np.append(model.clusters, np.int32(closed))[model.vocabulary.encode(words)]
    chosen = _best_clusters(class_counts, counts.pair_matrix(), neighbours, new, closed)
    return {words[i]: int(cluster) for i, cluster in zip(new, chosen, strict=True) if cluster >= 0}


def extended(model: Model, counts: PairCounts, min_count: int) -> tuple[Model, int]:
    """The model with the new words of a text, and how many they are; old words stay where they are.

    The vector of a new word is the mean of its cluster, scaled to length 1.
    """
    assigned = assign_new_words(model, counts, min_count)
    old, seen = model.vocabulary, counts.vocabulary
    n = old.unknown_id if old.unknown else len(old)  # <unk> stays the last word
    clusters = np.fromiter(assigned.values(), np.int32, len(assigned))
    added = np.array([int(seen.counts[seen.index[word]]) for word in assigned], np.int64)
    vocabulary = Vocabulary(
        [*old.words[:n], *assigned, *old.words[n:]],
        np.concatenate([old.counts[:n], added, old.counts[n:]]),
        old.unknown,
    )
    vectors = _cluster_means(model)[clusters]
    larger = replace(
        model,
        vocabulary=vocabulary,
        clusters=np.concatenate([model.clusters[:n], clusters, model.clusters[n:]]),
        vectors=np.concatenate([model.vectors[:n], vectors, model.vectors[n:]]),
    )
    return larger, len(assigned)


def _best_clusters(
    class_counts: np.ndarray, pairs: scipy.sparse.csr_matrix, labels: np.ndarray, new_words: np.ndarray, closed: int
) -> np.ndarray:
    """The cluster of each new word, int32; -1 for a word that has no neighbours at all.

    Parameters
    ----------
    class_counts : int array, shape (m, m)
        Neighbouring clusters in the training text.
    pairs : sparse int matrix, shape (n, n)
        Neighbouring words in the new text.
    labels : int array, shape (n,)
        Cluster of every word of the new text; ``closed`` for new words.
    new_words : int array
        Ids of the new words.
    closed : int
        The cluster that no new word may join.
    """
    m, n = len(class_counts), len(labels)
    member = scipy.sparse.csr_matrix((np.ones(n, np.int64), (np.arange(n), labels)), (n, m))
    following = (pairs[new_words] @ member).tocsr()
    preceding = (pairs.T.tocsr()[new_words] @ member).tocsr()
    left, right = class_counts.sum(axis=1), class_counts.sum(axis=0)
    chosen = np.full(len(new_words), -1, np.int32)
    for i in range(len(new_words)):
        after, before = following[i], preceding[i]
        if after.nnz + before.nnz == 0:
            continue
        gain = _raised(class_counts.T[after.indices], after.data[:, None])
        gain += _raised(class_counts[before.indices], before.data[:, None])
        gain -= nlogn_array(left + after.data.sum()) - nlogn_array(left)
        gain -= nlogn_array(right + before.data.sum()) - nlogn_array(right)
        gain[closed] = -np.inf
        chosen[i] = gain.argmax()
    return chosen


def _raised(counts: np.ndarray, added: np.ndarray) -> np.ndarray:
    """sum_x f(n(x, c) + s(x)) - f(n(x, c)) for every cluster c, with f(n) = n log n."""
    return (nlogn_array(counts + added) - nlogn_array(counts)).sum(axis=0)


def _cluster_means(model: Model) -> np.ndarray:
    """Mean vector of each cluster, scaled to length 1, float32, shape (n_clusters, n_dimensions)."""
    means = np.zeros((model.n_clusters, model.vectors.shape[1]), np.float32)
    np.add.at(means, model.clusters, model.vectors)
    return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), SMALLEST)
