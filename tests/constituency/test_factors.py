"""Factors of spans: fitting brings posteriors nearer to trees; files, constraints and settings keep their meaning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spectragram as sg
from spectragram.constituency.brackets import SpanPosteriors
from spectragram.constituency.factors import Factors, learn_factors
from spectragram.constituency.jackknife import FEWEST_TREES, fit_factors
from spectragram.data.known_spans import SpanConstraints
from spectragram.data.word_paths import WordPaths
from spectragram.errors import ModelFileError, ParameterError
from spectragram.inference.chart_coarse import span_id
from spectragram.synthetic.english import english_trees

TREES, HELD_OUT = english_trees(150), english_trees(190)[150:]


@pytest.fixture(scope="module")
def parser() -> sg.ConstituencyParser:
    return sg.ConstituencyParser(4, preset="fast", n_jobs=1, factors=True).fit(TREES)


def unsure(n: int, n_labels: int = 3) -> SpanPosteriors:
    """Every label over every span as likely as not, and one tag."""
    return SpanPosteriors(np.full((n * (n + 1) // 2, n_labels), 0.3), np.ones((n, 1)))


def test_without_weights_nothing_changes() -> None:
    posteriors = unsure(3)
    posteriors.spans[0, 1] = 0.0
    found = Factors.empty(10).apply(["a", "b", "c"], posteriors)
    np.testing.assert_allclose(found.spans, posteriors.spans, atol=1e-12)


def test_weights_learn_which_words_begin_a_phrase() -> None:
    rng = np.random.default_rng(0)
    factors, examples = Factors.empty(1000), []
    for _ in range(150):
        words = ["the" if chance else "dog" for chance in rng.integers(2, size=4)]
        gold = {(i, j, 1) for i in range(4) for j in range(i + 1, 5) if words[i] == "the"}
        examples.append(factors.example(words, unsure(4), gold))
    learned = learn_factors(factors, examples, rng=rng, rate=0.1)
    found = learned.apply(["dog", "the", "dog"], unsure(3)).spans
    assert found[span_id(1, 3), 1] > 0.9
    assert found[span_id(0, 2), 1] < 0.1
    assert found[:, [0, 2]].max() < 0.1


def test_weights_learn_which_clusters_begin_a_phrase() -> None:
    """Two clusters of words that look alike; of each, training sees one half and the test the other."""
    words = [first + second + "no" for first in "bdfg" for second in "aeiou"]
    begins = {word: word[0] in "bd" for word in words}
    paths = WordPaths.of({word: "0110" if begins[word] else "10" for word in words})
    seen, unseen = words[::2], words[1::2]

    def learned(factors: Factors) -> Factors:
        rng, examples = np.random.default_rng(0), []
        for _ in range(150):
            drawn = [str(word) for word in rng.choice(seen, 4)]
            gold = {(i, j, 1) for i in range(4) for j in range(i + 1, 5) if begins[drawn[i]]}
            examples.append(factors.example(drawn, unsure(4), gold))
        return learn_factors(factors, examples, rng=rng, rate=0.1)

    one, other = next(w for w in unseen if begins[w]), next(w for w in unseen if not begins[w])
    found = learned(Factors.empty(1000, paths)).apply([other, one, other], unsure(3)).spans
    assert found[span_id(1, 3), 1] > 0.8 > 0.2 > found[span_id(0, 2), 1]
    blind = learned(Factors.empty(1000)).apply([other, one, other], unsure(3)).spans
    assert abs(blind[span_id(1, 3), 1] - blind[span_id(0, 2), 1]) < 0.3


def test_factors_of_clusters_are_in_the_file(tmp_path: Path) -> None:
    tags = {word: tag for tree in TREES for word, tag in zip(tree.leaves(), tree.tags(), strict=True)}
    codes = {tag: format(number, "05b") for number, tag in enumerate(sorted(set(tags.values())))}
    lines = [f"{codes[tag]}\t{word}\t9\n" for word, tag in sorted(tags.items())]
    (tmp_path / "paths").write_text("".join(lines), encoding="utf-8")
    parser = sg.ConstituencyParser(1, preset="fast", max_iter=1, n_jobs=1, factors=True, clusters=tmp_path / "paths")
    parser.fit(TREES[:FEWEST_TREES]).save(tmp_path / "model.sgm")
    model = sg.load(tmp_path / "model.sgm").model_
    assert model.factors is not None and model.rule_factors is not None
    assert "jb0" in model.factors.templates and "jk0" in model.rule_factors.parents
    assert model.factors.paths is model.rule_factors.paths is model.words.paths
    found, again = (one.marginals(HELD_OUT[:5]) for one in (parser, sg.load(tmp_path / "model.sgm")))
    for a, b in zip(found, again, strict=True):
        np.testing.assert_array_equal(a.spans, b.spans)


def test_fitting_raises_the_likelihood() -> None:
    factors = Factors.empty(10)
    example = factors.example(["a", "b"], unsure(2), {(0, 2, 1)})

    def likelihood(found: Factors) -> float:
        spans = found.apply(["a", "b"], unsure(2)).spans
        gold = np.zeros(spans.shape, bool)
        gold[span_id(0, 2), 1] = True
        return float(np.log(np.where(gold, spans, 1.0 - spans)).sum())

    learned = learn_factors(factors, [example], n_epochs=3, rng=np.random.default_rng(0))
    assert likelihood(learned) > likelihood(factors)
    assert example.is_gold.sum() == 1


def test_examples_of_weight_zero_do_not_count() -> None:
    factors = Factors.empty(10)
    good = factors.example(["a", "b"], unsure(2), {(0, 2, 1)})
    bad = factors.example(["a", "b"], unsure(2), {(0, 1, 2)})._replace(weight=0.0)
    learned = learn_factors(factors, [good, bad], rng=np.random.default_rng(0))
    found = learned.apply(["a", "b"], unsure(2)).spans
    assert found[span_id(0, 2), 1] > 0.3 > found[span_id(0, 1), 2]


def test_the_parser_has_factors_and_they_do_no_harm(parser: sg.ConstituencyParser) -> None:
    assert parser.model_.factors is not None
    assert parser.summary_["factors"] > 0
    plain = sg.ConstituencyParser(4, preset="fast", n_jobs=1).fit(TREES)
    assert plain.model_.factors is None and "factors" not in plain.summary_
    assert parser.evaluate(HELD_OUT)["f1"] >= plain.evaluate(HELD_OUT)["f1"] - 1.0
    sentence = HELD_OUT[0].leaves()
    with_factors, without = (one.marginals([sentence])[0] for one in (parser, plain))
    assert np.abs(with_factors.spans - without.spans).max() > 1e-6
    np.testing.assert_allclose(with_factors.tags.sum(axis=1), without.tags.sum(axis=1))
    # the grammars are the same, and probabilities of sentences are theirs alone
    np.testing.assert_array_equal(parser.log_prob([sentence]), plain.log_prob([sentence]))


def test_factors_are_in_the_file(parser: sg.ConstituencyParser, tmp_path: Path) -> None:
    parser.save(tmp_path / "model.sgm")
    loaded = sg.ConstituencyParser.load(tmp_path / "model.sgm")
    for ours, theirs in zip(parser.marginals(HELD_OUT[:5]), loaded.marginals(HELD_OUT[:5]), strict=True):
        np.testing.assert_array_equal(ours.spans, theirs.spans)


def test_factors_of_other_hash_functions_are_refused(
    parser: sg.ConstituencyParser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser.save(tmp_path / "model.sgm")
    monkeypatch.setattr("spectragram.constituency.factors.VERSION", 999)
    with pytest.raises(ModelFileError, match="999"):
        sg.ConstituencyParser.load(tmp_path / "model.sgm")


def test_demands_hold_whatever_factors_say(parser: sg.ConstituencyParser) -> None:
    words = tuple(HELD_OUT[1].leaves())
    label = parser.labels_[0]
    given = SpanConstraints(words, (None,) * len(words), required=((1, 3, label),))
    assert (label, 1, 3) in set(parser.predict([given])[0].spans())


def test_small_treebanks_and_other_learners_have_none() -> None:
    assert fit_factors(TREES[: FEWEST_TREES - 1], None, None) is None  # type: ignore[arg-type]
    few = sg.ConstituencyParser(learner="pcfg", n_jobs=1).fit(TREES)
    assert few.model_.factors is None
    assert sg.ConstituencyParser(1, n_models=1, max_iter=1, n_jobs=1).fit(TREES).model_.factors is not None
    with pytest.raises(ParameterError, match="factors"):
        sg.ConstituencyParser(learner="spectral", factors=True).fit(TREES)


def test_bad_factors_are_refused() -> None:
    good = Factors.empty(10)
    with pytest.raises(ValueError, match="templates"):
        replace(good, templates=())
    with pytest.raises(ValueError, match="weights"):
        replace(good, weights=np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="paths"):
        replace(good, templates=("jb0",))
