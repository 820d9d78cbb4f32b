from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.data.conllu import read_conllu
from spectragram.data.projectivity import find_tree_problem, is_projective, projectivize


def ancestors(heads, word: int) -> set[int]:
    found: set[int] = set()
    while word != 0:
        word = heads[word - 1]
        if word in found:
            return found
        found.add(word)
    return found


def is_single_rooted_tree(heads) -> bool:
    """By definition: every word leads to 0, and one word has it as its head."""
    return list(heads).count(0) == 1 and all(0 in ancestors(heads, i) for i in range(1, len(heads) + 1))


def is_projective_by_definition(heads) -> bool:
    """Every word between a head and its modifier is below the head."""
    for modifier, head in enumerate(heads, 1):
        for between in range(min(head, modifier) + 1, max(head, modifier)):
            if head not in ancestors(heads, between):
                return False
    return True


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_all_small_head_arrays_are_judged_as_defined(n: int) -> None:
    n_trees = n_projective = 0
    for heads in product(range(n + 1), repeat=n):
        assert (find_tree_problem(heads) is None) == is_single_rooted_tree(heads)
        if is_single_rooted_tree(heads):
            n_trees += 1
            n_projective += is_projective(heads)
            assert is_projective(heads) == is_projective_by_definition(heads)
    # Cayley: n^(n-1) rooted trees on n words; A006013: projective ones with one root.
    assert n_trees == n ** (n - 1)
    assert n_projective == [1, 2, 7, 30, 143][n - 1]


def test_problems_name_the_word() -> None:
    assert find_tree_problem([0, 9]) == (2, "head 9 is outside 0..2")
    assert find_tree_problem([0, -1]) == (2, "has no head")
    assert find_tree_problem([0, 0]) == (2, "a second root: word 1 has head 0 already")
    assert find_tree_problem([3, 1, 2]) == (1, "its heads form a cycle: 1 <- 3 <- 2 <- 1")
    assert find_tree_problem([]) is None


@given(st.data())
def test_lifting_makes_trees_projective_and_keeps_projective_ones(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    order = data.draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for i in range(1, n):
        heads[order[i] - 1] = data.draw(st.sampled_from(order[:i]))
    lifted, n_lifts = projectivize(heads)
    assert is_single_rooted_tree(lifted)
    assert is_projective_by_definition(lifted)
    assert (n_lifts == 0) == is_projective_by_definition(heads)
    # A lifted word hangs from a former ancestor of its head.
    assert all(new == old or new in ancestors(heads, old) for new, old in zip(lifted, heads, strict=True))


def test_lifting_a_worked_case() -> None:
    # A hearing is scheduled on the issue today: the arcs hearing -> on and scheduled -> today cross, and
    # either spans a word that is not below its head, so both modifiers rise to "is".
    heads = np.array([2, 3, 0, 3, 2, 7, 5, 4])
    lifted, n_lifts = projectivize(heads)
    assert (lifted.tolist(), n_lifts) == ([2, 3, 0, 3, 3, 7, 5, 3], 2)
    assert heads.tolist() == [2, 3, 0, 3, 2, 7, 5, 4], "the argument is left alone"


def test_the_shortest_arc_is_lifted_first() -> None:
    # 5 -> 3 and 2 -> 5 both span word 4, which is below neither 5 nor 2. The shorter one first: 3 rises to 2, the
    # head of 5; then 5 rises to 4. The other way round 3 would end up at 4 as well.
    lifted, n_lifts = projectivize([0, 4, 5, 1, 2])
    assert (lifted.tolist(), n_lifts) == ([0, 4, 2, 1, 4], 2)


def test_real_treebanks_have_the_published_number_of_nonprojective_trees(data_dir: Path) -> None:
    sentences = read_conllu(data_dir / "ud-ewt/en_ewt-ud-dev.conllu.gz")
    heads = [sentence.heads for sentence in sentences if not is_projective(sentence.heads)]
    assert len(heads) == 31
    assert all(is_projective(projectivize(tree)[0]) for tree in heads)
    assert all(is_projective(s.heads) for s in read_conllu(data_dir / "wsj-dependencies/dev.conllu"))
