"""The parser as a user meets it: every sentence gets a tree, probabilities add up, options do what they say."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.constituency import ConstituencyParser
from spectragram.data.brackets import parse_tree, read_trees
from spectragram.data.inputs import as_word_lists
from spectragram.errors import InputError
from spectragram.metrics import bracket_scores
from spectragram.synthetic.english import english_trees

HELD_OUT = english_trees(460)[400:]


@pytest.fixture(scope="module")
def parser() -> ConstituencyParser:
    return ConstituencyParser(preset="fast", n_states=4, max_iter=2).fit(english_trees(400))


@pytest.fixture(scope="module")
def plain() -> ConstituencyParser:
    return ConstituencyParser(learner="pcfg", preset="fast").fit(english_trees(400))


def f1(parser: ConstituencyParser, decoder: str | None = None) -> float:
    return bracket_scores(HELD_OUT, parser.predict(HELD_OUT, decoder=decoder))["f1"]


def test_hidden_states_help(parser, plain):
    assert f1(parser) > f1(plain) + 2.0
    expected = {"fallbacks": 0, "parsed_pruned": 60, "parsed_unpruned": 0, "parsed_glued": 0, "negative": 0}
    assert parser.predict(HELD_OUT).diagnostics == expected


def test_spectral_operators_help_too(plain):
    spectral = ConstituencyParser(6, "spectral", preset="fast").fit(english_trees(400))
    assert f1(spectral) > f1(plain) + 1.0
    with pytest.raises(InputError, match="spectral"):
        spectral.prefix_log_prob([["the"]])
    with pytest.raises(InputError, match="another learner"):
        spectral.surprisal([["the"]])
    with pytest.raises(InputError, match="not a probability distribution"):
        spectral.sample()


@pytest.mark.parametrize("decoder", ["max-rule", "goodman"])
def test_other_decoders_parse_about_as_well(parser, decoder):
    assert abs(f1(parser, decoder) - f1(parser)) < 4.0


@pytest.mark.parametrize(
    "sentence",
    [
        "xyzzy",
        "Quux plugh !",
        "( ) ( ) a ) b",
        "1990-91 3.14 % http://x.y/?a=(b) Ünïcödé 北京 \u00a0x",
        "the " * 90,
        "dog " * 200,
        "... ? ! , ; : -- ''",
    ],
)
def test_every_sentence_gets_a_tree_over_its_words(parser, sentence):
    (tree,) = parser.predict([sentence])
    words = [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in sentence.split(" ") if word]
    assert tree.leaves() == words
    assert tree.label == "TOP"
    assert parse_tree(str(tree)) == tree


def test_what_the_grammar_cannot_build_is_glued():
    trees = [parse_tree("(S (A a) (B b))")] * 20
    model = ConstituencyParser(preset="fast").fit(trees)
    assert str(model.predict(["a b"])[0]) == "(S (A a) (B b))"
    found = model.predict(["a b a b b", "a b"])
    tree = found[0]
    assert tree.leaves() == ["a", "b", "a", "b", "b"]
    assert found.diagnostics["fallbacks"] == found.diagnostics["parsed_glued"] == 1
    assert found.diagnostics["parsed_pruned"] == 1
    assert ("S", 0, 2) in tree.spans()
    assert ("S", 2, 4) in tree.spans()


@pytest.mark.parametrize("text", ["(TOP (NN dog))", "(S (NP (NN dog)))", "(X a)", "(TOP (A a) (B b) (C c) (D d))"])
def test_a_treebank_of_one_tree(text):
    tree = parse_tree(text)
    model = ConstituencyParser().fit([text])
    assert model.predict([tree.leaves()]) == [tree]


def test_marginals_are_probabilities(parser):
    for words, found in zip((["the", "dog", "barks"], ["it"]), parser.marginals(["the dog barks", "it"]), strict=True):
        assert found.spans.min() >= 0.0
        assert found.spans.max() <= 1.0 + 1e-9
        np.testing.assert_allclose(found.tags.sum(axis=1), 1.0, atol=1e-6)
        assert found.spans.shape[0] == len(words) * (len(words) + 1) // 2


def test_surprisals_add_up_to_the_sentence(parser):
    sentences = ["the dog barks .", "zork", HELD_OUT[3].leaves()]
    log_probs, prefixes = parser.log_prob(sentences), parser.prefix_log_prob(sentences)
    for words, logs, bits, log_prob in zip(
        as_word_lists(sentences), prefixes, parser.surprisal(sentences), log_probs, strict=True
    ):
        assert logs.shape == bits.shape == (len(words) + 1,)
        assert logs[0] == 0.0
        assert (bits >= -1e-9).all()
        np.testing.assert_allclose(bits[:-1], -np.diff(logs) / np.log(2.0))
        assert -bits.sum() * np.log(2.0) == pytest.approx(log_prob, rel=1e-10)


def test_the_best_trees_come_in_order_and_their_probabilities_are_below_one(parser):
    words = HELD_OUT[0].leaves()
    (found,) = parser.kbest([words], 8)
    trees = [tree for tree, _ in found]
    assert len({str(tree) for tree in trees}) == len(trees) > 1
    assert np.exp([value for _, value in found]).sum() <= 1.0 + 1e-6
    assert trees[0] == parser.predict([words], decoder="max-rule")[0]


def test_samples_look_like_the_treebank(parser):
    drawn = parser.sample(200, random_state=1)
    assert drawn[:3] == parser.sample(3, random_state=1)
    assert parser.sample(3) == parser.sample(3, random_state=0) != drawn[:3]
    lengths = [len(tree.leaves()) for tree in drawn]
    expected = np.mean([len(tree.leaves()) for tree in english_trees(400)])
    assert abs(np.mean(lengths) - expected) < 3.0
    known = {label for tree in english_trees(400) for label, _, _ in tree.spans()}
    assert {label for tree in drawn for label, _, _ in tree.spans()} <= known


def test_held_out_trees_choose_the_iteration():
    trees = english_trees(150)
    model = ConstituencyParser(preset="fast", n_states=4, max_iter=3).fit(trees, dev=english_trees(180)[150:])
    assert 0 <= model.summary_["iterations"][0] <= 3
    assert 50.0 < model.summary_["dev_f1"][0] <= 100.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_states": 0}, "n_states"),
        ({"n_models": -1}, "n_models"),
        ({"preset": "quick"}, "choose one of fast"),
        ({"decoder": "cky"}, "choose one of mbr"),
        ({"binarisations": ("up",)}, "choose one of right"),
    ],
)
def test_bad_parameters_are_named(changes, message):
    with pytest.raises(InputError, match=message):
        ConstituencyParser(**changes).fit(english_trees(5))


def test_an_empty_sentence_is_refused(parser):
    with pytest.raises(InputError, match="sentence 1"):
        parser.predict(["a b", ""])


@pytest.mark.slow
def test_wsj_sample_beats_the_berkeley_parser(data_dir):
    folder = data_dir / "wsj-sample" / "clean"
    model = ConstituencyParser(preset="fast").fit(folder / "train.txt.gz")
    scores = model.evaluate(list(read_trees(folder / "dev.txt"))[::4])
    # Berkeley parser, 4 split-merge cycles: 82.6 on all of dev; a quarter of it has a standard error of about 1.
    assert scores["f1"] > 82.6
    assert scores["tag_accuracy"] > 94.9


def test_words_come_from_trees_without_their_traces(parser):
    text = "(S (NP-SBJ (DT The) (NN dog)) (VP (VBZ barks) (NP (-NONE- *-1))) (. .))"
    assert parser.predict([parse_tree(text)]) == parser.predict(["The dog barks ."])


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_number_of_trees_that_makes_no_sense_is_refused(parser, k):
    with pytest.raises(InputError, match="at least 1"):
        parser.kbest(["a b"], k)


def test_underivable_sentences_have_one_tree_of_no_probability():
    model = ConstituencyParser(preset="fast").fit(["(S (A a) (B b))"] * 20)
    glued, derived = model.kbest(["a b a b b", "a b"], 3)
    assert glued == [(model.predict(["a b a b b"])[0], -np.inf)]
    assert derived == [(parse_tree("(S (A a) (B b))"), pytest.approx(0.0, abs=1e-9))]
