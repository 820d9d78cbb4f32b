"""The parser as a whole: trees, marginals, fallbacks, odd input, figures on real data."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectragram.data import Sentence, read_conllu, write_conllu
from spectragram.data.projectivity import find_tree_problem, is_projective
from spectragram.dependency import DependencyParser
from spectragram.dependency.calibration import USUAL
from spectragram.dependency.charts import Chart
from spectragram.dependency.factors import arc_templates
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.inspection import frequent_modifiers, head_dfa
from spectragram.dependency.members import Member
from spectragram.dependency.model import Model
from spectragram.dependency.settings import LEARNERS
from spectragram.errors import InputError
from spectragram.learning.temperature import tempered
from spectragram.synthetic import english_dependencies

TREES = english_dependencies(260, seed=3)
TRAIN, TEST = TREES[:200], TREES[200:]
DOGS = Sentence.from_words(["old", "dogs"], xpos=["JJ", "NNS"], head=["2", "0"], deprel=["amod", "root"])


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    return DependencyParser(3, max_iter=5, n_epochs=1).fit(TRAIN)


def test_what_is_parsed_is_a_projective_tree_and_nothing_else_changes(parser: DependencyParser) -> None:
    for sentence, parsed in zip(TEST, parser.predict(TEST), strict=True):
        assert find_tree_problem(parsed.heads) is None
        assert is_projective(parsed.heads)
        assert parsed.with_heads(sentence.heads, sentence.deprels) == sentence
        assert set(parsed.deprels) <= {*parser.labels_, "root"}


def test_marginals_sum_to_one_for_every_modifier(parser: DependencyParser) -> None:
    for sentence, marginals in zip(TEST, parser.marginals(TEST), strict=True):
        assert marginals.shape == (len(sentence), len(sentence) + 1)
        np.testing.assert_allclose(marginals.sum(axis=1), 1.0, atol=1e-9)
    for chart, _ in parser.model_.parse(parser.model_.alphabet.encode(TEST)):
        np.testing.assert_allclose(chart.head_distributions()[:, 0].sum(), 1.0, atol=1e-9)


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
    parsed = negative.predict(odd)
    for sentence in parsed:
        assert find_tree_problem(sentence.heads) is None
    assert parsed.diagnostics["fallbacks"] == negative.marginals(odd).diagnostics["fallbacks"] == len(odd)
    assert parser.predict(odd).diagnostics == {"fallbacks": 0, "negative": 0, "restored": 0}


def test_negative_marginals_are_counted_and_reported() -> None:
    signed = DependencyParser(6, "spectral", factors=False).fit(TRAIN)
    counted = signed.evaluate(TEST)["negative"]
    assert counted == signed.predict(TEST).diagnostics["negative"] > 0
    charts = [chart for chart, _ in signed.model_.parse(signed.model_.alphabet.encode(TEST))]
    assert counted == sum(int((chart.roots < -1e-9).sum() + (chart.arcs < -1e-9).sum()) for chart in charts)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_states", "8"), ("n_states", 2.5), ("n_states", 0), ("max_iter", -1), ("max_iter", 1.5), ("n_epochs", "1"),
        ("n_models", 0), ("min_mass", -1), ("min_mass", "0.1"), ("basis", 0), ("basis", -3.0), ("basis", "3"),
        ("basis", True), ("basis", float("nan")), ("random_state", -1), ("random_state", 0.5),
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
    parsed = parser.predict([one, unseen, long])
    assert parsed[0].heads.tolist() == [0]
    for sentence in parsed:
        assert find_tree_problem(sentence.heads) is None
    assert parser.predict([]) == []
    with pytest.raises(InputError, match="sentence 1 has no words"):
        parser.predict([one, Sentence.from_words([])])


def test_input_without_tags_is_refused_with_a_remedy(parser: DependencyParser) -> None:
    with pytest.raises(InputError, match=r"column XPOS is empty.*--tagger"):
        parser.predict([Sentence.from_words(["dogs", "bark"])])


@pytest.mark.parametrize("words", ["dogs bark", ["dogs", "bark"], ("dogs", "bark")])
def test_plain_words_are_refused_with_a_remedy(parser: DependencyParser, words: object) -> None:
    with pytest.raises(InputError, match=r"sentence 1 consists of words alone.*column XPOS.*with a tagger"):
        parser.predict([TEST[0], words])
    with pytest.raises(InputError, match="words alone"):
        parser.marginals([words])


def test_paths_strings_and_sentences_are_parsed_alike(parser: DependencyParser, tmp_path: Path) -> None:
    write_conllu(TEST[:3], tmp_path / "test.conllu")
    expected = [str(sentence) for sentence in parser.predict(TEST[:3])]
    for data in (tmp_path / "test.conllu", str(tmp_path / "test.conllu"), [str(sentence) for sentence in TEST[:3]]):
        assert [str(sentence) for sentence in parser.predict(data)] == expected
    assert parser.score(tmp_path / "test.conllu") == parser.score(TEST[:3])


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
    parsed = DependencyParser(1, max_iter=1, n_epochs=1).fit(bare).predict(TEST[:5])
    assert {label for sentence in parsed for label in sentence.deprels} == {"_"}


def test_an_ensemble_averages_its_members() -> None:
    three = DependencyParser(2, max_iter=2, n_epochs=1, n_models=3).fit(TRAIN[:80])
    columns = three.model_.alphabet.encode(TEST[:1]).columns(0)
    charts = [member.charts([columns], three.model_.fallback, [None])[0][0] for member in three.model_.members]
    assert np.abs(charts[0].arcs - charts[1].arcs).max() > 0
    mean = np.mean([chart.head_distributions() for chart in charts], axis=0)
    np.testing.assert_allclose(three.marginals(TEST[:1])[0], tempered(mean, USUAL), atol=1e-9)


def test_tables_of_a_wrong_size_are_refused(parser: DependencyParser) -> None:
    values, arrays = parser.model_.to_state()
    for name in ("member0.factors.arc_weights", "member0.factors.stop_weights", "labels.weights"):
        with pytest.raises(ValueError, match="table"):
            Model.from_state(values, arrays | {name: arrays[name][:-1]})


def test_parts_of_a_file_that_do_not_fit_are_refused(parser: DependencyParser) -> None:
    values, arrays = parser.model_.to_state()
    for name, changed, said in (
        ("alphabet.coarse_of", arrays["alphabet.coarse_of"][:-1], "coarse tags of shape"),
        ("alphabet.coarse_of", arrays["alphabet.coarse_of"] + 1000, "outside"),
        ("labels.candidates", arrays["labels.candidates"][:, :-1], "candidates of shape"),
        ("labels.candidates", arrays["labels.candidates"][:-1], "candidates of shape"),
        ("labels.names", arrays["labels.names"][:-1], "candidates of shape"),
        ("member0.grammar.final", arrays["member0.grammar.final"][:, :-1], "automata of shapes"),
        ("sequences.roots", arrays["sequences.roots"][:-1], "modifier sequences"),
    ):
        with pytest.raises(ValueError, match=said):
            Model.from_state(values, arrays | {name: changed})
    with pytest.raises(ValueError, match="without automata"):
        Model.from_state(values | {"members": []}, arrays)
    small = DependencyParser(3, "det", factors=False).fit([DOGS]).model_.fallback
    with pytest.raises(ValueError, match="symbols for"):
        replace(parser.model_, fallback=small)


def test_weights_keep_their_templates(parser: DependencyParser, tmp_path: Path) -> None:
    """The templates of training travel with the model, whatever the library's own templates become."""
    alone = DependencyParser(3, words=False, max_iter=2, n_epochs=1).fit(TRAIN[:60])
    before = np.concatenate([marginals.ravel() for marginals in alone.marginals(TEST[:5])])
    alone.set_params(words=True).save(tmp_path / "model")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("spectragram.dependency.factors.ARC_TEMPLATES", "t0 | t0")
        restored = DependencyParser.load(tmp_path / "model")
    factors = restored.model_.members[0].factors
    assert factors is not None
    assert not any("w" in template for template in (*factors.arc_templates.listed, *factors.stop_templates.listed))
    assert len(factors.arc_templates.listed) == len(arc_templates("toc").listed) > 10
    after = np.concatenate([marginals.ravel() for marginals in restored.marginals(TEST[:5])])
    np.testing.assert_array_equal(before, after)


