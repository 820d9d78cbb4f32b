"""Tensor inside-outside over a forest, for operators of any sign.

    paper (figure 3)   here                                shape
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

from spectragram.inference.chart_rules import Forest, Rules
from spectragram.kernels import REORDER

__all__ = ["Operators", "Posteriors", "forest_posteriors", "layout", "make_operators", "thin_forest"]


class Operators(NamedTuple):
    """The weights of a grammar with ``n_states[a]`` hidden states for symbol a.

    Attributes
    ----------
    n_states : int32 array, shape (n_symbols,)
    state_start : int64 array, shape (n_symbols + 1,)
        Symbol a owns ``state_start[a]:state_start[a + 1]`` of ``kept`` and ``root``.
    binary_start : int64 array, shape (n_binary + 1,)
    binary : float64 array
        Tensor of rule a -> b c, as parent, left, right.
    binary_up : float64 array
        The same tensors as left, right, parent: each pass reads memory in order.
    unary_start : int64 array, shape (n_unary + 1,)
    unary : float64 array
        Matrix of a unary rule, as parent, child.
    kept : float64 array
        Weight of a top item that is its bottom item, for each state.
    root : float64 array
    """

    n_states: np.ndarray
    state_start: np.ndarray
    binary_start: np.ndarray
    binary: np.ndarray
    binary_up: np.ndarray
    unary_start: np.ndarray
    unary: np.ndarray
    kept: np.ndarray
    root: np.ndarray


class Posteriors(NamedTuple):
    """What a model says about a forest; all values are divided by the sentence's own, whatever its sign."""

    sign: float  #: of the sentence's value; 0 where nothing parses
    log_value: float  #: log of its absolute value
    edges: np.ndarray  #: (n_edges,)
    links: np.ndarray  #: (n_links,)
    items: np.ndarray  #: (n_items,)

    @property
    def n_negative(self) -> int:
        """Items and links with a negative value: none in a probabilistic model."""
        return int((self.items < 0.0).sum() + (self.links < 0.0).sum())


def make_operators(
    rules: Rules,
    n_states: np.ndarray,
    binary: np.ndarray,
    unary: np.ndarray,
    kept: np.ndarray,
    root: np.ndarray,
) -> Operators:
    """Lay out flat tensors (rules in order, each as parent, left, right) for the kernels."""
    n_states = np.ascontiguousarray(n_states, np.int32)
    state_start, binary_start, unary_start = layout(rules, n_states)
    binary = np.ascontiguousarray(binary, np.float64)
    return Operators(
        n_states,
        state_start,
        binary_start,
        binary,
        _turned(rules.binary, n_states, binary_start, binary),
        unary_start,
        np.ascontiguousarray(unary, np.float64),
        np.ascontiguousarray(kept, np.float64),
        np.ascontiguousarray(root, np.float64),
    )


