"""From posteriors to a tree.

F1-MBR      the best set of nested spans, by how far their label posteriors exceed a threshold: it needs no grammar, so
            posteriors of different binarisations and models can be averaged
Viterbi     the best derivation in a forest for any weights of edges, links and items: log posteriors give the
            max-rule-product parse (Petrov & Klein 2007), posteriors Goodman's (1996) labelled recall
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.chart_coarse import span_id
from spectragram.inference.chart_rules import Forest

__all__ = ["add_label_posteriors", "best_brackets", "viterbi"]


@njit(cache=True, nogil=True)
def add_label_posteriors(
    forest: Forest,
    item_posteriors: np.ndarray,
    link_posteriors: np.ndarray,
    label_of: np.ndarray,
    chain_start: np.ndarray,
    chain_labels: np.ndarray,
    weight: float,
    out: np.ndarray,
) -> None:
    """Add ``weight`` times p(label over span) to ``out``, (n_cells, n_labels).

    ``label_of`` (n_symbols,) is -1 for symbols that do not appear in trees; a unary rule u adds the labels
    ``chain_labels[chain_start[u]:chain_start[u + 1]]``.
    """
    for t in range(len(forest.items)):
        symbol, top, span = forest.items[t]
        if top == 0 and label_of[symbol] >= 0:
            cell = span_id(forest.spans[span, 0], forest.spans[span, 1])
            out[cell, label_of[symbol]] += weight * item_posteriors[t]
    for e in range(len(forest.links)):
        rule = forest.links[e, 1]
        if rule >= 0:
            span = forest.items[forest.links[e, 0], 2]
            cell = span_id(forest.spans[span, 0], forest.spans[span, 1])
            for c in range(chain_start[rule], chain_start[rule + 1]):
                out[cell, chain_labels[c]] += weight * link_posteriors[e]


@njit(cache=True, nogil=True)
def best_brackets(n: int, posteriors: np.ndarray, threshold: float) -> np.ndarray:
    """The set of nested spans with the largest sum over spans and labels of max(0, p - threshold).

        best[i, j] = sum over labels of max(0, p(label, i, j) - threshold) + max over k of best[i, k] + best[k, j]

    Returns the split point of every cell, int32.
    """
    best = np.zeros(len(posteriors))
    split = np.full(len(posteriors), -1, np.int32)
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            cell = span_id(i, j)
            gain = 0.0
            for label in range(posteriors.shape[1]):
                if posteriors[cell, label] > threshold:
                    gain += posteriors[cell, label] - threshold
            if length > 1:
                largest = -1.0
                for k in range(i + 1, j):
                    value = best[span_id(i, k)] + best[span_id(k, j)]
                    if value > largest:
                        largest = value
                        split[cell] = k
                gain += largest
            best[cell] = gain
    return split


@njit(cache=True, nogil=True)
def viterbi(
    forest: Forest,
    edge_weights: np.ndarray,
    link_weights: np.ndarray,
    item_weights: np.ndarray,
    root_weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Best derivation: the chosen edge of every bottom item and link of every top item (-1: none), and the root item.

    Weights are added up; ``item_weights`` count for bottom items, ``root_weights`` (n_symbols,) for the root. Returns
    ``choice`` (n_items,), ``score`` (n_items,) and the root, -1 if no derivation covers the whole sentence.
    """
    items = forest.items
    score = np.full(len(items), -np.inf)
    choice = np.full(len(items), -1, np.int32)
    for s in range(len(forest.spans)):
        if forest.spans[s, 1] - forest.spans[s, 0] == 1:
            for t in range(forest.first_item[s], forest.first_item[s + 1]):
                if items[t, 1] == 0:
                    score[t] = item_weights[t]
        for e in range(forest.first_edge[s], forest.first_edge[s + 1]):
            parent, _, left, right = forest.edges[e]
            value = edge_weights[e] + score[left] + score[right] + item_weights[parent]
            if value > score[parent]:
                score[parent] = value
                choice[parent] = e
        for e in range(forest.first_link[s], forest.first_link[s + 1]):
            top, _, bottom = forest.links[e]
            value = link_weights[e] + score[bottom]
            if value > score[top]:
                score[top] = value
                choice[top] = e
    root = -1
    last = len(forest.spans) - 1
    largest = -np.inf
    for t in range(forest.first_item[last], forest.first_item[last + 1]):
        if items[t, 1] == 1 and score[t] + root_weights[items[t, 0]] > largest:
            largest = score[t] + root_weights[items[t, 0]]
            root = t
    return choice, score, root
