"""The parser as a whole: trees, marginals, fallbacks, odd input, figures on real data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spectragram.data import Sentence, read_conllu
from spectragram.data.projectivity import find_tree_problem, is_projective
from spectragram.dependency import DependencyParser
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.inspection import frequent_modifiers, head_dfa
from spectragram.dependency.model import Member
from spectragram.errors import InputError
from spectragram.synthetic import english_dependencies

TREES = english_dependencies(260, seed=3)
TRAIN, TEST = TREES[:200], TREES[200:]


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    return DependencyParser(3, max_iter=5, n_epochs=1).fit(TRAIN)


def test_what_is_parsed_is_a_projective_tree_and_nothing_else_changes(parser: DependencyParser) -> None:
    for sentence, parsed in zip(TEST, parser.parse(TEST), strict=True):
        assert find_tree_problem(parsed.heads) is None
        assert is_projective(parsed.heads)
        assert parsed.with_heads(sentence.heads, sentence.deprels) == sentence
        assert set(parsed.deprels) <= {*parser.labels_, "root"}


def test_marginals_sum_to_one_for_every_modifier(parser: DependencyParser) -> None:
    for sentence, marginals in zip(TEST, parser.marginals(TEST), strict=True):
        assert marginals.shape == (len(sentence), len(sentence) + 1)
        np.testing.assert_allclose(marginals.sum(axis=1), 1.0, atol=1e-9)
        np.testing.assert_allclose(marginals[:, 0].sum(), 1.0, atol=1e-9)


def test_every_part_of_the_model_helps() -> None:
    scores = [
        DependencyParser(3, learner, factors=factors, max_iter=5, n_epochs=1).fit(TRAIN).evaluate(TEST)["uas"]
        for learner, factors in (("det", False), ("det+f", False), ("spectral+em", False), ("spectral+em", True))
    ]
    assert scores == sorted(scores)
    assert scores[0] + 5 < scores[-1]


def test_estimates_that_are_not_positive_fall_back_and_are_counted(parser: DependencyParser) -> None:
    negative = DependencyParser(3, max_iter=5, n_epochs=1).fit(TRAIN)
    good = negative.grammar_
    # A sentence of n words uses n left automata: with their signs turned Z is negative for odd n.
    one_side = good.initial.copy()
    one_side[0] *= -1.0
    turned = Grammar(good.root, one_side, good.operators, good.final)
    negative.model_ = replace(negative.model_, members=(Member(turned, negative.model_.members[0].factors),))
    odd = [sentence for sentence in TEST if len(sentence) % 2][:3]
    for sentence, heads in zip(odd, negative.predict(odd), strict=True):
        assert find_tree_problem(heads) is None
        assert len(heads) == len(sentence)
    assert negative.n_fallbacks_ == len(odd)
    parser.predict(odd)
    assert parser.n_fallbacks_ == 0


def test_negative_marginals_are_counted_and_reported() -> None:
    signed = DependencyParser(6, "spectral", factors=False).fit(TRAIN)
    assert signed.n_negative_ == 0
    scores = signed.evaluate(TEST)
    assert scores["negative"] == signed.n_negative_ > 0
    negative = 0
    for number in range(len(TEST)):
        chart, _ = signed.model_.chart(signed._encode(TEST).columns(number))
        negative += int((chart.roots < -1e-9).sum() + (chart.arcs < -1e-9).sum())
    assert negative == signed.n_negative_


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_states", "8"), ("n_states", 2.5), ("n_states", 0), ("max_iter", -1), ("max_iter", 1.5), ("n_epochs", "1"),
        ("n_models", 0), ("min_mass", -1), ("min_mass", "0.1"), ("basis", 0), ("basis", -3.0), ("basis", "3"),
        ("basis", True), ("basis", None), ("basis", float("nan")), ("random_state", -1), ("random_state", 0.5),
        ("n_jobs", 0), ("n_jobs", 1.5),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        DependencyParser(max_iter=1, factors=False).set_params(**{name: value}).fit(TRAIN[:10])


def test_a_basis_of_three_is_a_factor_of_three() -> None:
    parsers = [DependencyParser(3, "spectral", factors=False, basis=basis).fit(TRAIN) for basis in (3, 3.0, 30)]
    whole, factor, larger = ([marginals.round(12) for marginals in parser.marginals(TEST)] for parser in parsers)
    for left, right in zip(whole, factor, strict=True):
        np.testing.assert_array_equal(left, right)
    assert any((left != right).any() for left, right in zip(whole, larger, strict=True))


def test_odd_sentences_are_parsed(parser: DependencyParser) -> None:
    one = Sentence.from_words(["Go"], xpos=["VB"])
    unseen = Sentence.from_words(["x", "y", "z"], xpos=["NN", "NEVER", "VBD"])
    long = Sentence.from_words(["dog"] * 300, xpos=["NN", "VBD", "DT"] * 100)
    heads = parser.predict([one, unseen, long])
    assert heads[0].tolist() == [0]
    for tree in heads:
        assert find_tree_problem(tree) is None
    assert parser.predict([]) == []


def test_input_without_tags_is_refused_with_a_remedy(parser: DependencyParser) -> None:
    with pytest.raises(InputError, match="--tagger"):
        parser.predict([Sentence.from_words(["dogs", "bark"])])


def test_trees_that_cross_are_lifted_and_counted() -> None:
    crossing = Sentence.from_words(list("abcd"), xpos=["NN", "VBD", "DT", "IN"], head=["3", "4", "0", "3"])
    fitted = DependencyParser(1, max_iter=1, n_epochs=1).fit([*TRAIN[:20], crossing])
    assert fitted.summary_["lifted_sentences"] == 1


def test_tags_alone_ignore_words() -> None:
    fitted = DependencyParser(2, words=False, max_iter=2, n_epochs=1).fit(TRAIN[:80])
    renamed = [sentence.with_columns(form=["x"] * len(sentence)) for sentence in TEST[:20]]
    for left, right in zip(fitted.marginals(TEST[:20]), fitted.marginals(renamed), strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_treebank_without_relations_is_fine() -> None:
    bare = [tree.with_columns(deprel=["_"] * len(tree)) for tree in TRAIN[:40]]
    parsed = DependencyParser(1, max_iter=1, n_epochs=1).fit(bare).parse(TEST[:5])
    assert {label for sentence in parsed for label in sentence.deprels} == {"_"}


def test_an_ensemble_averages_its_members() -> None:
    three = DependencyParser(2, max_iter=2, n_epochs=1, n_models=3).fit(TRAIN[:80])
    columns = three._encode(TEST[:1]).columns(0)
    charts = [member.chart(columns, three.model_.fallback)[0] for member in three.model_.members]
    assert np.abs(charts[0].arcs - charts[1].arcs).max() > 0
    mean = np.mean([chart.head_distributions() for chart in charts], axis=0)
    np.testing.assert_allclose(three.marginals(TEST[:1])[0], mean, atol=1e-9)


def test_tables_of_a_wrong_size_are_refused(parser: DependencyParser) -> None:
    values, arrays = parser._get_state()
    for name in ("0.arc_weights", "0.stop_weights", "label_weights"):
        with pytest.raises(ValueError, match="table"):
            DependencyParser()._set_state(values, arrays | {name: arrays[name][:-1]})


def test_inspection_shows_modifiers_and_automata(parser: DependencyParser) -> None:
    rows = frequent_modifiers(parser)
    nouns = next(row for row in rows if row[0] == "NN" and row[1] == "left")
    assert "DT" in str(nouns[3]).split()
    found = head_dfa(parser, "NN", "left", 4)
    assert 1 <= found.dfa.n_states <= 4
    assert all(0.0 <= row[1] <= 1.0 for row in found.rows())
    with pytest.raises(InputError, match="choose among"):
        head_dfa(parser, "NOPE", "left")
    with pytest.raises(InputError, match="left or right"):
        head_dfa(parser, "NN", "up")


@pytest.mark.slow
def test_figures_on_the_wsj_sample(data_dir) -> None:  # type: ignore[no-untyped-def]
    folder = data_dir / "wsj-dependencies"
    train = list(read_conllu(folder / "train.conllu.gz", check_tree=True))
    dev = list(read_conllu(folder / "dev.conllu", check_tree=True))

    def uas(**parameters: object) -> float:
        return DependencyParser(n_jobs=-1, **parameters).fit(train).evaluate(dev)["uas"]  # type: ignore[arg-type]

    # The paper's parser from gold tags, minimum-risk decoding; figures are those of a prototype on this corpus.
    assert uas(learner="det", factors=False) > 64.5
    assert uas(learner="det+f", factors=False) > 71.0
    assert uas(n_states=9, learner="spectral", factors=False) > 75.5
    assert uas(n_states=12, factors=False) > 76.8
    # With factors: UDPipe reaches 82.0 from tags alone.
    assert uas(words=False, n_epochs=2) > 85.5


@pytest.mark.parametrize(
    ("wrong", "said"), [({"n_states": 10**6}, "n_states=1000000 needs"), ({"min_mass": 5}, "min_mass=5")]
)
def test_what_cannot_be_is_refused(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        DependencyParser(**wrong).fit(english_dependencies(20))
