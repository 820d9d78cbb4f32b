"""Inside-outside for split head automata with surface factors (Balle et al. 2014, appendix A).

    P(y) = root[r] prod_{h,d} alpha_1 A_{x_1} ... A_{x_T} alpha_inf * prod_{arcs of y} arc * prod_{halves of y} stop
           * prod_{neighbouring modifiers of a head} sibling

    paper               here                              shape
    theta^I             links                             (a, m)         [arc]
    theta^C alpha_inf   closed                            (2, n, n)      [direction, head, distance to the far end]
    alpha_1, alpha_inf  initial, final                    (2, k, m)      [direction, symbol of the head]
    A_sigma             operators                         (2, k, k, m, m)   [direction, head, modifier]
    mu_{i,j}            arc marginals                     (2, n, n)

A *half* is a head with its modifiers on one side and everything below them; a *link* is a half whose last modifier
still lacks its outer half. Everything is indexed by direction (LEFT 0, RIGHT 1), head and distance, so that one
recursion serves both sides: ``arcs[d, i, s]`` is about the modifier s places from word i, ``stops[d, i, s]`` about
ending a half there.
The root above the sentence takes exactly one word and has no automaton.

The paper lets the state of a head wait in an open half until its next modifier comes. Here a *gap*, the two inner
halves between neighbouring words of a tree, is filled first, and the state moves from one modifier straight to the
next (Eisner 1996; McDonald & Pereira 2006). That is the same sum; halves are numbers instead of vectors, and a factor
for two neighbouring modifiers costs nothing more than its score.

Costs O(n^3 + n^2 m^2 + p m) for p pairs of modifiers of a head on one side: O(n^3 m) if all arcs are possible, little
where most are ruled out (score -inf), since only the others are listed. Weights may be negative (spectral estimates):
the sign of Z is returned. Every word is the modifier of one arc, so a constant factor for each word changes only Z. The
factor is chosen, and adjusted if needed, so that products of hundreds of small numbers stay inside float64.

:func:`best_heads` decodes marginals: the projective tree with the highest sum of arc scores (Eisner 2000),

    y* = argmax_y sum_{(i, j) in y} score(i, j)                                                          (equation 2)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.engine.kernels import REORDER

__all__ = [
    "LEFT",
    "RIGHT",
    "ArcList",
    "best_heads",
    "clear_heads",
    "inside_outside",
    "list_arcs",
    "sibling_inside_outside",
]

LEFT, RIGHT = 0, 1
TINY, HUGE = 1e-200, 1e200
"""Values outside this range are rescaled: products of a few more numbers would leave float64."""
RETRIES = 8
"""Attempts to find a scale. Chosen by hand, not tuned."""


class ArcList(NamedTuple):
    """The possible arcs of a sentence, those of each head and direction one behind the other, nearest first.

    starts (2, n + 1): where those of each direction and head begin, ``starts[d, n]`` is the end; distances (a,): from
    head to modifier; places (2, n, n): the number of each arc, -1 for none; pairs (a + 1,): where the numbers of its
    pairs begin. The first pair of an arc is with no sibling, the next are with the arcs before it in its head's list.
    """

    starts: np.ndarray
    distances: np.ndarray
    places: np.ndarray
    pairs: np.ndarray


@njit(cache=True, nogil=True)
def list_arcs(possible: np.ndarray) -> ArcList:
    """List the arcs (2, n, n) bool."""
    n = possible.shape[1]
    starts, places = np.zeros((2, n + 1), np.int64), np.full((2, n, n), -1, np.int64)
    distances, pairs = np.empty(n * (n - 1), np.int64), np.zeros(n * (n - 1) + 1, np.int64)
    found = 0
    for d in range(2):
        for i in range(n):
            starts[d, i] = found
            for s in range(1, n - i if d == RIGHT else i + 1):
                if possible[d, i, s]:
                    distances[found], places[d, i, s] = s, found
                    pairs[found + 1] = pairs[found] + found - starts[d, i] + 1
                    found += 1
        starts[d, n] = found
    return ArcList(starts, distances[:found].copy(), places, pairs[: found + 1].copy())


def inside_outside(
    symbols: np.ndarray,
    root: np.ndarray,
    initial: np.ndarray,
    operators: np.ndarray,
    final: np.ndarray,
    arc_scores: np.ndarray,
    stop_scores: np.ndarray,
) -> tuple[float, float, np.ndarray, np.ndarray, np.ndarray]:
    """Z and the marginals of one sentence, without factors of siblings.

    symbols (n,) int; root (n,), log-scores of heading the sentence; initial, operators, final as above;
    arc_scores, stop_scores (2, n, n), logarithms of the factors.
    Returns the sign of Z (0 if all trees have weight 0), log |Z|, and the marginals of roots (n,), arcs and stops
    (2, n, n), all zero if Z is 0.
    """
    arcs, none = list_arcs(arc_scores > -np.inf), np.zeros(0)
    automata = initial, operators, final
    return sibling_inside_outside(symbols, root, *automata, arc_scores, stop_scores, arcs, none, none)[:5]


@njit(cache=True, nogil=True)
def sibling_inside_outside(
    symbols: np.ndarray,
    root: np.ndarray,
    initial: np.ndarray,
    operators: np.ndarray,
    final: np.ndarray,
    arc_scores: np.ndarray,
    stop_scores: np.ndarray,
    listed: ArcList,
    pair_scores: np.ndarray,
    last_scores: np.ndarray,
) -> tuple[float, float, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Z and the marginals of one sentence, over trees of the ``listed`` arcs.

    As :func:`inside_outside`, with the logarithms of the factors of neighbouring modifiers, in the order of ``listed``,
    and of last modifiers (a,); both empty if there are none. Also returns the marginals of these, 0 where there are
    none.
    """
    n = len(symbols)
    tops, arcs, stops, log_shift = _bounded(root, arc_scores, stop_scores)
    pairs, lasts = np.exp(pair_scores), np.exp(last_scores)
    log_scale = 0.0
    for _ in range(RETRIES):
        links, ends, closed, gaps, largest, reached = _inside(
            symbols, initial, operators, final, arcs, stops, listed, pairs, lasts
        )
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
        nothing = np.zeros((2, n, n))
        return 0.0, -np.inf, np.zeros(n), nothing, nothing.copy(), np.zeros(len(pairs)), np.zeros(len(lasts))
    found = _outside(
        symbols, tops / z, initial, operators, final, arcs, stops, listed, pairs, lasts, links, ends, closed, gaps
    )
    return np.sign(z), np.log(abs(z)) + log_shift + log_scale * (n - 1), *found


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
                score = arc_scores[int(i < j), i, abs(i - j)]
                if score > -np.inf:
                    arcs[int(i < j), i, abs(i - j)] = np.exp(score - best)
    for d in range(2):
        for i in range(n):
            room = n - i if d == RIGHT else i + 1
            best = -np.inf
            for s in range(room):
                best = max(best, stop_scores[d, i, s])
            log_shift += best
            for s in range(room):
                if stop_scores[d, i, s] > -np.inf:
                    stops[d, i, s] = np.exp(stop_scores[d, i, s] - best)
    return tops, arcs, stops, log_shift


