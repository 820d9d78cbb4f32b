"""Coarse pass, downwards: outside values under a plain PCFG, and the forest of the likely items.

    O(b, i, k) += p(a -> b c) O(a, i, j) I(c, k, j)         and the same for c
    keep an edge when O(a, i, j) p(a -> b c) I(b, i, k) I(c, k, j) >= threshold * p(sentence)

Insides I come from :mod:`~spectragram.inference.chart_coarse`. Outsides carry the inverse of a span's power of two,
divided by p(sentence), which makes inside times outside a posterior. Edges below the threshold are left out of the
recursion. :func:`thin_forest` prunes a forest once more, by the posteriors of a model with a few hidden states.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.chart_coarse import CoarseChart, coarse_inside, span_id
from spectragram.inference.chart_forest import Posteriors
from spectragram.inference.chart_rules import Forest, Rules, SpanMask, Weights, free_mask

__all__ = ["coarse_forest", "thin_forest", "thin_with_posteriors"]

SLACK = 1.0 - 1e-9
"""The posterior of an item is at least that of each of its edges; this factor keeps rounding from dropping it."""

BOTTOM, TOP, KEPT = np.int64(0), np.int64(1), np.int64(-1)
"""Layers of items, and the rule of a link that keeps its item. They have a type because numba compiles a kernel once
more for every plain number that it is given."""


class Bounds(NamedTuple):
    """The largest outside value times weight of the rules over a span, by the children of the rule."""

    of_pair: np.ndarray  #: float64 (n_pairs,), for the rows of ``Rules.pairs``
    of_left: np.ndarray  #: float64 (n_symbols,), for left children; -1 where nobody has asked yet


@njit(cache=True, nogil=True)
def _append(table: np.ndarray, used: int, a: int | np.int64, b: int | np.int64, c: int, d: int) -> np.ndarray:
    """Write a row of four into ``table``, or into a copy twice as long if all rows are used; returns the table."""
    if used == len(table):
        bigger = np.empty((2 * used, 4), np.int32)
        for row in range(used):
            for column in range(4):
                bigger[row, column] = table[row, column]
        table = bigger
    table[used, 0], table[used, 1], table[used, 2], table[used, 3] = a, b, c, d
    return table


@njit(cache=True, nogil=True)
def _prune(
    rules: Rules, weights: Weights, chart: CoarseChart, threshold: float, mask: SpanMask
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outside pass, longest spans first. Returns three tables of what reaches the threshold:

    items (symbol, layer, start, end), edges (rule, start, split, end), links (top symbol, rule or -1, start, end).
    """
    n_cells, n_symbols = chart.top.shape
    n = int((math.sqrt(8.0 * n_cells + 1.0) - 1.0) / 2.0 + 0.5)
    outside = np.zeros((n_cells, n_symbols))
    under = np.empty(n_symbols)
    bounds = Bounds(np.empty(len(rules.pairs)), np.empty(n_symbols))
    items, links, edges = np.empty((256, 4), np.int32), np.empty((256, 4), np.int32), np.empty((1024, 4), np.int32)
    n_items: int = np.int64(0)  # type: ignore[assignment]
    n_links = n_edges = n_items
    whole = span_id(0, n)
    total = 0.0
    for a in range(n_symbols):
        total += weights.root[a] * chart.top[whole, a]
    if total <= 0.0:
        return items[:0], edges[:0], links[:0]
    for a in range(n_symbols):
        outside[whole, a] = weights.root[a] / total
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            j = i + length
            before = n_items
            items, n_items, links, n_links = _open_span(
                rules, weights, chart, outside, under, i, j, threshold, mask, items, n_items, links, n_links
            )
            if n_items > before and length > 1:
                edges, n_edges = _split_span(
                    rules, weights, chart, outside, under, bounds, i, j, threshold, edges, n_edges
                )
    return items[:n_items], edges[:n_edges], links[:n_links]


