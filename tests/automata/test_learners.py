"""EM, pivots, merging and k-grams: what each must recover, and that likelihoods rise."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.automata import Automaton
from spectragram.automata.approximation import CountedDFA
from spectragram.automata.em import expect, maximize, mean_log_prob, random_start, run_em, trees_of
from spectragram.automata.hankel import count_hankel, find_basis
from spectragram.automata.held_out import hold_out, sample_strings
from spectragram.automata.learners import learn
from spectragram.automata.merging import merge_states
from spectragram.automata.model import Model, Weighted, string_log_probs
from spectragram.automata.ngram import UNSEEN, learn_ngrams
from spectragram.automata.pivot import _read_off, cluster_start, learn_pivot, soften
from spectragram.automata.settings import LEARNERS, settings_of
from spectragram.automata.spectral import learn_spectral
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus
from spectragram.inference.prefix_tree import grow_prefix_tree
from spectragram.synthetic.automata import PNFA


def as_wfa(true: PNFA) -> WFA:
    return WFA(true.initial, true.operators, true.final)


def deterministic(rng) -> CountedDFA:
    """Four states that differ clearly in what follows."""
    target = np.array([[1, 2, 0], [1, 3, 2], [0, 0, 3], [2, 1, 0]])
    chances = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.6, 0.1, 0.2], [0.2, 0.1, 0.4, 0.3], [0.1, 0.1, 0.2, 0.6]])
    return CountedDFA.of(target, chances * 1e6)


def sharp(dfa: CountedDFA) -> WFA:
    n, k = dfa.target.shape
    operators = np.zeros((k, n, n))
    for s in range(k):
        operators[s, np.arange(n), dfa.target[:, s]] = dfa.counts[:, s] / dfa.counts.sum(axis=1)
    return WFA(np.eye(n)[0], operators, dfa.counts[:, k] / dfa.counts.sum(axis=1))


def sample_of(wfa: WFA, n, rng):
    return PNFA(wfa.initial, wfa.operators, wfa.final).sample(n, rng)


def test_em_never_lowers_the_likelihood_and_stays_probabilistic(rng) -> None:
    corpus = PNFA.random(3, 3, rng=rng).sample(500, rng)
    trees = trees_of(corpus)
    fitted = run_em(trees, random_start(trees, 4, 3, rng), max_iter=30, prior=0.0, tolerance=0.0)
    assert (np.diff(fitted.training) > -1e-9).all()
    assert fitted.training[-1] > fitted.training[0] + 0.01
    assert fitted.wfa.is_probabilistic()


def test_em_stays_at_the_truth_on_a_large_sample(rng) -> None:
    true = as_wfa(PNFA.random(3, 2, rng=rng, conditioning=0.1))
    trees = trees_of(sample_of(true, 50_000, rng))
    fitted = run_em(trees, true, max_iter=10)
    np.testing.assert_allclose(fitted.wfa.operators, true.operators, atol=0.03)
    assert 0.0 < mean_log_prob(trees, fitted.wfa) - mean_log_prob(trees, true) < 1e-3


def test_held_out_strings_stop_em_at_their_best(rng) -> None:
    true = PNFA.random(2, 3, rng=rng)
    trees, held_out = trees_of(true.sample(60, rng)), trees_of(true.sample(2000, rng))
    fitted = run_em(trees, random_start(trees, 10, 3, rng), max_iter=200, prior=0.0, held_out=held_out)
    assert mean_log_prob(held_out, fitted.wfa) == pytest.approx(max(fitted.held_out))
    assert len(fitted.training) < 200


def test_the_prior_keeps_every_symbol_possible(rng) -> None:
    corpus = PNFA.random(2, 3, rng=rng).sample(3, rng)
    trees = trees_of(corpus)
    start = random_start(trees, 3, 3, rng)
    assert (maximize(expect(trees, start), 0.3).operators > 0).all()
    assert maximize(expect(trees, start), 0.3).is_probabilistic()


def test_tied_moves_are_products_whatever_the_prior(rng) -> None:
    trees = trees_of(PNFA.random(3, 4, rng=rng).sample(200, rng))
    for prior in (0.0, 0.3, 10.0):
        tied = maximize(expect(trees, random_start(trees, 3, 4, rng)), prior, tied=True)
        assert tied.is_probabilistic()
        for state in range(3):
            sigma = np.linalg.svd(tied.operators[:, state], compute_uv=False)
            assert sigma[1] < 1e-12 * sigma[0]


def test_merging_finds_a_deterministic_automaton(rng) -> None:
    true = sharp(deterministic(rng))
    corpus = sample_of(true, 10_000, rng)
    merged = merge_states(grow_prefix_tree(corpus.tokens, corpus.offsets), 3)
    assert merged.n_states == 4
    strings = [corpus[i].tolist() for i in range(200)]
    # The same automaton up to the names of states: paths through both visit states in step.
    paired = {
        pair for string in strings for pair in zip(deterministic(rng).walk(string), merged.walk(string), strict=True)
    }
    assert len(paired) == 4
    model = merged.soften(leak=1e-3, smoothing=0.5)
    assert model.is_probabilistic()
    assert model.l2_distance(true) < 0.01


def test_merging_respects_the_number_of_states(rng) -> None:
    corpus = sample_of(sharp(deterministic(rng)), 5000, rng)
    assert merge_states(grow_prefix_tree(corpus.tokens, corpus.offsets), 3, max_states=2).n_states == 2


def test_pivots_recover_states_that_some_prefix_gives_away(rng) -> None:
    true = sharp(deterministic(rng))
    corpus = sample_of(true, 20_000, rng)
    model = learn_spectral(count_hankel(corpus, find_basis(corpus, 200)), 4)
    learned = learn_pivot(model, trees_of(corpus), 4)
    assert learned.is_probabilistic()
    assert learned.l2_distance(true) < 0.02


def test_a_corner_that_nothing_follows_ends_the_string(rng) -> None:
    corpus = sample_of(sharp(deterministic(rng)), 500, rng)
    model = learn_spectral(count_hankel(corpus, find_basis(corpus, "sigma")), 2)
    corners = np.stack([model.context_states[0], -model.context_states[0]])
    learned = _read_off(model, corners)
    assert learned.is_probabilistic()
    assert learned.final[1] == 1.0


def test_pivots_are_learned_from_all_strings_in_the_end(rng) -> None:
    corpus = sample_of(sharp(deterministic(rng)), 400, rng)
    learned = learn(corpus, settings_of(Automaton(3, "pivot", basis=30)))[0].to_wfa()
    model = learn_spectral(count_hankel(corpus, find_basis(corpus, 30)), 3)
    expected = soften(learn_pivot(model, trees_of(corpus), 3), 0.01)
    np.testing.assert_allclose(learned.operators, expected.operators, atol=1e-12)


def test_a_spectral_model_is_learned_from_all_strings_in_the_end(rng) -> None:
    corpus = sample_of(sharp(deterministic(rng)), 400, rng)
    learned, (facts,) = learn(corpus, settings_of(Automaton(learner="spectral", basis=30)))
    expected = learn_spectral(count_hankel(corpus, find_basis(corpus, 30)), facts["states"])
    np.testing.assert_allclose(learned.to_wfa().operators, expected.wfa.operators, atol=1e-9)
    np.testing.assert_allclose(learned.spectrum, expected.singular_values)
    assert learned.parts[0].backoff_share == facts["backoff_share"]


def test_held_out_strings_choose_the_rank(rng) -> None:
    """Four states that strings give away: fewer are worse on held-out strings, many more are noise."""
    corpus = sample_of(sharp(deterministic(rng)), 4000, rng)
    for learner in ("spectral", "pivot"):
        _, (facts,) = learn(corpus, settings_of(Automaton(learner=learner, basis=100)))
        assert 4 <= facts["states"] <= 12
    # Other judges choose another rank.
    lonely = Corpus.over([["s0"]] * 50, corpus.vocabulary)
    _, (other,) = learn(corpus, settings_of(Automaton(learner="pivot", basis=100)), lonely)
    assert other["states"] != facts["states"]


def test_a_tenth_is_held_out_unless_strings_are_given(rng) -> None:
    corpus = PNFA.random(2, 2, rng=rng).sample(200, rng)
    split = hold_out(corpus, None, seed=3)
    assert (len(split.training), len(split.judges.end_of)) == (180, 20)
    assert split.training.n_tokens + split.judges.through[1:].sum() == corpus.n_tokens
    given = hold_out(corpus, corpus.slice(0, 7), seed=3)
    assert given.training is corpus
    assert len(given.judges.end_of) == 7
    unknown = Corpus.over([["s0"], ["s0", "never"], []], corpus.vocabulary)
    assert len(hold_out(corpus, unknown, seed=3).judges.end_of) == 2  # a string with an unknown symbol cannot judge
    assert hold_out(corpus.slice(0, 19), None, seed=3).judges is None
    assert hold_out(corpus.slice(0, 20), None, seed=3).judges is not None
    few = sample_strings(corpus, 50, rng)
    assert 50 <= few.n_tokens < 50 + np.diff(corpus.offsets).max()
    assert sample_strings(corpus, 10**6, rng) is corpus


@pytest.mark.parametrize("n_strings", [10, 60])
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_reports_progress(rng, learner, n_strings) -> None:
    corpus = PNFA.random(2, 2, rng=rng).sample(n_strings, rng)
    reported: list[dict[str, object]] = []
    settings = settings_of(Automaton(2, learner, preset="fast", n_jobs=1))
    learn(corpus, settings, report=lambda n=1, **facts: reported.append(facts))
    assert reported
    assert all(name in ("log_likelihood", "dev") for facts in reported for name in facts)


@pytest.mark.parametrize("start", ["pivot", "cluster"])
def test_spectral_starts_lead_em_to_the_truth(rng, start) -> None:
    true = sharp(deterministic(rng))
    corpus = sample_of(true, 5000, rng)
    trees = trees_of(corpus)
    model = learn_spectral(count_hankel(corpus, find_basis(corpus, 200)), 4)
    begin = learn_pivot(model, trees, 4) if start == "pivot" else cluster_start(model, trees, 4, rng)
    fitted = run_em(trees, soften(begin), max_iter=40)
    assert fitted.wfa.l2_distance(true) < 0.015


def test_a_unigram_has_one_state() -> None:
    corpus = Corpus.from_sequences([["a", "b"], ["b"], []])
    grams = learn_ngrams(corpus, 1)
    assert grams.n_states == grams.to_wfa().n_states == 1
    expected = (np.array([1, 2, 3]) + UNSEEN) / (6 + 3 * UNSEEN)  # a, b and the end
    np.testing.assert_allclose(grams.table, [expected])


def test_bigrams_by_hand(rng) -> None:
    corpus = Corpus.from_sequences([["a", "b"], ["a", "a"], ["b"]])
    grams = learn_ngrams(corpus, 2, discount=0.5)
    tree = grow_prefix_tree(*_flat([[], [0]]))
    rows, repaired = grams.next_distributions(tree)
    assert repaired == 0
    overall = (np.array([3, 2, 3]) + 0.1) / 8.3
    # After the begin: a twice, b once; 0.5 is taken off both and shared by the overall frequencies.
    np.testing.assert_allclose(rows[tree.end_of[0]], (np.array([1.5, 0.5, 0]) + 1.0 * overall) / 3)
    # After a: a, b and the end once each.
    np.testing.assert_allclose(rows[tree.end_of[1]], (np.array([0.5, 0.5, 0.5]) + 1.5 * overall) / 3)


def test_parts_of_a_model_file_must_fit_together(rng) -> None:
    corpus = PNFA.random(2, 2, rng=rng).sample(60, rng)
    values, arrays = learn(corpus, settings_of(Automaton(2, "spectral", basis="sigma")))[0].to_state()
    Model.from_state(values, arrays)
    for changed in (
        {"weights": np.ones(2)},
        {"vocabulary.words": ["a", "b", "c"], "vocabulary.counts": np.ones(3, np.int64)},
        {"0.context_states": arrays["0.context_states"][1:]},
        {"0.backoff.table": arrays["0.backoff.table"][1:]},
        {"0.total": np.ones(7)},
    ):
        with pytest.raises(ValueError):
            Model.from_state(values, arrays | changed)


def test_kgrams_are_automata(rng) -> None:
    corpus = PNFA.random(3, 3, rng=rng).sample(400, rng)
    grams = learn_ngrams(corpus, 3)
    wfa = grams.to_wfa()
    tree = grow_prefix_tree(corpus.tokens, corpus.offsets)
    np.testing.assert_allclose(
        string_log_probs(tree, Weighted.probabilistic(wfa)), string_log_probs(tree, grams), atol=1e-9
    )
    assert wfa.is_probabilistic()


def _flat(strings):
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in strings])])
    return np.array([x for s in strings for x in s], np.int64), offsets