@njit(cache=True, nogil=True, fastmath=REORDER)
def _inside(
    symbols: np.ndarray,
    initial: np.ndarray,
    operators: np.ndarray,
    final: np.ndarray,
    arcs: np.ndarray,
    stops: np.ndarray,
    listed: ArcList,
    pairs: np.ndarray,
    lasts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, int]:
    """Links (a, m), their sums when they are last (a,), closed halves (2, n, n) and gaps (n, n).

    Also the largest closed value, and the distance reached: n unless values leave the safe range earlier.
    """
    starts, distances, places, first_pairs = listed
    n, m = len(symbols), initial.shape[2]
    links, ends = np.zeros((len(distances), m)), np.zeros(len(distances))
    closed, gaps = np.zeros((2, n, n)), np.zeros((n, n))
    summed = np.empty(m)
    for d in range(2):
        for i in range(n):
            for q in range(m):
                closed[d, i, 0] += initial[d, symbols[i], q] * final[d, symbols[i], q]
            closed[d, i, 0] *= stops[d, i, 0]
    for w in range(1, n):
        for i in range(n - w):
            # gap(i, j) = sum_k closed(i, k) closed(j, k + 1)
            for s in range(w):
                gaps[i, w] += closed[RIGHT, i, s] * closed[LEFT, i + w, w - 1 - s]
        largest = 0.0
        for d in range(2):
            away = 2 * d - 1
            for i in range(n - w) if d == RIGHT else range(w, n):
                j, here, own = i + away * w, places[d, i, w], symbols[i]
                if here >= 0:
                    # link(i, j) = arc(i, j) (alpha_1 closed(j, i + 1) + sum_k link(i, k) gap(k, j) pair(k, j)) A_j
                    inner = closed[1 - d, j, w - 1] * (pairs[first_pairs[here]] if len(pairs) else 1.0)
                    for q in range(m):
                        summed[q] = inner * initial[d, own, q]
                    for e in range(starts[d, i], here):
                        s = distances[e]
                        inner = gaps[min(i + away * s, j), w - s]
                        if len(pairs):
                            inner *= pairs[first_pairs[here] + 1 + e - starts[d, i]]
                        for q in range(m):
                            summed[q] += links[e, q] * inner
                    for q in range(m):
                        share = summed[q] * arcs[d, i, w]
                        for p in range(m):
                            links[here, p] += share * operators[d, own, symbols[j], q, p]
                    for q in range(m):
                        ends[here] += links[here, q] * final[d, own, q]
                    if len(lasts):
                        ends[here] *= lasts[here]
                # closed(i, j) = sum_k (link(i, k) alpha_inf) closed(k, j)                                (equation 4)
                total = 0.0
                for e in range(starts[d, i], starts[d, i + 1]):
                    s = distances[e]
                    if s > w:
                        break
                    total += ends[e] * closed[d, i + away * s, w - s]
                closed[d, i, w] = total * stops[d, i, w]
                largest = max(largest, abs(closed[d, i, w]))
        if largest > HUGE or 0.0 < largest < TINY:
            return links, ends, closed, gaps, largest, w
    return links, ends, closed, gaps, 1.0, n


