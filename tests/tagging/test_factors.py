"""Factors of the tagger: what they see, what they learn from, and that they add to the refinement HMM."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectragram.data.signatures import VERSION
from spectragram.inference.token_factors import label_pair_scores, token_places, token_scores
from spectragram.synthetic import english_chunks
from spectragram.tagging import Tagger
from spectragram.tagging.factors import Factors, templates_for
from spectragram.tagging.held_out import choose_factors, prefers_looks
from spectragram.tagging.sequences import encode_labels, read_observations
from spectragram.tagging.surface import surface_columns

X, Y = (list(part) for part in zip(*english_chunks(80, seed=2), strict=True))
TINY = [["The", "dog", "saw", "Rome"]]


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger(2, max_iter=1, n_models=1, n_epochs=2).fit(X, Y)


def probability(tagger: Tagger, words: list[str], labels: tuple[int, ...]) -> float:
    """The weight of a labelling, by the definition: HMM with all its states, factors of tokens, factors of pairs."""
    member, model = tagger.members_[0], tagger.model_
    assert member.factors is not None
    observed = model.observe([words])
    power = member.factors.power
    emitted = member.emissions.of_tokens(model.lexicon, observed, 1.0)(np.arange(len(words))) ** power
    operators = member.operators
    starts = operators.label_starts
    ratios = model.lexicon.label_probabilities(model.lexicon.nodes(observed))[observed.tokens]
    if not (ratios > 1e-5 * ratios.max(axis=1, keepdims=True))[np.arange(len(words)), labels].all():
        return 0.0
    total = 0.0
    for states in product(*(range(starts[a], starts[a + 1]) for a in labels)):
        weight = operators.initial[states[0]] ** power * operators.final[states[-1]] ** power
        for i, state in enumerate(states):
            weight *= emitted[i, state]
            weight *= operators.transition[states[i - 1], state] ** power if i else 1.0
        total += weight
    table = member.factors.weights
    places = token_places(surface_columns(observed.types), observed.tokens, member.factors.atoms, len(table))
    scores = token_scores(places, np.ones((len(words), len(model.labels)), bool), table)
    pairs = label_pair_scores(len(model.labels), table)
    log_factor = sum(scores[i, a] for i, a in enumerate(labels))
    log_factor += sum(pairs[a, b] for a, b in pairwise(labels))
    return total * float(np.exp(log_factor))


def test_marginals_are_those_of_the_definition(tagger: Tagger) -> None:
    words = TINY[0]
    n_labels = len(tagger.labels_)
    wanted = np.zeros((len(words), n_labels))
    for labels in product(range(n_labels), repeat=len(words)):
        wanted[np.arange(len(words)), labels] += probability(tagger, words, labels)
    np.testing.assert_allclose(tagger.marginals(TINY)[0], wanted / wanted.sum(axis=1, keepdims=True), atol=1e-9)


def test_without_weights_and_exponent_factors_change_nothing(tagger: Tagger) -> None:
    (member,) = tagger.members_
    assert member.factors is not None
    lexicon, observed = tagger.model_.lexicon, tagger.model_.observe(X)
    neutral = replace(member.factors, weights=np.zeros_like(member.factors.weights), power=1.0)
    plain = replace(member, factors=None).marginals(lexicon, observed)
    found = replace(member, factors=neutral).marginals(lexicon, observed)
    np.testing.assert_allclose(
        found, plain / plain.sum(axis=1, keepdims=True), atol=1e-4
    )  # unlikely labels are left out


def test_factors_see_what_the_hmm_cannot() -> None:
    """The label is decided by the word two places before, and neighbouring labels are independent."""
    rng = np.random.default_rng(5)
    words = [["ab"[k] for k in rng.integers(0, 2, 8)] for _ in range(200)]
    labels = [["XY"[i >= 2 and sentence[i - 2] == "a"] for i in range(8)] for sentence in words]
    scores = {
        factors: Tagger(1, factors=factors).fit(words[:150], labels[:150]).score(words[150:], labels[150:])
        for factors in (True, False)
    }
    assert scores[True] > 0.99
    assert scores[False] < 0.8


def test_held_out_data_choose_the_epoch() -> None:
    dev = (X[60:], Y[60:])
    given: dict[str, Any] = {"n_states": 1, "max_iter": 0, "n_models": 1, "decoding": "marginal"}
    scores = [Tagger(n_epochs=n, **given).fit(X[:60], Y[:60]).score(*dev) for n in range(5)]
    assert len(set(scores)) > 1
    chosen = Tagger(n_epochs=4, **given).fit(X[:60], Y[:60], dev=dev)
    assert chosen.score(*dev) == max(scores[1:])


def test_columns_that_mislead_are_left_out() -> None:
    rng = np.random.default_rng(1)

    def corpus(*, helpful: bool) -> tuple[list, list]:
        labels = [["XY"[k] for k in rng.integers(0, 2, 6)] for _ in range(100)]
        # Words tell the label up to a slip in ten; a column either is the label or a new value at every token.
        words = [[f"{a if rng.random() < 0.9 else 'Z'}{rng.integers(5)}" for a in sentence] for sentence in labels]
        columns = [[a if helpful else f"{rng.integers(10**6)}" for a in sentence] for sentence in labels]
        return [list(zip(*pair, strict=True)) for pair in zip(words, columns, strict=True)], labels

    for helpful in (True, False):
        (member,) = Tagger(1, n_models=1, n_epochs=1).fit(*corpus(helpful=helpful)).members_
        assert member.factors is not None
        assert any("A" in template for template in member.factors.templates) == helpful


def test_learners_without_probabilities_and_speech_have_none() -> None:
    for learner in ("spectral", "pivot", "unigram"):
        assert all(m.factors is None for m in Tagger(2, learner).fit(X[:30], Y[:30]).members_)
    frames = [np.random.default_rng(0).normal(size=(6, 3)) for _ in range(9)]
    assert Tagger(1).fit(frames, [list("aabbab")] * 9).members_[0].factors is None
    assert Tagger(1, factors=False).fit(X[:30], Y[:30]).members_[0].factors is None


def test_every_member_has_factors_of_its_own() -> None:
    first, second = Tagger(2, max_iter=1, n_models=2, n_epochs=1).fit(X, Y).members_
    assert first.factors is not None and second.factors is not None
    assert first.factors.templates == second.factors.templates
    assert not np.array_equal(first.factors.weights, second.factors.weights)


def test_columns_of_words() -> None:
    columns = surface_columns([("Ab-12", "N"), ("ab-12", "V"), ("ab", "N")])
    word, lower, shape, *affixes, tag = columns
    assert word[0] != word[1] and lower[0] == lower[1] != lower[2]
    assert shape[0] != shape[1]
    assert tag[0] == tag[2] != tag[1]
    assert all((affix[0] == affix[1]) for affix in affixes)
    assert affixes[1][2] == affixes[5][2]  # no affix of two letters in a word of two: both are empty


def test_templates_of_further_columns() -> None:
    assert not any(set("ABC") & set(template) for template in templates_for(1))
    assert {"A0", "B-1 B0"} <= set(templates_for(3))
    assert Factors(templates_for(3), np.zeros(16, np.float32)).n_columns == 3
    assert Factors(templates_for(1), np.zeros(16, np.float32)).n_columns == 1


@pytest.mark.parametrize(
    "damage",
    [{"templates": ["?0"]}, {"templates": []}, {"weights": np.zeros(15, np.float32)}, {"weights": np.zeros(16)}],
)
def test_damaged_factors_are_refused(damage: dict) -> None:
    arrays = Factors(templates_for(1), np.zeros(16, np.float32)).to_arrays()
    assert Factors.from_arrays(arrays).templates == templates_for(1)
    with pytest.raises(ValueError):
        Factors.from_arrays(arrays | damage)


def test_the_file_names_the_versions_of_hashes() -> None:
    assert Tagger.meanings["word classes"] == VERSION
    assert "hash functions" in Tagger.meanings


@pytest.mark.parametrize("columns", [1, 2])
def test_labels_that_only_held_out_sequences_have_do_no_harm(columns: int) -> None:
    # Choices are made on the last tenth, or on every tenth sequence: there such labels have no counts at all.
    tokens = [[word if columns == 1 else (word, word[-1]) for word in sequence] for sequence in X]
    labels = [list(sequence) for sequence in Y]
    for number in (9, len(Y) - 1):
        labels[number][0] = f"RARE{number}"
    observed = read_observations(tokens)
    encoded, vocabulary = encode_labels(labels, observed.offsets)
    with np.errstate(divide="raise", invalid="raise"):
        prefers_looks(observed, encoded, len(vocabulary), 3.0)
        choose_factors(observed, encoded, vocabulary.words, None, kappa=3.0, by_looks=True, seed=0)
        tagger = Tagger(2, max_iter=1, n_models=1, n_epochs=4, n_jobs=1).fit(tokens, labels)
    assert np.isfinite(np.concatenate(tagger.marginals(tokens))).all()
    assert tagger.score(tokens, labels) > 0.95


def test_probabilities_are_reported_at_the_temperature_of_held_out_sequences(tmp_path: Path) -> None:
    """Half of the names are random, which a tagger that trusts its words does not expect; labels stay as they are."""
    rng = np.random.default_rng(5)
    words = [[f"w{rng.integers(400)}" for _ in range(6)] for _ in range(80)]
    labels = [["B-X" if rng.random() < 0.3 else "O" for _ in sentence] for sentence in words]
    tagger = Tagger(1, n_models=1, n_epochs=4, calibrate=True, n_jobs=1).fit(words, labels)
    assert tagger.model_.temperature > 1.0
    assert Tagger(1, n_models=1, n_epochs=1, n_jobs=1).fit(words, labels).model_.temperature == 1.0
    assert Tagger(1, n_models=1, n_epochs=1, calibrate=True).fit(words[:9], labels[:9]).model_.temperature == 1.0
    plain = copy(tagger)
    plain.model_ = replace(tagger.model_, temperature=1.0)
    assert tagger.predict(words) == plain.predict(words)
    calibrated, sharp = (np.concatenate(model.marginals(words)) for model in (tagger, plain))
    np.testing.assert_allclose(calibrated.sum(axis=1), 1.0)
    np.testing.assert_array_equal(calibrated.argmax(axis=1), sharp.argmax(axis=1))
    assert calibrated.max(axis=1).mean() < sharp.max(axis=1).mean()
    assert tagger.evaluate(words, labels)["calibration_error"] != plain.evaluate(words, labels)["calibration_error"]
    tagger.save(tmp_path / "tagger.sgm")
    np.testing.assert_array_equal(np.concatenate(Tagger.load(tmp_path / "tagger.sgm").marginals(words)), calibrated)
