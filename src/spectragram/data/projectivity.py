"""Dependency trees as arrays of heads: check that they are trees, make them projective, and undo that.

``heads[i]`` is the head of word i + 1, counted from 1; 0 is the root above the sentence, as in CoNLL-U.

Lifting words until a tree is projective loses their heads. If the relation of the lost head is kept beside each lifted
word (the encoding "head" of Nivre & Nilsson 2005), :func:`restore_heads` finds it again: it is the first word with that
relation in a breadth-first walk below the new head.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["find_tree_problem", "is_projective", "projectivize", "restore_heads"]

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


def restore_heads(heads: Heads, labels: Sequence[str], lost: Sequence[str | None]) -> tuple[np.ndarray, int]:
    """Give lifted words their heads back.

    Parameters
    ----------
    heads
        A tree, as :func:`projectivize` returns it.
    labels : sequence of str
        The relation of each word.
    lost : sequence of str or None
        For each lifted word the relation of the head that it has lost; None for others.

    Returns
    -------
    The new heads, int32, always a tree; and the number of words that found another head. A word stays where it is if no
    word below its head has that relation, those below the word itself left out.

    >>> restore_heads([3, 3, 0, 3], ["a", "b", "c", "d"], [None, "d", None, None])
    (array([3, 4, 0, 3], dtype=int32), 1)
    """
    found = np.array(heads, np.int32)
    waiting = [word for word, label in enumerate(lost, 1) if label is not None]
    n_lifted = len(waiting)
    progress = True
    # The head of one word may have been lifted itself, so that it comes into reach once it is back in its place.
    while waiting and progress:
        still = []
        for word in waiting:
            head = _first_below(found.tolist(), word, labels, lost[word - 1])
            if head:
                found[word - 1] = head
            else:
                still.append(word)
        progress = len(still) < len(waiting)
        waiting = still
    return found, n_lifted - len(waiting)


def _first_below(heads: list[int], word: int, labels: Sequence[str], label: str | None) -> int:
    """The first word with a label in a breadth-first walk below the head of a word, 0 if there is none.

    The word and what is below it are not looked at: it cannot hang there.
    """
    level = [heads[word - 1]]
    while level:
        level = [other for above in level for other in _modifiers(heads, above) if other != word]
        for other in level:
            if labels[other - 1] == label:
                return other
    return 0


def _modifiers(heads: list[int], above: int) -> list[int]:
    return [word for word, head in enumerate(heads, 1) if head == above]


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
