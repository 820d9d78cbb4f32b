"""Coarse pass: inside-outside with a plain PCFG, and the forest of what it finds likely.

    inside    I(a, i, j) = sum over a -> b c and k of p(a -> b c) I(b, i, k) I(c, k, j)
    outside   O(b, i, k) += p(a -> b c) O(a, i, j) I(c, k, j)         and the same for c
    keep an edge when O(a, i, j) p(a -> b c) I(b, i, k) I(c, k, j) >= threshold * p(sentence)

Insides of a span share a power of two, so sentences of any length fit into doubles; outsides carry its inverse,
divided by p(sentence), which makes inside times outside a posterior. What falls below the threshold takes no part in
the outside recursion, so most of a long sentence's chart is never visited a second time.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from spectragram.inference.chart_rules import Forest, Rules, Weights

__all__ = ["coarse_forest", "coarse_inside"]

BEAM = 1e-7
"""A symbol this much less likely than the likeliest one over the same words is dropped at once."""
SLACK = 1.0 - 1e-9
"""An item holds at least the posterior of each of its edges; rounding must not drop it."""


@njit(cache=True, nogil=True)
def span_id(i: int, j: int) -> int:
    """Number of the span (i, j) in a triangular chart."""
    return j * (j - 1) // 2 + i


@njit(cache=True, nogil=True)
def coarse_inside(rules, weights, lex_start, lex_tag, lex_value):  # type: ignore[no-untyped-def]
    """Inside values of all bottom and top items.

    Parameters
    ----------
    rules, weights : Rules, Weights
    lex_start : int32 array, shape (n + 1,)
    lex_tag, lex_value : int32 and float64 arrays
        Word i may have the tags ``lex_tag[lex_start[i]:lex_start[i + 1]]``, with p(word | tag) up to a factor.

    Returns
    -------
    bottom, top : float64 arrays, shape (n * (n + 1) / 2, n_symbols)
        Each row to be multiplied by two to the power of ``exponent``.
    exponent : int64 array
    active : int16 array, n_active : int32 array
        Symbols with a non-zero top value, ``active[s, :n_active[s]]``.
    """
    n = len(lex_start) - 1
    n_symbols = len(rules.left_start) - 1
    n_cells = n * (n + 1) // 2
    bottom = np.zeros((n_cells, n_symbols))
    top = np.zeros((n_cells, n_symbols))
    exponent = np.zeros(n_cells, np.int64)
    active = np.empty((n_cells, n_symbols), np.int16)
    n_active = np.zeros(n_cells, np.int32)
    by_children, pairs, left_start = rules.by_children, rules.pairs, rules.left_start
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            cell = span_id(i, j)
            row = bottom[cell]
            base = np.int64(-(1 << 40))
            if length == 1:
                base = 0
                for e in range(lex_start[i], lex_start[i + 1]):
                    row[lex_tag[e]] = lex_value[e]
            for k in range(i + 1, j):
                if n_active[span_id(i, k)] > 0 and n_active[span_id(k, j)] > 0:
                    base = max(base, exponent[span_id(i, k)] + exponent[span_id(k, j)])
            for k in range(i + 1, j):
                left, right = span_id(i, k), span_id(k, j)
                if n_active[left] == 0 or n_active[right] == 0:
                    continue
                factor = math.ldexp(1.0, max(exponent[left] + exponent[right] - base, -2000))
                if factor == 0.0:
                    continue
                for p in range(n_active[left]):
                    b = np.int64(active[left, p])
                    value_b = top[left, b] * factor
                    for pair in range(left_start[b], left_start[b + 1]):
                        value = value_b * top[right, pairs[pair, 0]]
                        if value > 0.0:
                            for r in range(pairs[pair, 1], pairs[pair + 1, 1]):
                                row[by_children[r, 0]] += value * weights.by_children[r]
            largest = row.max()
            if largest <= 0.0:
                continue
            shift = math.frexp(largest)[1]
            exponent[cell] = base + shift
            row *= math.ldexp(1.0, -shift)
            _close_span(rules, weights, row, top[cell])
            least = BEAM * top[cell].max()
            for a in range(n_symbols):
                if top[cell, a] > least:
                    active[cell, n_active[cell]] = a
                    n_active[cell] += 1
                else:
                    top[cell, a] = 0.0
    return bottom, top, exponent, active, n_active


@njit(cache=True, nogil=True)
def _close_span(rules, weights, bottom, top):  # type: ignore[no-untyped-def]
    """Top values of a span from its bottom values: kept, or under a unary rule."""
    for b in range(len(bottom)):
        if bottom[b] > 0.0:
            top[b] += weights.kept[b] * bottom[b]
            for u in range(rules.child_start[b], rules.child_start[b + 1]):
                top[rules.by_child[u, 0]] += weights.by_child[u] * bottom[b]


@njit(cache=True, nogil=True)
def _append(table, used, a, b, c, d):  # type: ignore[no-untyped-def]
    """Write a row of four into ``table``, or into a copy twice as long when all rows are used; returns the table."""
    if used == len(table):
        bigger = np.empty((2 * used, 4), np.int32)
        bigger[:used] = table
        table = bigger
    table[used, 0], table[used, 1], table[used, 2], table[used, 3] = a, b, c, d
    return table


@njit(cache=True, nogil=True)
def _prune(rules, weights, inside, threshold):  # type: ignore[no-untyped-def]
    """Outside pass; items, edges (cell, rule, left cell, right cell) and links of sufficient posterior, longest first."""
    bottom, top, exponent, active, n_active = inside
    n_cells, n_symbols = top.shape
    n = int((math.sqrt(8.0 * n_cells + 1.0) - 1.0) / 2.0 + 0.5)
    outside = np.zeros((n_cells, n_symbols))
    under = np.empty(n_symbols)
    top_max = np.empty(n_cells)
    for cell in range(n_cells):
        top_max[cell] = top[cell].max()
    items = np.empty((256, 4), np.int32)  # symbol, layer, start, end
    edges = np.empty((1024, 4), np.int32)  # rule, start, split, end
    links = np.empty((256, 4), np.int32)  # top symbol, unary rule, start, end
    n_items = n_edges = n_links = 0
    by_children, pairs, left_start = rules.by_children, rules.pairs, rules.left_start
    whole = span_id(0, n)
    total = 0.0
    for a in range(n_symbols):
        total += weights.root[a] * top[whole, a]
    if total > 0.0:
        outside[whole] = weights.root / total
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            j = i + length
            cell = span_id(i, j)
            under[:] = 0.0
            alive = False
            for q in range(n_active[cell]):
                a = np.int64(active[cell, q])
                if outside[cell, a] * top[cell, a] < threshold * SLACK or outside[cell, a] <= 0.0:
                    outside[cell, a] = 0.0
                    continue
                alive = True
                items = _append(items, n_items, a, 1, i, j)
                n_items += 1
                kept = weights.kept[a] * outside[cell, a]
                if bottom[cell, a] * kept > 0.0 and bottom[cell, a] * kept >= threshold:
                    under[a] += kept
                    links = _append(links, n_links, a, -1, i, j)
                    n_links += 1
            if not alive:
                continue
            for b in range(n_symbols):
                if bottom[cell, b] <= 0.0:
                    continue
                for u in range(rules.child_start[b], rules.child_start[b + 1]):
                    value = weights.by_child[u] * outside[cell, rules.by_child[u, 0]]
                    if value > 0.0 and value * bottom[cell, b] >= threshold:
                        under[b] += value
                        links = _append(links, n_links, rules.by_child[u, 0], rules.by_child[u, 1], i, j)
                        n_links += 1
                if under[b] > 0.0:
                    items = _append(items, n_items, b, 0, i, j)
                    n_items += 1
            # Weights are at most 1, so the largest values bound the posterior of every edge with left child b.
            largest = under.max()
            for k in range(i + 1, j):
                left, right = span_id(i, k), span_id(k, j)
                if n_active[left] == 0 or n_active[right] == 0:
                    continue
                factor = math.ldexp(1.0, max(exponent[left] + exponent[right] - exponent[cell], -2000))
                bound = factor * largest * top_max[right]
                if bound * top_max[left] < threshold:
                    continue
                for p in range(n_active[left]):
                    b = np.int64(active[left, p])
                    if top[left, b] * bound < threshold:
                        continue
                    value_b = top[left, b] * factor
                    for pair in range(left_start[b], left_start[b + 1]):
                        c = pairs[pair, 0]
                        value = value_b * top[right, c]
                        if value <= 0.0 or value * largest < threshold:
                            continue
                        for r in range(pairs[pair, 1], pairs[pair + 1, 1]):
                            above = under[by_children[r, 0]] * weights.by_children[r]
                            if above <= 0.0 or above * value < threshold:
                                continue
                            outside[left, b] += above * top[right, c] * factor
                            outside[right, c] += above * value_b
                            edges = _append(edges, n_edges, by_children[r, 1], i, k, j)
                            n_edges += 1
    return items[:n_items], edges[:n_edges], links[:n_links]


def _rank(n: int, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Place of spans in the order by length, then by start."""
    shorter = end - start - 1
    return shorter * (n + 1) - shorter * (shorter + 1) // 2 + start


