"""Back-off of observations: hand-worked probabilities, nesting, unknown observations."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.tagging.lexicon import Lexicon, back_off_keys, learn_lexicon
from spectragram.tagging.sequences import Observations, read_observations


def types(observations: list[tuple[str, ...]]) -> Observations:
    """Types to look up, none at the beginning of a sequence."""
    none = np.zeros(0, np.int64)
    return Observations(observations, np.zeros(len(observations), bool), none, none)


def test_probabilities_of_two_columns_by_hand() -> None:
    observed = read_observations([[("run", "V"), ("run", "N"), ("dog", "N"), ("dog", "N")]])
    labels = np.array([0, 1, 1, 0], np.int32)
    lexicon, _ = learn_lexicon(observed, labels, 2, kappa=2.0, by_looks=False)
    nodes = lexicon.nodes(types([("dog", "N"), ("cat", "N"), ("dog", "X")]))
    prior = np.array([0.5, 0.5])
    noun = (np.array([1.0, 2.0]) + 2 * prior) / (3 + 2)
    dog = (np.array([1.0, 1.0]) + 2 * noun) / (2 + 2)
    np.testing.assert_allclose(lexicon.label_probabilities(nodes), [dog, noun, prior])


def test_vectors_by_hand() -> None:
    observed = read_observations([[("run", "V"), ("run", "N"), ("dog", "N"), ("dog", "N")]])
    labels = np.array([0, 1, 1, 0], np.int32)
    lexicon, cells = learn_lexicon(observed, labels, 2, kappa=2.0, by_looks=False)
    vectors = np.array([[1.0, 0.0], [0.0, 4.0], [8.0, 0.0], [5.0, 5.0]])
    root = np.array([[1.0, 1.0], [1.0, -1.0]])
    by_cell = cells.back_off(cells.add_up(vectors), root, per="cell")
    starts = np.array([0, 2, 4])
    nodes = lexicon.nodes(types([("dog", "N"), ("cat", "N"), ("a", "V")]))
    found = lexicon.tree.finest(nodes, by_cell, root.ravel(), starts)
    noun = [(vectors[3] + 2 * root[0]) / 3, (vectors[1] + vectors[2] + 2 * root[1]) / 4]
    dog = [(vectors[3] + 2 * noun[0]) / 3, (vectors[2] + 2 * noun[1]) / 3]
    verb = [(vectors[0] + 2 * root[0]) / 3, root[1]]  # label 1 was never seen with a verb
    np.testing.assert_allclose(found, [np.ravel(dog), np.ravel(noun), np.ravel(verb)])


def test_unseen_words_take_the_class_they_look_like() -> None:
    rare = [f"{a}oking" for a in "abcdefgh"] + [f"{a}okly" for a in "abcdefgh"]
    frequent = ["thing"] * 20
    observed = read_observations([rare + frequent])
    labels = np.array([0] * 8 + [1] * 8 + [2] * 20, np.int32)
    lexicon, _ = learn_lexicon(observed, labels, 3, kappa=1.0, by_looks=True)
    likely = lexicon.label_probabilities(lexicon.nodes(types([("ling",), ("zokly",), ("thing",), ("Thing",)])))
    # Frequent words do not count in classes by looks, but their lower-case form does.
    assert likely.argmax(axis=1).tolist() == [0, 1, 2, 2]
    assert likely[0, 2] < 0.1


def test_distributions_sum_to_one_whatever_the_word() -> None:
    observed = read_observations([["The", "dog", "saw", "3", "dogs", "."], ["A", "Dog", "barks"]])
    labels = np.arange(9, dtype=np.int32) % 4
    lexicon, _ = learn_lexicon(observed, labels, 4, kappa=3.0, by_looks=True)
    words = [("dog",), ("DOG",), ("",), ("zebras",), ("\u4e2d",), ("x\x1fy",)]
    np.testing.assert_allclose(lexicon.label_probabilities(lexicon.nodes(types(words))).sum(axis=1), 1)


def test_vectors_that_are_all_one_average_to_one() -> None:
    observed = read_observations([["The", "dog", "saw", "the", "dogs", "."]])
    _, cells = learn_lexicon(observed, np.array([0, 1, 2, 0, 1, 3], np.int32), 4, kappa=3.0, by_looks=True)
    np.testing.assert_allclose(cells.back_off(cells.add_up(np.ones((6, 2))), np.ones((4, 2)), per="cell"), 1)


def test_keys_of_columns_nest() -> None:
    fine = back_off_keys(("Dogs", "NNS"), by_looks=True)
    same_class = back_off_keys(("Cats", "NNS"), by_looks=True)
    shared = [a == b for a, b in zip(fine, same_class, strict=True)]
    assert not any(shared[:2]) and shared[-1]
    assert shared == sorted(shared)  # once two words share a class they share all coarser ones


def test_state_round_trip_and_damage() -> None:
    observed = read_observations([["a", "b", "a"]])
    lexicon, _ = learn_lexicon(observed, np.array([0, 1, 1], np.int32), 2, kappa=1.0, by_looks=True)
    values, arrays = lexicon.to_state()
    again = Lexicon.from_state(values, arrays)
    nodes = lexicon.nodes(types([("a",), ("c",)]))
    np.testing.assert_array_equal(again.nodes(types([("a",), ("c",)])), nodes)
    np.testing.assert_array_equal(again.label_probabilities(nodes), lexicon.label_probabilities(nodes))
    with pytest.raises(ValueError, match="fit together"):
        Lexicon.from_state(values, arrays | {"parents": arrays["parents"][::-1].copy()})
    with pytest.raises(ValueError, match="fit together"):
        Lexicon.from_state(values, arrays | {"prior": arrays["prior"][:1]})


def test_words_are_the_first_columns_of_observations() -> None:
    observed = read_observations([[("Dogs", "N"), ("bark", "V")], [("Dogs", "N")], [("x", "N"), ("Dogs", "N")]])
    lexicon, _ = learn_lexicon(observed, np.array([0, 1, 0, 0, 0], np.int32), 2, kappa=1.0, by_looks=True)
    assert lexicon.words() == {"Dogs", "bark", "x"}
    assert sorted(observation for _, observation in lexicon.exact()) == [
        ("Dogs", "N"), ("Dogs", "N"), ("bark", "V"), ("x", "N"),
    ]  # fmt: skip


def test_a_capital_at_the_beginning_says_less() -> None:
    names = [["to", f"N{letter}mton"] for letter in "abcdefghi"]
    openers = [[f"O{letter}dton", "to"] for letter in "abcdefghi"]
    observed = read_observations(names + openers)
    labels = np.array([0, 1] * 9 + [2, 0] * 9, np.int32)
    lexicon, _ = learn_lexicon(observed, labels, 3, kappa=1.0, by_looks=True)
    unseen = read_observations([["Newton", "Newton"]])
    assert lexicon.label_probabilities(lexicon.nodes(unseen)).argmax(axis=1).tolist() == [2, 1]
