"""Inside-outside over given trees: the E-step of an L-PCFG, and the value of a skeletal tree.

    Cohen et al. 2012, figure 2:   f^i = f^right C^{r_i}(f^left),   f^i = c^inf at words,   p(tree) = f^1 c^1

Children come before their parents, and one tree after the other. A node that is not unary and not under a unary node
stands on the top layer by being *kept* (see :mod:`~spectragram.inference.chart_rules`); its vector includes that
weight.

Expected counts of a binary rule are its tensor times the sum over its nodes of beta (x) alpha_left (x) alpha_right
/ p, so the kernel only sums outer products and the tensor is multiplied in once at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.engine.kernels import largest_of
from spectragram.inference.chart_rules import Operators

__all__ = ["Counts", "Nodes", "expected_counts", "tree_values"]

LEXICAL, UNARY, BINARY = 0, 1, 2


class Nodes(NamedTuple):
    """Trees in flat arrays, as :class:`spectragram.data.treebank.Treebank` holds them."""

    kind: np.ndarray  #: int8 (n,): 0 lexical, 1 unary, 2 binary
    symbol: np.ndarray  #: int32 (n,)
    rule: np.ndarray  #: int32 (n,): rule; for lexical nodes the row of the lexical vectors
    left: np.ndarray  #: int32 (n,)
    right: np.ndarray  #: int32 (n,)
    kept: np.ndarray  #: uint8 (n,): 1 where the node is a bottom item kept as a top item
    tree_start: np.ndarray  #: int64 (n_trees + 1,)
    weight: np.ndarray  #: float64 (n_trees,): how often each tree counts

    def trees(self, first: int, last: int) -> Nodes:
        """Trees ``first .. last - 1`` alone."""
        start, end = self.tree_start[first], self.tree_start[last]
        bounds, weight = self.tree_start[first : last + 1] - start, self.weight[first:last]
        own = Nodes._make([*(array[start:end] for array in self[:-2]), bounds, weight])
        # Leaves have no children (-1), and unary nodes no right one; nothing looks at these.
        left, right = own.left - start, own.right - start
        return own._replace(left=left.astype(self.left.dtype), right=right.astype(self.right.dtype))


class Counts(NamedTuple):
    """Expected numbers of uses, for each combination of hidden states; laid out like the operators."""

    binary: np.ndarray
    unary: np.ndarray
    lexical: np.ndarray  #: (n_rows, largest number of states)
    bottom: np.ndarray  #: nodes that are not unary
    kept: np.ndarray  #: of those, the ones that are kept as top items
    root: np.ndarray
    log_value: np.ndarray  #: (n_trees,) log p(tree); -inf for a tree without a positive value

    def plus(self, other: Counts) -> Counts:
        """Sums of the counts of two sets of trees; the log-values of the second follow those of the first."""
        sums = [a + b for a, b in zip(self[:-1], other[:-1], strict=True)]
        return Counts._make([*sums, np.concatenate([self.log_value, other.log_value])])


@njit(cache=True, nogil=True)
def _inside_tree(
    operators: Operators,
    lexical: np.ndarray,
    nodes: Nodes,
    first: int,
    last: int,
    offset: np.ndarray,
    alpha: np.ndarray,
    outer: np.ndarray,
) -> float:
    """Scaled inside vectors of one tree; returns the log of the product of all scales, -inf if a vector vanishes."""
    log_scale = 0.0
    for n in range(first, last):
        symbol, rule = nodes.symbol[n], nodes.rule[n]
        here = offset[n - first]
        m = operators.n_states[symbol]
        offset[n - first + 1] = here + m
        for x in range(m):
            alpha[here + x] = 0.0
        if nodes.kind[n] == LEXICAL:
            for x in range(m):
                alpha[here + x] = lexical[rule, x]
        elif nodes.kind[n] == UNARY:
            below = offset[nodes.left[n] - first]
            n_below = operators.n_states[nodes.symbol[nodes.left[n]]]
            for x in range(m):
                row = operators.unary_start[rule] + x * n_below
                for y in range(n_below):
                    alpha[here + x] += operators.unary[row + y] * alpha[below + y]
        else:
            left, right = nodes.left[n], nodes.right[n]
            a_left, a_right = offset[left - first], offset[right - first]
            n_left, n_right = operators.n_states[nodes.symbol[left]], operators.n_states[nodes.symbol[right]]
            start = operators.binary_start[rule]
            for y in range(n_left):
                value = alpha[a_left + y]
                for z in range(n_right):
                    outer[y * n_right + z] = value * alpha[a_right + z]
            for pair in range(n_left * n_right):
                value = outer[pair]
                for x in range(m):
                    alpha[here + x] += value * operators.binary_up[start + pair * m + x]
        if nodes.kept[n]:
            for x in range(m):
                alpha[here + x] *= operators.kept[operators.state_start[symbol] + x]
        scale = 0.0
        for x in range(m):
            scale = max(scale, abs(alpha[here + x]))
        if scale <= 0.0:
            return -np.inf
        for x in range(m):
            alpha[here + x] /= scale
        log_scale += np.log(scale)
    return log_scale


@njit(cache=True, nogil=True)
def _largest_tree(tree_start: np.ndarray) -> int:
    largest = 0
    for t in range(len(tree_start) - 1):
        largest = max(largest, tree_start[t + 1] - tree_start[t])
    return largest


@njit(cache=True, nogil=True)
def tree_values(operators: Operators, lexical: np.ndarray, nodes: Nodes) -> tuple[np.ndarray, np.ndarray]:
    """Figure 2: sign and log absolute value of every tree, operators of any sign; two float64 arrays (n_trees,)."""
    largest = largest_of(operators.n_states)
    size = _largest_tree(nodes.tree_start)
    offset = np.zeros(size + 1, np.int64)
    alpha = np.empty(size * largest)
    outer = np.empty(largest * largest)
    n_trees = len(nodes.tree_start) - 1
    sign = np.zeros(n_trees)
    log_value = np.full(n_trees, -np.inf)
    for t in range(n_trees):
        first, last = nodes.tree_start[t], nodes.tree_start[t + 1]
        log_scale = _inside_tree(operators, lexical, nodes, first, last, offset, alpha, outer)
        if log_scale == -np.inf:
            continue
        root = operators.state_start[nodes.symbol[last - 1]]
        value = 0.0
        for x in range(operators.n_states[nodes.symbol[last - 1]]):
            value += operators.root[root + x] * alpha[offset[last - 1 - first] + x]
        if value != 0.0:
            sign[t] = np.sign(value)
            log_value[t] = np.log(abs(value)) + log_scale
    return sign, log_value


@njit(cache=True, nogil=True)
def _outside_tree(
    operators: Operators,
    nodes: Nodes,
    first: int,
    last: int,
    offset: np.ndarray,
    alpha: np.ndarray,
    beta: np.ndarray,
    outer: np.ndarray,
    weight: float,
    counts: tuple[np.ndarray, ...],
) -> None:
    """Outside vectors of one tree, each scaled so that alpha . beta = 1; adds the expected counts, times the weight of
    the tree, to ``counts``."""
    binary, unary, lexical, bottom, kept = counts
    for n in range(last - 1, first - 1, -1):
        symbol, rule = nodes.symbol[n], nodes.rule[n]
        here = offset[n - first]
        states = operators.state_start[symbol]
        m = operators.n_states[symbol]
        total = 0.0
        for x in range(m):
            total += alpha[here + x] * beta[here + x]
        for x in range(m):
            beta[here + x] /= total
            posterior = weight * alpha[here + x] * beta[here + x]
            if nodes.kind[n] != UNARY:
                bottom[states + x] += posterior
                if nodes.kept[n]:
                    kept[states + x] += posterior
            if nodes.kind[n] == LEXICAL:
                lexical[rule, x] += posterior
        if nodes.kind[n] == UNARY:
            _below_unary(operators, nodes, n, first, offset, alpha, beta, weight, unary)
        elif nodes.kind[n] == BINARY:
            if nodes.kept[n]:
                # For the nodes below, the weight of keeping this one is part of the outside.
                for x in range(m):
                    beta[here + x] *= operators.kept[states + x]
            _below_binary(operators, nodes, n, first, offset, alpha, beta, outer, weight, binary)


@njit(cache=True, nogil=True)
def _below_unary(
    operators: Operators,
    nodes: Nodes,
    n: int,
    first: int,
    offset: np.ndarray,
    alpha: np.ndarray,
    beta: np.ndarray,
    weight: float,
    counts: np.ndarray,
) -> None:
    """The outside vector of the child of a unary node, and the expected counts of its rule."""
    rule, child = nodes.rule[n], nodes.left[n]
    here, below = offset[n - first], offset[child - first]
    m, n_below = operators.n_states[nodes.symbol[n]], operators.n_states[nodes.symbol[child]]
    for y in range(n_below):
        beta[below + y] = 0.0
    for x in range(m):
        row = operators.unary_start[rule] + x * n_below
        for y in range(n_below):
            beta[below + y] += beta[here + x] * operators.unary[row + y]
    total = 0.0
    for y in range(n_below):
        total += beta[below + y] * alpha[below + y]
    for x in range(m):
        row = operators.unary_start[rule] + x * n_below
        for y in range(n_below):
            counts[row + y] += weight * beta[here + x] * alpha[below + y] / total


@njit(cache=True, nogil=True)
def _below_binary(
    operators: Operators,
    nodes: Nodes,
    n: int,
    first: int,
    offset: np.ndarray,
    alpha: np.ndarray,
    beta: np.ndarray,
    outer: np.ndarray,
    weight: float,
    counts: np.ndarray,
) -> None:
    """The outside vectors of both children of a binary node, and the expected counts of its rule."""
    left, right, here = nodes.left[n], nodes.right[n], offset[n - first]
    a_left, a_right = offset[left - first], offset[right - first]
    m = operators.n_states[nodes.symbol[n]]
    n_left, n_right = operators.n_states[nodes.symbol[left]], operators.n_states[nodes.symbol[right]]
    n_pairs = n_left * n_right
    start = operators.binary_start[nodes.rule[n]]
    for pair in range(n_pairs):
        outer[pair] = 0.0
    for x in range(m):
        above = beta[here + x]
        row = start + x * n_pairs
        for pair in range(n_pairs):
            outer[pair] += above * operators.binary[row + pair]
    for z in range(n_right):
        beta[a_right + z] = 0.0
    total = 0.0
    for y in range(n_left):
        value = alpha[a_left + y]
        inner = 0.0
        for z in range(n_right):
            entry = outer[y * n_right + z]
            beta[a_right + z] += value * entry
            inner += entry * alpha[a_right + z]
        beta[a_left + y] = inner
        total += inner * value
    for y in range(n_left):
        value = weight * alpha[a_left + y] / total
        for z in range(n_right):
            outer[y * n_right + z] = value * alpha[a_right + z]
    for x in range(m):
        above = beta[here + x]
        row = start + x * n_pairs
        for pair in range(n_pairs):
            counts[row + pair] += above * outer[pair]


@njit(cache=True, nogil=True)
def _expected_counts(
    operators: Operators, lexical_vectors: np.ndarray, nodes: Nodes, first_tree: int, last_tree: int
) -> tuple[np.ndarray, ...]:
    largest = largest_of(operators.n_states)
    size = _largest_tree(nodes.tree_start)
    offset = np.zeros(size + 1, np.int64)
    alpha = np.empty(size * largest)
    beta = np.empty(size * largest)
    outer = np.empty(largest * largest)
    binary = np.zeros_like(operators.binary)
    unary = np.zeros_like(operators.unary)
    lexical = np.zeros_like(lexical_vectors)
    bottom = np.zeros_like(operators.kept)
    kept = np.zeros_like(operators.kept)
    root = np.zeros_like(operators.root)
    log_value = np.full(last_tree - first_tree, -np.inf)
    counts = (binary, unary, lexical, bottom, kept)
    for t in range(first_tree, last_tree):
        first, last = nodes.tree_start[t], nodes.tree_start[t + 1]
        log_scale = _inside_tree(operators, lexical_vectors, nodes, first, last, offset, alpha, outer)
        if log_scale == -np.inf:
            continue
        states = operators.state_start[nodes.symbol[last - 1]]
        top = offset[last - 1 - first]
        value = 0.0
        for x in range(operators.n_states[nodes.symbol[last - 1]]):
            beta[top + x] = operators.root[states + x]
            value += beta[top + x] * alpha[top + x]
        if value <= 0.0:
            continue
        log_value[t - first_tree] = np.log(value) + log_scale
        for x in range(operators.n_states[nodes.symbol[last - 1]]):
            root[states + x] += nodes.weight[t] * beta[top + x] * alpha[top + x] / value
        _outside_tree(operators, nodes, first, last, offset, alpha, beta, outer, nodes.weight[t], counts)
    for entry in range(len(binary)):
        binary[entry] *= operators.binary[entry]
    for entry in range(len(unary)):
        unary[entry] *= operators.unary[entry]
    return binary, unary, lexical, bottom, kept, root, log_value


def expected_counts(operators: Operators, lexical: np.ndarray, nodes: Nodes, first_tree: int, last_tree: int) -> Counts:
    """Expected counts of rules and states over trees ``first_tree .. last_tree - 1``, for probabilistic operators.

    A tree counts as often as its weight says; its ``log_value`` is that of the tree alone.

    ``lexical`` (n_rows, largest number of states) holds the vector of each lexical rule.
    """
    return Counts(*_expected_counts(operators, lexical, nodes, first_tree, last_tree))
