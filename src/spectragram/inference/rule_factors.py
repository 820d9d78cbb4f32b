"""Log-linear factors of the rules of a tree: what is seen of them, distributions over the trees of a forest, steps.

A derivation is a set of edges and links of a :class:`~spectragram.inference.chart_rules.Forest`. If posteriors mu are
divided by those of what is rewritten, each step of a derivation is a choice with a probability, and

    q(tree)  =  product over its edges and links of  mu(step) / mu(item that it rewrites)
    p(tree)  ~  q(tree)  exp sum over its edges and links of  score(step)

The marginals of q are exactly mu, whatever model or mixture of models mu comes from; scores of zero change nothing.
A link is scored by the labels that it shows over its span, an edge by what is seen at its ends and at its split:

    score(link) = w[rule] + sum over labels a shown, templates t   w[place(key_t(i, j)) + a]
    score(edge) = sum over templates t   w[place(key_t(i, k, j)) + number of the parent, or of the rule]

Keys of spans are those of :mod:`~spectragram.inference.span_factors`, tables and training those of
:mod:`spectragram.learning.factors`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.chart_rules import Forest
from spectragram.inference.hashed import MIX, SMALLEST_STEP, STIR, Weights, find_place, step_weight
from spectragram.inference.span_factors import OWN
from spectragram.inference.token_factors import BEFORE, BEYOND, WITHIN

__all__ = [
    "Choices",
    "Shown",
    "choice_posteriors",
    "edge_places",
    "link_scores",
    "step_links",
    "step_places",
    "table_scores",
]

GRADES = 16
"""More than there are grades of lengths, so that the grades of both halves of a span make one number."""


class Choices(NamedTuple):
    """Logarithms of the probabilities of the steps of a derivation, or of any other weights of them."""

    edges: np.ndarray  #: float64 (n_edges,)
    links: np.ndarray  #: float64 (n_links,)
    roots: np.ndarray  #: float64 (n_items,): of top items over the whole sentence; others are not looked at


class Shown(NamedTuple):
    """The labels that links show over their spans, and what else there is to see of a link."""

    start: np.ndarray  #: int64 (n_links + 1,): those of link e are ``labels[start[e]:start[e + 1]]``
    labels: np.ndarray  #: int64 (n_shown,)
    rules: np.ndarray  #: int64 (n_links,): place of the weight of the rule, any number


@njit(cache=True, nogil=True)
def _log_sum(a: float, b: float) -> float:
    """log(exp(a) + exp(b))"""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + math.log1p(math.exp(b - a))


@njit(cache=True, nogil=True)
def _inside(forest: Forest, choices: Choices) -> np.ndarray:
    """Logarithms of the sums over the derivations below each item, (n_items,)."""
    spans, first_item, first_edge, first_link, items, edges, links = forest
    inside = np.full(len(items), -np.inf)
    for s in range(len(spans)):
        if spans[s, 1] - spans[s, 0] == 1:
            for t in range(first_item[s], first_item[s + 1]):
                if items[t, 1] == 0:
                    inside[t] = 0.0
        for e in range(first_edge[s], first_edge[s + 1]):
            parent, _, left, right = edges[e]
            inside[parent] = _log_sum(inside[parent], choices.edges[e] + inside[left] + inside[right])
        for e in range(first_link[s], first_link[s + 1]):
            top, _, bottom = links[e]
            inside[top] = _log_sum(inside[top], choices.links[e] + inside[bottom])
    return inside


@njit(cache=True, nogil=True)
def choice_posteriors(forest: Forest, choices: Choices) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Posteriors of edges, links and items under p(tree) ~ product of exp(choices), and the log of the sum.

    The sum is that over all trees. If there is no tree, posteriors are zeros and the logarithm is minus infinity.
    """
    spans, first_item, first_edge, first_link, items, edges, links = forest
    edge_out, link_out, item_out = np.zeros(len(edges)), np.zeros(len(links)), np.zeros(len(items))
    inside = _inside(forest, choices)
    outside = np.full(len(items), -np.inf)
    total = -np.inf
    for t in range(first_item[-2], first_item[-1]):
        if items[t, 1] == 1:
            total = _log_sum(total, choices.roots[t] + inside[t])
    if total == -np.inf:
        return edge_out, link_out, item_out, total
    for t in range(first_item[-2], first_item[-1]):
        if items[t, 1] == 1:
            outside[t] = choices.roots[t] - total
    for s in range(len(spans) - 1, -1, -1):
        for e in range(first_link[s], first_link[s + 1]):
            top, _, bottom = links[e]
            value = outside[top] + choices.links[e]
            link_out[e] = math.exp(value + inside[bottom])
            outside[bottom] = _log_sum(outside[bottom], value)
        for e in range(first_edge[s], first_edge[s + 1]):
            parent, _, left, right = edges[e]
            value = outside[parent] + choices.edges[e]
            edge_out[e] = math.exp(value + inside[left] + inside[right])
            outside[left] = _log_sum(outside[left], value + inside[right])
            outside[right] = _log_sum(outside[right], value + inside[left])
    for t in range(len(items)):
        if inside[t] > -np.inf:
            item_out[t] = math.exp(inside[t] + outside[t])
    return edge_out, link_out, item_out, total