def test_dev_chooses_iterations_and_epochs() -> None:
    """The chosen numbers give the same model again; and the best of what was tried was chosen."""
    asked: dict[str, Any] = {"n_states": 3, "max_iter": 4, "n_epochs": 3}
    dev = TEST[:25]
    chosen = DependencyParser(**asked).fit(TRAIN[:40], dev=dev)
    (iterations,), (epochs,) = chosen.summary_["iterations"], chosen.summary_["epochs"]
    again = DependencyParser(3, max_iter=iterations, n_epochs=epochs).fit(TRAIN[:40])
    for left, right in zip(chosen.marginals(dev), again.marginals(dev), strict=True):
        np.testing.assert_array_equal(left, right)
    tried = [
        DependencyParser(3, max_iter=iterations, n_epochs=n).fit(TRAIN[:40]).evaluate(dev)["las"] for n in (1, 2, 3)
    ]
    assert max(tried) == tried[epochs - 1] == pytest.approx(chosen.summary_["dev_las"], abs=0.006)
    assert chosen.evaluate(dev)["uas"] == pytest.approx(chosen.summary_["dev_uas"], abs=0.006)
    assert "dev_las" not in again.summary_


def test_dev_judges_heads_alone_where_there_are_no_relations() -> None:
    def bare(sentences: list[Sentence]) -> list[Sentence]:
        return [sentence.with_columns(deprel=["_"] * len(sentence)) for sentence in sentences]

    for train, dev in ((bare(TRAIN[:40]), TEST[:10]), (TRAIN[:40], bare(TEST[:10]))):
        summary = DependencyParser(2, max_iter=1, n_epochs=1).fit(train, dev=dev).summary_
        assert 0 < summary["dev_uas"] <= 100
        assert "dev_las" not in summary


