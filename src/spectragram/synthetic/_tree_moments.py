"""Moments of latent-variable trees, and how to count them in sampled trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spectragram.data.corpus import Corpus

if TYPE_CHECKING:
    from spectragram.synthetic.lpcfg import LatentPCFG

__all__ = ["TreeMoments", "count_tree_moments"]


@dataclass(frozen=True)
class TreeMoments:
    """Expectations over all nodes of all trees, given the label a of the node."""

    inside_outside: np.ndarray
    """E[phi(T1) psi(O)' | a], (n_labels, d, d')"""
    binary: np.ndarray
    """E[[R1 = a -> b c] phi(T3) x psi(O) x phi(T2) | a], (R, d, d', d): right child, outside, left child"""
    lexical: np.ndarray
    """E[[R1 = a -> x] psi(O) | a], (n_preterminals, n_words, d')"""
    root: np.ndarray
    """E[[A1 = a] phi(T1) | node is a root], (n_interminals, d)"""


def count_tree_moments(grammar: LatentPCFG, corpus: Corpus) -> TreeMoments:
    """Estimate the moments of a grammar's default features from trees that it generated."""
    R, P = len(grammar.rules), grammar.n_preterminals
    rule, above, left, right = _link_nodes(corpus, R)
    label = np.where(
        rule < R, grammar.rules[np.minimum(rule, R - 1), 0], grammar.n_interminals + (rule - R) // grammar.n_words
    )
    n_nodes = np.maximum(np.bincount(label, minlength=grammar.n_labels), 1.0)
    inside_outside = np.zeros((grammar.n_labels, grammar.n_rules, 2 * R + 1))
    np.add.at(inside_outside, (label, rule, above), 1.0)
    inner = np.flatnonzero(rule < R)
    binary = np.zeros((R, grammar.n_rules, 2 * R + 1, grammar.n_rules))
    np.add.at(binary, (rule[inner], rule[right[inner]], above[inner], rule[left[inner]]), 1.0)
    leaves = np.flatnonzero(rule >= R)
    lexical = np.zeros((P * grammar.n_words, 2 * R + 1))
    np.add.at(lexical, (rule[leaves] - R, above[leaves]), 1.0)
    roots = corpus.offsets[:-1]
    root = np.zeros((grammar.n_interminals, grammar.n_rules))
    np.add.at(root, (label[roots], rule[roots]), 1.0)
    return TreeMoments(
        inside_outside / n_nodes[:, None, None],
        binary / n_nodes[grammar.rules[:, 0], None, None, None],
        lexical.reshape(P, grammar.n_words, -1) / n_nodes[grammar.n_interminals :, None, None],
        root / len(corpus),
    )


def _link_nodes(corpus: Corpus, n_binary: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """For every node of the leftmost derivations: its rule, its outside feature, its left and its right child.

    All arrays have shape (n_nodes,). Outside features are those of :meth:`LatentPCFG.outside`; leaves have children -1.
    """
    rule = corpus.tokens.astype(np.int64)
    above = np.full(len(rule), 2 * n_binary)
    left, right = np.full(len(rule), -1), np.full(len(rule), -1)
    stack: list[int] = []
    for node in range(len(rule) - 1, -1, -1):
        if rule[node] < n_binary:
            left[node], right[node] = stack.pop(), stack.pop()
            above[left[node]], above[right[node]] = 2 * rule[node], 2 * rule[node] + 1
        stack.append(node)
    return rule, above, left, right
