"""The estimator: distributions that sum to one and agree, unknown words, early stopping, samples, ARPA, real text."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from spectragram.data import Corpus
from spectragram.data.corpus import Vocabulary
from spectragram.data.text import read_text
from spectragram.errors import InputError
from spectragram.lm import LanguageModel
from spectragram.lm.arpa import write_arpa
from spectragram.lm.em import ClassModel
from spectragram.lm.mixture import N_BUCKETS, Events, Mixture
from spectragram.lm.model import Model
from spectragram.lm.settings import LEARNERS
from spectragram.synthetic import english_text


@pytest.fixture(scope="module")
def text() -> list[list[str]]:
    return english_text(900, seed=5)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("boundaries", [False, True])
def test_every_learner_gives_distributions(learner: str, boundaries: bool, text: list[list[str]]) -> None:
    model = LanguageModel(5, learner, boundaries=boundaries, max_iter=3).fit(text[:400])
    for context in ([], ["the"], ["the", "dog"], ["xyzzy", "the"], ["the", "xyzzy"]):
        distribution = model.next([context])[0]
        assert distribution.sum() == pytest.approx(1.0, abs=1e-5)  # single precision
        assert (distribution >= 0).all()
    logs = model.log_prob(text[:3])
    assert (logs < 0).all()
    np.testing.assert_allclose(logs, [-bits.sum() * np.log(2) for bits in model.surprisal(text[:3])])
    assert len(model.surprisal(text[:1])[0]) == len(text[0]) + boundaries


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("boundaries", [False, True])
def test_all_views_of_a_sentence_agree(learner: str, boundaries: bool, text: list[list[str]]) -> None:
    """Prefixes, surprisal, log-probability, next words and predictions follow from one distribution."""
    model = LanguageModel(5, learner, boundaries=boundaries, max_iter=3).fit(text[:400])
    words, index = model.vocabulary_.words, model.vocabulary_.index
    for sentence in (*text[400:403], [], ["xyzzy"], ["the"]):
        steps = model.next([sentence[:i] for i in range(len(sentence) + 1)])
        assert model.predict([sentence])[0] == [words[row.argmax()] for row in steps]
        ids = [index.get(word, index["<unk>"]) for word in sentence]
        with np.errstate(divide="ignore"):
            logs = np.log([row[i] for row, i in zip(steps, ids, strict=False)] or np.empty(0))
            unknown = [i for i, word in enumerate(sentence) if word not in index]
            logs[unknown] += model.model_.unknown_words.log_probs([sentence[i] for i in unknown])[:, 0]
            end = np.log(steps[-1][index["</s>"]]) if boundaries else 0.0
        prefixes = model.prefix_log_prob([sentence])[0]
        assert prefixes.shape == (len(sentence) + 1,)
        assert prefixes[0] == 0.0
        np.testing.assert_allclose(prefixes[1:], np.cumsum(logs), rtol=1e-5)
        bits = model.surprisal([sentence])[0]
        expected = np.append(logs, end) if boundaries else logs
        np.testing.assert_allclose(bits, -expected / np.log(2), rtol=1e-5)
        np.testing.assert_allclose(model.log_prob([sentence]), expected.sum(), rtol=1e-5)


def test_sentences_are_scored_on_their_own_whatever_stands_beside_them(text: list[list[str]]) -> None:
    model = LanguageModel(4, boundaries=True, max_iter=1).fit(text[:300])
    lines = [text[300], [], text[301][:1], text[302]]
    for together, alone in (
        (model.surprisal(lines), [model.surprisal([line])[0] for line in lines]),
        (model.prefix_log_prob(lines), [model.prefix_log_prob([line])[0] for line in lines]),
        (model.predict(lines), [model.predict([line])[0] for line in lines]),
    ):
        for one, other in zip(together, alone, strict=True):
            np.testing.assert_array_equal(one, other)
    assert model.log_prob([]).shape == (0,)
    assert model.surprisal([]) == model.prefix_log_prob([]) == model.predict([]) == []
    assert model.next([]).shape == (0, len(model.vocabulary_))


def test_with_boundaries_a_sentence_begins_after_the_end_of_another(text: list[list[str]]) -> None:
    """Scoring sentences one by one is scoring them after ``</s>``; the text before it is forgotten."""
    model = LanguageModel(learner="kn", order=2, boundaries=True).fit(text[:300])
    alone = np.concatenate(model.surprisal(text[300:310])).mean()
    assert np.log2(model.perplexity(text[300:310], unknown="spell")) == pytest.approx(alone)
    assert model.perplexity(text[300:310], unknown="spell") > model.perplexity(text[300:310], unknown="score")
    starts = {words[0] for words in text[:300]}
    assert model.predict([[]])[0][0] in starts


@pytest.mark.parametrize("boundaries", [False, True])
def test_a_word_that_looks_like_the_end_is_spelled(boundaries: bool) -> None:
    """The end has its probability already; if a word of the text took it as well, the sum would exceed one."""
    model = LanguageModel(learner="kn", order=2, boundaries=boundaries).fit([["a", "b"], ["a"], ["c"]] * 4)
    (found,) = model.measure([["a", "</s>", "b"]])
    unknown, bits = -np.log2(model.next([["a"]])[0, model.outcomes_.index("<unk>")]), found.surprisal
    assert bits[1] > unknown + 4
    assert found.known.tolist() == [True, False, True]
    assert bits[2] == pytest.approx(model.surprisal([["a", "zz", "b"]])[0][2])


@pytest.mark.parametrize("boundaries", [False, True])
def test_samples_follow_the_distribution(boundaries: bool) -> None:
    lines = ["a b c", "a c", "b a", "c a b a"] * 20
    model = LanguageModel(2, boundaries=boundaries, max_iter=2).fit(lines)
    drawn = model.sample(4000, random_state=3, max_length=2)
    assert max(map(len, drawn)) == 2
    if not boundaries:
        assert min(map(len, drawn)) == 2
    drawn = [[word if word in model.vocabulary_ else "<unk>" for word in words] for words in drawn]
    for prefix in ([], ["a"], ["b"]):
        after = [[*words, "</s>"][len(prefix)] for words in drawn if words[: len(prefix)] == prefix]
        shares = np.array([after.count(word) for word in model.vocabulary_.words]) / len(after)
        if len(prefix) == 1 and not boundaries:
            assert shares.sum() == 1
        expected = model.next([prefix])[0]
        assert np.abs(shares - expected).max() < 4 * np.sqrt(0.25 / len(after))
    assert model.sample(5, random_state=3) == model.sample(5, random_state=3)
    assert model.sample(5, random_state=3) != model.sample(5, random_state=4)
    assert model.sample(0) == []
    assert model.sample(2, max_length=0) == [[], []]
    with pytest.raises(InputError, match="max_length=-1"):
        model.sample(1, max_length=-1)


def test_rare_words_are_drawn_spelled_and_the_unknown_word_stands_for_all() -> None:
    lines = ["a b c", "a c", "b a", "c a b a"] * 20 + ["a rare", "a odd", "a singular"]
    model = LanguageModel(learner="kn", order=2, boundaries=True).fit(lines)
    drawn = {word for words in model.sample(300) for word in words}
    assert "<unk>" not in drawn
    assert drawn - set(model.vocabulary_.words)
    whole, *spelled = (model.log_prob([["a", word]])[0] for word in ("<unk>", "rare", "quizzical"))
    assert all(value < whole for value in spelled)


def test_presets_choose_classes_and_iterations(text: list[list[str]]) -> None:
    models = {preset: LanguageModel(preset=preset, min_count=1).fit(text) for preset in ("fast", "default", "best")}
    states = [model.summary_["states"] for model in models.values()]
    assert states[0] < states[1] < states[2]
    assert set(models["fast"].n_iter_.values()) <= {0, 1}
    given = LanguageModel(8, preset="best", max_iter=0).fit(text)
    assert [classes.n_states for classes in given.model_.mixture.classes] == 2 * [1, 4, 8, 16]
    assert (given.summary_["states"], given.n_iter_) == (58, {1: 0, 2: 0})
    alone = LanguageModel(8, "pivot+em", preset="best", max_iter=0).fit(text)
    assert alone.summary_["states"] == 8


def test_em_from_a_random_start_does_not_stop_at_words_that_only_the_held_out_part_has(text: list[list[str]]) -> None:
    """Without dev the last twentieth is held out: "late" occurs there alone."""
    lines = [*text[:400], *[["late", *words] for words in text[400:405]]]
    model = LanguageModel(4, "em").fit(lines)
    assert model.n_iter_[1] > 1
    assert model.perplexity(text[405:500]) < 0.5 * len(model.vocabulary_)


def test_the_mixture_beats_its_parts_on_new_text(text: list[list[str]]) -> None:
    scores = {
        learner: LanguageModel(12, learner).fit(text[:600], dev=text[600:750]).perplexity(text[750:])
        for learner in ("kn", "em", "pivot+em", "mixed")
    }
    assert scores["mixed"] < min(scores["kn"], scores["em"], scores["pivot+em"])


def test_perplexity_is_what_it_says(text: list[list[str]]) -> None:
    model = LanguageModel(4, "kn", order=2).fit(text[:300])
    stream = [word for line in text[300:310] for word in line]
    logs, known = [], 0
    for previous, word in zip([None, *stream], stream, strict=False):
        if word in model.vocabulary_:
            distribution = model.next([[] if previous is None else [previous]])[0]
            logs.append(np.log(distribution[model.vocabulary_.index[word]]))
            known += 1
    scores = model.evaluate(text[300:310])
    assert scores["words"] == known
    assert scores["unknown"] == len(stream) - known
    assert scores["tokens"] == len(stream)
    assert scores["perplexity"] == pytest.approx(np.exp(-np.mean(logs)))
    assert model.evaluate(text[300:310], unknown="score")["words"] == len(stream)
    assert model.score(text[300:310]) == pytest.approx(-np.log(scores["perplexity"]))
    with pytest.raises(InputError, match="ignore, score, spell"):
        model.perplexity(text, unknown="maybe")
    with pytest.raises(InputError, match="no word"):
        model.perplexity([["xyzzy"]])


def test_a_corpus_with_its_own_vocabulary_scores_the_same(tmp_path: Path, text: list[list[str]]) -> None:
    path = tmp_path / "text"
    path.write_text("\n".join(" ".join(line) for line in text[300:320]))
    model = LanguageModel(4, "pivot+em", max_iter=2).fit(text[:300])
    as_lists = model.perplexity(text[300:320])
    assert model.perplexity(read_text(path)) == as_lists
    assert model.perplexity(read_text(path, model.vocabulary_)) == as_lists


def test_a_word_seen_only_at_the_end_and_rare_words() -> None:
    model = LanguageModel(2, "em", min_count=1, max_iter=3).fit([["a", "b", "a", "b", "c", "a", "end"]])
    assert np.isfinite(model.log_prob([["end", "a"]])).all()
    rare = LanguageModel(2, "kn").fit([["a", "a", "b", "b", "once"]])
    assert "once" not in rare.vocabulary_
    assert rare.vocabulary_.unknown == "<unk>"


def test_probabilities_below_single_precision_stay_above_zero() -> None:
    tables = ClassModel(np.array([[1.0, 1e-60]]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 1e-60]))
    model = Mixture.of(None, {1: [tables]}).compact()
    assert (model.prob(np.array([[0], [0]]), np.array([0, 1])) > 0).all()


def test_early_stopping_follows_dev(text: list[list[str]]) -> None:
    model = LanguageModel(30, "em", prior=0.0, max_iter=40).fit(text[:200], dev=text[200:300])
    assert 0 < model.n_iter_[1] < 40
    again = LanguageModel(30, "em", prior=0.0, max_iter=model.n_iter_[1]).fit(text[:200], dev=text[200:300])
    assert again.perplexity(text[200:300]) == model.perplexity(text[200:300])


def read_arpa(stream: str) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]:
    probs, weights = {}, {}
    for line in stream.splitlines():
        fields = line.split("\t")
        if len(fields) >= 2:
            gram = tuple(fields[1].split(" "))
            probs[gram] = 10 ** float(fields[0])
            weights[gram] = 10 ** float(fields[2]) if len(fields) == 3 else 1.0
    return probs, weights


def arpa_prob(probs: dict, weights: dict, gram: tuple[str, ...]) -> float:
    if gram in probs:
        return probs[gram]
    if len(gram) == 1:
        return 0.0
    return weights.get(gram[:-1], 1.0) * arpa_prob(probs, weights, gram[1:])


@pytest.mark.parametrize(("learner", "exact"), [("kn", True), ("mixed", False), ("em", False)])
def test_arpa_sums_to_one_and_holds_kneser_ney_exactly(learner: str, exact: bool, text: list[list[str]]) -> None:
    model = LanguageModel(4, learner, max_iter=2, min_count=8).fit(text[:150])
    stream = io.StringIO()
    write_arpa(model.model_, stream)
    assert stream.getvalue().startswith("\\data\\\nngram 1=")
    assert stream.getvalue().endswith("\\end\\\n")
    probs, weights = read_arpa(stream.getvalue())
    words = model.vocabulary_.words
    for context in [(), ("the",), ("the", words[4]), ("<unk>", "<unk>"), ("a", "the")]:
        row = np.array([arpa_prob(probs, weights, (*context, word)) for word in words])
        assert row.sum() == pytest.approx(1.0, abs=1e-4)
        if exact:
            np.testing.assert_allclose(row, model.next([list(context)])[0], rtol=1e-4)


def test_weights_find_the_better_model(rng: np.random.Generator) -> None:
    """Of two class models, one of which predicts what follows and one does not."""
    right, wrong = np.eye(4)[[1, 2, 3, 0]], np.full((4, 4), 0.25)
    classes = {d: [ClassModel(np.eye(4), table.T, np.full(4, 0.25))] for d, table in ((1, right), (2, wrong))}
    held_out = Events.from_stream(np.tile(np.arange(4), 50))
    weights = Mixture.of(None, classes).fit_weights(held_out).weights
    assert weights.shape == (N_BUCKETS, 2)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert weights[0, 0] > 0.98
    assert weights[5, 0] > 0.98  # a bucket without held-out words follows the others


def test_a_corpus_with_symbols_outside_its_vocabulary(text: list[list[str]]) -> None:
    words = Corpus.from_sequences(text[:200]).vocabulary.words
    small = Vocabulary(words[: len(words) // 2])  # it has no unknown word: other symbols are -1
    model = LanguageModel(learner="kn").fit(Corpus.from_sequences(text[:200], small))
    replaced = [[word if word in small else "<unk>" for word in line] for line in text[:200]]
    again = LanguageModel(learner="kn").fit(replaced)
    assert model.vocabulary_.words == again.vocabulary_.words
    np.testing.assert_array_equal(model.vocabulary_.counts, again.vocabulary_.counts)
    np.testing.assert_array_equal(model.log_prob(text[200:210]), again.log_prob(text[200:210]))


@pytest.mark.slow
def test_brown_split_against_measured_anchors(data_dir: Path) -> None:
    """Kneser-Ney on the Brown split of Cohen & Collins (2014): 334 and 317, an independent implementation's figures."""
    folder = data_dir / "brown-text" / "lm"
    train, test = folder / "train.txt.gz", folder / "test.txt"
    assert LanguageModel(learner="kn", order=2).fit(train).perplexity(test) == pytest.approx(334.1, abs=0.5)
    assert LanguageModel(learner="kn", order=3).fit(train).perplexity(test) == pytest.approx(317.0, abs=0.5)


