"""The lexical head of every node of a treebank, intermediate symbols included."""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.data.binarization import base_label, is_intermediate
from spectragram.data.heads import HeadRules
from spectragram.data.productions import LEXICAL, UNARY, Productions
from spectragram.data.treebank import Treebank

__all__ = ["head_words"]


def head_words(treebank: Treebank, rules: HeadRules) -> np.ndarray:
    """Which word heads each node: shape (n_nodes,), numbers into ``treebank.sentences.tokens``.

    The heads of a phrase are those of the tree before binarisation, however it was binarised; an intermediate symbol
    is headed by the child that would be the head of its phrase if the phrase had no other children than those below
    the symbol. The head's tag is ``treebank.symbol[treebank.leaves[head_words(...)]]``.
    """
    label, intermediate, rank, rightmost = _tables(treebank.productions, rules)
    return _head_words(
        treebank.kind,
        treebank.symbol,
        treebank.left,
        treebank.right,
        treebank.start,
        label,
        intermediate,
        rank,
        rightmost,
    )


def _tables(productions: Productions, rules: HeadRules) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The treebank's own label behind each symbol, as a number; whether a symbol is intermediate; preferences.

    Preferences are (rank, rightmost) of each label (column) as a child of each other (row).
    """
    n_tags = productions.n_tags
    tags, phrases = productions.labels[:n_tags], productions.labels[n_tags:]
    names = [*tags, *map(base_label, phrases)]
    distinct = sorted(set(names))
    number = {name: i for i, name in enumerate(distinct)}
    label = np.array([number[name] for name in names], np.int32)
    intermediate = np.array([False] * n_tags + [is_intermediate(phrase) for phrase in phrases])
    rank = np.zeros((len(distinct), len(distinct)), np.int32)
    rightmost = np.zeros(rank.shape, np.bool_)
    for phrase in {names[symbol] for symbol in range(n_tags, len(names))}:
        for child in distinct:
            preference = rules.preference(phrase, child)
            rank[number[phrase], number[child]] = preference.rank
            rightmost[number[phrase], number[child]] = preference.rightmost
    return label, intermediate, rank, rightmost


@njit(cache=True, nogil=True)
def _head_words(  # type: ignore[no-untyped-def]
    kind, symbol, left, right, start, label, intermediate, rank, rightmost
):
    """(n_nodes,) x 5, (n_symbols,) x 2, (n_labels, n_labels) x 2 -> (n_nodes,)."""
    head = np.empty(len(kind), np.int32)
    stands_for = np.empty(len(kind), np.int32)  # the label with which a node competes to be its parent's head
    for node in range(len(kind)):
        phrase = label[symbol[node]]
        stands_for[node] = phrase
        if kind[node] == LEXICAL:
            head[node] = start[node]
            continue
        winner = left[node]
        if kind[node] != UNARY:
            a, b = stands_for[left[node]], stands_for[right[node]]
            if rank[phrase, b] < rank[phrase, a] or (rank[phrase, b] == rank[phrase, a] and rightmost[phrase, b]):
                winner = right[node]
        head[node] = head[winner]
        if intermediate[symbol[node]]:
            stands_for[node] = stands_for[winner]
    return head
