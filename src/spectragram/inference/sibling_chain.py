"""Labels of all words of a tree, with factors of neighbouring siblings: a chain over the modifiers of every head.

    P(labels | tree)  ~  prod_j exp score(j, a_j)  prod_{neighbouring siblings i, j} exp pair(j, a_i, a_j)

    pair(j, a, b) = sum_t  w[place_t(j) + (a + 1) l + b]                                      l labels, templates t

Every word has few labels worth considering, so arrays are indexed by the place of a label in the list of its word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.hashed import SMALLEST_STEP, Weights, step_weight
from spectragram.inference.tree_factors import AFTER, BEFORE

__all__ = ["Choices", "chain_gradient", "chain_posteriors", "find_choices", "sibling_scores", "step_siblings"]


class Choices(NamedTuple):
    """The labels considered for each word.

    labels (n, c) int64; counts (n,) int64: how many each word has; scores (n, c).
    """

    labels: np.ndarray
    counts: np.ndarray
    scores: np.ndarray


@njit(cache=True, nogil=True)
def find_choices(scores: np.ndarray, gold: np.ndarray, margin: float) -> Choices:
    """The labels whose score is at most ``margin`` below the best one, and the right one.

    scores (n, l), -inf for labels that are impossible; gold (n,) int64, -1 where the right label is not known.
    """
    n, n_labels = scores.shape
    counts = np.zeros(n, np.int64)
    labels = np.zeros((n, n_labels), np.int64)
    kept = np.zeros((n, n_labels))
    for i in range(n):
        best = scores[i].max()
        for label in range(n_labels):
            if scores[i, label] > -np.inf and (scores[i, label] >= best - margin or label == gold[i]):
                labels[i, counts[i]] = label
                kept[i, counts[i]] = scores[i, label]
                counts[i] += 1
    most = max(1, counts.max())
    return Choices(labels[:, :most].copy(), counts, kept[:, :most].copy())


@njit(cache=True, nogil=True)
def sibling_scores(
    choices: Choices, nodes: np.ndarray, places: np.ndarray, table: np.ndarray, n_labels: int
) -> np.ndarray:
    """Scores of the labels of each word together with those of the sibling before it, (n, c, c) by sibling, word.

    nodes (7, n) from :func:`spectragram.inference.tree_factors.find_nodes`; places (n, t); table (2^b,) float32.
    """
    labels, counts, _ = choices
    n, most = labels.shape
    mask = len(table) - 1
    pairs = np.zeros((n, most, most))
    for i in range(n):
        before = nodes[BEFORE, i]
        if before >= 0:
            for t in range(places.shape[1]):
                for a in range(counts[before]):
                    row = places[i, t] + (labels[before, a] + 1) * n_labels
                    for b in range(counts[i]):
                        pairs[i, a, b] += table[(row + labels[i, b]) & mask]
    return pairs


@njit(cache=True, nogil=True)
def step_siblings(
    choices: Choices,
    nodes: np.ndarray,
    places: np.ndarray,
    gradient: np.ndarray,
    weights: Weights,
    n_labels: int,
    rate: float,
    now: int,
) -> None:
    """Climb along the gradient (n, c, c) of the scores of pairs by AdaGrad, changing ``weights``."""
    labels, counts, _ = choices
    table, squares, summed = weights
    mask = len(table) - 1
    for i in range(len(counts)):
        before = nodes[BEFORE, i]
        if before < 0:
            continue
        for a in range(counts[before]):
            for b in range(counts[i]):
                g = gradient[i, a, b]
                if abs(g) > SMALLEST_STEP:
                    for t in range(places.shape[1]):
                        place = (places[i, t] + (labels[before, a] + 1) * n_labels + labels[i, b]) & mask
                        step_weight(table, squares, summed, place, g, rate, now)


@njit(cache=True, nogil=True)
def chain_posteriors(choices: Choices, nodes: np.ndarray, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(label of a word), (n, c), and P(labels of a word and of the sibling before it), (n, c, c) by sibling, word.

    Words without any choice are passed over; a chain begins anew behind them.
    """
    _, counts, scores = choices
    n, most = scores.shape
    forward, backward = np.full((n, most), -np.inf), np.zeros((n, most))
    for i in range(n):
        before = nodes[BEFORE, i]
        for b in range(counts[i]):
            forward[i, b] = scores[i, b]
            if before >= 0 and counts[before]:
                forward[i, b] += _log_sum(forward[before, : counts[before]] + pairs[i, : counts[before], b])
    words, joint = np.zeros((n, most)), np.zeros((n, most, most))
    for i in range(n - 1, -1, -1):
        after = nodes[AFTER, i]
        mine = counts[i]
        if after >= 0 and counts[after]:
            theirs = counts[after]
            for a in range(mine):
                backward[i, a] = _log_sum(scores[after, :theirs] + backward[after, :theirs] + pairs[after, a, :theirs])
        if not mine:
            continue
        total = _log_sum(forward[i, :mine] + backward[i, :mine])
        for b in range(mine):
            words[i, b] = np.exp(forward[i, b] + backward[i, b] - total)
        before = nodes[BEFORE, i]
        if before >= 0:
            for a in range(counts[before]):
                for b in range(mine):
                    inside = forward[before, a] + pairs[i, a, b] + scores[i, b]
                    joint[i, a, b] = np.exp(inside + backward[i, b] - total)
    return words, joint


@njit(cache=True, nogil=True)
def chain_gradient(
    choices: Choices, nodes: np.ndarray, gold: np.ndarray, words: np.ndarray, joint: np.ndarray, n_labels: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gold minus expected: of the scores of all labels, (n, l), and of pairs of choices, (n, c, c).

    gold (n,) holds a choice of each word that has any; words and joint are from :func:`chain_posteriors`.
    """
    labels, counts, _ = choices
    n = len(counts)
    of_words, of_pairs = np.zeros((n, n_labels)), -joint
    right = np.zeros(n, np.int64)
    for i in range(n):
        for b in range(counts[i]):
            of_words[i, labels[i, b]] = -words[i, b]
            if labels[i, b] == gold[i]:
                right[i] = b
                of_words[i, gold[i]] += 1.0
        before = nodes[BEFORE, i]
        if before >= 0 and counts[before] and counts[i]:
            of_pairs[i, right[before], right[i]] += 1.0
    return of_words, of_pairs


@njit(cache=True, nogil=True)
def _log_sum(values: np.ndarray) -> float:
    """log sum exp of some finite numbers."""
    best = values.max()
    return best + np.log(np.exp(values - best).sum())
