"""Annotating with a model: the rest is inferred around what is known, and training makes the model take over."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import spectragram as sg
from spectragram.data import parse_tree
from spectragram.data.conllu import Sentence, read_conllu, write_conllu
from spectragram.serve.lessons import Plan, learn, model_kind
from spectragram.synthetic import english_treebank
from tests.serve.live import GOLDEN, Live, serving


def bare(sentence: Sentence) -> Sentence:
    columns = ("lemma", "upos", "xpos", "feats", "head", "deprel")
    return sentence.with_columns(**{name: ["_"] * len(sentence) for name in columns})


def finished(live: Live, seconds: float = 120.0) -> dict[str, Any]:
    """The state of training once it has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        moment = live.get("/api/status")
        if moment["training"]["state"] != "running":
            return moment
        time.sleep(0.2)
    raise AssertionError("training did not end")


@pytest.mark.slow
def test_from_nothing_to_a_model_that_takes_over(tmp_path: Path) -> None:
    """A language with nothing: raw text, some sentences annotated by hand, then a model that infers the rest."""
    gold = english_treebank(70, seed=3)
    text = tmp_path / "text.txt"
    text.write_text("".join(" ".join(sentence.forms) + "\n" for sentence in gold), encoding="utf-8")
    with serving(corpus=text) as live:
        about = live.get("/api/corpus")
        assert about["model"] is None and about["n"] == 70 and about["kind"] == "dependency"
        assert live.get("/api/corpus/0")["picture"]["heads"] == [None] * len(gold[0])
        assert live.post("/api/training")["state"] == "running"
        assert "nothing is annotated yet" in finished(live)["training"]["message"]
        for number, sentence in enumerate(gold[:40]):
            tree = {"tags": sentence.upos, "heads": sentence.heads.tolist(), "relations": sentence.deprels}
            assert live.step(number, op="accept", **tree)["picture"]["status"] == "done"
        live.post("/api/training")
        status, _, _ = live.ask("POST", "/api/training", {})
        assert status == 422, "one training at a time"
        status, _, _ = live.ask("DELETE", "/api/training")
        assert status == 200 and finished(live)["training"]["state"] == "cancelled"
        assert not (tmp_path / "text.sgm").exists()
        live.post("/api/training")
        stages = set()
        while (moment := live.get("/api/status"))["training"]["state"] == "running":
            stages.add(moment["training"]["stage"])
            time.sleep(0.05)
        assert moment["training"]["state"] == "done", moment["training"]["message"]
        assert len(stages) > 2, "progress can be watched"
        assert moment["model"] == "text" and moment["generation"] == 1
        right = total = 0
        for number in range(40, 70):
            picture = live.get(f"/api/corpus/{number}")["picture"]
            right += sum(a == b for a, b in zip(picture["heads"], gold[number].heads.tolist(), strict=True))
            total += len(gold[number])
        assert right / total > 0.5, "the model has learned something"
    with serving(corpus=text) as live:
        assert live.get("/api/corpus")["model"] == "text", "the next day it is still there"
        assert live.get("/api/corpus")["statuses"].count("done") == 40


def test_the_rest_is_inferred_around_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "todo.conllu"
    write_conllu([bare(sentence) for sentence in english_treebank(3, seed=9)], path)
    with serving([GOLDEN / "pipeline.sgm"], path) as live:
        before = live.get("/api/corpus/0")["picture"]
        n = len(before["words"])
        assert None not in before["heads"] and before["known"]["heads"] == [None] * n
        word = next(i for i, head in enumerate(before["heads"], 1) if head not in (0, 1) and i != 1)
        other = 1
        after = live.step(0, op="arc", word=word, head=other, relation=None)["picture"]
        assert after["heads"][word - 1] == other and after["head_p"][word - 1] == 1.0
        assert after["known"]["heads"][word - 1] == other and sum(h is not None for h in after["known"]["heads"]) == 1
        sentence = next(read_conllu(path))
        assert sentence.heads[word - 1] == other and (sentence.heads < 0).sum() == n - 1
        tagged = live.step(0, op="tag", word=1, tag="INTJ")["picture"]
        assert tagged["tags"][0] == "INTJ" and next(read_conllu(path)).upos[0] == "INTJ"
        undone = live.post("/api/undo")["picture"]
        assert undone["known"]["tags"] == [None] * n
        status, answer, _ = live.ask("POST", "/api/corpus/0/step", {"step": {"op": "clear"}, "version": 0})
        assert status == 409 and "elsewhere" in answer["error"]


