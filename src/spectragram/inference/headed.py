"""Inside-outside for split head automata with surface factors (Balle et al. 2014, appendix A).

    P(y) = root[r] prod_{h,d} alpha_1 A_{x_1} ... A_{x_T} alpha_inf * prod_{arcs of y} arc * prod_{halves of y} stop

    paper               here                              shape
    theta^C, theta^I    halves, links                     (2, n, n, m)   [direction, head, distance to the far end]
    alpha_1, alpha_inf  initial, final                    (2, k, m)      [direction, symbol of the head]
    A_sigma             operators                         (2, k, k, m, m)   [direction, head, modifier]
    mu_{i,j}            arc marginals                     (2, n, n)

A *half* is a head with its modifiers on one side and everything below them; a *link* is a half whose last modifier
still lacks its outer half. Everything is indexed by direction (LEFT 0, RIGHT 1), head and distance, so that one
recursion serves both sides: ``arcs[d, i, s]`` is about the modifier s places from word i, ``stops[d, i, s]`` about
ending a half there.
The root above the sentence takes exactly one word and has no automaton.

Costs O(n^3 m + n^2 m^2), less where arcs are ruled out (score -inf): links and halves that are left without any tree
are *dead*, and nothing is added up over them. Weights may be negative (spectral estimates): the sign of Z is returned.
Every word is the modifier of one arc, so a constant factor for each word changes only Z. The factor is chosen, and
adjusted if needed, so that products of hundreds of small numbers stay inside float64.

:func:`best_heads` decodes marginals: the projective tree with the highest sum of arc scores (Eisner 2000),

    y* = argmax_y sum_{(i, j) in y} score(i, j)                                                          (equation 2)
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["LEFT", "RIGHT", "best_heads", "inside_outside"]

LEFT, RIGHT = 0, 1
TINY, HUGE = 1e-200, 1e200
"""Values outside this range are rescaled: products of a few more numbers would leave float64."""
RETRIES = 8
"""Attempts to find a scale. Chosen by hand, not tuned."""


@njit(cache=True, nogil=True)
def inside_outside(
    symbols: np.ndarray,
    root: np.ndarray,
    initial: np.ndarray,
    operators: np.ndarray,
    final: np.ndarray,
    arc_scores: np.ndarray,
    stop_scores: np.ndarray,
) -> tuple[float, float, np.ndarray, np.ndarray, np.ndarray]:
    """Z and the marginals of one sentence.

    symbols (n,) int; root (n,), log-scores of heading the sentence; initial, operators, final as above;
    arc_scores, stop_scores (2, n, n), logarithms of the factors.
    Returns the sign of Z (0 if all trees have weight 0), log |Z|, and the marginals of roots (n,), arcs and stops
    (2, n, n), all zero if Z is 0.
    """
    n = len(symbols)
    tops, arcs, stops, log_shift = _bounded(root, arc_scores, stop_scores)
    log_scale = 0.0
    for _ in range(RETRIES):
        links, halves, closed, linked, live, largest, reached = _inside(symbols, initial, operators, final, arcs, stops)
        if reached == n:
            break
        # Values at distance s hold s factors of each kind, so they grow by this factor with each step of distance.
        step = np.log(largest) / reached
        arcs *= np.exp(-step)
        log_scale += step
    z = 0.0
    for i in range(n):
        z += tops[i] * closed[LEFT, i, i] * closed[RIGHT, i, n - 1 - i]
    if z == 0.0 or not np.isfinite(z) or reached < n:
        return 0.0, -np.inf, np.zeros(n), np.zeros((2, n, n)), np.zeros((2, n, n))
    roots, arc_marginals, stop_marginals = _outside(
        symbols, tops / z, operators, final, arcs, stops, links, halves, closed, linked, live
    )
    return np.sign(z), np.log(abs(z)) + log_shift + log_scale * (n - 1), roots, arc_marginals, stop_marginals


@njit(nogil=True, inline="always")
def _bounded(
    root: np.ndarray, arc_scores: np.ndarray, stop_scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Factors scaled so that the largest of each word, and of the ends of each half, is 1; log of the scale."""
    n = len(root)
    tops, arcs, stops = np.zeros(n), np.zeros((2, n, n)), np.zeros((2, n, n))
    log_shift = 0.0
    for j in range(n):
        best = root[j]
        for i in range(n):
            if i != j:
                best = max(best, arc_scores[int(i < j), i, abs(i - j)])
        if best == -np.inf:
            best = 0.0
        log_shift += best
        tops[j] = np.exp(root[j] - best)
        for i in range(n):
            if i != j:
                arcs[int(i < j), i, abs(i - j)] = np.exp(arc_scores[int(i < j), i, abs(i - j)] - best)
    for d in range(2):
        for i in range(n):
            room = n - i if d == RIGHT else i + 1
            best = -np.inf
            for s in range(room):
                best = max(best, stop_scores[d, i, s])
            log_shift += best
            for s in range(room):
                stops[d, i, s] = np.exp(stop_scores[d, i, s] - best)
    return tops, arcs, stops, log_shift