def test_a_string_is_a_path_and_a_string_in_a_list_is_a_line(text: list[list[str]]) -> None:
    with pytest.raises(InputError, match="hello world: no such file"):
        LanguageModel(4).fit("hello world")  # type: ignore[arg-type]
    model = LanguageModel(4).fit(text[:200])
    with pytest.raises(InputError, match="hello world: no such file"):
        model.log_prob("hello world")  # type: ignore[arg-type]
    lines = [" ".join(words) for words in text[:200]]
    np.testing.assert_array_equal(LanguageModel(4).fit(lines).log_prob(lines), model.log_prob(text[:200]))


@pytest.mark.parametrize(
    "wrong",
    [{"n_states": "16"}, {"n_states": 2.5}, {"prior": -1}, {"min_count": 0}, {"start_shape": 0}, {"max_iter": -1}],
)
def test_parameters_of_the_wrong_kind_are_named(wrong: dict[str, object], text: list[list[str]]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        LanguageModel(**wrong).fit(text[:50])  # type: ignore[arg-type]


@pytest.mark.parametrize("learner", LEARNERS)
def test_small_texts_get_as_many_classes_as_they_can_tell_apart(learner: str, text: list[list[str]]) -> None:
    model = LanguageModel(learner=learner).fit(text[:50])
    assert 1 <= model.summary_["states"] <= 128 if learner != "kn" else model.summary_["states"] == 0
    assert np.isfinite(model.perplexity(text[50:60]))
    many = len(model.vocabulary_) - 1  # more than the rank of so small a text
    assert np.isfinite(LanguageModel(many, learner, max_iter=2).fit(text[:50]).perplexity(text[50:60]))


@pytest.mark.parametrize(
    ("changes", "values", "problem"),
    [
        ({"mixture.weights": np.ones((3, 3))}, {}, "mixture weights"),
        ({"mixture.classes0.mix": np.ones(7, np.float32)}, {}, "class tables"),
        ({}, {"boundaries": True}, "lacks the unknown word or the end"),
        ({"vocabulary.words": ["a", "<unk>"], "vocabulary.counts": np.ones(2, np.int64)}, {}, "n-grams over 4 words"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes: dict, values: dict, problem: str) -> None:
    state, arrays = LanguageModel(2, max_iter=1).fit(["a b c a b", "c b a"] * 9).model_.to_state()
    with pytest.raises(ValueError, match=problem):
        Model.from_state(state | values, arrays | changes)
