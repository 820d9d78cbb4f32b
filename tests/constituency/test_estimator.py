"""The parser as an estimator: what it refuses, what it counts, and what it is before it has parsed anything."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from spectragram.constituency import ConstituencyParser
from spectragram.constituency.training import LEARNERS
from spectragram.errors import InputError
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


def test_a_decoder_that_does_not_exist_is_refused_when_parsing(signed):
    signed.set_params(decoder="nonsense")
    try:
        with pytest.raises(InputError, match="choose one of mbr, max-rule, goodman"):
            signed.parse(SENTENCES)
    finally:
        signed.set_params(decoder="mbr")


@pytest.mark.parametrize("method", ["parse", "marginals", "log_prob", "prefix_log_prob"])
def test_one_string_is_no_list_of_sentences(method):
    model = ConstituencyParser(learner="pcfg", preset="fast").fit(TREES[:20])
    with pytest.raises(InputError, match=r"no such file.*a single sentence goes in a list"):
        getattr(model, method)("The dog barked .")


def test_nothing_is_counted_before_the_first_sentence(tmp_path):
    model = ConstituencyParser(learner="pcfg", preset="fast").fit(TREES[:20])
    model.save(tmp_path / "m")
    for one in (model, ConstituencyParser.load(tmp_path / "m")):
        assert one.statuses_ == {"pruned": 0, "unpruned": 0, "glued": 0}
        assert one.n_negative_ == 0


def test_negative_posteriors_of_signed_models_are_counted(signed):
    signed.parse(SENTENCES)
    n_parsed = signed.n_negative_
    assert n_parsed > 0
    signed.marginals(SENTENCES)
    assert signed.n_negative_ == n_parsed
    signed.parse(SENTENCES[:1])
    assert signed.n_negative_ < n_parsed  # of the last call only
    signed.kbest(SENTENCES, 2)
    assert signed.n_negative_ == n_parsed  # one model: the same posteriors


def test_sentences_of_negative_value_are_counted():
    model = ConstituencyParser(learner="pcfg", preset="fast").fit(TREES)
    first = model.grammars_[0].models[0]
    turned = replace(first, operators=first.operators._replace(root=-first.operators.root))
    model.grammars_ = [replace(model.grammars_[0], models=[turned])]
    assert np.isnan(model.log_prob(SENTENCES[:3])).all()
    assert model.n_negative_ == 3


def test_probabilistic_models_have_no_negative_posteriors():
    model = ConstituencyParser(4, preset="fast").fit(TREES)
    assert model.evaluate(HELD_OUT)["negative"] == model.n_negative_ == 0


def test_evaluate_holds_all_that_is_known(signed):
    scores = signed.evaluate(str(tree) for tree in HELD_OUT)
    assert scores["f1"] / 100 == pytest.approx(signed.score(HELD_OUT))
    assert scores["sentences"] == len(HELD_OUT) == scores["parsed_pruned"] + scores["fallbacks"]
    assert scores["negative"] == signed.n_negative_ > 0
    assert scores["sentences_per_second"] > 0


def test_spans_come_with_their_places(signed):
    (found,) = signed.marginals([SENTENCES[0]])
    listed = list(found)
    n = len(SENTENCES[0])
    assert [(i, j) for i, j, _ in listed] == [(i, j) for j in range(1, n + 1) for i in range(j)]
    for i, j, row in listed:
        np.testing.assert_array_equal(row, found.spans[span_id(i, j)])


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