@njit(cache=True, nogil=True, fastmath=REORDER)
def _outside(
    symbols: np.ndarray,
    tops: np.ndarray,
    initial: np.ndarray,
    operators: np.ndarray,
    final: np.ndarray,
    arcs: np.ndarray,
    stops: np.ndarray,
    listed: ArcList,
    pairs: np.ndarray,
    lasts: np.ndarray,
    links: np.ndarray,
    ends: np.ndarray,
    closed: np.ndarray,
    gaps: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Marginals of roots, arcs, stops, pairs and last modifiers: each value times the derivative of Z by it, over Z.

    ``tops`` comes divided by Z.
    """
    starts, distances, places, first_pairs = listed
    n, m = len(symbols), initial.shape[2]
    out_links, out_ends = np.zeros(links.shape), np.zeros(len(ends))
    out_closed, out_gaps = np.zeros((2, n, n)), np.zeros((n, n))
    arc_marginals, pair_marginals, roots = np.zeros((2, n, n)), np.zeros(len(pairs)), np.zeros(n)
    back = np.empty(m)
    for i in range(n):
        out_closed[LEFT, i, i] = tops[i] * closed[RIGHT, i, n - 1 - i]
        out_closed[RIGHT, i, n - 1 - i] = tops[i] * closed[LEFT, i, i]
        roots[i] = tops[i] * closed[LEFT, i, i] * closed[RIGHT, i, n - 1 - i]
    for w in range(n - 1, 0, -1):
        # Closed halves of this distance are complete, since all wider links and gaps have been visited.
        for d in range(2):
            away = 2 * d - 1
            for i in range(n - w) if d == RIGHT else range(w, n):
                share = out_closed[d, i, w] * stops[d, i, w]
                if share == 0.0:
                    continue
                for e in range(starts[d, i], starts[d, i + 1]):
                    s = distances[e]
                    if s > w:
                        break
                    out_ends[e] += share * closed[d, i + away * s, w - s]
                    out_closed[d, i + away * s, w - s] += share * ends[e]
        for d in range(2):
            away = 2 * d - 1
            for i in range(n - w) if d == RIGHT else range(w, n):
                here = places[d, i, w]
                if here < 0:
                    continue
                j, own = i + away * w, symbols[i]
                share = out_ends[here] * (lasts[here] if len(lasts) else 1.0)
                total = 0.0
                for q in range(m):
                    out_links[here, q] += share * final[d, own, q]
                    total += out_links[here, q] * links[here, q]
                arc_marginals[d, i, w] = total
                if total == 0.0:
                    continue
                total = 0.0
                for q in range(m):
                    sum_q = 0.0
                    for p in range(m):
                        sum_q += operators[d, own, symbols[j], q, p] * out_links[here, p]
                    back[q] = sum_q * arcs[d, i, w]
                    total += back[q] * initial[d, own, q]
                first = 1.0
                if len(pairs):
                    first = pairs[first_pairs[here]]
                    pair_marginals[first_pairs[here]] = total * first * closed[1 - d, j, w - 1]
                out_closed[1 - d, j, w - 1] += total * first
                for e in range(starts[d, i], here):
                    s = distances[e]
                    left = min(i + away * s, j)
                    inner = gaps[left, w - s]
                    total = 0.0
                    for q in range(m):
                        total += back[q] * links[e, q]
                    if len(pairs):
                        pair = first_pairs[here] + 1 + e - starts[d, i]
                        total *= pairs[pair]
                        pair_marginals[pair] = total * inner
                        inner *= pairs[pair]
                    out_gaps[left, w - s] += total
                    for q in range(m):
                        out_links[e, q] += back[q] * inner
        for i in range(n - w):
            share = out_gaps[i, w]
            if share != 0.0:
                for s in range(w):
                    out_closed[RIGHT, i, s] += share * closed[LEFT, i + w, w - 1 - s]
                    out_closed[LEFT, i + w, w - 1 - s] += share * closed[RIGHT, i, s]
    last_marginals = out_ends * ends if len(lasts) else np.zeros(0)
    return roots, arc_marginals, out_closed * closed, pair_marginals, last_marginals


@njit(cache=True, nogil=True)
def clear_heads(roots: np.ndarray, arcs: np.ndarray) -> np.ndarray:
    """The most probable head of every word, if they make a projective tree: no other tree has a higher sum of logs.

    roots (n,), arcs (2, n, n), marginals -> heads (n,) int32 as :func:`best_heads` gives them; -1 throughout if they
    make no such tree, or if two heads of a word are equally probable.
    """
    n = len(roots)
    heads, nothing = np.zeros(n, np.int32), np.full(n, -1, np.int32)
    n_roots = 0
    for j in range(n):
        best, is_clear = -1.0, False
        for i in range(-1, n):
            if i != j:
                value = roots[j] if i < 0 else arcs[int(i < j), i, abs(i - j)]
                if value > best:
                    best, heads[j], is_clear = value, i + 1, True
                elif value == best:
                    is_clear = False
        n_roots += heads[j] == 0
        if not is_clear:
            return nothing
    if n_roots != 1:
        return nothing
    # Arcs that do not cross, that of the root included, and lead up to it from every word.
    for j in range(n):
        left, right = min(heads[j], j + 1), max(heads[j], j + 1)
        for k in range(left, right - 1):
            if not left <= heads[k] <= right:
                return nothing
        above, steps = heads[j], 0
        while above > 0:
            above, steps = heads[above - 1], steps + 1
            if steps > n:
                return nothing
    return heads


@njit(cache=True, nogil=True)
def best_heads(root_scores: np.ndarray, arc_scores: np.ndarray) -> np.ndarray:
    """(n,), (2, n, n) -> heads (n,) int32, counted from 1; 0 for the word below the root; -1 if there is no tree."""
    n = len(root_scores)
    closed = np.zeros((2, n, n))
    links = np.full((2, n, n), -np.inf)
    link_splits, half_splits = np.zeros((n, n), np.int64), np.zeros((2, n, n), np.int64)
    for w in range(1, n):
        for i in range(n - w):
            # The inner halves of i and j = i + w meet after i + s, whichever of the two is the head.
            j = i + w
            if max(arc_scores[RIGHT, i, w], arc_scores[LEFT, j, w]) == -np.inf:
                continue
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
                    if links[d, i, s] == -np.inf:
                        continue
                    value = links[d, i, s] + closed[d, i + away * s, w - s]
                    if value > best:
                        best, half_splits[d, i, w] = value, s
                closed[d, i, w] = best
    top, best = 0, -np.inf
    for i in range(n):
        value = root_scores[i] + closed[LEFT, i, i] + closed[RIGHT, i, n - 1 - i]
        if value > best:
            top, best = i, value
    if best == -np.inf:
        return np.full(n, -1, np.int32)
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
