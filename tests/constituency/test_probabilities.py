"""Probabilities of sentences and prefixes against sums over all derivations; samples against probabilities."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spectragram.constituency import probabilities
from spectragram.constituency.model import Grammar
from spectragram.constituency.probabilities import prefix_log_probs, sample_tree, sentence_log_prob, word_log_prob
from spectragram.data.brackets import parse_tree
from tests.constituency.brute import Enumeration, make_grammar, random_member, random_trees, training_trees

FINITE = [
    "(S (A (s x)) (B (t y)))",
    "(S (A (s x) (t z)) (B (t y)))",
    "(S (A (t y)) (B (s x) (s z)))",
    "(S (B (C (s z) (t x))))",
    "(B (t y))",
]
"""No label is below itself, so the language is finite: at most four words."""
LONGEST = 4


@pytest.fixture(scope="module")
def finite() -> Grammar:
    rng = np.random.default_rng(4)  # phrases and tags have two states
    data = training_trees([parse_tree(text) for text in FINITE for _ in range(3)])
    return make_grammar(data, [random_member(data, rng)])


def value_with_any_words(grammar: Grammar, words: list[str], n_more: int) -> float:
    """Sum over all sentences of this length that begin with the words: later words have the vector one."""
    member = grammar.members[0]
    tags = np.arange(grammar.productions.n_tags)
    ones = np.ones((len(tags), int(member.operators.n_states.max())))

    def vectors(at: int) -> tuple[np.ndarray, np.ndarray]:
        return member.lexicon.vectors(words[at], at == 0) if at < len(words) else (tags, ones)

    return Enumeration(grammar, member, [*words, *["?"] * n_more], vectors).value()


@pytest.mark.parametrize("words", [["x"], ["y", "unknown"], ["x", "z", "y"], ["z", "z", "x", "y"]], ids=len)
def test_a_sentence_is_as_probable_as_all_its_trees(words):
    rng = np.random.default_rng(0)
    data = training_trees(random_trees(rng))
    grammar = make_grammar(data, [random_member(data, rng)])
    expected = np.log(Enumeration(grammar, grammar.members[0], words).value())
    expected += sum(word_log_prob(grammar.members[0], word) for word in words)
    assert sentence_log_prob(grammar, words) == pytest.approx(expected, rel=1e-10)
    assert prefix_log_probs(grammar, words)[1] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("words", [["x", "y"], ["x", "z", "y"], ["y", "x", "z"]], ids=" ".join)
def test_a_prefix_is_as_probable_as_all_sentences_that_begin_with_it(finite, words):
    found, whole = prefix_log_probs(finite, words)
    assert found.shape == (len(words) + 1,)
    assert found[0] == 0.0
    for i in range(1, len(words) + 1):
        prefix = words[:i]
        total = sum(value_with_any_words(finite, prefix, n_more) for n_more in range(LONGEST - i + 1))
        expected = np.log(total) + sum(word_log_prob(finite.members[0], word) for word in prefix)
        assert found[i] == pytest.approx(expected, rel=1e-10)
    assert whole <= found[-1] + 1e-12


def test_all_lengths_add_up_to_one(finite):
    """With vectors that are one, a sentence stands for all sentences of its length."""
    assert sum(value_with_any_words(finite, [], n) for n in range(1, LONGEST + 1)) == pytest.approx(1.0, rel=1e-10)


def test_what_cannot_be_derived_is_impossible(finite):
    words = ["x"] * (LONGEST + 1)
    assert sentence_log_prob(finite, words) == -np.inf
    prefixes, whole = prefix_log_probs(finite, words)
    assert whole == prefixes[-1] == -np.inf
    assert np.isfinite(prefixes[:-1]).all()


def test_a_negative_value_is_not_a_number(rng):
    data = training_trees(random_trees(rng))
    member = random_member(data, rng)
    operators = member.operators._replace(root=-member.operators.root)
    grammar = make_grammar(data, [type(member)(operators, member.lexicon)])
    assert np.isnan(sentence_log_prob(grammar, ["x", "y"]))


def test_words_have_relative_frequencies(finite):
    """Of 33 tokens 12 are x and none is seen once, so an unknown word counts as one."""
    member = finite.members[0]
    table = member.lexicon.table
    assert (table.n_tokens, table.word_counts["x"]) == (33, 12)
    assert word_log_prob(member, "x") == pytest.approx(np.log(12 / 34))
    assert word_log_prob(member, "unknown") == pytest.approx(np.log(1 / 34))


def test_samples_have_the_frequencies_of_their_trees(finite):
    """Words of a state are drawn in proportion to their expected counts with it."""
    member = finite.members[0]
    lexicon, n_tags = member.lexicon, finite.productions.n_tags
    total = np.zeros((n_tags, lexicon.values.shape[1]))
    np.add.at(total, lexicon.table.tags, lexicon.values)
    exact: dict[str, float] = {}
    n = 4000
    counted = Counter(str(sample_tree(finite, rng)) for rng in [np.random.default_rng(5)] for _ in range(n))
    for text in counted:
        words = parse_tree(text).leaves()

        def vectors(at: int, words: list[str] = words) -> tuple[np.ndarray, np.ndarray]:
            own = np.array([word == words[at] for word in lexicon.table.words])
            values = np.zeros_like(total)
            np.add.at(values, lexicon.table.tags[own], lexicon.values[own])
            return np.arange(n_tags), values / np.maximum(total, 1e-300)

        for derivation in Enumeration(finite, member, words, vectors).derivations():
            exact[str(derivation.tree(finite, words))] = derivation.value
    assert len(counted) > 30
    for text, times in counted.items():
        p = exact[text]
        assert abs(times / n - p) < 5.0 * np.sqrt(p * (1.0 - p) / n) + 1.0 / n, text
    assert sum(exact[text] for text in counted) > 0.98


def test_trees_that_grow_too_large_are_drawn_again(monkeypatch, rng):
    data = training_trees(random_trees(rng, 20, 4))
    grammar = make_grammar(data, [random_member(data, rng)])
    sizes = [len(sample_tree(grammar, rng).leaves()) for _ in range(100)]
    monkeypatch.setattr(probabilities, "MAX_NODES", 3)
    small = [len(sample_tree(grammar, rng).leaves()) for _ in range(100)]
    assert max(small) <= 3 < max(sizes)
