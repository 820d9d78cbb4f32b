"""Notebooks and pages show well-formed pictures with the words in them, or text where a picture would not help."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import spectragram as sg
from spectragram.automata.wfa import WFA
from spectragram.cli import main
from spectragram.data import Sentence, parse_tree, write_conllu
from spectragram.data.trees import Tree
from spectragram.estimator import Predictions
from spectragram.spectral import find_subspace
from spectragram.synthetic import english_dependencies, english_tagged, english_treebank, english_trees


def words_in(svg: str | None) -> str:
    assert svg is not None
    return " ".join(ElementTree.fromstring(svg).itertext())


def test_trees_are_drawn() -> None:
    shown = words_in(parse_tree("(S (NP (DT the) (NN <dog>)) (VP (VBZ barks)))")._repr_svg_())
    assert all(word in shown for word in ("the", "<dog>", "barks", "NP", "VBZ"))


def test_trees_too_deep_or_wide_stay_text() -> None:
    deep = Tree("X", word="x")
    for _ in range(5000):
        deep = Tree("Y", [deep])
    assert deep._repr_svg_() is None
    assert Tree("S", [Tree("X", word="x")] * 1000)._repr_svg_() is None


def test_sentences_with_heads_are_drawn() -> None:
    sentence = Sentence.from_words(["dogs", "bark"], head=["2", "0"], deprel=["nsubj", "root"])
    assert all(word in words_in(sentence._repr_svg_()) for word in ("dogs", "bark", "nsubj"))
    assert Sentence.from_words(["dogs", "bark"])._repr_svg_() is None
    assert Sentence.from_words([])._repr_svg_() is None


def places_of(svg: str | None) -> dict[str, float]:
    assert svg is not None
    return {text.text or "": float(text.get("x", "0")) for text in ElementTree.fromstring(svg).iter() if text.get("x")}


def test_sentences_run_in_the_direction_of_their_script() -> None:
    for words, backwards in ((["dogs", "bark", "."], False), (["\u05db\u05dc\u05d1", "\u05d9\u05e9\u05df", "."], True)):
        places = places_of(Sentence.from_words(words, head=["2", "0", "2"])._repr_svg_())
        order = sorted(words, key=places.__getitem__)
        assert order == (words[::-1] if backwards else words)


def test_predictions_show_the_pictures_of_the_first_answers() -> None:
    sentence = Sentence.from_words(["dogs", "bark"], head=["2", "0"])
    shown = Predictions([sentence] * 12)._repr_html_()
    assert shown is not None
    assert (shown.count("<svg"), "and 2 more" in shown) == (10, True)
    assert Predictions([["DET", "NOUN"]])._repr_html_() is None
    assert Predictions([Sentence.from_words(["dogs"])])._repr_html_() is None
    assert Predictions()._repr_html_() is None


def test_automata_and_subspaces_are_drawn() -> None:
    wfa = WFA(np.array([1.0, 0.0]), np.array([[[0.0, 0.5], [0.5, 0.0]]]), np.array([0.5, 0.5]))
    assert "0" in words_in(wfa._repr_svg_())
    large = WFA(np.ones(50) / 50, np.ones((1, 50, 50)) / 100, np.ones(50) / 2)
    assert large._repr_svg_() is None
    subspace = find_subspace(np.diag([3.0, 2.0, 1.0]), 2)
    assert "singular value" in words_in(subspace._repr_svg_())


TRAINED = {
    "automaton": lambda: sg.Automaton(2, "spectral").fit([["a", "b"], ["a", "b", "b"], ["b"]] * 30),
    "hmm": lambda: sg.HMM(2).fit([[0, 0, 1], [1, 0, 1, 1]] * 30),
    "lm": lambda: sg.LanguageModel(2).fit([words for words, _ in english_tagged(100)]),
    "clusters": lambda: sg.WordClusters(8).fit([words for words, _ in english_tagged(200)]),
    "constituency": lambda: sg.ConstituencyParser(preset="fast", n_states=2).fit(english_trees(60)),
    "dependency": lambda: sg.DependencyParser(2, preset="fast").fit(english_dependencies(60)),
    "pipeline": lambda: sg.Pipeline(2, preset="fast", n_folds=0).fit(english_treebank(60)),
    "tagger": lambda: sg.Tagger(2).fit(*map(list, zip(*english_tagged(100), strict=True))),
}


@cache
def trained(kind: str) -> Any:
    return TRAINED[kind]()


@pytest.mark.parametrize("kind", list(sg.KINDS))
def test_models_show_parameters_summary_and_a_picture(kind: str) -> None:
    model = trained(kind)
    shown = words_in(model._repr_html_())
    assert type(model).__name__ in shown
    assert all(name in shown for name in model.get_params())
    facts = [name.replace("_", " ") for name in model.summary_ if name != "parts"]
    assert facts
    assert all(fact in shown for fact in facts)
    assert ("<svg" in model._repr_html_()) == (kind not in ("lm", "dependency", "pipeline"))


def test_a_model_that_is_not_trained_says_so() -> None:
    assert "not trained yet" in words_in(sg.Tagger()._repr_html_())
    assert "not trained yet" not in words_in(trained("tagger")._repr_html_())


def test_text_of_parameters_is_escaped() -> None:
    assert "<script>" not in str(sg.Tagger(learner="<script>")._repr_html_())


@pytest.mark.parametrize(
    ("kind", "options", "n_pictures", "words"),
    [
        ("automaton", (), 2, ("singular value",)),
        ("hmm", (), 1, ("next states",)),
        ("lm", (), 0, ("<table>",)),
        ("clusters", (), 1, ("<details", "the")),
        ("constituency", ("--sentence", "The <b> dog barked ."), 4, ("&lt;b&gt;", "NP")),
        ("dependency", ("--parse", "{conllu}"), 3, ("nsubj", "root")),
        ("pipeline", ("--parse", "{conllu}"), 2, ("nsubj", "root", "feats")),
        ("tagger", (), 2, ("NN", "the")),
    ],
)
def test_pages_hold_pictures_and_escaped_words(
    kind: str, options: tuple[str, ...], n_pictures: int, words: tuple[str, ...], tmp_path: Path
) -> None:
    trained(kind).save(tmp_path / "model")
    write_conllu(english_dependencies(2), tmp_path / "two.conllu")
    given = [option.format(conllu=tmp_path / "two.conllu") for option in options]
    assert main(["inspect", str(tmp_path / "model"), "--html", str(tmp_path / "page.html"), *given]) == 0
    page = (tmp_path / "page.html").read_text()
    pictures = re.findall("<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) == n_pictures
    for picture in pictures:
        ElementTree.fromstring(picture)
    assert all(word in page for word in words)
    assert "<b>" not in page
