"""The tagger as users meet it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectragram.data.conllu import Sentence
from spectragram.data.labelled import LabelledFile, Layout, read_labelled
from spectragram.engine.progress import Report
from spectragram.errors import InputError, ParameterError
from spectragram.synthetic import english_chunks, english_tagged
from spectragram.tagging import Tagger
from spectragram.tagging.member import Member
from spectragram.tagging.model import Model
from spectragram.tagging.settings import LEARNERS
from spectragram.tagging.training import Judge

WORDS, TAGS = (list(part) for part in zip(*english_tagged(400, seed=1), strict=True))
CHUNKS = [labels for _, labels in english_chunks(400, seed=1)]
PAIRS = [list(zip(words, tags, strict=True)) for words, tags in zip(WORDS, TAGS, strict=True)]
TRAIN, TEST = slice(0, 300), slice(300, 400)


@pytest.fixture(scope="module")
def chunker() -> Tagger:
    return Tagger(4, max_iter=3).fit(WORDS[TRAIN], CHUNKS[TRAIN])


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_labels_and_gives_distributions(learner: str) -> None:
    tagger = Tagger(3, learner, max_iter=2, n_starts=2).fit(WORDS[TRAIN], TAGS[TRAIN])
    assert tagger.score(WORDS[TEST], TAGS[TEST]) > (0.85 if learner == "unigram" else 0.93)
    marginals = np.concatenate(tagger.marginals(WORDS[TEST]))
    np.testing.assert_allclose(marginals.sum(axis=1), 1)
    assert marginals.min() >= 0


def test_hidden_states_beat_the_hmm() -> None:
    scores = {
        learner: Tagger(6, learner, factors=False).fit(PAIRS[TRAIN], CHUNKS[TRAIN]).score(PAIRS[TEST], CHUNKS[TEST])
        for learner in ("hmm", "spectral+em")
    }
    assert scores["spectral+em"] > scores["hmm"]


def test_spans_come_out_well_formed(chunker: Tagger) -> None:
    for labels in chunker.predict(WORDS[TEST]):
        assert all(
            before in ("B-NP", "I-NP") for before, after in zip(["O", *labels], labels, strict=False) if after == "I-NP"
        )


def test_fixed_labels_are_kept_and_heard(chunker: Tagger) -> None:
    sequence = WORDS[TEST][0]
    free = chunker.marginals([sequence])[0]
    other = chunker.labels_[int(free[1].argmin())]
    fixed = [None, other, *[None] * (len(sequence) - 2)]
    assert chunker.predict([sequence], fixed=[fixed])[0][1] == other
    changed = chunker.marginals([sequence], fixed=[fixed])[0]
    assert changed[1, chunker.labels_.index(other)] == 1
    assert not np.allclose(changed[0], free[0])
    with pytest.raises(InputError, match="not seen in training"):
        chunker.predict([sequence], fixed=[["B-XX"] * len(sequence)])
    with pytest.raises(InputError, match="labels"):
        chunker.predict([sequence], fixed=[[None]])


def test_an_illegal_fixed_label_still_stands(chunker: Tagger) -> None:
    sequence = WORDS[TEST][0]
    assert chunker.predict([sequence], fixed=[["I-NP", *[None] * (len(sequence) - 1)]])[0][0] == "I-NP"


def test_an_ensemble_is_one_model() -> None:
    tagger = Tagger(3, n_models=3, max_iter=2).fit(WORDS[TRAIN], TAGS[TRAIN])
    assert len(tagger.members_) == 3 == tagger.summary_["models"]
    first, second = (m.emissions.vectors for m in tagger.members_[:2])
    assert not np.array_equal(first, second)


def test_held_out_data_choose_the_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge's favourite is kept, whichever it is."""
    judged: list[Member] = []

    def prefer_the_third(model: Model, dev: LabelledFile, n_jobs: int) -> Judge:
        assert WORDS[TEST] == dev.X

        def judge(member: Member) -> float:
            judged.append(member)
            return [0.1, 0.2, 0.9, 0.3, 0.4][len(judged) - 1]

        return judge

    monkeypatch.setattr("spectragram.tagging.learners._judge", prefer_the_third)
    chosen = Tagger(4, factors=False, max_iter=4).fit(WORDS[TRAIN], CHUNKS[TRAIN], dev=(WORDS[TEST], CHUNKS[TEST]))
    assert len(judged) == 5
    assert chosen.members_[0] is judged[2]
    after_two = Tagger(4, factors=False, max_iter=2).fit(WORDS[TRAIN], CHUNKS[TRAIN])
    np.testing.assert_array_equal(
        np.concatenate(chosen.marginals(WORDS[TEST])), np.concatenate(after_two.marginals(WORDS[TEST]))
    )


