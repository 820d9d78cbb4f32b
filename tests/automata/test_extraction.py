"""Automata from functions alone: exact recovery, every kind of oracle and basis, budgets, the report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.accuracy.extraction import TOLERANCE, languages, random_automaton
from spectragram.automata import WFA, Automaton
from spectragram.automata.contexts import PAST, ContextTree
from spectragram.automata.oracles import NextOracle
from spectragram.automata.repair import _averages, divergences, prefixes_of
from spectragram.errors import InputError, RankError
from spectragram.synthetic.automata import PNFA, all_strings

LANGUAGES = languages()


@pytest.fixture(scope="module")
def pnfa() -> PNFA:
    return PNFA.random(3, 2, rng=np.random.default_rng(3))


def next_of(pnfa: PNFA):
    """The distribution of what follows a string."""
    total = WFA(pnfa.initial, pnfa.operators, pnfa.final).change_statistic("string", "prefix").final

    def following(string):
        state = pnfa.initial
        for symbol in string:
            state = state @ pnfa.operators[symbol]
        return np.append(state @ (pnfa.operators @ total).T, state @ pnfa.final) / (state @ total)

    return following


def test_twenty_random_automata_come_back() -> None:
    rng = np.random.default_rng(0)
    for number in range(20):
        true = random_automaton(rng, number)
        model = Automaton.from_function(true.value, range(true.n_symbols), compared=10)
        assert model.wfa_.counterexample(true, TOLERANCE) is None, number
        assert model.wfa_.n_states == true.n_states
        report = model.extraction_
        assert report.is_low_rank and report.agreement["random"].relative < 1e-5
        assert report.n_queries == model.summary_["queries"] < 2500


@pytest.mark.parametrize("name", LANGUAGES)
def test_ten_languages_come_back(name) -> None:
    language = LANGUAGES[name]
    model = Automaton.from_function(lambda s: float(language.accept(s)), [0, 1], compared=0)
    assert model.wfa_.is_equivalent(language.to_wfa(), TOLERANCE)
    dfa = model.to_dfa(n_states=10)
    assert dfa.counterexample(language) is None
    assert dfa.n_states == language.minimize().n_states


def test_a_rare_language_is_found_where_random_strings_show_an_error() -> None:
    # The first blocks have rank 1: only strings of six symbols tell more.
    def function(string):
        return 1.0 + (string[-6:] == tuple("bbbbbb"))

    model = Automaton.from_function(function, ["a", "b"], min_length=1, compared=0)
    assert model.extraction_.is_low_rank
    np.testing.assert_allclose(model.value([["a"] + ["b"] * 6, ["b"] * 7, ["b"] * 5, list("bbbbbba")]), [2, 2, 1, 1])


def test_batches_give_the_same_automaton_in_few_calls(pnfa) -> None:
    calls = []

    def batch(strings):
        calls.append(len(strings))
        return [pnfa.value(string) for string in strings]

    together = Automaton.from_function(batch, [0, 1], batched=True, compared=0)
    alone = Automaton.from_function(pnfa.value, [0, 1], compared=0)
    np.testing.assert_array_equal(together.wfa_.operators, alone.wfa_.operators)
    assert sum(calls) == together.extraction_.n_queries
    assert len(calls) < 15


def test_next_oracles(pnfa) -> None:
    strings = all_strings(2, 6)
    model = Automaton.from_function(next_of(pnfa), [0, 1], oracle="next")
    assert model.wfa_.n_states == 3 and model.extraction_.is_low_rank
    np.testing.assert_allclose(np.exp(model.log_prob(strings)), [pnfa.value(s) for s in strings], rtol=1e-6)
    np.testing.assert_allclose(model.next(strings), [next_of(pnfa)(s) for s in strings], atol=1e-7)
    agreement = model.extraction_.agreement
    assert set(agreement) == {"random", "oracle"}
    assert agreement["oracle"].divergence == pytest.approx(0.0, abs=1e-9)
    assert "bits a symbol" in str(model.extraction_)


def test_a_next_oracle_that_never_ends_a_string() -> None:
    model = Automaton.from_function(
        lambda s: [0.9, 0.1, 0.0] if s[-1:] == ("a",) else [0.3, 0.7, 0.0], ["a", "b"], oracle="next"
    )
    np.testing.assert_allclose(model.next([["a"], ["a", "b"]]), [[0.9, 0.1, 0.0], [0.3, 0.7, 0.0]], atol=1e-9)
    np.testing.assert_allclose(model.prefix_log_prob([["a", "a"]])[0], np.log([1.0, 0.3, 0.27]), atol=1e-9)
    dfa = model.to_dfa()
    assert dfa.n_states == 2 and not dfa.accepts.any()
    for distance in (model.l1_distance, model.kl_divergence):
        with pytest.raises(RankError, match="never end"):
            distance(model)


def test_a_truncated_next_oracle_is_near_and_its_divergence_is_reported() -> None:
    pnfa = PNFA.random(6, 2, rng=np.random.default_rng(4), conditioning=1e-4)
    found = [Automaton.from_function(next_of(pnfa), [0, 1], oracle="next", n_states=n).extraction_ for n in (1, 3)]
    assert not any(report.is_low_rank for report in found)
    assert found[0].agreement["oracle"].divergence > 3 * found[1].agreement["oracle"].divergence > 0
    assert (np.diff(found[0].singular_values) <= 1e-12).all()


def counting(string):
    """The distribution after a string depends on how many a's there are, up to seven, and on the last symbol."""
    n = min(string.count("a"), 7)
    chances = np.array([0.1 + 0.11 * n, 0.9 - 0.11 * n, 0.25 if string[-1:] == ("b",) else 0.1])
    return chances / chances.sum()