@njit(cache=True, nogil=True)
def edge_places(
    columns: np.ndarray,
    forest: Forest,
    atoms: np.ndarray,
    grades: np.ndarray,
    numbers: np.ndarray,
    salt: int,
    size: int,
) -> np.ndarray:
    """Where the features of edges lie in a table of ``size`` weights, (n_edges, n_templates) int32.

    columns (c, n) int64, not negative; atoms (t, a, 3) int64: column, or -1 for none, place and offset, where the value
    of a span itself stands for the ``grades`` (n + 1,) of the lengths of both halves; numbers (n_edges,) int64: what is
    added to the place of the first weight. Another ``salt`` gives other places.
    """
    spans, items, edges = forest.spans, forest.items, forest.edges
    n = columns.shape[1]
    n_templates, n_atoms, _ = atoms.shape
    shift = np.uint64(64 - int(np.log2(size) + 0.5))
    mask = size - 1
    places = np.empty((len(edges), n_templates), np.int32)
    for e in range(len(edges)):
        i, j = spans[items[edges[e, 0], 2]]
        k = spans[items[edges[e, 2], 2], 1]
        for t in range(n_templates):
            key = np.uint64(t + salt) * STIR
            for a in range(n_atoms):
                column, place, offset = atoms[t, a]
                if column < 0:
                    break
                if place == OWN:
                    value = grades[k - i] * GRADES + grades[j - k] + WITHIN
                else:
                    at = (i if place == 0 else j if place == 1 else k) + offset
                    value = BEFORE if at < 0 else BEYOND if at >= n else columns[column, at] + WITHIN
                key = (key ^ np.uint64(value)) * MIX
                key ^= key >> np.uint64(29)
            places[e, t] = (find_place(key * STIR, shift) + numbers[e]) & mask
    return places


@njit(cache=True, nogil=True)
def table_scores(places: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The sum of the weights at the places (n, t) of each item, (n,)."""
    scores = np.zeros(len(places))
    for e in range(len(places)):
        for t in range(places.shape[1]):
            scores[e] += table[places[e, t]]
    return scores


@njit(cache=True, nogil=True)
def link_scores(forest: Forest, shown: Shown, places: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Scores of links, (n_links,); places (n_spans, t) int32 are those of the features of spans."""
    mask = len(table) - 1
    scores = np.zeros(len(forest.links))
    for e in range(len(scores)):
        scores[e] = table[shown.rules[e] & mask]
        own = places[forest.items[forest.links[e, 0], 2]]
        for label in shown.labels[shown.start[e] : shown.start[e + 1]]:
            for t in range(len(own)):
                scores[e] += table[(own[t] + label) & mask]
    return scores


@njit(cache=True, nogil=True)
def step_places(places: np.ndarray, gradient: np.ndarray, weights: Weights, rate: float, now: int) -> None:
    """Climb along the gradient (n,) of :func:`table_scores` by AdaGrad, changing ``weights``."""
    table, squares, summed = weights
    for e in range(len(gradient)):
        if abs(gradient[e]) > SMALLEST_STEP:
            for t in range(places.shape[1]):
                step_weight(table, squares, summed, np.int64(places[e, t]), gradient[e], rate, now)


@njit(cache=True, nogil=True)
def step_links(
    forest: Forest,
    shown: Shown,
    places: np.ndarray,
    gradient: np.ndarray,
    weights: Weights,
    rate: float,
    now: int,
) -> None:
    """The same for :func:`link_scores`."""
    table, squares, summed = weights
    mask = len(table) - 1
    for e in range(len(gradient)):
        g = gradient[e]
        if abs(g) > SMALLEST_STEP:
            step_weight(table, squares, summed, shown.rules[e] & mask, g, rate, now)
            own = places[forest.items[forest.links[e, 0], 2]]
            for label in shown.labels[shown.start[e] : shown.start[e + 1]]:
                for t in range(len(own)):
                    step_weight(table, squares, summed, (own[t] + label) & mask, g, rate, now)