@pytest.mark.parametrize("learner", LEARNERS)
def test_dev_works_with_every_learner(learner: str) -> None:
    fitted = DependencyParser(2, learner, factors=learner == "det", max_iter=2, n_epochs=1, n_models=2)
    summary = fitted.fit(TRAIN[:40], dev=TEST[:10]).summary_
    assert len(summary["iterations"]) == 2
    assert 0 < summary["dev_uas"] <= 100


def test_labels_and_tags_that_only_held_out_sentences_have_give_no_nan() -> None:
    strange = [
        sentence.with_columns(
            xpos=["NEVER"] * len(sentence), upos=["NEITHER"] * len(sentence), deprel=["unheard"] * len(sentence)
        )
        for sentence in TEST[:10]
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = DependencyParser(2, max_iter=2, n_epochs=1).fit(TRAIN[:40], dev=strange)
        scores = fitted.evaluate(strange)
    assert all(np.isfinite(value) for value in scores.values())
    assert scores["las"] == 0.0
    assert all(np.isfinite(marginals).all() for marginals in fitted.marginals(strange))
    labels = fitted.model_.labels
    assert np.isfinite(labels.weights).all()
    assert labels.candidates.any(axis=1).all(), "every tag has a candidate"


def with_holes(sentence: Sentence, every: int = 3) -> Sentence:
    """Every third value of each column is missing, at other words in each column."""
    columns = {}
    for shift, name in enumerate(("xpos", "upos", "deprel", "lemma", "feats")):
        values = sentence.column(name)
        columns[name] = ["_" if (i + shift) % every == 0 else value for i, value in enumerate(values)]
    return sentence.with_columns(**columns)


@pytest.mark.parametrize("tag_column", ["auto", "xpos", "upos"])
def test_holes_in_any_column_do_no_harm(tag_column: str) -> None:
    trees = [tree.with_columns(lemma=[form.lower() for form in tree.forms]) for tree in TRAIN[:60]]
    trees = [tree.with_columns(feats=[f"Letters={len(form)}" for form in tree.forms]) for tree in trees]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = DependencyParser(2, max_iter=2, n_epochs=1, tag_column=tag_column).fit(list(map(with_holes, trees)))
        parsed = fitted.predict([with_holes(tree, every=2) for tree in trees])
        scores = fitted.evaluate(trees)
    assert all(find_tree_problem(tree.heads) is None for tree in parsed)
    assert "_" not in {label for tree in parsed for label in tree.deprels}
    assert "_" not in fitted.tags_
    assert scores["las"] > 70
    # Whole columns that training had may be missing, and the other way round.
    bare = fitted.predict([tree.with_columns(feats=["_"] * len(tree), lemma=["_"] * len(tree)) for tree in trees])
    assert all(find_tree_problem(tree.heads) is None for tree in bare)
    poor = DependencyParser(2, max_iter=2, n_epochs=1, tag_column=tag_column).fit(TRAIN[:40])
    assert all(find_tree_problem(tree.heads) is None for tree in poor.predict(trees))


def test_features_of_words_tell_heads_apart() -> None:
    """Two nouns and a verb in any order: the subject is the noun in the nominative, whatever tags and words say."""
    rng = np.random.default_rng(0)

    def clause() -> Sentence:
        cases = rng.permutation(["Nom", "Acc"])
        verb = int(rng.integers(3))
        feats = [f"Case={case}" for case in cases]
        feats.insert(verb, "VerbForm=Fin")
        heads = ["0" if word == verb else str(verb + 1) for word in range(3)]
        labels = ["root" if word == verb else "nsubj" if "Nom" in feats[word] else "obj" for word in range(3)]
        upos = ["VERB" if word == verb else "NOUN" for word in range(3)]
        return Sentence.from_words(list("xyz"), upos=upos, feats=feats, head=heads, deprel=labels)

    train, test = [clause() for _ in range(60)], [clause() for _ in range(30)]
    assert DependencyParser(1, max_iter=1, n_epochs=2).fit(train).evaluate(test)["las"] == 100.0
    blind = [tree.with_columns(feats=["_"] * 3) for tree in train]
    assert DependencyParser(1, max_iter=1, n_epochs=2).fit(blind).evaluate(test)["las"] < 90


def test_crossing_arcs_are_restored_unless_they_are_switched_off() -> None:
    """A hearing is scheduled on the issue: the second noun hangs from the first, across the verb."""
    heads, labels = ["2", "3", "0", "6", "6", "2"], ["det", "nsubj", "root", "case", "det", "nmod"]
    upos = ["DET", "NOUN", "VERB", "ADP", "DET", "PROPN"]
    rng = np.random.default_rng(0)

    def sentence(noun: str, other: str) -> Sentence:
        forms = ["a", noun, "is", "on", "the", other]
        return Sentence.from_words(forms, upos=upos, head=heads, deprel=labels)

    plain = Sentence.from_words(["a", "dog", "is"], upos=upos[:3], head=heads[:3], deprel=labels[:3])
    nouns = ["hearing", "dog", "issue", "thing"]
    trees = [sentence(*rng.choice(nouns, 2)) for _ in range(40)] + [plain] * 20
    fitted = DependencyParser(2, max_iter=2, n_epochs=2).fit(trees)
    assert fitted.summary_["lifted_words"] == fitted.summary_["lifted_sentences"] == 40
    parsed = fitted.predict(trees)
    assert parsed.diagnostics["restored"] == 40
    assert fitted.evaluate(trees)["las"] == 100.0
    projective = DependencyParser(2, max_iter=2, n_epochs=2, crossing=False).fit(trees)
    assert projective.model_.crossings is None
    assert projective.predict(trees).diagnostics["restored"] == 0
    assert all(is_projective(tree.heads) for tree in projective.predict(trees))


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_smallest_treebanks_are_enough(learner: str) -> None:
    """One word, or modifiers on one side only, leave most automata without any sequence."""
    one = Sentence.from_words(["Go"], xpos=["VB"], head=["0"], deprel=["root"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for trees in ([one], [DOGS], [one, DOGS]):
            fitted = DependencyParser(3, learner, max_iter=2, n_epochs=1).fit(trees)
            for parsed, marginals in zip(fitted.predict(TEST[:5]), fitted.marginals(TEST[:5]), strict=True):
                assert find_tree_problem(parsed.heads) is None
                assert np.isfinite(marginals).all()


def test_inspection_shows_modifiers_and_automata(parser: DependencyParser) -> None:
    rows = frequent_modifiers(parser)
    nouns = next(row for row in rows if row[0] == "NN" and row[1] == "left")
    assert "DT" in str(nouns[3]).split()
    found = head_dfa(parser, "NN", "left", 4)
    assert 1 <= found.dfa.n_states <= 4
    assert all(0.0 <= row[1] <= 1.0 for row in found.rows())
    with pytest.raises(InputError, match="head='NOPE' is not a tag of this model; choose among"):
        head_dfa(parser, "NOPE", "left")
    with pytest.raises(InputError, match="left or right"):
        head_dfa(parser, "NN", "up")


@pytest.mark.slow
def test_figures_on_the_wsj_sample(data_dir) -> None:  # type: ignore[no-untyped-def]
    folder = data_dir / "wsj-dependencies"
    train = list(read_conllu(folder / "train.conllu.gz", check_tree=True))
    dev = list(read_conllu(folder / "dev.conllu", check_tree=True))

    def uas(**parameters: object) -> float:
        return DependencyParser(**parameters).fit(train).evaluate(dev)["uas"]  # type: ignore[arg-type]

    # The paper's parser from gold tags, minimum-risk decoding; figures are those of a prototype on this corpus.
    assert uas(learner="det", factors=False) > 64.5
    assert uas(learner="det+f", factors=False) > 71.0
    assert uas(n_states=9, learner="spectral", factors=False) > 75.5
    assert uas(n_states=12, factors=False) > 76.8
    # With factors: UDPipe reaches 82.0 from tags alone.
    assert uas(words=False, n_epochs=2) > 85.5


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"n_states": 10**6}, "1000000 states in every automaton would take"), ({"min_mass": 5}, "min_mass=5")],
)
def test_what_cannot_be_is_refused(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        DependencyParser(**wrong).fit(english_dependencies(20))


def test_marginals_that_make_no_tree_still_give_one():
    roots, arcs = np.array([1.0, 0.0, 0.0]), np.zeros((2, 3, 3))
    arcs[1, 0, 1], arcs[1, 1, 1] = 1.0, -1e-12  # the third word's only likely head is negative within rounding
    chart = Chart(1.0, 0.0, roots, arcs, np.zeros((2, 3, 3)))
    assert find_tree_problem(chart.best_heads()) is None
    assert chart.best_heads()[:2].tolist() == [0, 1]
    assert all(find_tree_problem(heads) is None for heads in chart.k_best_heads(2))


def with_temperature(parser: DependencyParser, temperature: float) -> DependencyParser:
    other = copy(parser)
    other.model_ = replace(parser.model_, temperature=temperature)
    return other


def test_heads_are_reported_at_a_temperature_that_changes_no_tree(parser: DependencyParser, tmp_path: Path) -> None:
    sharp = with_temperature(parser, 1.0)
    assert parser.model_.temperature == USUAL > 1.0
    assert parser.predict(TEST) == sharp.predict(TEST)
    for soft, plain, sure in zip(parser.marginals(TEST), sharp.marginals(TEST), parser.confidence(TEST), strict=True):
        np.testing.assert_allclose(soft, tempered(plain, USUAL))
        np.testing.assert_array_equal(sure.heads, soft[np.arange(len(soft)), sure.sentence.heads])
    assert parser.evaluate(TEST)["calibration_error"] != sharp.evaluate(TEST)["calibration_error"]
    assert [value for ((_, value),) in parser.kbest(TEST, 1)] == [value for ((_, value),) in sharp.kbest(TEST, 1)]
    parser.save(tmp_path / "parser.sgm")
    loaded = DependencyParser.load(tmp_path / "parser.sgm")
    np.testing.assert_array_equal(np.concatenate(loaded.marginals(TEST[:1])), parser.marginals(TEST[:1])[0])


def test_held_out_trees_tell_the_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where heads are drawn at random, a parser that trusts its words is too sure of them."""
    rng = np.random.default_rng(0)

    def noise() -> Sentence:
        heads = [["0", "1", "1"], ["3", "3", "0"]][rng.integers(2)]
        return Sentence.from_words([f"w{rng.integers(300)}" for _ in range(3)], xpos=["NN"] * 3, head=heads)

    train, dev, test = ([noise() for _ in range(150)] for _ in range(3))
    asked: dict[str, Any] = {"n_states": 1, "max_iter": 1, "n_epochs": 6}
    assert DependencyParser(**asked).fit(train, dev=dev).model_.temperature == USUAL, "too few words to tell"
    monkeypatch.setattr("spectragram.dependency.calibration.FEWEST_WORDS", 100)
    fitted = DependencyParser(**asked).fit(train, dev=dev)
    assert fitted.model_.temperature > USUAL
    errors = [with_temperature(fitted, t).evaluate(test)["calibration_error"] for t in (fitted.model_.temperature, 1.0)]
    assert errors[0] < 0.5 * errors[1]
    assert DependencyParser(**asked, factors=False).fit(train, dev=dev).model_.temperature == 1.0
