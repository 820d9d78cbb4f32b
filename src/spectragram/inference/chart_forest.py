"""Tensor inside-outside over a forest, for operators of any sign (Cohen et al. 2012, figure 3).

    paper              here                                shape
    C^{a -> b c}       binary[start:stop] as [x, y, z]     (m_a, m_b, m_c): parent, left, right
    c^inf_{a -> x}     lexical                             (m_a,) for each bottom item over one word
    c^1_a              root                                (m_a,)
    alpha, beta        alpha, beta                         one vector for each item
    mu                 posteriors of edges, links, items   alpha . beta / p(sentence)

    alpha_a = sum over a -> b c of C . (sum over k of alpha_b(i, k) (x) alpha_c(k, j))

The outer products are summed over split points first, so that each rule tensor is applied once for each span. Vectors
of a span share a power of two; beta carries the inverse and 1 / p(sentence), so alpha . beta is a posterior.
A probabilistic model is the case where the vectors are probabilities; one state per symbol is a plain PCFG.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.engine.kernels import REORDER, largest_of
from spectragram.inference.chart_rules import Forest, Operators, Rules

__all__ = ["Posteriors", "forest_posteriors"]


class Posteriors(NamedTuple):
    """Posteriors of a forest under a model; all values are divided by the value of the sentence, whatever its sign."""

    sign: float  #: of the value of the sentence; 0 if there is no parse
    log_value: float  #: log of its absolute value
    edges: np.ndarray  #: (n_edges,)
    links: np.ndarray  #: (n_links,)
    items: np.ndarray  #: (n_items,)

    @property
    def n_negative(self) -> int:
        """Number of items and links with a negative value; 0 for a probabilistic model."""
        return int((self.items < 0.0).sum() + (self.links < 0.0).sum())


@njit(cache=True, nogil=True)
def _inside(
    rules: Rules,
    forest: Forest,
    operators: Operators,
    lexical: np.ndarray,
    offset: np.ndarray,
    alpha: np.ndarray,
    exponent: np.ndarray,
) -> None:
    """Inside base case and recursion: fill ``alpha`` (flat, item t at ``offset[t]``), the power of two of each span."""
    spans, first_item, first_edge, first_link, items, edges, links = forest
    largest_states = largest_of(operators.n_states)
    outer = np.empty(largest_states * largest_states)
    used = 0
    for s in range(len(spans)):
        e: int = np.int64(first_edge[s])  # type: ignore[assignment]  # as _climb_rule returns it: one type
        last = first_edge[s + 1]
        base = np.int64(0)
        if spans[s, 1] - spans[s, 0] == 1:
            for t in range(first_item[s], first_item[s + 1]):
                if items[t, 1] == 0:
                    for x in range(offset[t], offset[t + 1]):
                        alpha[x] = lexical[used]
                        used += 1
        elif e < last:
            base = np.int64(-(1 << 40))
            for edge in range(e, last):
                base = max(base, exponent[items[edges[edge, 2], 2]] + exponent[items[edges[edge, 3], 2]])
        upto = edges[:last]
        while e < last:
            e = _climb_rule(rules.binary, operators, items, upto, e, base, exponent, offset, alpha, outer)
        own = alpha[offset[first_item[s]] : offset[first_item[s + 1]]]
        largest = 0.0
        for x in range(len(own)):
            largest = max(largest, abs(own[x]))
        if largest > 0.0:
            shift = math.frexp(largest)[1]
            own *= math.ldexp(1.0, -shift)
            exponent[s] = base + shift
        _climb_links(operators, items, links[first_link[s] : first_link[s + 1]], offset, alpha)


@njit(cache=True, nogil=True, fastmath=REORDER)
def _climb_rule(
    binary_rules: np.ndarray,
    operators: Operators,
    items: np.ndarray,
    edges: np.ndarray,
    e: int,
    base: int | np.int64,
    exponent: np.ndarray,
    offset: np.ndarray,
    alpha: np.ndarray,
    outer: np.ndarray,
) -> int:
    """Add the edges of one rule over a span, from ``e`` on, to the vector of the parent; returns the next edge."""
    parent, rule = edges[e, 0], edges[e, 1]
    n_left = operators.n_states[binary_rules[rule, 1]]
    n_right = operators.n_states[binary_rules[rule, 2]]
    n_pairs = n_left * n_right
    # T = sum over split points of alpha_b (x) alpha_c
    for pair in range(n_pairs):
        outer[pair] = 0.0
    while e < len(edges) and edges[e, 1] == rule:
        left, right = edges[e, 2], edges[e, 3]
        power = exponent[items[left, 2]] + exponent[items[right, 2]] - base
        factor = math.ldexp(1.0, max(power, -2000))  # 2 ** -2000 is 0, and ldexp takes no larger powers
        alpha_c = alpha[offset[right] : offset[right + 1]]
        for y in range(n_left):
            value = alpha[offset[left] + y] * factor
            row = outer[y * n_right : (y + 1) * n_right]
            for z in range(n_right):
                row[z] += value * alpha_c[z]
        e += 1
    # alpha_a += C . T
    alpha_a = alpha[offset[parent] : offset[parent + 1]]
    n_parent = len(alpha_a)
    up = operators.binary_start[rule]
    for pair in range(n_pairs):
        value = outer[pair]
        row = operators.binary_up[up + pair * n_parent : up + (pair + 1) * n_parent]
        for x in range(n_parent):
            alpha_a[x] += value * row[x]
    return e


@njit(cache=True, nogil=True, fastmath=REORDER)
def _climb_links(
    operators: Operators, items: np.ndarray, links: np.ndarray, offset: np.ndarray, alpha: np.ndarray
) -> None:
    """Top vectors of a span from its bottom vectors, which are kept or put under a unary rule."""
    for upper, rule, lower in links:
        begin = offset[lower]
        if rule < 0:
            kept = operators.state_start[items[lower, 0]]
            for x in range(offset[upper + 1] - offset[upper]):
                alpha[offset[upper] + x] += operators.kept[kept + x] * alpha[begin + x]
        else:
            n_lower = offset[lower + 1] - begin
            for x in range(offset[upper + 1] - offset[upper]):
                row = operators.unary_start[rule] + x * n_lower
                total = 0.0
                for y in range(n_lower):
                    total += operators.unary[row + y] * alpha[begin + y]
                alpha[offset[upper] + x] += total


@njit(cache=True, nogil=True)
def _outside(
    rules: Rules,
    forest: Forest,
    operators: Operators,
    offset: np.ndarray,
    alpha: np.ndarray,
    exponent: np.ndarray,
    beta: np.ndarray,
    edge_out: np.ndarray,
    link_out: np.ndarray,
) -> None:
    """Outside recursion: fill ``beta`` below the roots, and the posteriors of edges and links."""
    spans, _, first_edge, first_link, items, edges, links = forest
    binary = rules.binary
    largest_states = largest_of(operators.n_states)
    outer = np.empty(largest_states * largest_states)
    for s in range(len(spans) - 1, -1, -1):
        own = slice(first_link[s], first_link[s + 1])
        _descend_links(operators, items, links[own], offset, alpha, beta, link_out[own])
        e: int = np.int64(first_edge[s])  # type: ignore[assignment]
        upto = edges[: first_edge[s + 1]]
        while e < len(upto):
            e = _descend_rule(
                binary, operators, items, upto, e, exponent[s], exponent, offset, alpha, beta, outer, edge_out
            )


@njit(cache=True, nogil=True, fastmath=REORDER)
def _descend_links(
    operators: Operators,
    items: np.ndarray,
    links: np.ndarray,
    offset: np.ndarray,
    alpha: np.ndarray,
    beta: np.ndarray,
    posteriors: np.ndarray,
) -> None:
    """Outside vectors of the bottom items of a span from those of its top items, and the posteriors of its links."""
    for e in range(len(links)):
        upper, rule, lower = links[e]
        n_upper, n_lower = offset[upper + 1] - offset[upper], offset[lower + 1] - offset[lower]
        posterior = 0.0
        if rule < 0:
            kept = operators.state_start[items[lower, 0]]
            for x in range(n_upper):
                value = operators.kept[kept + x] * beta[offset[upper] + x]
                beta[offset[lower] + x] += value
                posterior += value * alpha[offset[lower] + x]
        else:
            for x in range(n_upper):
                above = beta[offset[upper] + x]
                row = operators.unary_start[rule] + x * n_lower
                for y in range(n_lower):
                    value = above * operators.unary[row + y]
                    beta[offset[lower] + y] += value
                    posterior += value * alpha[offset[lower] + y]
        posteriors[e] = posterior


@njit(cache=True, nogil=True, fastmath=REORDER)
def _descend_rule(
    binary_rules: np.ndarray,
    operators: Operators,
    items: np.ndarray,
    edges: np.ndarray,
    e: int,
    base: int | np.int64,
    exponent: np.ndarray,
    offset: np.ndarray,
    alpha: np.ndarray,
    beta: np.ndarray,
    outer: np.ndarray,
    edge_out: np.ndarray,
) -> int:
    """Add the edges of one rule over a span, from ``e`` on, to the outside vectors below; returns the next edge."""
    parent, rule = edges[e, 0], edges[e, 1]
    n_left = operators.n_states[binary_rules[rule, 1]]
    n_right = operators.n_states[binary_rules[rule, 2]]
    n_pairs = n_left * n_right
    # S = C contracted with beta_a
    for pair in range(n_pairs):
        outer[pair] = 0.0
    for x in range(offset[parent + 1] - offset[parent]):
        above = beta[offset[parent] + x]
        begin = operators.binary_start[rule] + x * n_pairs
        row = operators.binary[begin : begin + n_pairs]
        for pair in range(n_pairs):
            outer[pair] += above * row[pair]
    while e < len(edges) and edges[e, 1] == rule:
        left, right = edges[e, 2], edges[e, 3]
        power = exponent[items[left, 2]] + exponent[items[right, 2]] - base
        factor = math.ldexp(1.0, min(max(power, -2000), 1000))
        alpha_c, beta_c = alpha[offset[right] : offset[right + 1]], beta[offset[right] : offset[right + 1]]
        posterior = 0.0
        for y in range(n_left):
            value = alpha[offset[left] + y] * factor
            row = outer[y * n_right : (y + 1) * n_right]
            total = 0.0
            for z in range(n_right):
                beta_c[z] += value * row[z]
                total += row[z] * alpha_c[z]
            beta[offset[left] + y] += factor * total
            posterior += value * total
        edge_out[e] = posterior
        e += 1
    return e


@njit(cache=True, nogil=True)
def _posteriors(
    rules: Rules, forest: Forest, operators: Operators, lexical: np.ndarray
) -> tuple[float, float, np.ndarray, np.ndarray, np.ndarray]:
    items = forest.items
    offset = np.zeros(len(items) + 1, np.int64)
    for t in range(len(items)):
        offset[t + 1] = offset[t] + operators.n_states[items[t, 0]]
    alpha = np.zeros(offset[-1])
    beta = np.zeros(offset[-1])
    exponent = np.zeros(len(forest.spans), np.int64)
    edge_out = np.zeros(len(forest.edges))
    link_out = np.zeros(len(forest.links))
    item_out = np.zeros(len(items))
    _inside(rules, forest, operators, lexical, offset, alpha, exponent)
    last = len(forest.spans) - 1
    value = 0.0
    for t in range(forest.first_item[last], forest.first_item[last + 1]):
        if items[t, 1] == 1:
            root = operators.state_start[items[t, 0]]
            for x in range(offset[t + 1] - offset[t]):
                value += operators.root[root + x] * alpha[offset[t] + x]
    if value == 0.0 or not np.isfinite(value):
        return 0.0, -np.inf, edge_out, link_out, item_out
    for t in range(forest.first_item[last], forest.first_item[last + 1]):
        if items[t, 1] == 1:
            root = operators.state_start[items[t, 0]]
            for x in range(offset[t + 1] - offset[t]):
                beta[offset[t] + x] = operators.root[root + x] / value
    _outside(rules, forest, operators, offset, alpha, exponent, beta, edge_out, link_out)
    for t in range(len(items)):
        for x in range(offset[t], offset[t + 1]):
            item_out[t] += alpha[x] * beta[x]
    return np.sign(value), np.log(abs(value)) + exponent[last] * np.log(2.0), edge_out, link_out, item_out


def forest_posteriors(rules: Rules, forest: Forest, operators: Operators, lexical: np.ndarray) -> Posteriors:
    """Figure 3: inside, outside and marginals over ``forest``.

    ``lexical`` holds the vectors c^inf of the bottom items over single words, one after the other in that order.
    """
    return Posteriors(*_posteriors(rules, forest, operators, np.ascontiguousarray(lexical, np.float64)))
