from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.data.conllu import read_conllu
from spectragram.data.projectivity import find_tree_problem, is_projective, projectivize, restore_heads


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


def lost_labels(heads, lifted, labels) -> list[str | None]:
    return [None if old == new else labels[old - 1] for old, new in zip(heads, lifted, strict=True)]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_lost_heads_are_found_again_if_relations_tell_words_apart(n: int) -> None:
    """All trees of up to six words: with different relations every one survives lifting and restoring."""
    labels = [f"r{word}" for word in range(n)]
    n_crossing = 0
    for heads in product(range(n + 1), repeat=n):
        if heads.count(0) != 1 or not is_single_rooted_tree(heads) or is_projective(heads):
            continue
        lifted, _ = projectivize(heads)
        lost = lost_labels(heads, lifted, labels)
        found, n_restored = restore_heads(lifted, labels, lost)
        assert tuple(found) == heads
        assert n_restored == sum(label is not None for label in lost)
        n_crossing += 1
    # n^(n-1) trees, of which 1, 2, 7, 30, 143, 728 are projective.
    assert n_crossing == n ** (n - 1) - [1, 2, 7, 30, 143, 728][n - 1]


@pytest.mark.parametrize("n", [3, 4, 5])
def test_whatever_is_said_to_be_lost_a_tree_remains_a_tree(n: int) -> None:
    labels = ["a", "b"] * 3
    rng = np.random.default_rng(n)
    for heads in product(range(n + 1), repeat=n):
        if heads.count(0) == 1 and is_single_rooted_tree(heads) and is_projective(heads):
            lost = [[None, "a", "b", "c"][kind] for kind in rng.integers(4, size=n)]
            found, n_restored = restore_heads(heads, labels[:n], lost)
            assert is_single_rooted_tree(found)
            assert n_restored <= sum(label is not None for label in lost)
            assert all(new == old for new, old, label in zip(found, heads, lost, strict=True) if label is None)


def test_the_first_word_with_the_relation_is_the_highest_and_leftmost() -> None:
    # 1 is the root; 2 and 4 hang from it, 3 from 2; 5 was lifted to 1 from a word with relation x.
    heads, lost = [0, 1, 2, 1, 1], [None] * 4 + ["x"]
    assert restore_heads(heads, ["root", "y", "x", "x", "z"], lost)[0].tolist() == [0, 1, 2, 1, 4]
    assert restore_heads(heads, ["root", "x", "x", "x", "z"], lost)[0].tolist() == [0, 1, 2, 1, 2]
    assert restore_heads(heads, ["root", "y", "y", "y", "z"], lost)[1] == 0