@njit(cache=True, nogil=True)
def _open_span(
    rules: Rules,
    weights: Weights,
    chart: CoarseChart,
    outside: np.ndarray,
    under: np.ndarray,
    i: int,
    j: int,
    threshold: float,
    mask: SpanMask,
    items: np.ndarray,
    n_items: int,
    links: np.ndarray,
    n_links: int,
) -> tuple[np.ndarray, int, np.ndarray, int]:
    """Likely items of a span and the links between them; fills ``under`` with the outside values of bottom items."""
    cell = span_id(i, j)
    bottom, top = chart.bottom[cell], chart.top[cell]
    before = n_items
    row = mask.cells[cell] - 1
    under[:] = 0.0
    for a in chart.active[cell, : chart.n_active[cell]]:
        above = outside[cell, a]
        if above <= 0.0 or above * top[a] < threshold * SLACK:
            outside[cell, a] = 0.0
            continue
        items = _append(items, n_items, np.int64(a), TOP, i, j)
        n_items += 1
        posterior = weights.kept[a] * above * bottom[a]
        if posterior > 0.0 and posterior >= threshold and (row < 0 or mask.kept[row, a]):
            under[a] += weights.kept[a] * above
            links = _append(links, n_links, np.int64(a), KEPT, i, j)
            n_links += 1
    if n_items == before:
        return items, n_items, links, n_links
    for b in range(len(bottom)):
        if bottom[b] <= 0.0:
            continue
        for u in range(rules.child_start[b], rules.child_start[b + 1]):
            value = weights.by_child[u] * outside[cell, rules.by_child[u, 0]]
            if value > 0.0 and value * bottom[b] >= threshold and (row < 0 or mask.unary[row, u]):
                under[b] += value
                links = _append(links, n_links, np.int64(rules.by_child[u, 0]), np.int64(rules.by_child[u, 1]), i, j)
                n_links += 1
        if under[b] > 0.0:
            items = _append(items, n_items, np.int64(b), BOTTOM, i, j)
            n_items += 1
    return items, n_items, links, n_links


@njit(cache=True, nogil=True)
def _find_bounds(rules: Rules, weights: Weights, under: np.ndarray, bounds: Bounds, b: int) -> None:
    """Bounds for left child b in a span whose bottom items have the outside values ``under``."""
    bounds.of_left[b] = 0.0
    for pair in range(rules.left_start[b], rules.left_start[b + 1]):
        largest = 0.0
        for r in range(rules.pairs[pair, 1], rules.pairs[pair + 1, 1]):
            largest = max(largest, under[rules.by_children[r, 0]] * weights.by_children[r])
        bounds.of_pair[pair] = largest
        bounds.of_left[b] = max(bounds.of_left[b], largest)


@njit(cache=True, nogil=True)
def _split_span(
    rules: Rules,
    weights: Weights,
    chart: CoarseChart,
    outside: np.ndarray,
    under: np.ndarray,
    bounds: Bounds,
    i: int,
    j: int,
    threshold: float,
    edges: np.ndarray,
    n_edges: int,
) -> tuple[np.ndarray, int]:
    """Likely edges of a span; adds their share to the outside values of their children."""
    top, exponent, active, n_active = chart.top, chart.exponent, chart.active, chart.n_active
    pairs, left_start, by_children = rules.pairs, rules.left_start, rules.by_children
    bounds.of_left[:] = -1.0
    for k in range(i + 1, j):
        left, right = span_id(i, k), span_id(k, j)
        if n_active[left] == 0 or n_active[right] == 0:
            continue
        factor = math.ldexp(1.0, max(exponent[left] + exponent[right] - exponent[span_id(i, j)], -2000))
        top_left, top_right, outside_right = top[left], top[right], outside[right]
        for b in active[left, : n_active[left]]:
            value_b = top_left[b] * factor
            if bounds.of_left[b] < 0.0:
                _find_bounds(rules, weights, under, bounds, b)
            if 2.0 * value_b * bounds.of_left[b] < threshold:
                continue  # scaled top values never reach 2
            for pair in range(left_start[b], left_start[b + 1]):
                c = pairs[pair, 0]
                value = value_b * top_right[c]
                if value <= 0.0 or value * bounds.of_pair[pair] < threshold:
                    continue
                for r in range(pairs[pair, 1], pairs[pair + 1, 1]):
                    above = under[by_children[r, 0]] * weights.by_children[r]
                    if above <= 0.0 or above * value < threshold:
                        continue
                    outside[left, b] += above * top_right[c] * factor
                    outside_right[c] += above * value_b
                    edges = _append(edges, n_edges, np.int64(by_children[r, 1]), i, k, j)
                    n_edges += 1
    return edges, n_edges


