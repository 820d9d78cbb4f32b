"""Log-linear factors of the words of a finished tree: the keys of their features.

A template is a list of atoms. Each is a node that the tree places beside a word, a column, and an offset from that node
in the text. With the tree known, a word's head, siblings and modifiers are as good as its neighbours:

    MODIFIER    the word itself           BEFORE, AFTER   its siblings on both sides, in the order of the text
    HEAD        its head                  FIRST, LAST     its own first and last modifier
    GRAND       the head of its head

Scores of labels and gradient steps are those of :mod:`spectragram.inference.token_factors`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.hashed import MIX, STIR, find_place
from spectragram.inference.pair_factors import agreement_key

__all__ = ["AFTER", "BEFORE", "FIRST", "GRAND", "HEAD", "LAST", "MODIFIER", "find_nodes", "tree_places", "valencies"]

MODIFIER, HEAD, GRAND, BEFORE, AFTER, FIRST, LAST = range(7)
N_NODES = 7
"""Kinds of nodes, as listed above."""
NOWHERE, OUTSIDE, WITHIN = 1, 2, 3
"""Values of atoms whose node does not exist or lies outside the sentence, and the first value of a column."""
MOST = 3
"""Modifiers on one side that valencies tell apart. Chosen by hand, not tuned."""


@njit(cache=True, nogil=True)
def find_nodes(heads: np.ndarray) -> np.ndarray:
    """The nodes beside every word, (7, n) int64 counted from 0, -1 where there is none; heads (n,) as in CoNLL-U."""
    n = len(heads)
    nodes = np.full((N_NODES, n), -1, np.int64)
    latest = np.full(n + 1, -1, np.int64)
    for word in range(n):
        head = heads[word] - 1
        nodes[MODIFIER, word] = word
        nodes[HEAD, word] = head
        if head < 0:
            continue
        nodes[GRAND, word] = heads[head] - 1
        nodes[BEFORE, word] = latest[head]
        if latest[head] >= 0:
            nodes[AFTER, latest[head]] = word
        else:
            nodes[FIRST, head] = word
        nodes[LAST, head] = word
        latest[head] = word
    return nodes


@njit(cache=True, nogil=True)
def valencies(heads: np.ndarray) -> np.ndarray:
    """How many modifiers each word has on the left and on the right, up to three, as one number, (n,) int64."""
    n = len(heads)
    left, right = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for word in range(n):
        head = heads[word] - 1
        if head > word:
            left[head] = min(left[head] + 1, MOST)
        elif head >= 0:
            right[head] = min(right[head] + 1, MOST)
    return left * (MOST + 1) + right


@njit(cache=True, nogil=True)
def tree_places(
    columns: np.ndarray,
    nodes: np.ndarray,
    atoms: np.ndarray,
    grades: np.ndarray,
    graded: np.ndarray,
    attributes: np.ndarray,
    agreeing: np.ndarray,
    size: int,
) -> np.ndarray:
    """Where the features of every word lie in a table of ``size`` weights, (n, t) int64, the place of the first label.

    columns (c, n) int64; nodes (7, n); atoms (t, a, 3) int64, each a node, a column (-1 for none) and an offset;
    grades (n,): the grade of each distance to the head, and graded (t,) whether a template looks at it;
    attributes (n, k): values of attributes, and agreeing (t,) whether a template compares those of word and head.
    The direction of the head is part of every feature. Words below the root get places like others.
    """
    n = columns.shape[1]
    n_templates, n_atoms, _ = atoms.shape
    shift = np.uint64(64 - int(np.log2(size) + 0.5))
    places = np.empty((n, n_templates), np.int64)
    for i in range(n):
        head = nodes[HEAD, i]
        direction = np.uint64(0 if head < 0 else 1 if head < i else 2)
        grade = np.uint64(0 if head < 0 else grades[abs(head - i)] + 1)
        agreement = np.uint64(0) if head < 0 else agreement_key(attributes, i, head)
        for t in range(n_templates):
            key = np.uint64(t + 1) * STIR
            for a in range(n_atoms):
                node, column, offset = atoms[t, a]
                if column < 0:
                    break
                at = nodes[node, i]
                value = NOWHERE
                if at >= 0:
                    at += offset
                    value = columns[column, at] + WITHIN if 0 <= at < n else OUTSIDE
                key = (key ^ np.uint64(value)) * MIX
                key ^= key >> np.uint64(29)
            key = (key + direction) * STIR
            if graded[t]:
                key += grade * STIR
            if agreeing[t]:
                key += agreement
            places[i, t] = find_place(key, shift)
    return places