def test_brackets_are_inferred_around_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("The dog saw a cat .\n", encoding="utf-8")
    with serving([GOLDEN / "constituency.sgm"], path, kind="constituency") as live:
        picture = live.step(0, op="span", start=1, end=4, label="NP")["picture"]
        spans = _spans(picture["tree"])
        assert (1, 4, "NP") in spans
        parser = sg.ConstituencyParser.load(GOLDEN / "constituency.sgm")
        known = parse_tree("(? (? The) (NP (? dog) (? saw) (? a)) (? cat) (? .))")
        assert picture["brackets"] == str(parser.predict([known], constrained=True)[0])
        assert (tmp_path / "text.trees").read_text() == ("(? (? The) (NP (? dog) (? saw) (? a)) (? cat) (? .))\n")
        picture = live.step(0, op="span", start=0, end=2, label="QQ")["picture"]
        assert (0, 2, "QQ") in _spans(picture["tree"]), "also a label that the model has never seen"
        picture = live.step(0, op="tag", word=2, tag="ZZ")["picture"]
        assert picture["tags"][1] == "ZZ" and "(ZZ dog)" in picture["brackets"]
        live.step(0, op="accept", tree=picture["brackets"])
        assert (tmp_path / "text.trees").read_text() == picture["brackets"] + "\n"


def _spans(node: dict[str, Any]) -> set[tuple[int, int, str]]:
    below = [span for child in node.get("children", ()) for span in _spans(child)]
    return {(node["start"], node["end"], node["label"]), *below} if "children" in node else set(below)


def test_tags_are_inferred_around_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "todo.tags"
    path.write_text("The\t_\ndog\tZZ\nbarks\t_\n", encoding="utf-8")
    with serving([GOLDEN / "tagger.sgm"], path) as live:
        picture = live.get("/api/corpus/0")["picture"]
        assert picture["tags"][1] == "ZZ" and picture["tags"][0] == "B-NP" and picture["tag_p"][1] == 1.0
        tagger = sg.Tagger.load(GOLDEN / "tagger.sgm")
        words, known = ["The", "dog", "barks"], ["O", None, None]
        found = live.step(0, op="accept", tags=["O", None, None])["picture"]
        assert found["tags"] == tagger.predict([words], fixed=[known])[0] != picture["tags"]
        live.post("/api/undo")
        labels = live.get("/api/corpus")["labels"]["tags"]
        assert labels[0] == "ZZ" and "B-NP" in labels


@pytest.mark.parametrize(("annotation", "kind"), [("constituency", "constituency"), ("tags", "tagger")])
def test_models_of_other_kinds_are_trained_from_partial_files(tmp_path: Path, annotation: str, kind: str) -> None:
    texts = {
        "constituency": "(? (NP (DT the) (NN dog)) (? barks))\n(S (NP (DT a) (NN cat)) (VP (VB sleeps)))\n" * 6,
        "tags": "the\tD\ndog\t_\nbarks\tV\n\na\tD\ncat\tN\nsleeps\tV\n\n" * 6,
    }
    path = tmp_path / ("a.trees" if annotation == "constituency" else "a.tags")
    path.write_text(texts[annotation] + texts[annotation], encoding="utf-8")
    assert model_kind(annotation) == kind
    learn(Plan(kind, path, (), tmp_path / "a.sgm"))
    with serving(corpus=path) as live:
        assert live.get("/api/corpus")["model"] == "a"
        picture = live.get("/api/corpus/0")["picture"]
        assert not picture["note"] and None not in picture["tags"] and "?" not in picture["tags"]