@njit(nogil=True, inline="always")
def _inside(
    symbols: np.ndarray,
    initial: np.ndarray,
    operators: np.ndarray,
    final: np.ndarray,
    arcs: np.ndarray,
    stops: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, int]:
    """Links, halves (2, n, n, m), closed halves (2, n, n); the largest closed value, and the distance reached.

    Before these two: which links and which halves are not dead, (2, n, n) bool. The distance is n unless values leave
    the safe range earlier.
    """
    n, m = len(symbols), initial.shape[2]
    links, halves = np.zeros((2, n, n, m)), np.zeros((2, n, n, m))
    closed = np.zeros((2, n, n))
    linked, live = np.zeros((2, n, n), np.bool_), np.zeros((2, n, n), np.bool_)
    live[:, :, 0] = True
    summed = np.empty(m)
    for d in range(2):
        for i in range(n):
            # half(i, i) = alpha_1 of i                                                                     (equation 3)
            for q in range(m):
                halves[d, i, 0, q] = initial[d, symbols[i], q]
            closed[d, i, 0] = np.dot(initial[d, symbols[i]], final[d, symbols[i]]) * stops[d, i, 0]
    for w in range(1, n):
        largest = 0.0
        for d in range(2):
            away = 2 * d - 1
            for i in range(n - w) if d == RIGHT else range(w, n):
                j = i + away * w
                # link(i, j) = arc(i, j) (sum_k half(i, k) closed(j, k + 1)) A_j                        (equation 5)
                if arcs[d, i, w] != 0.0:
                    summed[:] = 0.0
                    for s in range(w):
                        if live[d, i, s] and live[1 - d, j, w - 1 - s]:
                            linked[d, i, w] = True
                            inner = closed[1 - d, j, w - 1 - s]
                            for q in range(m):
                                summed[q] += halves[d, i, s, q] * inner
                    weights = operators[d, symbols[i], symbols[j]]
                    link = links[d, i, w]
                    for q in range(m):
                        share = summed[q] * arcs[d, i, w]
                        for p in range(m):
                            link[p] += share * weights[q, p]
                # half(i, j) = sum_k link(i, k) closed(k, j)                                             (equation 4)
                half = halves[d, i, w]
                for s in range(1, w + 1):
                    if linked[d, i, s] and live[d, i + away * s, w - s]:
                        live[d, i, w] = True
                        outer = closed[d, i + away * s, w - s]
                        for q in range(m):
                            half[q] += links[d, i, s, q] * outer
                closed[d, i, w] = np.dot(half, final[d, symbols[i]]) * stops[d, i, w]
                largest = max(largest, abs(closed[d, i, w]))
        if largest > HUGE or 0.0 < largest < TINY:
            return links, halves, closed, linked, live, largest, w
    return links, halves, closed, linked, live, 1.0, n