def test_approximations_are_repaired_with_recent_pasts() -> None:
    model = Automaton.from_function(counting, ["a", "b"], oracle="next", n_states=2, basis=30, max_queries=5000)
    (part,) = model.model_.parts
    strings = model.sample(200)
    tree, paths = prefixes_of([tuple(model.vocabulary_.encode(s).tolist()) for s in strings])
    true = np.array([counting(tuple(model.vocabulary_.decode(path))) for path in paths])
    bare = replace(part, context_share=0.0, backoff_share=0.0)
    gaps = [
        divergences(true, one.next_distributions(tree)[0]) @ tree.through / tree.through.sum() for one in (part, bare)
    ]
    assert gaps[0] < min(0.2, 0.5 * gaps[1])
    assert model.extraction_.agreement["oracle"].divergence < 0.2
    assert model.extraction_.n_queries <= 5000


def test_averages_of_recent_pasts(rng) -> None:
    strings = [tuple(rng.integers(0, 2, rng.integers(0, 5)).tolist()) for _ in range(30)]
    tree, paths = prefixes_of(strings)
    rows = rng.random((len(tree), 3))
    contexts = ContextTree.of([(), (0,), (1,), (0, 1), (1, 1)], 2, PAST)
    found = _averages(contexts, tree, rows, tree.through)
    expected = {}
    for past in ((), (0,), (1,), (0, 1), (1, 1)):
        fits = np.array([path[len(path) - len(past) :] == past and len(path) >= len(past) for path in paths])
        mass = tree.through @ fits
        total = (tree.through * fits) @ rows
        expected[past] = total / mass if not past else (total + expected[past[1:]]) / (mass + 1)
    for past, place in zip(contexts.elements, contexts.places, strict=True):
        np.testing.assert_allclose(found[place], expected[past])


def test_strings_drawn_from_an_oracle(pnfa) -> None:
    following = next_of(pnfa)
    oracle = NextOracle(lambda strings: np.array([following(s) for s in strings]), 3, 10**6, str)
    drawn = oracle.draw(3000, np.random.default_rng(0))
    assert np.mean([not string for string in drawn]) == pytest.approx(pnfa.value(()), abs=0.03)
    assert np.mean([len(string) for string in drawn]) == pytest.approx(pnfa.mean_length(), rel=0.1)
    assert max(map(len, oracle.draw(50, np.random.default_rng(0), 2))) == 2


def test_a_budget_ends_in_an_error_or_in_an_approximation() -> None:
    def palindrome(string):  # of no finite rank
        return float(string == string[::-1])

    with pytest.raises(RankError, match="400 queries are not enough"):
        Automaton.from_function(palindrome, ["a", "b"], max_queries=400)
    model = Automaton.from_function(palindrome, ["a", "b"], max_queries=400, n_states=4)
    assert model.extraction_.n_queries <= 400
    assert model.wfa_.n_states == 4 and not model.extraction_.is_low_rank
    assert "approximated" in str(model.extraction_)
    assert 0.0 < model.extraction_.agreement["random"].relative < 10.0


