"""Coarse pass: inside-outside with a plain PCFG, and the forest of what it finds likely.

    inside    I(a, i, j) = sum over a -> b c and k of p(a -> b c) I(b, i, k) I(c, k, j)
    outside   O(b, i, k) += p(a -> b c) O(a, i, j) I(c, k, j)         and the same for c
    keep an edge when O(a, i, j) p(a -> b c) I(b, i, k) I(c, k, j) >= threshold * p(sentence)

Insides of a span share a power of two, so sentences of any length fit into doubles; outsides carry its inverse,
divided by p(sentence), which makes inside times outside a posterior. What falls below the threshold takes no part in
the outside recursion.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.chart_rules import Forest, Rules, Weights

__all__ = ["CoarseChart", "coarse_forest", "coarse_inside", "fewest_pieces", "span_id"]

BEAM = 1e-7
"""A symbol this much less likely than the likeliest one over the same words is dropped at once."""
SLACK = 1.0 - 1e-9
"""An item holds at least the posterior of each of its edges; rounding must not drop it."""
NOTHING = -(1 << 40)
"""Exponent of a span over which nothing can be built."""


class CoarseChart(NamedTuple):
    """Inside values; a chart cell, the row ``span_id(i, j)``, holds all symbols over words i .. j-1."""

    bottom: np.ndarray  #: float64 (n_cells, n_symbols), to be multiplied by two to the power of exponent
    top: np.ndarray  #: likewise
    exponent: np.ndarray  #: int64 (n_cells,)
    active: np.ndarray  #: uint16 (n_cells, n_symbols): symbols with a top value, ``active[cell, :n_active[cell]]``
    n_active: np.ndarray  #: int32 (n_cells,)


@njit(cache=True, nogil=True)
def span_id(i: int, j: int) -> int:
    """Number of the span (i, j) in a triangular chart."""
    return j * (j - 1) // 2 + i


@njit(cache=True, nogil=True)
def coarse_inside(rules, weights, lex_start, lex_tag, lex_value):  # type: ignore[no-untyped-def]
    """Inside values of a whole sentence, a :class:`CoarseChart`.

    Word i may have the tags ``lex_tag[lex_start[i]:lex_start[i + 1]]`` (int32), with p(word | tag) up to a factor in
    ``lex_value`` (float64).
    """
    n = len(lex_start) - 1
    n_symbols = len(rules.left_start) - 1
    n_cells = n * (n + 1) // 2
    bottom = np.zeros((n_cells, n_symbols))
    top = np.zeros((n_cells, n_symbols))
    exponent = np.zeros(n_cells, np.int64)
    active = np.empty((n_cells, n_symbols), np.uint16)
    n_active = np.zeros(n_cells, np.int32)
    chart = CoarseChart(bottom, top, exponent, active, n_active)
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            cell = span_id(i, i + length)
            if length == 1:
                for e in range(lex_start[i], lex_start[i + 1]):
                    bottom[cell, lex_tag[e]] = lex_value[e]
            else:
                exponent[cell] = _build_span(rules, weights, chart, i, i + length)
            _close_span(rules, weights, chart, cell)
    return chart


@njit(cache=True, nogil=True)
def _build_span(rules, weights, chart, i, j):  # type: ignore[no-untyped-def]
    """Add all binary rules over a span to its bottom values; returns their exponent."""
    top, exponent, active, n_active = chart.top, chart.exponent, chart.active, chart.n_active
    pairs, left_start, by_children = rules.pairs, rules.left_start, rules.by_children
    row = chart.bottom[span_id(i, j)]
    base = NOTHING
    for k in range(i + 1, j):
        if n_active[span_id(i, k)] > 0 and n_active[span_id(k, j)] > 0:
            base = max(base, exponent[span_id(i, k)] + exponent[span_id(k, j)])
    for k in range(i + 1, j):
        left, right = span_id(i, k), span_id(k, j)
        if n_active[left] == 0 or n_active[right] == 0:
            continue
        factor = math.ldexp(1.0, max(exponent[left] + exponent[right] - base, -2000))
        top_left, top_right = top[left], top[right]
        for b in active[left, : n_active[left]]:
            value_b = top_left[b] * factor
            for pair in range(left_start[b], left_start[b + 1]):
                value = value_b * top_right[pairs[pair, 0]]
                if value > 0.0:
                    for r in range(pairs[pair, 1], pairs[pair + 1, 1]):
                        row[by_children[r, 0]] += value * weights.by_children[r]
    return base


@njit(cache=True, nogil=True)
def _close_span(rules, weights, chart, cell):  # type: ignore[no-untyped-def]
    """Scale the bottom values of a span, and derive its top values: kept, or under a unary rule."""
    bottom, top = chart.bottom[cell], chart.top[cell]
    largest = 0.0
    for b in range(len(bottom)):
        largest = max(largest, bottom[b])
    if largest <= 0.0:
        return
    shift = math.frexp(largest)[1]
    scale = math.ldexp(1.0, -shift)
    chart.exponent[cell] += shift
    for b in range(len(bottom)):
        if bottom[b] > 0.0:
            bottom[b] *= scale
            top[b] += weights.kept[b] * bottom[b]
            for u in range(rules.child_start[b], rules.child_start[b + 1]):
                top[rules.by_child[u, 0]] += weights.by_child[u] * bottom[b]
    largest = 0.0
    for a in range(len(top)):
        largest = max(largest, top[a])
    for a in range(len(top)):
        if top[a] > BEAM * largest:
            chart.active[cell, chart.n_active[cell]] = a
            chart.n_active[cell] += 1
        else:
            top[a] = 0.0


@njit(cache=True, nogil=True)
def _append(table, used, a, b, c, d):  # type: ignore[no-untyped-def]
    """Write a row of four into ``table``, or into a copy twice as long when all rows are used; returns the table."""
    if used == len(table):
        bigger = np.empty((2 * used, 4), np.int32)
        for row in range(used):
            for column in range(4):
                bigger[row, column] = table[row, column]
        table = bigger
    table[used, 0], table[used, 1], table[used, 2], table[used, 3] = a, b, c, d
    return table


@njit(cache=True, nogil=True)
def _prune(rules, weights, chart, threshold):  # type: ignore[no-untyped-def]
    """Outside pass, longest spans first. Three tables of what is likely enough:

    items (symbol, layer, start, end), edges (rule, start, split, end), links (top symbol, rule or -1, start, end).
    """
    n_cells, n_symbols = chart.top.shape
    n = int((math.sqrt(8.0 * n_cells + 1.0) - 1.0) / 2.0 + 0.5)
    outside = np.zeros((n_cells, n_symbols))
    under = np.empty(n_symbols)
    items, links, edges = np.empty((256, 4), np.int32), np.empty((256, 4), np.int32), np.empty((1024, 4), np.int32)
    n_items = n_links = n_edges = 0
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
                rules, weights, chart, outside, under, i, j, threshold, items, n_items, links, n_links
            )
            if n_items > before:
                edges, n_edges = _split_span(rules, weights, chart, outside, under, i, j, threshold, edges, n_edges)
    return items[:n_items], edges[:n_edges], links[:n_links]


@njit(cache=True, nogil=True)
def _open_span(rules, weights, chart, outside, under, i, j, threshold, items, n_items, links, n_links):  # type: ignore[no-untyped-def]
    """Likely top items of a span, the links below them and the bottom items; fills ``under``, the bottoms' outsides."""
    cell = span_id(i, j)
    bottom, top = chart.bottom[cell], chart.top[cell]
    before = n_items
    under[:] = 0.0
    for a in chart.active[cell, : chart.n_active[cell]]:
        above = outside[cell, a]
        if above <= 0.0 or above * top[a] < threshold * SLACK:
            outside[cell, a] = 0.0
            continue
        items = _append(items, n_items, a, 1, i, j)
        n_items += 1
        posterior = weights.kept[a] * above * bottom[a]
        if posterior > 0.0 and posterior >= threshold:
            under[a] += weights.kept[a] * above
            links = _append(links, n_links, a, -1, i, j)
            n_links += 1
    if n_items == before:
        return items, n_items, links, n_links
    for b in range(len(bottom)):
        if bottom[b] <= 0.0:
            continue
        for u in range(rules.child_start[b], rules.child_start[b + 1]):
            value = weights.by_child[u] * outside[cell, rules.by_child[u, 0]]
            if value > 0.0 and value * bottom[b] >= threshold:
                under[b] += value
                links = _append(links, n_links, np.int64(rules.by_child[u, 0]), np.int64(rules.by_child[u, 1]), i, j)
                n_links += 1
        if under[b] > 0.0:
            items = _append(items, n_items, b, 0, i, j)
            n_items += 1
    return items, n_items, links, n_links


