"""The parser as an estimator: what it refuses, and what it reports about its predictions."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from spectragram.constituency import ConstituencyParser
from spectragram.constituency.settings import LEARNERS
from spectragram.errors import InputError, ParameterError
from spectragram.inference.chart_coarse import span_id
from spectragram.synthetic.english import english_trees

TREES, HELD_OUT = english_trees(200), english_trees(230)[200:]
SENTENCES = [tree.leaves() for tree in HELD_OUT]


@pytest.fixture(scope="module")
def signed() -> ConstituencyParser:
    return ConstituencyParser(6, "spectral", preset="fast").fit(TREES)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_states": "4"},
        {"n_states": 2.5},
        {"n_models": True},
        {"max_iter": -1},
        {"binarisations": []},
        {"binarisations": "right"},
        {"noise": -0.1},
        {"random_state": "0"},
        {"n_jobs": 0},
    ],
)
def test_parameters_of_the_wrong_kind_are_named(changes):
    (name,) = changes
    with pytest.raises(InputError, match=name):
        ConstituencyParser(**{"preset": "fast", **changes}).fit(TREES[:5])


def test_a_decoder_that_does_not_exist_is_refused(signed):
    with pytest.raises(ParameterError, match="choose one of mbr, max-rule, goodman"):
        signed.predict(SENTENCES, decoder="nonsense")
    with pytest.raises(ParameterError, match="choose one of mbr, max-rule, goodman"):
        ConstituencyParser(decoder="nonsense").fit(TREES[:5])


def test_the_model_remembers_its_decoder(tmp_path):
    mbr, goodman = (ConstituencyParser(4, preset="fast", decoder=decoder).fit(TREES) for decoder in ("mbr", "goodman"))
    goodman.save(tmp_path / "m")
    restored = ConstituencyParser.load(tmp_path / "m")
    trees = mbr.predict(SENTENCES, decoder="goodman")
    assert goodman.predict(SENTENCES) == restored.predict(SENTENCES) == trees != mbr.predict(SENTENCES)
    assert goodman.predict(SENTENCES, decoder="mbr") == mbr.predict(SENTENCES)
    assert restored.evaluate(HELD_OUT)["f1"] == mbr.evaluate(HELD_OUT, decoder="goodman")["f1"]


@pytest.mark.parametrize("method", ["predict", "marginals", "log_prob", "prefix_log_prob", "surprisal"])
def test_one_string_is_no_list_of_sentences(method):
    model = ConstituencyParser(learner="pcfg", preset="fast").fit(TREES[:20])
    with pytest.raises(InputError, match=r"no such file.*a single sentence goes in a list"):
        getattr(model, method)("The dog barked .")


def test_negative_posteriors_of_signed_models_are_counted(signed):
    found = signed.predict(SENTENCES)
    assert found.diagnostics["negative"] > 0
    assert signed.marginals(SENTENCES).diagnostics == found.diagnostics
    assert signed.predict(SENTENCES[:1]).diagnostics["negative"] < found.diagnostics["negative"]
    # One model: the same posteriors
    assert signed.kbest(SENTENCES, 2).diagnostics == {"negative": found.diagnostics["negative"]}


def test_probabilistic_models_have_no_negative_posteriors():
    model = ConstituencyParser(4, preset="fast").fit(TREES)
    assert model.evaluate(HELD_OUT)["negative"] == 0


def test_evaluate_holds_all_that_is_known(signed):
    scores = signed.evaluate(str(tree) for tree in HELD_OUT)
    assert scores["f1"] / 100 == pytest.approx(signed.score(HELD_OUT))
    assert scores["sentences"] == len(HELD_OUT) == scores["parsed_pruned"] + scores["fallbacks"]
    found = signed.predict(HELD_OUT).diagnostics
    assert {name: scores[name] for name in found} == found
    assert scores["sentences_per_second"] > 0


def test_spans_come_with_their_places(signed):
    (found,) = signed.marginals([SENTENCES[0]])
    listed = list(found)
    n = len(SENTENCES[0])
    assert [(i, j) for i, j, _ in listed] == [(i, j) for j in range(1, n + 1) for i in range(j)]
    for i, j, row in listed:
        np.testing.assert_array_equal(row, found.spans[span_id(i, j)])
    assert found.spans.shape[1] == len(signed.labels_)
    assert found.tags.shape[1] == len(signed.tags_)
    # The whole sentence is a sentence, and its first word a determiner.
    assert signed.labels_[listed[-n][2].argmax()] == HELD_OUT[0].spans()[1][0]
    assert signed.tags_[found.tags[0].argmax()] == HELD_OUT[0].tags()[0]


@pytest.mark.parametrize(("learner", "n_models"), [("pcfg", 2), ("em", 4)])
def test_models_without_chance_are_trained_once(learner, n_models):
    parser = ConstituencyParser(1, learner, max_iter=1).fit(TREES[:20])
    assert parser.summary_["models"] == sum(len(g.members) for g in parser.model_.grammars) == n_models


def test_summary_has_the_names_of_all_kinds(signed):
    assert list(signed.summary_)[:6] == ["learner", "states", "models", "sentences", "tokens", "types"]
    assert list(signed.summary_)[-1] == "seconds"
    assert signed.summary_["sentences"] == 200
    assert signed.summary_["tokens"] == sum(len(tree.leaves()) for tree in TREES)
    assert signed.summary_["types"] == len({word for tree in TREES for word in tree.leaves()})


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("held_out", [False, True])
def test_the_bar_moves_to_its_end_for_every_learner(learner, held_out, monkeypatch):
    steps, totals = [], []

    @contextlib.contextmanager
    def bar(what, total, *, enabled):
        totals.append(total)
        yield lambda n=1, **facts: steps.append(facts)

    monkeypatch.setattr("spectragram.constituency.estimator.progress", bar)
    parser = ConstituencyParser(2, learner, n_models=2, max_iter=2)
    parser.fit(TREES[:40], dev=HELD_OUT[:3] if held_out else None)
    assert len(steps) == sum(totals) >= 2
    fact = "dev" if held_out else "log_likelihood"
    assert {name for facts in steps for name in facts} == ({fact} if learner.endswith("em") else set())
