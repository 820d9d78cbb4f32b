"""What the chart of a left-branching grammar may build, given the pruned forest of the right-branching one.

Both binarise the same trees, so a label or tag that the first one finds unlikely need not be built by the second:

    label X over (i, j)              if the first forest has X over (i, j), on both layers
    unary rule over (i, j)           if the first forest has both of its symbols there
    @X, a first part of X, (i, k)    if the first forest has some X over (i, j), and any item over (k, j): its last
                                     part or its last child
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.chart_coarse import span_id
from spectragram.inference.chart_rules import Forest, Rules, SpanMask

__all__ = ["guided_mask"]


@njit(cache=True, nogil=True)
def _found(n: int, forest: Forest, same: np.ndarray, n_symbols: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Symbols of the second grammar that stand on both layers of each cell, and whether any item tops a cell."""
    spans, items = forest.spans, forest.items
    n_cells = n * (n + 1) // 2
    layers = np.zeros((2, n_cells, n_symbols), np.bool_)
    tops = np.zeros(n_cells, np.bool_)
    for t in range(len(items)):
        symbol, top, span = items[t]
        cell = span_id(spans[span, 0], spans[span, 1])
        if same[symbol] >= 0:
            layers[top, cell, same[symbol]] = True
        tops[cell] |= top == 1
    return layers[0], layers[1], tops


@njit(cache=True, nogil=True)
def guided_mask(n: int, forest: Forest, same: np.ndarray, part: np.ndarray, rules: Rules) -> SpanMask:
    """The mask of a sentence of n words for the grammar with these ``rules``.

    ``same`` (n_first_symbols,) is the symbol of the second grammar with the same name as one of the first, or -1;
    ``part`` (n_symbols,) the intermediate symbol that parts of a phrase have there, or -1 for other symbols.
    """
    n_symbols, n_unary = len(part), len(rules.by_child)
    bottom, top, tops = _found(n, forest, same, n_symbols)
    kept = bottom & top
    for a in range(n_symbols):
        if part[a] >= 0:
            kept[:, part[a]] = False
    for t in range(len(forest.items)):
        symbol, layer, span = forest.items[t]
        x = same[symbol]
        if layer == 1 or x < 0 or part[x] < 0:
            continue
        i, j = forest.spans[span]
        for k in range(i + 2, j):
            if tops[span_id(k, j)]:
                kept[span_id(i, k), part[x]] = True
    unary = np.zeros((len(kept), n_unary), np.bool_)
    cells = np.full(len(kept), -1, np.int32)
    for cell in range(len(kept)):
        for b in range(n_symbols):
            if kept[cell, b]:
                cells[cell] = cell + 1
            for u in range(rules.child_start[b], rules.child_start[b + 1]):
                if bottom[cell, b] and top[cell, rules.by_child[u, 0]]:
                    unary[cell, u] = True
                    cells[cell] = cell + 1
    return SpanMask(cells, kept, unary)