@njit(cache=True, nogil=True)
def _split_span(rules, weights, chart, outside, under, i, j, threshold, edges, n_edges):  # type: ignore[no-untyped-def]
    """Likely edges of a span, and what they add to the outsides of their parts."""
    top, exponent, active, n_active = chart.top, chart.exponent, chart.active, chart.n_active
    pairs, left_start, by_children = rules.pairs, rules.left_start, rules.by_children
    largest = 0.0
    for a in range(len(under)):
        largest = max(largest, under[a])
    for k in range(i + 1, j):
        left, right = span_id(i, k), span_id(k, j)
        if n_active[left] == 0 or n_active[right] == 0:
            continue
        factor = math.ldexp(1.0, max(exponent[left] + exponent[right] - exponent[span_id(i, j)], -2000))
        top_left, top_right, outside_right = top[left], top[right], outside[right]
        for b in active[left, : n_active[left]]:
            value_b = top_left[b] * factor
            if 2.0 * value_b * largest < threshold:
                continue  # scaled top values never reach 2
            for pair in range(left_start[b], left_start[b + 1]):
                c = pairs[pair, 0]
                value = value_b * top_right[c]
                # Weights are at most 1: this bounds the posteriors of all rules with these children.
                if value <= 0.0 or value * largest < threshold:
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
    """Place of spans in the order by length, then by start."""
    shorter = end - start - 1
    return shorter * (n + 1) - shorter * (shorter + 1) // 2 + start