@njit(nogil=True, inline="always")
def _outside(
    symbols: np.ndarray,
    tops: np.ndarray,
    operators: np.ndarray,
    final: np.ndarray,
    arcs: np.ndarray,
    stops: np.ndarray,
    links: np.ndarray,
    halves: np.ndarray,
    closed: np.ndarray,
    linked: np.ndarray,
    live: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Marginals of roots (n,), arcs and stops (2, n, n): each value times the derivative of Z by it, over Z.

    ``tops`` comes divided by Z.
    """
    n, m = len(symbols), links.shape[3]
    out_links, out_halves = np.zeros(links.shape), np.zeros(links.shape)
    out_closed, arc_marginals = np.zeros((2, n, n)), np.zeros((2, n, n))
    roots = np.zeros(n)
    summed = np.empty(m)
    for i in range(n):
        out_closed[LEFT, i, i] = tops[i] * closed[RIGHT, i, n - 1 - i]
        out_closed[RIGHT, i, n - 1 - i] = tops[i] * closed[LEFT, i, i]
        roots[i] = tops[i] * closed[LEFT, i, i] * closed[RIGHT, i, n - 1 - i]
    for w in range(n - 1, 0, -1):
        for d in range(2):
            away = 2 * d - 1
            for i in range(n - w) if d == RIGHT else range(w, n):
                if not live[d, i, w]:
                    continue
                half = out_halves[d, i, w]
                share = out_closed[d, i, w] * stops[d, i, w]
                for q in range(m):
                    half[q] += share * final[d, symbols[i], q]
                for s in range(1, w + 1):
                    if not (linked[d, i, s] and live[d, i + away * s, w - s]):
                        continue
                    outer = closed[d, i + away * s, w - s]
                    total = 0.0
                    for q in range(m):
                        out_links[d, i, s, q] += half[q] * outer
                        total += half[q] * links[d, i, s, q]
                    out_closed[d, i + away * s, w - s] += total
        # All halves of this distance are complete, so its links are, too.
        for d in range(2):
            away = 2 * d - 1
            for i in range(n - w) if d == RIGHT else range(w, n):
                if not linked[d, i, w]:
                    continue
                j = i + away * w
                weights = operators[d, symbols[i], symbols[j]]
                for q in range(m):
                    total = 0.0
                    for p in range(m):
                        total += weights[q, p] * out_links[d, i, w, p]
                    summed[q] = total * arcs[d, i, w]
                for s in range(w):
                    if not (live[d, i, s] and live[1 - d, j, w - 1 - s]):
                        continue
                    inner = closed[1 - d, j, w - 1 - s]
                    total = 0.0
                    for q in range(m):
                        out_halves[d, i, s, q] += summed[q] * inner
                        total += summed[q] * halves[d, i, s, q]
                    out_closed[1 - d, j, w - 1 - s] += total
                arc_marginals[d, i, w] = np.dot(out_links[d, i, w], links[d, i, w])
    return roots, arc_marginals, out_closed * closed


@njit(cache=True, nogil=True)
def best_heads(root_scores: np.ndarray, arc_scores: np.ndarray) -> np.ndarray:
    """(n,), (2, n, n) -> heads (n,) int32, counted from 1; 0 for the one word below the root."""
    n = len(root_scores)
    closed = np.zeros((2, n, n))
    links = np.full((2, n, n), -np.inf)
    link_splits, half_splits = np.zeros((n, n), np.int64), np.zeros((2, n, n), np.int64)
    for w in range(1, n):
        for i in range(n - w):
            # The inner halves of i and j = i + w meet after i + s, whichever of the two is the head.
            j = i + w
            best = -np.inf
            for s in range(w):
                value = closed[RIGHT, i, s] + closed[LEFT, j, w - 1 - s]
                if value > best:
                    best, link_splits[i, w] = value, s
            links[RIGHT, i, w] = best + arc_scores[RIGHT, i, w]
            links[LEFT, j, w] = best + arc_scores[LEFT, j, w]
        for d in range(2):
            away = 2 * d - 1
            for i in range(n - w) if d == RIGHT else range(w, n):
                best = -np.inf
                for s in range(1, w + 1):
                    value = links[d, i, s] + closed[d, i + away * s, w - s]
                    if value > best:
                        best, half_splits[d, i, w] = value, s
                closed[d, i, w] = best
    top, best = 0, -np.inf
    for i in range(n):
        value = root_scores[i] + closed[LEFT, i, i] + closed[RIGHT, i, n - 1 - i]
        if value > best:
            top, best = i, value
    return _follow(top, link_splits, half_splits)


@njit(nogil=True, inline="always")
def _follow(top: int, link_splits: np.ndarray, half_splits: np.ndarray) -> np.ndarray:
    """Heads of the tree below ``top``; halves that have not been opened yet wait on a stack."""
    n = len(link_splits)
    heads = np.zeros(n, np.int32)
    waiting = np.empty((2 * n + 2, 3), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = LEFT, top, top
    waiting[1, 0], waiting[1, 1], waiting[1, 2] = RIGHT, top, n - 1 - top
    size = 2
    while size:
        size -= 1
        d, i, w = waiting[size, 0], waiting[size, 1], waiting[size, 2]
        if w == 0:
            continue
        away = 2 * d - 1
        s = half_splits[d, i, w]
        j = i + away * s
        heads[j] = i + 1
        left = min(i, j)
        inside = link_splits[left, s]
        # The outer half of j, then the inner halves of i and j.
        waiting[size, 0], waiting[size, 1], waiting[size, 2] = d, j, w - s
        waiting[size + 1, 0], waiting[size + 1, 1], waiting[size + 1, 2] = RIGHT, left, inside
        waiting[size + 2, 0], waiting[size + 2, 1], waiting[size + 2, 2] = LEFT, max(i, j), s - 1 - inside
        size += 3
    return heads