def _assemble(rules: Rules, n: int, items: np.ndarray, edges: np.ndarray, links: np.ndarray) -> Forest:
    """Number what :func:`_prune` kept, shortest spans first, and let edges and links refer to items."""
    n_symbols = rules.n_symbols
    rank = _rank(n, items[:, 2], items[:, 3])
    order = np.lexsort((items[:, 0], items[:, 1], rank))
    items, rank = items[order], rank[order]
    ranks, first_item, span_of = np.unique(rank, return_index=True, return_inverse=True)
    number = np.full((n * (n + 1) // 2, 2, n_symbols), -1, np.int32)  # item of this rank, layer and symbol
    number[rank, items[:, 1], items[:, 0]] = np.arange(len(items))

    rule, i, k, j = edges.T
    parent, left, right = rules.binary[rule].T
    edge_rank = _rank(n, i, j)
    order = np.lexsort((k, rule, edge_rank))
    table = [number[edge_rank, 0, parent], rule, number[_rank(n, i, k), 1, left], number[_rank(n, k, j), 1, right]]
    new_edges = np.stack(table, axis=1)[order]

    upper, above, i, j = links.T
    link_rank = _rank(n, i, j)
    below = upper.copy()
    below[above >= 0] = rules.unary[above[above >= 0], 1]
    link_order = np.lexsort((above, upper, link_rank))
    table = [number[link_rank, 1, upper], above, number[link_rank, 0, below]]
    new_links = np.stack(table, axis=1)[link_order]

    def starts(sorted_ranks: np.ndarray) -> np.ndarray:
        return np.append(np.searchsorted(sorted_ranks, ranks), len(sorted_ranks)).astype(np.int32)

    return Forest(
        np.ascontiguousarray(items[first_item, 2:]),
        np.append(first_item, len(items)).astype(np.int32),
        starts(edge_rank[order]),
        starts(link_rank[link_order]),
        np.column_stack([items[:, :2], span_of]).astype(np.int32),
        new_edges.astype(np.int32),
        new_links.astype(np.int32),
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
    inside = coarse_inside(rules, weights, *lexical)
    found = _prune(rules, weights, inside, threshold)
    if not len(found[0]):
        return None
    return _assemble(rules, len(lexical[0]) - 1, *found)


@njit(cache=True, nogil=True)
def fewest_pieces(n, inside):  # type: ignore[no-untyped-def]
    """Cut a sentence into the fewest spans over which something can be built, the likeliest ones; (n_pieces, 2).

    ``inside`` is what :func:`coarse_inside` gave. A word over which nothing can be built is a piece by itself.
    """
    _, top, exponent, _, n_active = inside
    pieces = np.full(n + 1, n + 1, np.int64)
    score = np.full(n + 1, -np.inf)
    begin = np.zeros(n + 1, np.int64)
    pieces[0], score[0] = 0, 0.0
    for j in range(1, n + 1):
        for i in range(j):
            cell = span_id(i, j)
            if n_active[cell] == 0 and j - i > 1:
                continue
            value = score[i] - 1e6
            if n_active[cell] > 0:
                value = score[i] + np.log(top[cell].max()) + exponent[cell] * np.log(2.0)
            if pieces[i] + 1 < pieces[j] or (pieces[i] + 1 == pieces[j] and value > score[j]):
                pieces[j], score[j], begin[j] = pieces[i] + 1, value, i
    cuts = np.empty((pieces[n], 2), np.int64)
    j = n
    for p in range(pieces[n] - 1, -1, -1):
        cuts[p, 0], cuts[p, 1] = begin[j], j
        j = begin[j]
    return cuts
