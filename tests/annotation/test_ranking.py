"""The order of sentences and decisions, for every kind of model that can be annotated with."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from spectragram.annotation import Doubt, Doubts, find_doubts, rank, rank_doubts
from spectragram.cli.app import app
from spectragram.constituency import ConstituencyParser
from spectragram.data import SpanConstraints
from spectragram.dependency import DependencyParser
from spectragram.errors import InputError, ParameterError
from spectragram.lm import LanguageModel
from spectragram.pipeline import Pipeline
from spectragram.synthetic import english_dependencies, english_tagged, english_treebank
from spectragram.synthetic.english import english_trees
from spectragram.tagging import Tagger

TREES = english_dependencies(80, seed=2)


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    return DependencyParser(preset="fast", n_jobs=1).fit(TREES[:40])


def sentence(words: str, *probabilities: float) -> Doubts:
    return Doubts(words.split(), [Doubt(i, "a", "b", p) for i, p in enumerate(probabilities, 1)])


def test_the_least_certain_sentence_comes_first_and_doubts_are_marked() -> None:
    found = [sentence("a b", 0.9, 0.9), sentence("c d", 0.4, 0.8), sentence("e"), sentence("f", 0.5)]
    ranked = rank_doubts(found)
    assert [one.sentence for one in ranked] == [3, 1, 0]
    np.testing.assert_allclose([one.score for one in ranked], [0.5, 0.4, 0.1])
    assert [doubt.probability for doubt in ranked[1].doubtful] == [0.4, 0.8]
    assert not ranked[2].doubtful
    single = rank_doubts(found, unit="token")
    assert [(one.sentence, one.place) for one in single] == [(1, 1), (3, 1), (1, 2), (0, 1), (0, 2)]


def test_representative_sentences_are_typical_and_unlike_each_other() -> None:
    found = [sentence("x y z", 0.5), sentence("x y z", 0.5), sentence("x y w", 0.5), sentence("q r s", 0.5)]
    order = [one.sentence for one in rank_doubts(found, by="representative")]
    assert order[0] in (0, 1)
    assert order[-1] in (0, 1), "the same words again teach nothing"
    assert len(rank_doubts(found, by="representative", unit="token")) == 4


def test_known_heads_are_not_asked_for(parser: DependencyParser) -> None:
    tree = TREES[50]
    half = tree.with_columns(head=[h if i % 2 else "_" for i, h in enumerate(tree.column("head"))])
    (found,) = find_doubts(parser, [half])
    assert [doubt.place for doubt in found.decisions] == list(range(1, len(tree) + 1, 2))
    rows = parser.marginals([half], constrained=True)[0]
    for doubt in found.decisions:
        assert isinstance(doubt.place, int)
        head = int(doubt.choice.split()[0])
        assert doubt.probability <= rows[doubt.place - 1, head] + 1e-9
        assert doubt.alternative != str(head)
    assert find_doubts(parser, [tree])[0].decisions == []


def test_every_kind_can_be_ranked() -> None:
    words, tags = (list(part) for part in zip(*english_tagged(60, seed=1), strict=True))
    tagger = Tagger(2, "hmm", n_jobs=1).fit(words, tags)
    found = rank(tagger, words[:5], unit="token")
    assert found[0].score == max(one.score for one in found)
    assert len(found) == sum(map(len, words[:5]))
    trees = english_trees(40)
    phrases = ConstituencyParser(2, preset="fast", n_jobs=1).fit(trees)
    sentences = [tree.leaves() for tree in trees[:4]]
    assert sorted(one.sentence for one in rank(phrases, sentences, by="representative")) == [0, 1, 2, 3]
    free = find_doubts(phrases, sentences[:1])[0]
    i, j = next(d.place for d in free.decisions if d.place != (0, len(sentences[0])))  # type: ignore[misc]
    known = SpanConstraints(tuple(sentences[0]), required=((i, j, "NP"),))
    assert (i, j) not in [doubt.place for doubt in find_doubts(phrases, [known])[0].decisions]
    pipeline = Pipeline(preset="fast", n_jobs=1).fit(english_treebank(40))
    assert rank(pipeline, ["The dog slept.", "She saw it."])[0].words
    with pytest.raises(InputError, match="kind 'lm'"):
        rank(LanguageModel(learner="kn", order=2).fit([["a", "b"]] * 5), [["a"]])
    for options in ({"by": "chance"}, {"unit": "word"}):
        with pytest.raises(ParameterError):
            rank(tagger, words[:1], **options)


def test_the_command_line_marks_doubtful_words(parser: DependencyParser, tmp_path) -> None:
    model, text = tmp_path / "model.sgm", tmp_path / "text.conllu"
    parser.save(model)
    text.write_text("".join(f"{tree.with_columns(head=['_'] * len(tree))}\n" for tree in TREES[60:64]))
    run = CliRunner().invoke(app, ["rank", str(model), str(text), "--top", "3", "--jobs", "1"])
    assert run.exit_code == 0, run.output
    lines = [line.split("\t") for line in run.stdout.splitlines()]
    assert [line[0] for line in lines] == ["1", "2", "3"]
    scores = [float(line[2]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    run = CliRunner().invoke(app, ["rank", str(model), str(text), "--unit", "token", "--json", "--top", "2"])
    first = json.loads(run.stdout.splitlines()[0])
    assert first["doubtful"][0]["place"] == first["place"]
