"""Learners of head automata: baselines by hand, recovery of known grammars, proper probabilities."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from spectragram.data import Sentence
from spectragram.dependency import DependencyParser
from spectragram.dependency.crossing import lift_trees
from spectragram.dependency.encoding import Alphabet, Encoded
from spectragram.dependency.features import ModifierSequences, modifier_sequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.learners import Training, learn_grammar, n_reports
from spectragram.dependency.settings import LEARNERS, Settings, settings_of
from spectragram.dependency.spectral import Decomposition, head_automaton
from spectragram.inference.headed import LEFT, RIGHT
from spectragram.synthetic.shag import HeadAutomata


def sampled(n: int, seed: int = 0) -> tuple[HeadAutomata, Training]:
    """Trees of a known grammar of three symbols; in training symbol s has the number s + 1."""
    truth = HeadAutomata.random(3, 2, rng=np.random.default_rng(1), conditioning=0.05)
    sample = truth.sample(n, np.random.default_rng(seed))
    sentences = [
        Sentence.from_words(words := sample.words.decode(i), xpos=words, head=[str(h) for h in heads])
        for i, heads in enumerate(np.split(sample.heads, sample.words.offsets[1:-1]))
    ]
    alphabet = Alphabet.of(sentences)
    order = [alphabet.tags.index[name] for name in ("s0", "s1", "s2")]
    heads = lift_trees(sentences).heads
    encoded = alphabet.encode(sentences)
    number = np.zeros(4, np.int64)
    number[order] = [1, 2, 3]
    renamed = Encoded(np.vstack([number[encoded.tags], encoded.rows[1:]]), encoded.offsets)
    sequences = modifier_sequences(renamed, heads, 4)
    counts = np.bincount(renamed.tags, minlength=4).astype(np.float64)
    return truth, Training(sequences, counts, np.array([0, 1, 1, 1]))


def settings(learner: str, n_states: int = 2, **others: Any) -> Settings:
    return settings_of(DependencyParser(n_states, learner, **{"max_iter": 15, "basis": "sigma-lambda", **others}))


def learned(name: str, training: Training, n_states: int = 2) -> Grammar:
    return learn_grammar(training, settings(name, n_states), rng=np.random.default_rng(0))[0]


STRINGS = [string for length in range(3) for string in itertools.product(range(3), repeat=length)]


def largest_error(truth: HeadAutomata, sequences: ModifierSequences) -> float:
    """Over all automata and strings of at most two symbols."""
    worst = 0.0
    for direction in (LEFT, RIGHT):
        for head in range(3):
            wfa, modifiers = head_automaton(*sequences.of(direction, head + 1), 2, Decomposition())
            number = {int(symbol) - 1: i for i, symbol in enumerate(modifiers)}
            for string in STRINGS:
                exact = truth.automaton(head, direction).probability(string)
                worst = max(worst, abs(wfa.value([number[s] for s in string]) - exact))
    return worst


def test_the_spectral_learner_recovers_a_sampled_grammar() -> None:
    errors = [largest_error(*_pair(sampled(n))) for n in (500, 50_000)]
    assert errors[1] < 0.01
    assert errors[1] < errors[0] / 3


def _pair(drawn: tuple[HeadAutomata, Training]) -> tuple[HeadAutomata, ModifierSequences]:
    return drawn[0], drawn[1].sequences


@pytest.mark.parametrize("learner", ["em", "spectral+em", "det", "det+f"])
def test_probabilities_are_normalised(learner: str) -> None:
    grammar = learned(learner, sampled(300)[1])
    for direction in (LEFT, RIGHT):
        for head in range(4):
            assert grammar.automaton(head, direction).is_probabilistic()
    assert grammar.root.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("learner", LEARNERS)
def test_no_modifier_is_impossible(learner: str) -> None:
    grammar = learned(learner, sampled(30)[1])
    for direction in (LEFT, RIGHT):
        for head in range(4):
            wfa = grammar.automaton(head, direction)
            for symbol in range(4):
                assert np.abs(wfa.initial @ wfa.operators[symbol]).sum() > 0.0


def test_det_counts_and_shrinks() -> None:
    """Trees of two words with head b: after one modifier the left automaton of b stops."""
    pair = Sentence.from_words(["x", "y"], xpos=["a", "b"], head=["2", "0"])
    alphabet = Alphabet.of([pair] * 500)
    heads = lift_trees([pair] * 500).heads
    sequences = modifier_sequences(alphabet.encode([pair] * 500), heads, 3)
    training = Training(sequences, alphabet.tags.counts.astype(float), alphabet.coarse_of)
    a, b = alphabet.tags.index["a"], alphabet.tags.index["b"]
    one, two = learned("det", training), learned("det+f", training)
    assert one.operators[LEFT, b, a, 0, 0] == pytest.approx(0.5, abs=0.01)
    assert one.final[LEFT, b, 0] == pytest.approx(0.5, abs=0.01)
    assert two.operators[LEFT, b, a, 0, 1] == pytest.approx(1.0, abs=0.03)
    assert two.final[LEFT, b, 1] == pytest.approx(1.0, abs=0.03)
    assert one.root[b] == pytest.approx(1.0, abs=0.01)


def test_em_raises_the_likelihood() -> None:
    _, training = sampled(300)
    values: list[float] = []
    learn_grammar(
        training, settings("em", 3, max_iter=8), rng=np.random.default_rng(0),
        report=lambda log_likelihood: values.append(float(log_likelihood)),
    )  # fmt: skip
    assert len(values) == 8
    assert values[-1] > values[0] + 0.01


def test_a_judge_chooses_the_iteration() -> None:
    _, training = sampled(100)
    scores = iter([1.0, 5.0, 3.0, 2.0])
    chosen, iteration = learn_grammar(
        training, settings("em", max_iter=4), rng=np.random.default_rng(0), judge=lambda grammar: next(scores)
    )
    assert iteration == 2
    alone, _ = learn_grammar(training, settings("em", max_iter=2), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(chosen.operators, alone.operators)


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_reports_as_often_as_it_says(learner: str) -> None:
    _, training = sampled(30)
    reported: list[dict[str, object]] = []
    asked = settings(learner, max_iter=3)
    learn_grammar(training, asked, rng=np.random.default_rng(0), report=lambda n=1, **facts: reported.append(facts))
    assert len(reported) == n_reports(training, asked) > 0
    assert {name for facts in reported for name in facts} <= {"log_likelihood"}


def test_states_that_only_pad_arrays_are_not_counted() -> None:
    _, training = sampled(300)
    # Nine states are asked for; three modifiers allow three, and DET is one more. The unknown head has DET alone.
    assert learned("spectral", training, 9).n_states_in_all == 2 * (3 * (3 + 1) + 1)
    assert learned("em", training, 2).n_states_in_all == 2 * 4 * 2


def test_minimal_mass_discards_states() -> None:
    _, training = sampled(300)
    tokens, offsets = training.sequences.of(RIGHT, 1)
    assert head_automaton(tokens, offsets, 3, Decomposition())[0].n_states > 1
    assert head_automaton(tokens, offsets, 3, Decomposition(min_mass=0.5))[0].n_states == 1


def test_small_treebanks_get_few_states_unless_told_otherwise() -> None:
    asked, given = settings_of(DependencyParser(words=False)), settings_of(DependencyParser(8))
    assert asked.states_for(49_999) == 4 < asked.states_for(50_000) == given.states_for(100) == 8
    assert settings_of(DependencyParser()).states_for(50_000) == 4, "with words there are factors of siblings"
    assert settings_of(DependencyParser(factors=False)).states_for(50_000) == 8
    assert settings_of(DependencyParser(preset="fast")).states_for(10**6) == 4