def test_given_and_sampled_bases(pnfa) -> None:
    strings = all_strings(2, 5)
    exact = [pnfa.value(s) for s in strings]
    basis = {"prefixes": [[], [0], [1], [0, 1]], "suffixes": [[], [0], [1], [1, 1]]}
    given = Automaton.from_function(pnfa.value, [0, 1], basis=basis, compared=0)
    assert (given.extraction_.n_prefixes, given.extraction_.n_suffixes) == (4, 4)
    np.testing.assert_allclose(given.value(strings), exact, atol=1e-9)
    corpus = [string.tolist() for string in pnfa.sample(300, np.random.default_rng(0))]
    sampled = Automaton.from_function(pnfa.value, [0, 1], basis=12, strings=corpus, compared=0)
    np.testing.assert_allclose(sampled.value(strings), exact, atol=1e-9)
    assert sampled.extraction_.agreement["given"].n_strings == 300
    assert sampled.extraction_.n_prefixes == 12
    drawn = Automaton.from_function(next_of(pnfa), [0, 1], oracle="next", basis=10, compared=0)
    np.testing.assert_allclose(drawn.value(strings), exact, atol=1e-9)
    for wrong, message in (
        ({"prefixes": [[7]], "suffixes": [[]]}, "outside the alphabet"),
        ({"rows": []}, "prefixes and suffixes"),
        (0, "number of strings"),
        (5, "of no strings"),
    ):
        with pytest.raises(InputError, match=message):
            Automaton.from_function(pnfa.value, [0, 1], basis=wrong)


def test_relative_weighting_sees_what_is_improbable() -> None:
    def rare(string):  # after b, symbols come in pairs; b is one of 10^10
        if "b" not in string:
            return 0.5 ** (len(string) + 1)
        before, after = string.index("b"), len(string) - string.index("b") - 1
        return 1e-10 * 0.5 ** (before + after) * (after % 2 == 0)

    strings = [list(x) for x in ("ba", "baa", "aabaa", "aab")]
    exact = np.array([rare(tuple(s)) for s in strings])
    fine = Automaton.from_function(rare, ["a", "b"], compared=0)
    coarse = Automaton.from_function(rare, ["a", "b"], compared=0, weighting="absolute", min_length=3)
    np.testing.assert_allclose(fine.value(strings), exact, rtol=1e-4, atol=1e-16)
    assert coarse.wfa_.n_states < fine.wfa_.n_states


def test_frequency_weighting_approximates_what_is_frequent(rng) -> None:
    ratios = []
    for _ in range(3):
        drawn = PNFA.random(8, 3, rng=rng)
        following, divergence = next_of(drawn), {}
        for weighting in ("frequency", "relative"):
            model = Automaton.from_function(
                following,
                range(3),
                oracle="next",
                n_states=4,
                basis=25,
                tolerance=1e-6,
                weighting=weighting,
            )
            divergence[weighting] = model.extraction_.agreement["oracle"].divergence
        ratios.append(divergence["frequency"] / divergence["relative"])
    assert np.mean(ratios) < 1.0  # on one of the three they are about equal
    model = Automaton.from_function(following, range(3), oracle="next", n_states=4, basis=25, tolerance=1e-6)
    assert model.extraction_.agreement["oracle"].divergence == divergence["frequency"]


@pytest.mark.parametrize("seed", range(3))
def test_brackets_are_not_taken_for_a_function_of_low_rank(seed: int) -> None:
    """Random strings hardly ever nest so deeply that an automaton of some states is wrong."""

    def balanced(string) -> float:
        depths = np.cumsum([1 if symbol == "(" else -1 for symbol in string])
        return float(not len(depths) or (depths.min() >= 0 and depths[-1] == 0))

    with pytest.raises(RankError, match="1000 queries are not enough"):
        Automaton.from_function(balanced, "()", max_queries=1000, random_state=seed)


def test_answers_that_cannot_be_used_are_named(pnfa) -> None:
    with pytest.raises(InputError, match="returned 4 numbers for 2 strings; it must return 1"):
        Automaton.from_function(lambda s: [1.0, 2.0], ["a"])
    with pytest.raises(InputError, match="returned 1 numbers for 3 strings; it must return 1 for each"):
        Automaton.from_function(lambda strings: 1.0, ["a", "b"], batched=True)
    with pytest.raises(InputError, match=r"an array of shape \(3, 1\) for 1 strings; it must return 3 for each"):
        Automaton.from_function(
            lambda strings: np.full((3, len(strings)), 1 / 3), ["a", "b"], oracle="next", batched=True
        )
    with pytest.raises(InputError, match="what follows 'a' are not a distribution"):
        Automaton.from_function(lambda s: [0.5, 0.5] if not s else [0.9, 0.9], ["a"], oracle="next")
    with pytest.raises(InputError, match="oracle='both' is unknown"):
        Automaton.from_function(pnfa.value, [0, 1], oracle="both")
    with pytest.raises(InputError, match="n_states"):
        Automaton.from_function(pnfa.value, [0, 1], n_states=0)


def test_an_extracted_model_is_saved(pnfa, tmp_path) -> None:
    model = Automaton.from_function(pnfa.value, [0, 1])
    model.save(tmp_path / "model")
    loaded = Automaton.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.value(all_strings(2, 3)), model.value(all_strings(2, 3)))
    np.testing.assert_array_equal(loaded.spectrum_, model.extraction_.singular_values)
