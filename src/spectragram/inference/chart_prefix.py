"""Exact inside and prefix probabilities over the whole chart, nothing pruned.

    inside    alpha(i, j) = sum over rules and k of C . (alpha(i, k) (x) alpha(k, j))
    prefix    pi(i) = R (sum over rules and k of C . (alpha(i, k) (x) pi(k))): words i .. n-1 begin a tree

A tree whose first child is still open at the end of the prefix adds its left corner: with L(a, b) the weight of
a -> b c summed over c, the geometric series of left corners is R = (1 - L)^-1 (Jelinek & Lafferty 1991).
Vectors of all symbols and states lie one after the other.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.chart_rules import Operators, Rules

__all__ = ["close_span", "combine", "left_corner_closure"]


@njit(cache=True, nogil=True)
def combine(rules: Rules, operators: Operators, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Bottom vector of a span from the top vectors of all its pairs of parts.

    ``left`` and ``right`` are (n_splits, n_all_states); returns (n_all_states,).
    """
    out = np.zeros(left.shape[1])
    n_splits = len(left)
    start = operators.state_start
    n_symbols = len(start) - 1
    left_alive = np.zeros((n_symbols, n_splits), np.bool_)
    right_alive = np.zeros((n_symbols, n_splits), np.bool_)
    for a in range(n_symbols):
        for k in range(n_splits):
            for x in range(start[a], start[a + 1]):
                left_alive[a, k] |= left[k, x] != 0.0
                right_alive[a, k] |= right[k, x] != 0.0
    largest = operators.n_states.max()
    outer = np.empty(largest * largest)
    for r in range(len(rules.binary)):
        a, b, c = rules.binary[r]
        n_left, n_right, m = operators.n_states[b], operators.n_states[c], operators.n_states[a]
        used = False
        for k in range(n_splits):
            if left_alive[b, k] and right_alive[c, k]:
                if not used:
                    used = True
                    for pair in range(n_left * n_right):
                        outer[pair] = 0.0
                for y in range(n_left):
                    value = left[k, start[b] + y]
                    for z in range(n_right):
                        outer[y * n_right + z] += value * right[k, start[c] + z]
        if used:
            up = operators.binary_start[r]
            for pair in range(n_left * n_right):
                value = outer[pair]
                for x in range(m):
                    out[start[a] + x] += value * operators.binary_up[up + pair * m + x]
    return out


@njit(cache=True, nogil=True)
def close_span(rules: Rules, operators: Operators, bottom: np.ndarray) -> np.ndarray:
    """Top vector of a span from its bottom vector, both (n_all_states,)."""
    start = operators.state_start
    top = operators.kept * bottom
    for u in range(len(rules.unary)):
        a, b = rules.unary[u]
        n_below = operators.n_states[b]
        for x in range(operators.n_states[a]):
            row = operators.unary_start[u] + x * n_below
            for y in range(n_below):
                top[start[a] + x] += operators.unary[row + y] * bottom[start[b] + y]
    return top


def left_corner_closure(rules: Rules, operators: Operators) -> np.ndarray:
    """The matrix R, (n_all_states, n_all_states): from weights of open bottom items to those of all open ones.

    An open bottom item reaches upwards as the first child of any number of larger items.
    """
    size = int(operators.state_start[-1])
    start, n_states = operators.state_start, operators.n_states
    corner = np.zeros((size, size))
    for r, (a, b, c) in enumerate(rules.binary):
        tensor = operators.binary[operators.binary_start[r] : operators.binary_start[r + 1]]
        summed = tensor.reshape(n_states[a], n_states[b], n_states[c]).sum(axis=2)
        corner[start[a] : start[a + 1], start[b] : start[b + 1]] += summed
    closing = np.diag(operators.kept)
    for u, (a, b) in enumerate(rules.unary):
        matrix = operators.unary[operators.unary_start[u] : operators.unary_start[u + 1]]
        closing[start[a] : start[a + 1], start[b] : start[b + 1]] += matrix.reshape(n_states[a], n_states[b])
    return np.linalg.inv(np.eye(size) - corner @ closing)
