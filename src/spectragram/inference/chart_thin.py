"""The likely part of a forest: a fast model prunes it for slower ones."""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.chart_forest import Posteriors
from spectragram.inference.chart_rules import Forest

__all__ = ["thin_forest"]


@njit(cache=True, nogil=True)
def _thin(
    forest: Forest,
    edge_posteriors: np.ndarray,
    link_posteriors: np.ndarray,
    item_posteriors: np.ndarray,
    threshold: float,
) -> tuple[np.ndarray, ...]:
    spans, first_item, first_edge, first_link, items, edges, links = forest
    number = np.full(len(items), -1, np.int32)
    span_number = np.full(len(spans), -1, np.int32)
    n_items = n_spans = n_edges = n_links = 0
    new_spans, new_items = np.empty_like(spans), np.empty_like(items)
    new_edges, new_links = np.empty_like(edges), np.empty_like(links)
    starts = np.zeros((3, len(spans) + 1), np.int32)
    for s in range(len(spans)):
        for t in range(first_item[s], first_item[s + 1]):
            if item_posteriors[t] >= threshold:
                if span_number[s] < 0:
                    span_number[s] = n_spans
                    new_spans[n_spans, 0], new_spans[n_spans, 1] = spans[s, 0], spans[s, 1]
                    n_spans += 1
                number[t] = n_items
                new_items[n_items, 0], new_items[n_items, 1] = items[t, 0], items[t, 1]
                new_items[n_items, 2] = span_number[s]
                n_items += 1
        if span_number[s] < 0:
            continue
        for e in range(first_edge[s], first_edge[s + 1]):
            parent, rule, left, right = edges[e]
            if edge_posteriors[e] >= threshold and min(number[parent], number[left], number[right]) >= 0:
                new_edges[n_edges, 0], new_edges[n_edges, 1] = number[parent], rule
                new_edges[n_edges, 2], new_edges[n_edges, 3] = number[left], number[right]
                n_edges += 1
        for e in range(first_link[s], first_link[s + 1]):
            top, rule, bottom = links[e]
            if link_posteriors[e] >= threshold and min(number[top], number[bottom]) >= 0:
                new_links[n_links, 0], new_links[n_links, 1], new_links[n_links, 2] = number[top], rule, number[bottom]
                n_links += 1
        starts[0, n_spans], starts[1, n_spans], starts[2, n_spans] = n_items, n_edges, n_links
    first = starts[:, : n_spans + 1]
    return (
        new_spans[:n_spans],
        first[0],
        first[1],
        first[2],
        new_items[:n_items],
        new_edges[:n_edges],
        new_links[:n_links],
    )


def thin_forest(forest: Forest, posteriors: Posteriors, threshold: float) -> Forest:
    """The part of a forest whose items, edges and links have at least this posterior under a probabilistic model."""
    return Forest(*_thin(forest, posteriors.edges, posteriors.links, posteriors.items, threshold))
