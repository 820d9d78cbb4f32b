"""Sums over the nodes of given trees, rule by rule, where every node has its own vector.

With projected outsides and insides these are the correlations D and d of Cohen et al. 2012 (figure 4, step 2); with
probabilities of states they are the counts of a model whose states are clusters (Narayan & Cohen 2015).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.fixed_tree import LEXICAL, UNARY, Counts, Nodes

__all__ = ["count_assignments"]


@njit(cache=True, nogil=True)
def _count_assignments(
    layout: tuple[np.ndarray, np.ndarray, np.ndarray],
    n_states: np.ndarray,
    nodes: Nodes,
    upper: np.ndarray,
    lower: np.ndarray,
    n_lexical: int,
) -> tuple[np.ndarray, ...]:
    state_start, binary_start, unary_start = layout
    binary = np.zeros(binary_start[-1])
    unary = np.zeros(unary_start[-1])
    lexical = np.zeros((n_lexical, upper.shape[1]))
    bottom = np.zeros(state_start[-1])
    kept = np.zeros(state_start[-1])
    root = np.zeros(state_start[-1])
    for t in range(len(nodes.tree_start) - 1):
        weight, top = nodes.weight[t], nodes.tree_start[t + 1] - 1
        for n in range(nodes.tree_start[t], nodes.tree_start[t + 1]):
            rule, states = nodes.rule[n], state_start[nodes.symbol[n]]
            left, right = nodes.left[n], nodes.right[n]
            for x in range(n_states[nodes.symbol[n]]):
                share = weight * upper[n, x]
                if nodes.kind[n] != UNARY:
                    bottom[states + x] += share
                    if nodes.kept[n]:
                        kept[states + x] += share
                if nodes.kind[n] == LEXICAL:
                    lexical[rule, x] += share
                elif nodes.kind[n] == UNARY:
                    n_below = n_states[nodes.symbol[left]]
                    for y in range(n_below):
                        unary[unary_start[rule] + x * n_below + y] += share * lower[left, y]
                else:
                    n_left, n_right = n_states[nodes.symbol[left]], n_states[nodes.symbol[right]]
                    for y in range(n_left):
                        value = share * lower[left, y]
                        row = binary_start[rule] + (x * n_left + y) * n_right
                        for z in range(n_right):
                            binary[row + z] += value * lower[right, z]
        for x in range(n_states[nodes.symbol[top]]):
            root[state_start[nodes.symbol[top]] + x] += weight * lower[top, x]
    return binary, unary, lexical, bottom, kept, root, np.zeros(0)


def count_assignments(
    layout: tuple[np.ndarray, np.ndarray, np.ndarray],
    n_states: np.ndarray,
    nodes: Nodes,
    upper: np.ndarray,
    lower: np.ndarray,
    n_lexical: int,
) -> Counts:
    """Sums over nodes of (vector of the node) (x) (vectors of its children), rule by rule, times weights of trees.

    ``upper`` and ``lower``, (n_nodes, largest number of states), are the vectors of a node as the parent in a rule
    and as a child or root. If both are the same probabilities of states, these are the counts of a model
    with independent nodes; with projected outsides and insides they are the moments of the spectral learner.
    """
    return Counts(*_count_assignments(layout, n_states.astype(np.int32), nodes, upper, lower, n_lexical))
