"""The parser as a distribution over sentences, against sums over all derivations."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from spectragram.constituency import ConstituencyParser, sampling
from spectragram.constituency.model import Grammar, Model
from spectragram.constituency.probabilities import UNGRAMMATICAL, parser_mixture
from spectragram.constituency.sampling import sample_tree
from spectragram.data.brackets import parse_tree
from spectragram.errors import InputError
from spectragram.learning.prefix_mixture import PrefixMixture
from spectragram.learning.spelling import N_CODE_POINTS
from tests.constituency.brute import Enumeration, make_grammar, random_member, training_trees

FINITE = [
    "(S (A (s x)) (B (t y)))",
    "(S (A (s x) (t z)) (B (t y)))",
    "(S (A (t y)) (B (s x) (s z)))",
    "(S (B (C (s z) (t x))))",
    "(B (t y))",
    "(B (t q))",
]
"""No label is below itself, so the language is finite: at most four words."""
LONGEST = 4


@pytest.fixture(scope="module")
def finite() -> Grammar:
    rng = np.random.default_rng(4)  # phrases and tags have two states
    data = training_trees([parse_tree(text) for text in FINITE for _ in range(3)])
    return make_grammar(data, [random_member(data, rng), random_member(data, rng)])


@pytest.fixture(scope="module")
def mixture(finite) -> PrefixMixture:
    return parser_mixture(Model((finite,), "mbr", probabilistic=True))


def value(grammar: Grammar, mixture: PrefixMixture, number: int, words: list[str], n_more: int = 0) -> float:
    """p(words and then so many of any kind) under a member, by enumeration of its derivations."""
    part, member = mixture.parts[number], grammar.members[number]
    vectors, scales = part.emissions.vectors(words)
    starts = np.concatenate([[0], np.cumsum(part.emissions.n_states)])
    tags = np.arange(grammar.productions.n_tags)
    width = int(member.operators.n_states.max())

    def of_place(at: int) -> tuple[np.ndarray, np.ndarray]:
        table = np.ones((len(tags), width))
        if at < len(words):
            for tag in tags:
                own = vectors[at, starts[tag] : starts[tag + 1]]
                table[tag, : len(own)] = own * np.exp(scales[at])
        return tags, table

    return Enumeration(grammar, member, [*words, *["?"] * n_more], of_place).value()


@pytest.mark.parametrize("words", [["x", "y"], ["x", "z", "y"], ["y", "unheard", "z"], ["X", "q"]], ids=" ".join)
def test_prefixes_and_sentences_are_sums_over_derivations_and_members(finite, mixture, words):
    (found,) = mixture.map([words], lambda _, asked: mixture.log_probs(asked))
    for i in range(1, len(words) + 1):
        total = np.mean(
            [sum(value(finite, mixture, m, words[:i], more) for more in range(LONGEST - i + 1)) for m in (0, 1)]
        )
        assert found[i] == pytest.approx(np.log(total), abs=1e-4)
    whole = np.mean([value(finite, mixture, m, words) for m in (0, 1)])
    # Sentences that no tree has are left to the part without a grammar.
    assert found[-1] == pytest.approx(np.log(whole), abs=1e-4) if whole else found[-1] < np.log(UNGRAMMATICAL)


def test_next_words_sum_to_one_and_are_what_surprisal_says(mixture):
    """Known words one by one; what is left is the unknown word and the end."""
    opening = mixture.chances
    for prefix in ([], ["x"], ["y", "x"], ["x", "z"]):
        (chances,) = mixture.map([prefix], lambda words, asked: mixture.next_words(asked, [len(words)])[0])
        assert chances.sum() == pytest.approx(1.0, abs=1e-6)
        known = opening.at(len(prefix)).words
        extended = [[*prefix, word] for word in known]
        logs = mixture.map(extended, lambda _, asked: mixture.log_probs(asked))
        conditional = [np.exp(log[-2] - log[-3]) for log in logs]
        np.testing.assert_allclose(conditional, chances[:-2], rtol=2e-5, atol=1e-12)


def test_unknown_words_share_the_mass_of_the_unknown_word(mixture):
    """Strings of up to four letters are most of it; a dot stands for each character outside the alphabet."""
    (chances,) = mixture.map([["x"]], lambda _, asked: mixture.next_words(asked, [1])[0])
    known = set(mixture.chances.inside.words)
    spelled = ["".join(letters) for n in (1, 2, 3, 4) for letters in product("qxyz.", repeat=n)]
    extended = [["x", word] for word in spelled if word not in known]
    logs = mixture.map(extended, lambda _, asked: mixture.log_probs(asked))
    others = [float(N_CODE_POINTS - 4) ** word.count(".") for _, word in extended]
    total = sum(np.exp(log[-2] - log[-3]) * n for log, n in zip(logs, others, strict=True))
    assert 0.7 * chances[-2] < total < chances[-2]


def test_emissions_are_distributions(mixture):
    for part in mixture.parts:
        for table in (part.emissions.inside, part.emissions.initial):
            np.testing.assert_allclose(table.sum(axis=0), 1.0, atol=1e-5)


def test_a_word_is_known_at_the_beginning_by_its_lower_case_form(mixture):
    assert "X" in mixture.chances.initial.index
    assert "X" not in mixture.chances.inside.index
    (found,) = mixture.map([["X", "X"]], mixture.measure)
    assert found.known.tolist() == [True, False]


def test_parts_of_surprisal_add_up(mixture):
    (found,) = mixture.map([["x", "z", "unheard"]], mixture.measure)
    assert found.surprisal == pytest.approx(found.lexical + found.syntactic)
    assert (found.lexical >= 0.0).all()
    assert (found.syntactic >= 0.0).all()
    (asked,) = mixture.ask([["x"]])
    opened = 0.5 * (
        asked[0].prefixes.opened[0] @ _tag_columns(mixture, 0) + asked[1].prefixes.opened[0] @ _tag_columns(mixture, 1)
    )
    seen = {int(tag) for word, tag in zip(mixture.rows.words, mixture.rows.tags, strict=True) if word == "x"}
    assert found.syntactic[0] == pytest.approx(-np.log2(sum(opened[tag] for tag in seen)), abs=1e-4)


def _tag_columns(mixture: PrefixMixture, number: int) -> np.ndarray:
    """Which tag each state belongs to, (n_tag_states, n_tags)."""
    n_states = mixture.parts[number].emissions.n_states
    return np.repeat(np.eye(len(n_states)), n_states, axis=0)


def test_sentences_without_a_derivation_stay_possible(mixture):
    (found,) = mixture.map([["x"] * (LONGEST + 3)], lambda _, asked: mixture.log_probs(asked))
    assert np.isfinite(found).all()
    assert (np.diff(found) <= 0.0).all()


def test_samples_have_the_frequencies_of_their_sentences(finite, mixture):
    model = Model((finite,), "mbr", probabilistic=True)
    rng = np.random.default_rng(5)
    n = 3000
    counted = Counter(tuple(sample_tree(model, mixture.parts, rng).leaves()) for _ in range(n))
    common = [list(words) for words, _ in counted.most_common(10)]
    logs = mixture.map(common, lambda _, asked: mixture.log_probs(asked)[-1])
    for words, log in zip(common, logs, strict=True):
        p = np.exp(log)
        assert abs(counted[tuple(words)] / n - p) < 5.0 * np.sqrt(p / n), words


def test_trees_that_grow_too_large_are_drawn_again(finite, mixture, monkeypatch):
    model = Model((finite,), "mbr", probabilistic=True)
    monkeypatch.setattr(sampling, "MAX_NODES", 4)
    rng = np.random.default_rng(6)
    assert max(len(sample_tree(model, mixture.parts, rng).leaves()) for _ in range(50)) <= 2


def test_entropies_are_those_of_the_mixture(mixture):
    """Of the next word by its distribution; of derivations, which member is one of the choices."""
    (found,) = mixture.map([["x", "z"]], mixture.measure, entropy=True)
    (asked,) = mixture.ask([["x", "z"]], entropy=True)
    chances = mixture.next_words(asked, [1])[0]
    assert found.entropy[1] == pytest.approx(-(chances * np.log2(np.where(chances > 0, chances, 1.0))).sum())
    logs = np.array([one.log_probs[1] + np.log(one.part.weight) for one in asked])
    weights = np.exp(logs - logsumexp(logs))
    own = np.array([one.prefixes.entropies[1] for one in asked])
    expected = (weights @ own - (weights * np.log(weights)).sum()) / np.log(2.0)
    assert found.derivation_entropy[1] == pytest.approx(expected)
    assert found.entropy_reduction[0] == pytest.approx(max(found.derivation_entropy[0] - expected, 0.0))


def test_a_signed_model_has_no_probabilities():
    trees = [parse_tree(text) for text in FINITE * 3]
    parser = ConstituencyParser(2, "spectral", preset="fast").fit(trees)
    for ask in (parser.log_prob, parser.surprisal, parser.next, parser.measure):
        with pytest.raises(InputError, match="not a probability distribution"):
            ask([["x"]])


def test_sentences_that_are_too_long_are_refused():
    parser = ConstituencyParser(2, "pcfg", preset="fast").fit([parse_tree(text) for text in FINITE * 3])
    with pytest.raises(InputError, match="sentence 2 has 500 words"):
        parser.surprisal([["x"], ["x"] * 500])
