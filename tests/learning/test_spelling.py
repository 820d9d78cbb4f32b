"""Spellings: every string has a probability, and all of them add up to one."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from spectragram.learning.spelling import N_CODE_POINTS, Capitalised, Spelling, UnknownWords, capitalise, rare_words

WORDS = ["ab", "abb", "ba", "bab", "b", "aab"]
GROUPS = [0, 0, 1, 1, 1, 0]


@pytest.fixture(scope="module")
def spelling() -> Spelling:
    return Spelling.fit(WORDS, GROUPS, 2)


def total_of_length(spelling: Spelling, length: int) -> np.ndarray:
    """Sum over all strings: x stands for each of the characters outside the alphabet."""
    words = ["".join(letters) for letters in product("abx", repeat=length)]
    others = np.array([word.count("x") for word in words])
    return (np.exp(spelling.log_probs(words)) * (N_CODE_POINTS - 2.0) ** others[:, None]).sum(axis=0)


def test_all_strings_add_up_to_one(spelling):
    totals = np.array([total_of_length(spelling, length) for length in range(1, 10)])
    so_far = totals.cumsum(axis=0)
    assert (so_far < 1.0 + 1e-12).all()
    # What is left falls by the same factor with every letter, so the rest is a geometric series.
    ratio = totals[-1] / totals[-2]
    assert so_far[-1] + totals[-1] * ratio / (1.0 - ratio) == pytest.approx(1.0, abs=2e-4)


def test_groups_spell_differently(spelling):
    logs = spelling.log_probs(["abb", "bab"])
    assert logs[0, 0] > logs[0, 1]
    assert logs[1, 0] < logs[1, 1]


def test_one_more_character_costs(spelling):
    logs = spelling.log_probs(["ab", "abq", "ab☃", ""])[:, 0]
    assert logs[0] > logs[1] > logs[2] - 1e-9
    assert logs[1] < logs[0] - np.log(1e5)  # one of a million characters
    assert logs[3] == -np.inf


def test_known_words_are_left_out(spelling):
    unknown = UnknownWords(spelling, WORDS)
    mass = np.exp(spelling.log_probs(WORDS)).sum(axis=0)
    expected = spelling.log_probs(["aa"]) - np.log(1.0 - mass)
    np.testing.assert_allclose(unknown.log_probs(["aa"]), expected)
    rng = np.random.default_rng(0)
    assert not {unknown.sample(0, rng) for _ in range(50)} & set(WORDS)


def test_samples_have_their_frequencies(spelling):
    rng = np.random.default_rng(1)
    n = 3000
    counts = Counter(spelling.sample(1, rng) for _ in range(n))
    for word, p in zip(WORDS, np.exp(spelling.log_probs(WORDS))[:, 1], strict=True):
        assert abs(counts[word] / n - p) < 5.0 * np.sqrt(p / n), word


def test_a_capital_moves_mass_and_makes_none(spelling):
    raised = Capitalised(spelling, 0.75)
    plain, capital = raised.log_probs(["ab", "Ab"])
    before = np.exp(spelling.log_probs(["ab", "Ab"]))
    np.testing.assert_allclose(np.exp(plain), 0.25 * before[0])
    np.testing.assert_allclose(np.exp(capital), 0.75 * before[0] + before[1])
    np.testing.assert_allclose(np.exp([plain, capital]).sum(axis=0), before.sum(axis=0))
    rng = np.random.default_rng(2)
    drawn = [raised.sample(0, rng) for _ in range(200)]
    assert 0.6 < np.mean([word == capitalise(word) for word in drawn]) < 0.9


def test_rare_words_are_preferred():
    assert rare_words(["a", "b", "c"], [1, 9, 5], 5).tolist() == [True, False, True]
    assert rare_words(["a", "b"], [7, 9], 5).tolist() == [True, True]
