"""Mutual information of neighbouring word classes, the objective of Brown clustering.

    I(C) = sum_{c, c'} p(c, c') log( p(c, c') / (p(c, .) p(., c')) )        in nats

The sum is over the bigrams of one stream; p(c, .) and p(., c') are the left and right margins of the same bigrams.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spectragram.errors import InputError

__all__ = ["clustering_scores", "mutual_information", "stream_mutual_information"]

# Up to this number of clusters all pairs are counted in a table, which takes at most 128 MB and is faster than sorting.
_MAX_TABLE_CLUSTERS = 4096


def mutual_information(counts: ArrayLike) -> float:
    """Mutual information between the rows and columns of a table of counts of shape (m, m').

    >>> round(mutual_information([[5, 0], [0, 5]]), 4)  # log 2
    0.6931
    """
    table = np.asarray(counts, np.float64)
    if table.ndim != 2 or (table < 0).any() or not table.sum() > 0:
        raise InputError(
            f"counts of shape {table.shape} are not a table of counts",
            remedy="give a matrix of non-negative counts that are not all zero",
        )
    rows, columns = np.nonzero(table)
    return _mutual_information(rows, columns, table[rows, columns])


def stream_mutual_information(cluster_ids: ArrayLike) -> float:
    """Mutual information between neighbours in a stream of non-negative cluster numbers, shape (n_tokens,)."""
    ids = np.asarray(cluster_ids)
    if ids.ndim != 1 or len(ids) < 2 or ids.dtype.kind not in "iu" or ids.min() < 0:
        raise InputError(
            f"an array of shape {ids.shape} and type {ids.dtype} is not a stream of cluster numbers",
            remedy="give at least two non-negative integers, one for each token",
        )
    m = int(ids.max()) + 1
    pairs = ids[:-1].astype(np.int64) * m + ids[1:]
    if m <= _MAX_TABLE_CLUSTERS:
        table = np.bincount(pairs, minlength=m * m)
        pairs = np.flatnonzero(table)
        counts = table[pairs]
    else:
        pairs, counts = np.unique(pairs, return_counts=True)
    return _mutual_information(pairs // m, pairs % m, counts.astype(np.float64))


def clustering_scores(cluster_ids: ArrayLike) -> dict[str, float]:
    """The ``mutual_information`` of a stream in nats and its numbers of ``clusters`` and ``tokens``."""
    return {
        "mutual_information": stream_mutual_information(cluster_ids),
        "clusters": len(np.unique(np.asarray(cluster_ids))),
        "tokens": np.size(cluster_ids),
    }


def _mutual_information(rows: np.ndarray, columns: np.ndarray, counts: np.ndarray) -> float:
    """Mutual information from the coordinates and counts of the non-zero cells."""
    n = counts.sum()
    left = np.bincount(rows, weights=counts)
    right = np.bincount(columns, weights=counts)
    return float((counts / n * np.log(counts * n / (left[rows] * right[columns]))).sum())
