"""Features of words in a tree: nodes by hand, and places that depend on what templates name and nothing else."""

from __future__ import annotations

import numpy as np

from spectragram.inference.tree_factors import (
    AFTER,
    BEFORE,
    FIRST,
    GRAND,
    HEAD,
    LAST,
    MODIFIER,
    find_nodes,
    tree_places,
    valencies,
)

HEADS = np.array([2, 0, 2, 5, 3, 2])  # 1 <- 2 -> 3 -> 5 -> 4, 2 -> 6
N = len(HEADS)
SIZE = 1 << 20


def test_nodes_of_a_tree() -> None:
    nodes = find_nodes(HEADS)
    assert nodes[MODIFIER].tolist() == [0, 1, 2, 3, 4, 5]
    assert nodes[HEAD].tolist() == [1, -1, 1, 4, 2, 1]
    assert nodes[GRAND].tolist() == [-1, -1, -1, 2, 1, -1]
    assert nodes[BEFORE].tolist() == [-1, -1, 0, -1, -1, 2]
    assert nodes[AFTER].tolist() == [2, -1, 5, -1, -1, -1]
    assert nodes[FIRST].tolist() == [-1, 0, 4, -1, 3, -1]
    assert nodes[LAST].tolist() == [-1, 5, 4, -1, 3, -1]


def test_valencies_count_both_sides_up_to_three() -> None:
    assert valencies(HEADS).tolist() == [0, 4 + 2, 1, 0, 4, 0]
    assert valencies(np.array([0, 1, 1, 1, 1, 1])).tolist() == [3, 0, 0, 0, 0, 0]


def places(columns: np.ndarray, heads: np.ndarray, atom: list[int], *, graded: bool = False) -> np.ndarray:
    flags = np.array([graded]), np.array([False])
    attributes = np.zeros((len(heads), 0), np.int64)
    grades = np.arange(len(heads))
    return tree_places(columns, find_nodes(heads), np.array([[atom]]), grades, flags[0], attributes, flags[1], SIZE)[
        :, 0
    ]


def test_a_place_changes_with_the_named_node_and_no_other() -> None:
    columns = np.arange(1, N + 1)[None]
    for node in range(7):
        nodes = find_nodes(HEADS)
        before = places(columns, HEADS, [node, 0, 0])
        for word in range(N):
            changed = columns.copy()
            changed[0, word] = 99
            after = places(changed, HEADS, [node, 0, 0])
            assert ((before != after) == (nodes[node] == word)).all()


def test_offsets_leave_the_sentence_without_harm() -> None:
    columns = np.arange(1, N + 1)[None]
    found = places(columns, HEADS, [HEAD, 0, 5])
    # The head of words 1, 3 and 6 is word 2: five further is word 7, outside; other heads are further still.
    assert found[2] == found[5] == found[4]
    assert found[0] != found[2], "the head is on the other side"


def test_distance_counts_where_it_is_asked_for() -> None:
    columns = np.ones((1, N), np.int64)
    plain, graded = (places(columns, HEADS, [MODIFIER, 0, 0], graded=graded) for graded in (False, True))
    assert plain[2] == plain[5]
    assert graded[2] != graded[5]


def test_agreement_with_the_head_counts_where_it_is_asked_for() -> None:
    columns, atoms = np.ones((1, N), np.int64), np.array([[[MODIFIER, 0, 0]]])
    attributes = np.array([[1], [1], [1], [2], [2], [2]])
    found = [
        tree_places(
            columns, find_nodes(HEADS), atoms, np.arange(N), np.array([False]), attributes, np.array([asked]), SIZE
        )[:, 0]
        for asked in (False, True)
    ]
    assert found[0][2] == found[0][5]
    assert found[1][2] != found[1][5], "word 3 agrees with word 2, word 6 does not"
