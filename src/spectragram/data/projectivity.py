"""Dependency trees as arrays of heads: check that they are trees, and make them projective.

``heads[i]`` is the head of word i + 1, counted from 1; 0 is the root above the sentence, as in CoNLL-U.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["find_tree_problem", "is_projective", "projectivize"]

Heads = Sequence[int] | np.ndarray


def find_tree_problem(heads: Heads) -> tuple[int, str] | None:
    """Why ``heads`` is not a tree with one root word: ``(word, problem)``, or None if it is one.

    >>> find_tree_problem([2, 0, 2]) is None
    True
    >>> find_tree_problem([2, 1, 0])
    (1, 'its heads form a cycle: 1 <- 2 <- 1')
    """
    heads = [int(head) for head in heads]
    for word, head in enumerate(heads, 1):
        if not 0 <= head <= len(heads):
            missing = f"head {head} is outside 0..{len(heads)}"
            return word, "has no head" if head == -1 else missing
    cycle = _find_cycle(heads)
    if cycle:
        return cycle[0], f"its heads form a cycle: {' <- '.join(map(str, cycle))}"
    roots = [word for word, head in enumerate(heads, 1) if head == 0]
    if len(roots) > 1:
        return roots[1], f"a second root: word {roots[0]} has head 0 already"
    return None


def _find_cycle(heads: list[int]) -> list[int]:
    """The words of a cycle, the first repeated at the end; empty if every word leads to the root."""
    first_visit = [0] * (len(heads) + 1)
    for start in range(1, len(heads) + 1):
        path = []
        word = start
        while word and not first_visit[word]:
            first_visit[word] = start
            path.append(word)
            word = heads[word - 1]
        if word and first_visit[word] == start:
            return [*path[path.index(word) :], word]
    return []


def is_projective(heads: Heads) -> bool:
    """Whether no two arcs of the tree cross, including the arc from the root above the sentence.

    >>> is_projective([2, 0, 2]), is_projective([3, 4, 0, 3])
    (True, False)
    """
    arcs = [(min(word, head), max(word, head)) for word, head in enumerate(map(int, heads), 1)]
    # From left to right, longer arcs first: each arc must end inside the innermost arc that is still open.
    open_until: list[int] = []
    for left, right in sorted(arcs, key=lambda arc: (arc[0], -arc[1])):
        while open_until and open_until[-1] <= left:
            open_until.pop()
        if open_until and open_until[-1] < right:
            return False
        open_until.append(right)
    return True


def projectivize(heads: Heads) -> tuple[np.ndarray, int]:
    """Lift words to the heads of their heads until the tree is projective (Nivre & Nilsson 2005).

    The shortest non-projective arc is lifted first. Returns the new heads, int32, and the number of lifts;
    ``heads`` must be a tree.

    >>> projectivize([3, 4, 0, 3])
    (array([3, 3, 0, 3], dtype=int32), 1)
    """
    lifted = np.array(heads, np.int32)
    lifts = 0
    while not is_projective(lifted):
        word = _shortest_nonprojective(lifted)
        lifted[word - 1] = lifted[lifted[word - 1] - 1]
        lifts += 1
    return lifted, lifts


def _shortest_nonprojective(heads: np.ndarray) -> int:
    """The word whose arc spans the fewest words among those that span a word not below their head."""
    entered, left = _visits(heads.tolist())
    words = np.arange(1, len(heads) + 1)
    for word in words[np.argsort(np.abs(words - heads), kind="stable")]:
        head = heads[word - 1]
        between = entered[min(word, head) + 1 : max(word, head)]
        if not ((entered[head] < between) & (between < left[head])).all():
            return int(word)
    raise ValueError("the tree is projective")


def _visits(heads: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """When a walk enters and leaves each node, 0 (the root above) included, both (n_words + 1,).

    A word is below a head exactly if the walk enters it after it enters the head and before it leaves the head.
    """
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        children[head].append(word)
    entered = np.zeros(len(heads) + 1, np.int64)
    left = np.zeros(len(heads) + 1, np.int64)
    stack = [0]
    time = 0
    while stack:
        node = stack.pop()
        time += 1
        if node < 0:
            left[~node] = time
        else:
            entered[node] = time
            stack.append(~node)
            stack.extend(children[node])
    return entered, left
