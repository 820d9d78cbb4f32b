"""What is shown of trained taggers."""

from __future__ import annotations

import numpy as np

from spectragram.plots.tagger import states_of_labels, tagger_page
from spectragram.tagging import Tagger
from spectragram.tagging.inspection import label_transitions, typical_observations

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]] * 5
Y = [["DET", "NOUN", "VERB"]] * 15


def test_typical_observations_of_one_state_are_its_most_frequent_words() -> None:
    tagger = Tagger(learner="hmm").fit(X, Y)
    assert typical_observations(tagger, 2) == [
        ("DET", 0, ["the", "a"]),
        ("NOUN", 0, ["cat", "dog"]),
        ("VERB", 0, ["barks", "sleeps"]),
    ]


def test_columns_are_joined() -> None:
    pairs = [[(word, word[0]) for word in sequence] for sequence in X]
    assert typical_observations(Tagger(learner="hmm").fit(pairs, Y), 1)[1] == ("NOUN", 0, ["cat/c"])


def test_transitions_of_labels() -> None:
    tagger = Tagger(learner="hmm").fit(X, Y)
    moves = label_transitions(tagger)
    assert moves is not None
    assert tagger.labels_ == ["DET", "NOUN", "VERB"]
    np.testing.assert_allclose(moves[:2].sum(axis=1), 1, atol=0.01)
    assert moves[0, 1] > 0.95 and moves[1, 2] > 0.95
    assert moves[2].sum() < 0.05  # sequences end after the verb


def test_taggers_without_probabilities_of_states_show_what_they_have() -> None:
    unigram = Tagger(learner="unigram").fit(X, Y)
    assert typical_observations(unigram) == []
    assert label_transitions(unigram) is None
    assert states_of_labels(unigram) == {}
    assert "Training" in tagger_page(unigram, "u")
    many = [sequence for sequence in X for _ in range(20)], [labels for labels in Y for _ in range(20)]
    spectral = Tagger(2, "spectral").fit(*many)
    assert len(spectral.members_[0].operators.pair_state) > len(spectral.members_[0].operators.initial)
    assert typical_observations(spectral) == []
    assert label_transitions(spectral) is None
    assert states_of_labels(spectral).keys() == {"DET", "NOUN", "VERB"}
    assert "Typical" not in tagger_page(spectral, "s")


def test_gaussian_states_have_no_typical_words(rng: np.random.Generator) -> None:
    frames = [rng.normal(size=(10, 2)) for _ in range(5)]
    speech = Tagger(learner="hmm").fit(frames, [["a", "b"] * 5] * 5)
    assert typical_observations(speech) == []
    assert label_transitions(speech) is not None