def _assemble(rules: Rules, n: int, items: np.ndarray, edges: np.ndarray, links: np.ndarray) -> Forest:
    """Number what :func:`_prune` kept, shortest spans first, and let edges and links refer to items."""
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
) -> Forest | None:
    """The forest of edges, links and items whose posterior reaches ``threshold``; None where nothing parses.

    ``lexical`` is ``(lex_start, lex_tag, lex_value)`` as :func:`coarse_inside` takes them.
    """
    found = _prune(rules, weights, coarse_inside(rules, weights, *lexical), threshold)
    return _assemble(rules, len(lexical[0]) - 1, *found) if len(found[0]) else None


@njit(cache=True, nogil=True)
def fewest_pieces(n, chart):  # type: ignore[no-untyped-def]
    """Cut a sentence into the fewest spans over which something can be built, the likeliest ones; (n_pieces, 2).

    A word over which nothing can be built is a piece by itself.
    """
    pieces = np.full(n + 1, n + 1, np.int64)
    score = np.full(n + 1, -np.inf)
    begin = np.zeros(n + 1, np.int64)
    pieces[0], score[0] = 0, 0.0
    for j in range(1, n + 1):
        for i in range(j):
            cell = span_id(i, j)
            if chart.n_active[cell] == 0 and j - i > 1:
                continue
            value = score[i] - 1e6
            if chart.n_active[cell] > 0:
                value = score[i] + np.log(chart.top[cell].max()) + chart.exponent[cell] * np.log(2.0)
            if pieces[i] + 1 < pieces[j] or (pieces[i] + 1 == pieces[j] and value > score[j]):
                pieces[j], score[j], begin[j] = pieces[i] + 1, value, i
    cuts = np.empty((pieces[n], 2), np.int64)
    j = n
    for p in range(pieces[n] - 1, -1, -1):
        cuts[p, 0], cuts[p, 1] = begin[j], j
        j = begin[j]
    return cuts
