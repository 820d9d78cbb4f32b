"""Mutual information by its definition, and other slow truths."""

from __future__ import annotations

import itertools

import numpy as np

from spectragram.clusters.information import Bigrams
from spectragram.learning.counts import TupleCounts


def information(table: np.ndarray) -> float:
    """Sum of p log(p / (p p)) over the cells of a table of counts, term by term."""
    total = table.sum()
    value = 0.0
    for i, j in itertools.product(*map(range, table.shape)):
        if table[i, j]:
            value += table[i, j] / total * np.log(table[i, j] * total / (table[i].sum() * table[:, j].sum()))
    return value


def class_counts(pairs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    m = labels.max() + 1
    table = np.zeros((m, m), np.int64)
    for a, b in itertools.product(range(len(pairs)), repeat=2):
        table[labels[a], labels[b]] += pairs[a, b]
    return table


def merged(table: np.ndarray, i: int, j: int) -> np.ndarray:
    """Rows and columns i and j (i < j) become one."""
    table = table.copy()
    table[i] += table[j]
    table[:, i] += table[:, j]
    return np.delete(np.delete(table, j, axis=0), j, axis=1)


def bigrams_of(pairs: np.ndarray) -> Bigrams:
    keys = np.flatnonzero(pairs)
    return Bigrams.from_counts(TupleCounts(keys, pairs.ravel()[keys], len(pairs), 2))


def random_pairs(rng: np.random.Generator, n: int, mean: float = 1.0) -> np.ndarray:
    """Pair counts of n words, frequent ones first, some never beside each other."""
    weight = 1 / np.sqrt(1 + np.arange(n))
    pairs = rng.poisson(mean * n * np.outer(weight, weight) / weight.sum())
    pairs[np.arange(n), np.arange(n)] += rng.integers(0, 3, n)
    return pairs
