"""Coarse pass, upwards: inside values of a whole sentence under a plain PCFG.

    I(a, i, j) = sum over a -> b c and k of p(a -> b c) I(b, i, k) I(c, k, j)

Insides of a span share a power of two, so sentences of any length fit into doubles.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.chart_rules import Rules, SpanMask, Weights

__all__ = ["CoarseChart", "coarse_inside", "fewest_pieces", "span_id"]

BEAM = 1e-7
"""A symbol is dropped if its inside value is below this share of the largest one over the same words. Chosen by hand,
not tuned."""
NOTHING = -(1 << 40)
"""Exponent of a span over which nothing can be built: below every exponent that occurs."""


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
def coarse_inside(
    rules: Rules, weights: Weights, lex_start: np.ndarray, lex_tag: np.ndarray, lex_value: np.ndarray, mask: SpanMask
) -> CoarseChart:
    """Inside values of a whole sentence, a :class:`CoarseChart`, of what a mask allows.

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
            elif mask.cells[cell] >= 0:
                exponent[cell] = _build_span(rules, weights, chart, i, i + length)
            _close_span(rules, weights, chart, cell, mask)
    return chart


@njit(cache=True, nogil=True)
def _build_span(rules: Rules, weights: Weights, chart: CoarseChart, i: int, j: int) -> int:
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
def _close_span(rules: Rules, weights: Weights, chart: CoarseChart, cell: int, mask: SpanMask) -> None:
    """Scale the bottom values of a span and compute its top values: kept, or under a unary rule."""
    bottom, top = chart.bottom[cell], chart.top[cell]
    largest = 0.0
    for b in range(len(bottom)):
        largest = max(largest, bottom[b])
    if largest <= 0.0:
        return
    shift = math.frexp(largest)[1]
    scale = math.ldexp(1.0, -shift)
    chart.exponent[cell] += shift
    row = mask.cells[cell] - 1
    for b in range(len(bottom)):
        if bottom[b] > 0.0:
            bottom[b] *= scale
            if row < 0 or mask.kept[row, b]:
                top[b] += weights.kept[b] * bottom[b]
            for u in range(rules.child_start[b], rules.child_start[b + 1]):
                if row < 0 or mask.unary[row, u]:
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
def fewest_pieces(n: int, chart: CoarseChart) -> np.ndarray:
    """Cut a sentence into as few spans as possible over which something can be built; (n_pieces, 2).

    Of several such cuts, the most likely is taken. A word over which nothing can be built is a piece by itself, at a
    cost (1e6 nats) that exceeds the log-probability of any sentence.
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
