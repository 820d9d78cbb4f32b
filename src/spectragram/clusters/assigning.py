"""Put words that were not in the training text into existing clusters, by their neighbours in new text.

A new word goes where it would raise the mutual information most, with the clusters as they are: the gain of
:mod:`spectragram.clusters.exchange` for a word that comes from nowhere.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from spectragram.clusters.counts import PairCounts
from spectragram.clusters.nlogn import nlogn_array

__all__ = ["assign_words"]


def assign_words(
    class_counts: np.ndarray, counts: PairCounts, labels: np.ndarray, new_words: np.ndarray, n_open: np.ndarray
) -> np.ndarray:
    """Clusters of words of a new text.

    Parameters
    ----------
    class_counts : int array, shape (m, m)
        Neighbouring clusters in the training text.
    counts : PairCounts
        Of the new text.
    labels : int array, shape (n,)
        Cluster of every word of ``counts``; that of ``<unk>`` for words whose cluster is not known.
    new_words : int array
        Ids of the words to assign.
    n_open : bool array, shape (m,)
        Which clusters may be given.

    Returns
    -------
    int32 array, one cluster for each of ``new_words``; -1 for a word that has no neighbours at all.
    """
    m, n = len(class_counts), len(labels)
    table = counts.tables[0]
    pairs = scipy.sparse.csr_matrix((table.counts, (table.keys // n, table.keys % n)), (n, n))
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
        gain[~n_open] = -np.inf
        chosen[i] = gain.argmax()
    return chosen


def _raised(counts: np.ndarray, added: np.ndarray) -> np.ndarray:
    """sum_x f(n(x, c) + s(x)) - f(n(x, c)) for every cluster c."""
    return (nlogn_array(counts + added) - nlogn_array(counts)).sum(axis=0)
