"""Students of every kind, weights of sentences, and what is refused before anything is learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spectragram as sg
from spectragram.cli import main
from spectragram.constituency import ConstituencyParser
from spectragram.data import write_conllu
from spectragram.data.brackets import write_trees
from spectragram.data.labelled import LabelledFile, Layout
from spectragram.dependency import DependencyParser
from spectragram.distillation import distil
from spectragram.distillation.learning import _learned, _Lesson
from spectragram.distillation.tasks import TEMPERATURE, Listed, task_of
from spectragram.errors import InputError, NotFittedError, ParameterError
from spectragram.inference.chart_coarse import span_id
from spectragram.learning.temperature import tempered, tempered_odds
from spectragram.lm import LanguageModel
from spectragram.pipeline import Pipeline
from spectragram.synthetic import english_dependencies, english_tagged, english_treebank
from spectragram.synthetic.english import english_trees
from spectragram.tagging import Tagger

TREES = english_trees(90, seed=4)
WORDS = [tree.leaves() for tree in TREES[60:]]


@pytest.fixture(scope="module")
def teacher() -> ConstituencyParser:
    return ConstituencyParser(n_states=2, n_models=2, max_iter=1, n_jobs=1).fit(TREES[:30])


def same_trees(a: Any, b: Any) -> bool:
    return [str(tree) for tree in a.predict(WORDS)] == [str(tree) for tree in b.predict(WORDS)]


def test_without_gold_data_the_student_learns_what_the_teacher_says(teacher: ConstituencyParser) -> None:
    student = distil(teacher, WORDS, n_states=2, max_iter=1)
    alone = ConstituencyParser(n_states=2, max_iter=1, preset="fast", n_jobs=1).fit(list(teacher.predict(WORDS)))
    assert same_trees(student, alone)
    assert student.summary_["raw_sentences"] == student.summary_["sentences"] == len(WORDS)
    assert student.summary_["raw_weight"] == 1.0


def test_students_of_phrases_report_at_a_temperature(teacher: ConstituencyParser, tmp_path: Path) -> None:
    """They are surer than they should be, since labelled trees are more regular than others."""
    asked: dict[str, Any] = {"n_states": 2, "max_iter": 1}
    soft, sharp = distil(teacher, WORDS, **asked), distil(teacher, WORDS, temperature=1.0, **asked)
    assert (soft.model_.temperature, sharp.model_.temperature, teacher.model_.temperature) == (TEMPERATURE, 1.0, 1.0)
    assert same_trees(soft, sharp)
    for one, other, sure in zip(soft.marginals(WORDS), sharp.marginals(WORDS), soft.confidence(WORDS), strict=True):
        np.testing.assert_allclose(one.spans, tempered_odds(other.spans, TEMPERATURE))
        np.testing.assert_allclose(one.tags, tempered(other.tags, TEMPERATURE))
        index = soft.model_.labels.phrase_index
        assert [p for *_, p in sure.spans] == [one.spans[span_id(i, j), index[label]] for label, i, j, _ in sure.spans]
    soft.save(tmp_path / "soft.sgm")
    assert ConstituencyParser.load(tmp_path / "soft.sgm").model_.temperature == TEMPERATURE
    without = distil(teacher, WORDS, gold=TREES[:30], weight=0.0, **asked)
    assert without.model_.temperature == 1.0, "it has learned from no labelled text"


@pytest.mark.parametrize("temperature", [0.0, 0.05, 11, "2", float("nan")])
def test_temperatures_that_no_file_may_hold_are_refused(temperature: Any) -> None:
    with pytest.raises(ParameterError, match="temperature"):
        ConstituencyParser(n_states=2, preset="fast", temperature=temperature).fit(TREES[:10])


class Judged(ConstituencyParser):
    """A parser whose held-out score is known: that of the weight of its lightest tree."""

    best = 0.25

    def fit(self, X: Any, y: object = None, *, dev: Any = None, raw: Any = None, sample_weight: Any = None) -> Any:
        self.trees_, self.summary_ = list(X), {}
        self.weight_ = 0.0 if len(self.trees_) <= 30 else 1.0 if sample_weight is None else min(sample_weight)
        return self

    def score(self, X: Any, y: object = None) -> float:
        self.scored_ = list(X)
        return 1.0 - abs(self.weight_ - self.best)


@pytest.mark.parametrize("best", [0.0, 0.25, 1.0])
def test_held_out_data_choose_the_weight(best: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Judged, "best", best)
    lesson = _Lesson(task_of(Judged()), Listed(TREES[30:60]), Listed(TREES[:30]), None)
    found: Any = _learned(Judged(), lesson, None)
    assert found.summary_["raw_weight"] == found.weight_ == best
    assert len(found.trees_) == (60 if best else 30), "the final student learns from all gold trees"
    given: Any = _learned(Judged(), lesson, 0.5)
    assert given.weight_ == 0.5
    assert "raw_scores" not in given.summary_


def test_the_weight_is_chosen_on_sentences_that_candidates_have_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(Judged, "score", lambda self, X: seen.append((self.trees_, list(X))) or 0.0)
    _Lesson(task_of(Judged()), Listed(TREES[30:60]), Listed(TREES[:30]), None).scores(Judged())
    assert all(not {id(tree) for tree in learned} & {id(tree) for tree in held_out} for learned, held_out in seen)
    assert {len(held_out) for _, held_out in seen} == {3}
    dev = Listed(TREES[60:70])
    seen.clear()
    _Lesson(task_of(Judged()), Listed(TREES[30:60]), Listed(TREES[:30]), dev).scores(Judged())
    assert all(held_out == dev.items for _, held_out in seen)


def test_copies_that_weigh_one_together_are_one_tree() -> None:
    def fit(trees: list[Any], weights: list[float] | None) -> np.ndarray:
        parser = ConstituencyParser(learner="pcfg", n_models=1, n_jobs=1).fit(trees, sample_weight=weights)
        return parser.log_prob(WORDS)

    once = fit(TREES[:20], None)
    np.testing.assert_allclose(fit(TREES[:20] * 2, [0.25] * 20 + [0.75] * 20), once, rtol=1e-5)
    assert not np.allclose(fit(TREES[:20] * 2, None), once, rtol=1e-3), "twice as many words are less often rare"
    plain, even = fit(TREES[:40], None), fit(TREES[:40], [1.0] * 40)
    np.testing.assert_array_equal(plain, even)
    assert not np.allclose(fit(TREES[:40], [1.0] * 20 + [0.1] * 20), plain, rtol=1e-3)


@pytest.mark.parametrize("weights", [[1.0], [0.0] * 30, [np.inf] * 30, [[1.0]] * 30])
def test_weights_that_do_not_fit_are_refused(weights: list[Any]) -> None:
    with pytest.raises(InputError, match="sample_weight"):
        ConstituencyParser(n_states=2, preset="fast").fit(TREES[:30], sample_weight=weights)


def test_learners_without_weights_refuse_them() -> None:
    with pytest.raises(ParameterError, match="no weights"):
        ConstituencyParser(2, "spectral").fit(TREES[:30], sample_weight=[0.5] * 30)


def test_taggers_and_dependency_parsers_weigh_their_factors() -> None:
    tokens, labels = (list(part) for part in zip(*english_tagged(60, seed=1), strict=True))
    trees = english_dependencies(60, seed=1)
    for fit, ask in (
        (lambda w: Tagger(1, n_epochs=2, n_models=1, n_jobs=1).fit(tokens, labels, sample_weight=w), tokens),
        (lambda w: DependencyParser(1, n_epochs=1, n_models=1, n_jobs=1).fit(trees, sample_weight=w), trees),
    ):
        plain, even, light = (fit(w) for w in (None, [1.0] * 60, [1.0] * 30 + [0.1] * 30))
        flat = [np.concatenate([rows.ravel() for rows in model.marginals(ask)]) for model in (plain, even, light)]
        np.testing.assert_array_equal(flat[0], flat[1])
        assert np.abs(flat[0] - flat[2]).max() > 1e-3


def test_a_tagger_teaches_in_the_layout_of_its_file(tmp_path: Path) -> None:
    tokens, labels = (list(part) for part in zip(*english_tagged(60, seed=1), strict=True))
    rows = "\n".join(
        "".join(f"{word}\t{tag}\n" for word, tag in zip(*pair, strict=True))
        for pair in zip(tokens, labels, strict=True)
    )
    (tmp_path / "train").write_text(rows)
    (tmp_path / "text").write_text("".join(" ".join(words) + "\n" for words in tokens[:20]))
    teacher = Tagger(1, n_epochs=1, n_jobs=1).fit(tmp_path / "train")
    student = distil(teacher, tmp_path / "text", gold=tmp_path / "train", weight=0.5, n_states=1, n_epochs=1)
    assert student.layout_ == teacher.layout_
    assert student.summary_["sentences"] == 80
    pairs = Tagger(1, n_epochs=1).fit([[(w, "x") for w in words] for words in tokens], labels)
    text = LabelledFile([[("dog", "x")]], [], [None], Layout(columns=(0, 1)))
    assert len(task_of(pairs).label(pairs, text)) == 1
    frames = Tagger(1, n_epochs=1).fit([np.eye(3)] * 4, [["a", "b", "a"]] * 4)
    with pytest.raises(InputError, match="frames of speech"):
        distil(frames, [["a"]])


def test_raw_text_in_fit_trains_the_teacher_too() -> None:
    trees = english_dependencies(50, seed=3)
    student = DependencyParser(1, preset="fast", n_models=1, n_epochs=1, max_iter=1, n_jobs=1)
    student.fit(trees[:12], raw=[tree.with_columns(head=["_"] * len(tree)) for tree in trees[12:20]], dev=trees[20:24])
    assert (student.summary_["models"], student.summary_["raw_sentences"]) == (1, 8)
    assert len(student.summary_["raw_scores"]) == 4
    assert student.summary_["seconds"] > 0
    assert len(student.predict(trees[30:])) == 20


def test_a_pipeline_learns_from_labelled_text_but_splits_as_its_treebank_does() -> None:
    trees = english_treebank(60, seed=3)
    make = lambda: Pipeline(n_states=1, preset="fast", n_folds=0, n_jobs=1)  # noqa: E731
    plain = make().fit(trees[:30])
    odd = [trees[30].with_columns(upos=["X"] * len(trees[30]))] * 10
    more = make().fit(trees[:30], labelled=odd)
    assert "X" in more.model_.morphology.analyser.analyses.names[0]
    assert "X" not in plain.model_.morphology.analyser.analyses.names[0]
    text = "The old dog chased a fox. She didn't see it."
    assert [s.forms for s in more(text)] == [s.forms for s in plain(text)]
    student = distil(plain, [text], gold=trees[:30], weight=1.0, n_states=1, n_folds=0)
    assert student.summary_["raw_sentences"] >= 1
    with pytest.raises(ParameterError, match="pipelines have no weights"):
        distil(plain, [text], gold=trees[:30], weight=0.5)
    assert len(distil(plain, [text] * 3, n_states=1, n_folds=0)(text)) >= 1


def test_what_cannot_be_learned_from_is_refused(teacher: ConstituencyParser, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text(" \n\n")
    for text in ([], tmp_path / "empty"):
        with pytest.raises(InputError, match="no sentences to learn from"):
            distil(teacher, text)
        with pytest.raises(InputError, match="no sentences to learn from"):
            ConstituencyParser().fit(TREES[:30], raw=text)
    with pytest.raises(InputError, match="no such file"):
        distil(teacher, "no-such-text")
    with pytest.raises(InputError, match="kind 'lm' cannot teach"):
        distil(LanguageModel(learner="kn", order=2).fit([["a", "b"]] * 5), [["a"]])
    with pytest.raises(InputError, match="a list cannot teach"):
        distil([], [["a"]])  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        distil(ConstituencyParser(), [["a"]])
    for weight, gold in ((-1.0, TREES), ("much", TREES), (0.0, None)):
        with pytest.raises(ParameterError, match="weight"):
            distil(teacher, WORDS, gold=gold, weight=weight)  # type: ignore[arg-type]


def test_the_command_line_gives_the_same_student(
    teacher: ConstituencyParser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    teacher.save(tmp_path / "teacher.sgm")
    write_trees(TREES[:30], tmp_path / "gold")
    (tmp_path / "text").write_text("".join(" ".join(words) + "\n" for words in WORDS))
    command = ["distil", str(tmp_path / "teacher.sgm"), str(tmp_path / "text"), "--out", str(tmp_path / "a.sgm")]
    settings = ["--gold", str(tmp_path / "gold"), "--weight", "0.5", "--states", "2", "--set", "max_iter=1"]
    assert main([*command, *settings, "--jobs", "1"]) == 0
    assert "raw weight 0.5" in capsys.readouterr().err
    student = sg.distil(teacher, tmp_path / "text", gold=tmp_path / "gold", weight=0.5, n_states=2, max_iter=1)
    student.save(tmp_path / "b.sgm")
    assert (tmp_path / "a.sgm").read_bytes() == (tmp_path / "b.sgm").read_bytes()
    (tmp_path / "empty").write_text("")
    assert main(["distil", str(tmp_path / "teacher.sgm"), str(tmp_path / "empty"), "-o", str(tmp_path / "c.sgm")]) == 2
    assert "no sentences to learn from" in capsys.readouterr().err


def test_raw_text_on_the_command_line(tmp_path: Path) -> None:
    trees = english_dependencies(14, seed=3)
    write_conllu(trees[:10], tmp_path / "train.conllu")
    write_conllu(trees[10:], tmp_path / "raw.conllu")
    files = [str(tmp_path / "train.conllu"), "--raw", str(tmp_path / "raw.conllu"), "--out", str(tmp_path / "m.sgm")]
    assert main(["train", "dependency", *files, "--fast", "--states", "1", "-q", "-j", "1"]) == 0
    assert sg.load(tmp_path / "m.sgm").summary_["raw_sentences"] == 4
