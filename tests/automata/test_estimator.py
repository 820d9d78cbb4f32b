"""The estimator: every learner end to end, hostile strings, black boxes, pictures of what was learned."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.automata import Automaton, prediction
from spectragram.automata.settings import LEARNERS
from spectragram.data.corpus import END, Corpus
from spectragram.data.pautomac import write_pautomac, write_pautomac_solution
from spectragram.errors import InputError, NotFittedError, ParameterError, RankError
from spectragram.metrics import next_symbol_error
from spectragram.synthetic.automata import PNFA, all_strings

PROBABILISTIC = [name for name in LEARNERS if name != "spectral"]


@pytest.fixture(scope="module")
def truth() -> PNFA:
    return PNFA.random(3, 3, rng=np.random.default_rng(5), conditioning=0.1)


@pytest.fixture(scope="module")
def corpus(truth) -> Corpus:
    return truth.sample(1500, np.random.default_rng(6))


@pytest.fixture(scope="module")
def test_corpus(truth) -> Corpus:
    return truth.sample(300, np.random.default_rng(7))


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_gives_a_distribution_near_the_truth(learner, truth, corpus, test_corpus) -> None:
    model = Automaton(learner=learner, preset="fast").fit(corpus)
    exact = np.array([np.log(truth.value(s)) for s in test_corpus])
    found = model.log_prob(test_corpus)
    assert np.isfinite(found).all()
    # Kullback-Leibler divergence per string of some six symbols; automata without hidden states are
    # further away.
    assert (exact - found).mean() < (0.2 if learner.startswith(("merge", "unigram")) else 0.08)
    rows = model.next(test_corpus)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert (rows >= 0).all()
    scores = model.evaluate(test_corpus)
    assert scores["perplexity_string"] == pytest.approx(np.exp(-found.mean()))
    assert 0 < scores["wer"] < 100
    assert model.score(test_corpus) == pytest.approx(found.mean())


@pytest.mark.parametrize("learner", PROBABILISTIC)
def test_probabilities_sum_to_one_and_the_direct_sum_agrees(learner, corpus) -> None:
    model = Automaton(n_states=3, learner=learner, preset="fast", order=2).fit(corpus)
    wfa = model.wfa_
    assert wfa.total() == pytest.approx(1.0)
    strings = [[f"s{symbol}" for symbol in x] for x in all_strings(3, 3)]
    np.testing.assert_allclose(np.exp(model.log_prob(strings)), model.value(strings), rtol=1e-8)
    prefixes = wfa.change_statistic("string", "prefix").values(all_strings(3, 3))
    np.testing.assert_allclose(np.exp([values[-1] for values in model.prefix_log_prob(strings)]), prefixes, rtol=1e-8)
    assert model.predict(strings).diagnostics == {"negative": 0}


def test_wer_counts_every_event(corpus) -> None:
    model = Automaton(learner="bigram").fit(corpus)
    strings = [corpus.decode(i) for i in range(200)]
    expected = next_symbol_error(strings, model.predict(strings), stop=END)
    assert model.evaluate(strings)["wer"] == pytest.approx(expected)


def test_an_unknown_symbol_is_never_a_hit() -> None:
    model = Automaton(learner="bigram").fit([["a"]] * 30)
    strings = [["a", "never"], ["a"]]
    predicted = model.predict(strings)
    assert predicted[0][1] == END
    expected = next_symbol_error(strings, predicted, stop=END)
    assert model.evaluate(strings)["wer"] == pytest.approx(expected)


def test_shards_and_threads_do_not_show(rng, monkeypatch) -> None:
    model = signed_model(rng)
    strings = [list(x) for x in ("bbb", "aaab", "abba", "baab")] * 5
    whole, scores = model.log_prob(strings), model.evaluate(strings)
    surprisals, predicted = model.surprisal(strings), model.predict(strings)
    monkeypatch.setattr(prediction, "SHARD_TOKENS", 16)
    for n_jobs in (1, 3):
        model.set_params(n_jobs=n_jobs)
        np.testing.assert_allclose(model.log_prob(strings), whole, rtol=1e-12)
        sharded = model.evaluate(strings)
        assert sharded["wer"] == scores["wer"]
        # Equal strings are looked at once in each of the four shards.
        assert sharded["negative"] == 4 * scores["negative"] > 0
        assert model.predict(strings) == predicted
        for found, expected in zip(model.surprisal(strings), surprisals, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_automaton_of_a_spectral_model_is_the_bare_estimate(corpus) -> None:
    model = Automaton(3, "spectral").fit(corpus)
    strings = [["s0"], ["s1", "s2"], []]
    bare = model.model_.parts[0].wfa.values([[0], [1, 2], []])
    np.testing.assert_array_equal(model.value(strings), bare)
    assert np.abs(np.exp(model.log_prob(strings)) - bare).max() > 1e-6


def test_a_failed_fit_leaves_the_model_as_it_was(corpus) -> None:
    model = Automaton(learner="bigram").fit(corpus)
    before = model.log_prob([["s0"]])
    with pytest.raises(ParameterError, match="alphabet"):
        model.set_params(learner="spectral", basis={"prefixes": [["z"]], "suffixes": [["z"]]}).fit([["x"]] * 30)
    np.testing.assert_array_equal(model.log_prob([["s0"]]), before)
    untrained = Automaton()
    with pytest.raises(InputError, match="every held-out string"):
        untrained.fit(corpus, dev=[["never"]])
    with pytest.raises(NotFittedError):
        untrained.log_prob([["s0"]])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_states", 2.5), ("n_states", "8"), ("n_states", -1), ("n_states", "auto"), ("order", None),
        ("max_iter", 1.5), ("max_iter", -1), ("order", 0),
        ("order", "3"), ("prior", "1"), ("prior", -0.1), ("prior", float("nan")), ("basis", -3), ("basis", "all"),
        ("basis", {"rows": []}), ("random_state", -1), ("random_state", 0.5), ("n_jobs", 0), ("n_jobs", 1.5),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(name, value) -> None:
    with pytest.raises(InputError, match=name):
        Automaton(learner="bigram").set_params(**{name: value}).fit([["a"]] * 30)


def test_a_text_alone_is_a_path_and_texts_in_a_list_are_read_by_symbol() -> None:
    with pytest.raises(InputError, match="no such file"):
        Automaton().fit("abab")
    model = Automaton(learner="bigram").fit(["a b a b", "a b"])
    assert model.vocabulary_.words == ("a", "b")
    np.testing.assert_array_equal(model.log_prob(["a a b"]), model.log_prob([list("aab")]))
    with pytest.raises(InputError, match="a single sentence goes in a list"):
        model.log_prob("a b")


def test_every_method_reads_files(corpus, test_corpus, truth, tmp_path) -> None:
    write_pautomac(corpus, tmp_path / "x.pautomac.train")
    write_pautomac(test_corpus, tmp_path / "x.pautomac.test")
    write_pautomac_solution([truth.value(s) for s in test_corpus], tmp_path / "solution")
    plain = tmp_path / "strings.txt"
    plain.write_text("".join(" ".join(map(str, string)) + "\n" for string in test_corpus))
    model = Automaton(learner="bigram").fit(tmp_path / "x.pautomac.train", dev=tmp_path / "x.pautomac.test")
    assert model.vocabulary_.words == ("0", "1", "2")
    for path in (tmp_path / "x.pautomac.test", plain):
        np.testing.assert_array_equal(model.log_prob(str(path)), model.log_prob(path))
        assert len(model.log_prob(path)) == len(model.next(path)) == len(model.surprisal(path)) == len(test_corpus)
    np.testing.assert_allclose(model.log_prob(plain), model.log_prob(tmp_path / "x.pautomac.test"))
    scores = model.evaluate(tmp_path / "x.pautomac.test", solution=tmp_path / "solution")
    given = model.evaluate(plain, solution=[truth.value(s) for s in test_corpus])
    assert scores == given
    assert scores["pautomac_bound"] <= scores["pautomac"] < 2 * scores["pautomac_bound"]


def test_prefixes_and_surprisals_add_up_to_strings(corpus) -> None:
    model = Automaton(learner="auto", preset="fast").fit(corpus)
    strings = [["s0", "s1", "s2", "s2"], [], ["s1", "never", "s0", "never"], ["s2"]]
    whole, prefixes, bits = model.log_prob(strings), model.prefix_log_prob(strings), model.surprisal(strings)
    for string, value, begins, surprisal in zip(strings, whole, prefixes, bits, strict=True):
        assert begins.shape == surprisal.shape == (len(string) + 1,)
        assert begins[0] == 0.0
        assert (np.diff(begins) < 0).all() and (surprisal > 0).all()
        np.testing.assert_allclose(-np.log(2) * np.cumsum(surprisal)[:-1], begins[1:], rtol=1e-9)
        assert -np.log(2) * surprisal.sum() == pytest.approx(value)
        # Each prefix alone gives the same last entry, and its next distribution the next surprisal.
        alone = [string[:i] for i in range(len(string) + 1)]
        np.testing.assert_allclose([b[-1] for b in model.prefix_log_prob(alone)], begins)
        for i, row in enumerate(model.next(alone)):
            symbol = string[i] if i < len(string) else None
            chance = row[-1] if symbol is None else row[model.vocabulary_.index[symbol]] if symbol != "never" else None
            expected = model.unknown_rate_ if chance is None else chance
            assert surprisal[i] == pytest.approx(-np.log2(expected))


def test_no_strings_give_empty_answers(corpus) -> None:
    model = Automaton(learner="bigram").fit(corpus)
    assert model.log_prob([]).shape == (0,)
    assert model.next([]).shape == (0, 4)
    assert model.predict([]) == model.prefix_log_prob([]) == model.surprisal([]) == []
    assert model.sample(3, max_length=0) == [[], [], []]


def test_impossible_strings_have_infinite_surprisal() -> None:
    fair = Automaton.from_function(lambda s: 0.5 ** (len(s) + 1) if "b" not in s else 0.0, ["a", "b"])
    strings = [["a", "b", "a"], ["never"]]
    np.testing.assert_array_equal(fair.log_prob(strings), -np.inf)
    np.testing.assert_allclose(fair.surprisal(strings)[0][:2], [1.0, np.inf])
    np.testing.assert_array_equal(fair.prefix_log_prob(strings)[1], [0.0, -np.inf])


@pytest.mark.parametrize("learner", ["auto", "spectral"])
def test_hostile_strings_are_predicted(learner, corpus) -> None:
    model = Automaton(learner=learner, preset="fast").fit(corpus)
    strings = [["s0", "s1"] * 50_000, [], ["never", "seen"], ["s0", "never", "s1"]]
    values = model.log_prob(strings)
    assert np.isfinite(values).all()
    assert values[0] < -1e4
    # An unknown symbol costs its rate and is passed over as "some symbol".
    np.testing.assert_allclose(model.prefix_log_prob([["never"]])[0], [0.0, np.log(model.unknown_rate_)])
    assert len(model.predict(strings)[3]) == 4
    assert model.evaluate([*strings[2:], ["s0"]])["unknown"] == 3


def signed_model(rng) -> Automaton:
    """A spectral model of so few strings that some of its scores are negative."""
    strings = [list("ab" * int(n)) for n in rng.integers(1, 5, 40)] + [list("ba"), list("aa")] * 3
    return Automaton(8, "spectral", basis=40).fit(strings)


def test_negative_scores_are_repaired_and_counted(rng) -> None:
    model = signed_model(rng)
    strings = [list(x) for x in ("bbb", "aaab", "abba", "baab")]
    rows = model.next(strings)
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    counts = [
        found.diagnostics["negative"]
        for found in (model.predict(strings), model.surprisal(strings), model.prefix_log_prob(strings))
    ]
    assert counts == [model.evaluate(strings)["negative"]] * 3
    assert counts[0] > 0


def test_small_and_degenerate_corpora_give_right_small_models() -> None:
    always = Automaton().fit([["a"]] * 30)
    assert np.exp(always.log_prob([["a"]]))[0] > 0.95
    one = Automaton().fit([["a", "b"]])
    assert np.isfinite(one.log_prob([["a", "b"], ["b", "a"], []])).all()
    constant = Automaton(preset="fast").fit([["x"] * n for n in (1, 2, 3, 4, 5)] * 10)
    chances = np.exp(constant.log_prob([["x"] * n for n in range(40)]))
    assert chances.sum() == pytest.approx(1.0, abs=1e-2)
    assert chances[1:6].sum() > 0.9
    few = Automaton(n_states=50, learner="em", preset="fast").fit([["a"], ["b", "a"]] * 15)
    assert np.exp(few.log_prob([["a"]]))[0] == pytest.approx(0.5, abs=0.1)


def test_samples_look_like_the_model(corpus) -> None:
    model = Automaton(learner="merge+em", preset="fast").fit(corpus)
    drawn = model.sample(3000, random_state=1)
    assert drawn == model.sample(3000, random_state=1)
    share = sum(not s for s in drawn) / len(drawn)
    assert share == pytest.approx(np.exp(model.log_prob([[]]))[0], abs=0.03)
    length = np.mean([len(s) for s in drawn])
    substrings = model.change_statistic("substring")
    expected = sum(substrings.value((s,)) for s in range(3))
    assert length == pytest.approx(expected, rel=0.1)


def test_a_users_basis_and_every_statistic(corpus, test_corpus) -> None:
    basis = {"prefixes": [[], ["s0"], ["s1"], ["s2"]], "suffixes": [[], ["s0"], ["s1"], ["s2"]]}
    for statistic in ("marked", "prefix", "substring"):
        model = Automaton(3, "spectral", basis=basis, statistic=statistic).fit(corpus)
        assert np.isfinite(model.log_prob(test_corpus)).all()
    with pytest.raises(ParameterError, match="'z' among its suffixes"):
        Automaton(3, "spectral", basis=basis | {"suffixes": [["s0"], ["z"]]}).fit(corpus)


def test_training_strings_are_over_their_own_alphabet(corpus) -> None:
    foreign = Corpus.over([["s0", "never"]], corpus.vocabulary)
    with pytest.raises(InputError, match="1 symbols are outside"):
        Automaton(learner="bigram").fit(foreign)
    with pytest.raises(InputError, match="1 symbols are outside"):
        Automaton(learner="bigram").fit(corpus).value(foreign)


def test_held_out_strings_can_be_given(corpus, test_corpus) -> None:
    model = Automaton(4, "em", preset="fast").fit(corpus, dev=test_corpus)
    assert (
        model.log_prob(test_corpus).mean()
        > Automaton(learner="unigram").fit(corpus).log_prob(test_corpus).mean() - 0.05
    )


def test_a_function_of_finite_rank_is_learned_exactly(truth) -> None:
    asked = []

    def probability(string: tuple[str, ...]) -> float:
        asked.append(string)
        return truth.value([int(symbol[1]) for symbol in string])

    model = Automaton.from_function(probability, ["s0", "s1", "s2"], compared=0)
    assert model.summary_["states"] == 3
    assert len(asked) == len(set(asked)) == model.summary_["queries"]  # none twice
    strings = [[f"s{symbol}" for symbol in x] for x in all_strings(3, 5)]
    exact = np.array([truth.value(x) for x in all_strings(3, 5)])
    np.testing.assert_allclose(model.value(strings), exact, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.log_prob(strings)), exact, atol=1e-9)


def test_functions_that_are_no_distributions_have_values() -> None:
    count = Automaton.from_function(lambda s: float(s.count("a")), ["a", "b"])
    assert count.summary_["states"] == 2
    np.testing.assert_allclose(count.value([list("abba"), [], ["a"] * 50]), [2, 0, 50], atol=1e-6)
    with pytest.raises(RankError, match="diverges"):
        count.log_prob([["a"]])


def test_functions_zero_on_short_strings_need_a_length() -> None:
    rare = lambda s: 1.0 if s == tuple("ababa") else 0.0  # noqa: E731
    with pytest.raises(InputError, match="min_length"):
        Automaton.from_function(rare, ["a", "b"], min_length=1)
    model = Automaton.from_function(rare, ["a", "b"], min_length=2)
    np.testing.assert_allclose(model.value([list("ababa"), list("aba"), list("ababab")]), [1, 0, 0], atol=1e-9)


def test_functions_that_misbehave_are_named() -> None:
    with pytest.raises(InputError, match="'a a'"):
        Automaton.from_function(lambda s: float("nan") if len(s) == 2 else 0.5 ** len(s), ["a"])
    noise = np.random.default_rng(0)
    with pytest.raises(RankError, match="max_queries"):
        Automaton.from_function(lambda s: noise.normal(), ["a", "b"], max_queries=500)
    with pytest.raises(InputError, match="alphabet"):
        Automaton.from_function(lambda s: 0.0, [])


def test_the_dfa_walks_frequent_strings_and_keeps_counts(corpus) -> None:
    model = Automaton(learner="merge+em", preset="fast").fit(corpus)
    dfa = model.to_dfa(corpus, 4, n_prefixes=300)
    assert dfa.n_states <= 4
    assert dfa.counts.sum(axis=1)[0] > 0
    frequent = sorted({tuple(corpus[i].tolist()) for i in range(len(corpus)) if len(corpus[i]) < 3})
    for string in frequent:
        assert len(dfa.walk(f"s{symbol}" for symbol in string)) == len(string) + 1
    assert dfa.soften().is_probabilistic()
    with pytest.raises(ParameterError, match="at least one"):
        model.to_dfa(corpus, 0)
    with pytest.raises(InputError, match="no symbol of these strings"):
        model.to_dfa([["never"]])


def test_more_states_than_memory_are_refused() -> None:
    with pytest.raises(InputError, match=r"1000000 states over 2 symbols would take .* GB of memory"):
        Automaton(10**6, "spectral").fit([["a", "b"], ["b"]] * 10)