def layout(rules: Rules, n_states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the vector of each symbol, the tensor of each binary and the matrix of each unary rule begin."""
    sizes = n_states.astype(np.int64)

    def starts(lengths: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    return (
        starts(sizes),
        starts(sizes[rules.binary].prod(axis=1)),
        starts(sizes[rules.unary].prod(axis=1)),
    )


@njit(cache=True, nogil=True)
def _turned(binary_rules, n_states, start, binary):  # type: ignore[no-untyped-def]
    """Every tensor from (parent, left, right) to (left, right, parent)."""
    turned = np.empty_like(binary)
    for r in range(len(binary_rules)):
        n_parent = n_states[binary_rules[r, 0]]
        n_pairs = n_states[binary_rules[r, 1]] * n_states[binary_rules[r, 2]]
        for x in range(n_parent):
            for pair in range(n_pairs):
                turned[start[r] + pair * n_parent + x] = binary[start[r] + x * n_pairs + pair]
    return turned


@njit(cache=True, nogil=True, fastmath=REORDER)
def _inside(rules, forest, operators, lexical, offset, alpha, exponent):  # type: ignore[no-untyped-def]
    """Fill ``alpha`` (flat, item t at ``offset[t]``) and the power of two of each span."""
    spans, first_item, first_edge, first_link, items, edges, links = forest
    largest_states = operators.n_states.max()
    outer = np.empty(largest_states * largest_states)
    used = 0
    for s in range(len(spans)):
        first, last = first_edge[s], first_edge[s + 1]
        base = np.int64(0)
        if spans[s, 1] - spans[s, 0] == 1:
            for t in range(first_item[s], first_item[s + 1]):
                if items[t, 1] == 0:
                    for x in range(offset[t], offset[t + 1]):
                        alpha[x] = lexical[used]
                        used += 1
        elif first < last:
            base = np.int64(-(1 << 40))
            for e in range(first, last):
                base = max(base, exponent[items[edges[e, 2], 2]] + exponent[items[edges[e, 3], 2]])
        e = first
        while e < last:
            # T = sum over split points of alpha_b (x) alpha_c, for all edges with this parent and rule
            parent, rule = edges[e, 0], edges[e, 1]
            n_left = operators.n_states[rules.binary[rule, 1]]
            n_right = operators.n_states[rules.binary[rule, 2]]
            n_pairs = n_left * n_right
            for pair in range(n_pairs):
                outer[pair] = 0.0
            while e < last and edges[e, 1] == rule:
                left, right = edges[e, 2], edges[e, 3]
                power = exponent[items[left, 2]] + exponent[items[right, 2]] - base
                factor = math.ldexp(1.0, max(power, -2000))
                alpha_c = alpha[offset[right] : offset[right + 1]]
                for y in range(n_left):
                    value = alpha[offset[left] + y] * factor
                    row = outer[y * n_right : (y + 1) * n_right]
                    for z in range(n_right):
                        row[z] += value * alpha_c[z]
                e += 1
            alpha_a = alpha[offset[parent] : offset[parent + 1]]
            n_parent = len(alpha_a)
            up = operators.binary_start[rule]
            for pair in range(n_pairs):
                value = outer[pair]
                row = operators.binary_up[up + pair * n_parent : up + (pair + 1) * n_parent]
                for x in range(n_parent):
                    alpha_a[x] += value * row[x]
        largest = 0.0
        for x in range(offset[first_item[s]], offset[first_item[s + 1]]):
            largest = max(largest, abs(alpha[x]))
        if largest > 0.0:
            shift = math.frexp(largest)[1]
            scale = math.ldexp(1.0, -shift)
            for x in range(offset[first_item[s]], offset[first_item[s + 1]]):
                alpha[x] *= scale
            exponent[s] = base + shift
        _climb_links(operators, items, links[first_link[s] : first_link[s + 1]], offset, alpha)


@njit(cache=True, nogil=True, fastmath=REORDER)
def _climb_links(operators, items, links, offset, alpha):  # type: ignore[no-untyped-def]
    """Top vectors of a span from its bottom vectors: kept as they are, or under a unary rule."""
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


@njit(cache=True, nogil=True, fastmath=REORDER)
def _outside(rules, forest, operators, offset, alpha, exponent, beta, edge_out, link_out):  # type: ignore[no-untyped-def]
    """Fill ``beta`` below the roots, and the posteriors of edges and links."""
    spans, _, first_edge, first_link, items, edges, links = forest
    largest_states = operators.n_states.max()
    outer = np.empty(largest_states * largest_states)
    for s in range(len(spans) - 1, -1, -1):
        for e in range(first_link[s], first_link[s + 1]):
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
            link_out[e] = posterior
        first, last = first_edge[s], first_edge[s + 1]
        e = first
        while e < last:
            # S = C contracted with beta_a, once for all edges with this parent and rule
            parent, rule = edges[e, 0], edges[e, 1]
            n_left = operators.n_states[rules.binary[rule, 1]]
            n_right = operators.n_states[rules.binary[rule, 2]]
            n_pairs = n_left * n_right
            for pair in range(n_pairs):
                outer[pair] = 0.0
            for x in range(offset[parent + 1] - offset[parent]):
                above = beta[offset[parent] + x]
                begin = operators.binary_start[rule] + x * n_pairs
                row = operators.binary[begin : begin + n_pairs]
                for pair in range(n_pairs):
                    outer[pair] += above * row[pair]
            while e < last and edges[e, 1] == rule:
                left, right = edges[e, 2], edges[e, 3]
                power = exponent[items[left, 2]] + exponent[items[right, 2]] - exponent[s]
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


@njit(cache=True, nogil=True)
def _posteriors(rules, forest, operators, lexical):  # type: ignore[no-untyped-def]
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
    """Inside-outside over ``forest``.

    ``lexical`` holds the vectors c^inf of the bottom items over single words, one after the other in that order.
    """
    return Posteriors(*_posteriors(rules, forest, operators, np.ascontiguousarray(lexical, np.float64)))


@njit(cache=True, nogil=True)
def _thin(forest, edge_posteriors, link_posteriors, item_posteriors, threshold):  # type: ignore[no-untyped-def]
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