def _rank(n: int, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Rank of spans ordered by length, then by start."""
    shorter = end - start - 1
    return shorter * (n + 1) - shorter * (shorter + 1) // 2 + start


def _assemble(rules: Rules, n: int, items: np.ndarray, edges: np.ndarray, links: np.ndarray) -> Forest:
    """Number the items that :func:`_prune` kept, shortest spans first, and make edges and links refer to them."""
    rank = _rank(n, items[:, 2], items[:, 3]).astype(np.int64)
    order = np.argsort((rank * 2 + items[:, 1]) * rules.n_symbols + items[:, 0])
    items, rank = items[order], rank[order]
    ranks, first_item, span_of = np.unique(rank, return_index=True, return_inverse=True)
    number = np.full((n * (n + 1) // 2, 2, rules.n_symbols), -1, np.int32)  # item of this rank, layer and symbol
    number[rank, items[:, 1], items[:, 0]] = np.arange(len(items))

    rule, i, k, j = edges.T
    parent, left, right = rules.binary[rule].T
    edge_rank = _rank(n, i, j).astype(np.int64)
    edge_order = np.argsort((edge_rank * len(rules.binary) + rule) * (n + 1) + k)
    edge_columns = (
        number[edge_rank, 0, parent],
        rule,
        number[_rank(n, i, k), 1, left],
        number[_rank(n, k, j), 1, right],
    )

    upper, above, i, j = links.T
    link_rank = _rank(n, i, j).astype(np.int64)
    below = upper.copy()
    below[above >= 0] = rules.unary[above[above >= 0], 1]
    link_order = np.argsort((link_rank * rules.n_symbols + upper) * (len(rules.unary) + 1) + above + 1)
    link_columns = (number[link_rank, 1, upper], above, number[link_rank, 0, below])

    def starts(sorted_ranks: np.ndarray) -> np.ndarray:
        return np.append(np.searchsorted(sorted_ranks, ranks), len(sorted_ranks)).astype(np.int32)

    return Forest(
        np.ascontiguousarray(items[first_item, 2:]),
        np.append(first_item, len(items)).astype(np.int32),
        starts(edge_rank[edge_order]),
        starts(link_rank[link_order]),
        np.column_stack([items[:, :2], span_of]).astype(np.int32),
        np.stack(edge_columns, axis=1)[edge_order].astype(np.int32),
        np.stack(link_columns, axis=1)[link_order].astype(np.int32),
    )


def coarse_forest(
    rules: Rules,
    weights: Weights,
    lexical: tuple[np.ndarray, np.ndarray, np.ndarray],
    threshold: float,
    mask: SpanMask | None = None,
) -> Forest | None:
    """The forest of edges, links and items whose posterior reaches ``threshold``; None if there is no parse.

    ``lexical`` is ``(lex_start, lex_tag, lex_value)`` as :func:`coarse_inside` takes them; a ``mask`` says what may
    stand over each span.
    """
    n = len(lexical[0]) - 1
    mask = free_mask(rules, n) if mask is None else mask
    found = _prune(rules, weights, coarse_inside(rules, weights, *lexical, mask), threshold, mask)
    return _assemble(rules, n, *found) if len(found[0]) else None


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


def thin_with_posteriors(forest: Forest, posteriors: Posteriors, threshold: float) -> tuple[Forest, Posteriors]:
    """That part of a forest, and the posteriors of what it consists of."""
    edges, links, items = posteriors[2:]
    is_kept = items >= threshold
    kept_edges = (edges >= threshold) & is_kept[forest.edges[:, [0, 2, 3]]].all(axis=1)
    kept_links = (links >= threshold) & is_kept[forest.links[:, [0, 2]]].all(axis=1)
    left = posteriors._replace(edges=edges[kept_edges], links=links[kept_links], items=items[is_kept])
    return thin_forest(forest, posteriors, threshold), left