def test_the_judge_is_accuracy_on_held_out_data() -> None:
    dev = (WORDS[TEST], CHUNKS[TEST])
    plain: dict[str, Any] = {"factors": False, "decoding": "marginal"}
    scores = [Tagger(4, max_iter=n, **plain).fit(WORDS[TRAIN], CHUNKS[TRAIN]).score(*dev) for n in range(4)]
    chosen = Tagger(4, max_iter=3, **plain).fit(WORDS[TRAIN], CHUNKS[TRAIN], dev=dev)
    assert chosen.score(*dev) == max(scores)


def test_odd_input_is_fine(chunker: Tagger) -> None:
    assert chunker.predict([]) == []
    assert chunker.predict([[], ["dog"], []])[0::2] == [[], []]
    assert [m.shape for m in chunker.marginals([["dog"], []])] == [(1, 3), (0, 3)]
    tiny = Tagger().fit([["a"], ["b", "c"]], [["X"], ["Y", "X"]])  # one token, labels seen once
    assert tiny.predict([["a"]]) == [["X"]]
    same = Tagger(learner="spectral").fit([["a"] * 3] * 200, [["X"] * 3] * 200)  # nothing varies within the label
    assert same.predict([["a", "zebra"]]) == [["X", "X"]]


def test_labels_never_seen_count_as_errors(chunker: Tagger) -> None:
    scores = chunker.evaluate([["dog", "cat"]], [["B-VP", "I-VP"]])
    assert scores["accuracy"] == 0 and scores["span_f1"] == 0


def test_columns_must_be_those_of_training() -> None:
    tagger = Tagger(1).fit(PAIRS[TRAIN], CHUNKS[TRAIN])
    with pytest.raises(InputError, match="trained on 2"):
        tagger.predict(WORDS[TEST])


def test_unknown_words_are_scored_apart(chunker: Tagger) -> None:
    X = [["the", "xyzzy"]]
    scores = chunker.evaluate(X, [["B-NP", "I-NP"]])
    assert scores["unknown"] == 1
    assert {"accuracy", "unknown_accuracy", "span_f1", "tokens", "tokens_per_second"} <= set(scores)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_states": 0},
        {"n_states": "4"},
        {"n_states": 2.5},
        {"n_models": 0},
        {"max_iter": -1},
        {"n_starts": 0},
        {"n_codes": 1.5},
        {"random_state": "1"},
        {"n_jobs": 0},
        {"backoff": -1},
        {"backoff": "3"},
        {"ridge": -1},
        {"ridge": "small"},
        {"smoothing": float("nan")},
        {"emission_weight": 0},
        {"views": ["word[0]"]},
        {"preset": "slow"},
        {"decoding": "beam"},
        {"emissions": "neural"},
    ],
)
def test_bad_parameters_are_named(parameters: dict) -> None:
    (name,) = parameters
    with pytest.raises(InputError, match=name):
        Tagger(**parameters).fit(WORDS[:20], TAGS[:20])


def test_decoding_can_be_chosen_when_predicting(chunker: Tagger) -> None:
    best = [[chunker.labels_[i] for i in rows.argmax(axis=1)] for rows in chunker.marginals(WORDS[TEST])]
    assert chunker.predict(WORDS[TEST], decoding="marginal") == best
    by_marginals = Tagger(4, max_iter=3, decoding="marginal").fit(WORDS[TRAIN], CHUNKS[TRAIN])
    assert by_marginals.predict(WORDS[TEST]) == best
    assert by_marginals.predict(WORDS[TEST], decoding="legal") == chunker.predict(WORDS[TEST])
    # A span cannot begin with I-NP, the best label of both tokens.
    torn = np.tile([0.3, 0.4, 0.3], (2, 1))
    both = [
        chunker.model_.decode(torn, np.array([0, 2]), allowed=None, decoding=decoding).tolist()
        for decoding in ("marginal", "legal")
    ]
    assert both == [[1, 1], [0, 1]]
    with pytest.raises(ParameterError, match="choose one of auto, marginal, legal"):
        chunker.predict(WORDS[TEST], decoding="beam")


def test_evaluate_reads_iterators(chunker: Tagger) -> None:
    scores = chunker.evaluate(iter(WORDS[TEST]), iter(CHUNKS[TEST]))
    assert scores["tokens"] == sum(map(len, CHUNKS[TEST]))
    assert scores["accuracy"] / 100 == pytest.approx(chunker.score(WORDS[TEST], CHUNKS[TEST]))


def test_negative_marginals_are_counted(chunker: Tagger) -> None:
    signed = Tagger(6, "spectral").fit(WORDS[TRAIN], CHUNKS[TRAIN])
    counted = signed.predict(WORDS[TEST]).diagnostics
    assert counted["negative"] > 0
    assert signed.marginals(WORDS[TEST]).diagnostics == counted
    assert signed.evaluate(WORDS[TEST], CHUNKS[TEST])["negative"] == counted["negative"]
    assert chunker.evaluate(WORDS[TEST], CHUNKS[TEST])["negative"] == 0
    assert chunker.predict(WORDS[TEST]).diagnostics == {"negative": 0, "fallbacks": 0}


