"""The command line of pipelines, in process."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from spectragram.cli import main
from spectragram.data import read_conllu, write_conllu
from spectragram.pipeline.raw_text import plain_text
from spectragram.synthetic import english_treebank

TREES = english_treebank(160, seed=3)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pipeline")
    write_conllu(TREES[:60], folder / "one.conllu")
    write_conllu(TREES[60:120], folder / "two.conllu")
    write_conllu(TREES[120:], folder / "test.conllu")
    (folder / "test.txt").write_text(plain_text(TREES[120:]), encoding="utf-8")
    data = [str(folder / "one.conllu"), str(folder / "two.conllu")]
    assert main(["train", "pipeline", *data, "--out", str(folder / "model"), "--fast", "--quiet"]) == 0
    return folder


def test_raw_text_becomes_conllu(files: Path) -> None:
    out = files / "out.conllu"
    assert main(["predict", str(files / "model"), str(files / "test.txt"), "--out", str(out), "--quiet"]) == 0
    sentences = list(read_conllu(out, check_tree=True))
    assert sum(map(len, sentences)) == pytest.approx(sum(map(len, TREES[120:])), rel=0.02)
    assert sentences[0].comments[1] == "# sent_id = 1"


def test_standard_input_and_output(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"The dog slept .\n")))
    assert main(["predict", str(files / "model"), "--input", "words"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["# sent_id = 1", "# text = The dog slept ."]
    assert lines[2].split("\t")[1:4] == ["The", "the", "DET"]


def test_conllu_on_standard_input_is_recognised(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (files / "test.conllu").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["predict", str(files / "model")]) == 0
    assert capsys.readouterr().out.encode() == text  # complete already, and so returned as it was


def test_replace_names_columns(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["predict", str(files / "model"), str(files / "test.conllu")]
    assert main([*arguments, "--replace", "upos, deprel"]) == 0
    capsys.readouterr()
    assert main([*arguments, "--replace", "misc"]) == 2
    assert "column 'misc' is not filled in by a pipeline" in capsys.readouterr().err


def test_evaluate_prints_the_promised_keys(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for start in ("raw", "words", "tags"):
        assert main(["evaluate", str(files / "model"), str(files / "test.conllu"), "--json", "--from", start]) == 0
        scores = json.loads(capsys.readouterr().out)
        promised = {"tokens", "sentences", "words", "upos", "xpos", "ufeats", "lemmas", "uas", "las", "mlas", "blex"}
        assert promised <= set(scores)
    assert main(["evaluate", str(files / "model"), str(files / "test.conllu"), "--from", "lemmas"]) == 2
    assert "--from" in capsys.readouterr().err


def test_unknown_input_is_refused_by_its_option(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(files / "model"), str(files / "test.txt"), "--input", "pdf"]) == 2
    assert "--input pdf is unknown; choose one of auto, raw" in capsys.readouterr().err


def test_a_recipe_is_refused_by_what_it_is(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["--recipe", "paper", "--out", str(files / "other")]
    assert main(["train", "pipeline", str(files / "test.conllu"), *wanted]) == 2
    assert "none of the papers describes models of the kind pipeline" in capsys.readouterr().err


def test_inspect_draws_the_sentences_of_a_text(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = files / "page.html"
    options = ["--html", str(page), "--parse", str(files / "test.txt")]
    assert main(["inspect", str(files / "model"), *options]) == 0
    assert "columns" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") >= 1
    assert "Sentence 5" in text


def test_confidence_and_ranked_trees(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(files / "model"), str(files / "test.txt"), "--confidence"]) == 0
    shown = capsys.readouterr().out
    assert "Conf=" in shown and "# tree_probability = " in shown
    assert main(["predict", str(files / "model"), str(files / "test.txt"), "--kbest", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line for line in lines if line.startswith("# rank")} == {"# rank = 1", "# rank = 2"}


def test_trees_are_drawn_on_a_page_only(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(files / "model"), "--parse", str(files / "test.txt")]) == 2
    assert "give --html FILE as well" in capsys.readouterr().err