def test_summary_has_the_names_of_all_kinds(chunker: Tagger) -> None:
    assert list(chunker.summary_)[:6] == ["learner", "states", "models", "sentences", "tokens", "types"]
    assert list(chunker.summary_)[-1] == "seconds"
    assert chunker.summary_["states"] == len(chunker.members_[0].operators.initial)
    assert chunker.summary_["types"] == len({word for words in WORDS[TRAIN] for word in words})


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("held_out", [False, True])
def test_the_bar_moves_to_its_end_for_every_learner(
    learner: str, held_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, totals = [], []

    @contextlib.contextmanager
    def bar(what: str, total: int, *, enabled: bool) -> Iterator[Report]:
        totals.append(total)
        yield lambda n=1, **facts: steps.append(facts)

    monkeypatch.setattr("spectragram.tagging.estimator.progress", bar)
    dev = (WORDS[:5], TAGS[:5]) if held_out else None
    Tagger(2, learner, max_iter=2, n_starts=2, n_models=2).fit(WORDS[:40], TAGS[:40], dev=dev)
    assert len(steps) == sum(totals) > 0
    fact = "dev" if held_out else "log_likelihood"
    assert {name for facts in steps for name in facts} == (
        {fact} if learner.endswith(("em", "segments")) or (held_out and learner == "hmm") else set()
    )


def test_looks_are_used_where_they_help_on_held_out_sequences() -> None:
    rng = np.random.default_rng(2)
    # The second column decides the label; what words look like is chance.
    X = [[(f"w{rng.integers(500)}x{rng.integers(9)}", f"c{c}") for c in rng.integers(0, 3, 6)] for _ in range(60)]
    by_column = [[column for _, column in sequence] for sequence in X]
    assert not Tagger(1).fit(X, by_column).model_.lexicon.by_looks
    by_ending = [[word[-1] for word, _ in sequence] for sequence in X]
    assert Tagger(1).fit(X, by_ending).model_.lexicon.by_looks
    assert Tagger(1).fit(WORDS, CHUNKS).model_.lexicon.by_looks
    assert not Tagger(1).fit(X[:15], by_ending[:15]).model_.lexicon.by_looks  # too few to hold any out


def test_nothing_has_no_marginals() -> None:
    tagger = Tagger(1).fit([["a", "b"]] * 5, [["X", "Y"]] * 5)
    assert tagger.marginals([]) == []
    assert [rows.shape for rows in tagger.marginals([[], ["a"]])] == [(0, 2), (1, 2)]


def column_file(path: Path, sentences: slice) -> Path:
    pairs = zip(PAIRS[sentences], CHUNKS[sentences], strict=True)
    lines = (["\t".join([*pair, label]) for pair, label in zip(*sentence, strict=True)] for sentence in pairs)
    path.write_text("\n\n".join("\n".join(sentence) for sentence in lines) + "\n")
    return path


def test_files_are_read_in_the_layout_of_training(tmp_path: Path) -> None:
    train, test = column_file(tmp_path / "train", TRAIN), column_file(tmp_path / "test", TEST)
    layout = Layout("columns", (0, 1), "-1")
    tagger = Tagger(2, max_iter=1).fit(read_labelled(train, layout), dev=test)
    assert tagger.layout_ == layout
    assert tagger.predict(test) == tagger.predict(PAIRS[TEST])
    assert tagger.predict(read_labelled(test, layout, labels=False)) == tagger.predict(PAIRS[TEST])
    np.testing.assert_array_equal(tagger.marginals(test)[3], tagger.marginals(PAIRS[TEST])[3])
    assert tagger.score(test) == tagger.score(PAIRS[TEST], CHUNKS[TEST])
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.layout_ == layout
    assert loaded.evaluate(test)["accuracy"] == 100 * tagger.score(test)
    from_lists = Tagger(2, max_iter=1).fit(PAIRS[TRAIN], CHUNKS[TRAIN], dev=(PAIRS[TEST], CHUNKS[TEST]))
    assert from_lists.layout_ == layout, "sequences of two columns go with files whose first two columns are observed"
    assert from_lists.predict(test) == tagger.predict(test)


def test_sentences_of_conllu_hold_their_labels() -> None:
    sentences = [
        Sentence.from_words(words).with_columns(upos=tags)
        for words, tags in zip(WORDS[TRAIN], TAGS[TRAIN], strict=True)
    ]
    tagger = Tagger(1).fit(sentences)
    assert tagger.layout_ == Layout("conllu", label="upos")
    assert tagger.predict(sentences[:20]) == Tagger(1).fit(WORDS[TRAIN], TAGS[TRAIN]).predict(WORDS[:20])
    assert tagger.score(sentences) > 0.9


def test_strings_are_lines_of_words() -> None:
    lines, labels = [" ".join(words) for words in WORDS[TRAIN]], [" ".join(tags) for tags in TAGS[TRAIN]]
    tagger = Tagger(1).fit(lines, labels)
    assert tagger.predict(lines[:5]) == Tagger(1).fit(WORDS[TRAIN], TAGS[TRAIN]).predict(WORDS[:5])
