"""The command line of language models, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spectragram import load
from spectragram.cli import main
from spectragram.synthetic import english_text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lm")
    lines = [" ".join(words) for words in english_text(700, seed=9)]
    (folder / "train.txt").write_text("\n".join(lines[:500]) + "\n")
    (folder / "dev.txt").write_text("\n".join(lines[500:600]) + "\n")
    (folder / "test.txt").write_text("\n".join(lines[600:]) + "\n")
    arguments = ["train", "lm", str(folder / "train.txt"), "--dev", str(folder / "dev.txt")]
    assert main([*arguments, "--states", "6", "--out", str(folder / "model"), "--quiet", "--jobs", "1"]) == 0
    return folder


def test_evaluate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(folder / "model"), str(folder / "test.txt"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert {"perplexity", "words", "unknown"} <= set(scores)
    assert 1 < scores["perplexity"] < 500
    assert main(["evaluate", str(folder / "model"), str(folder / "test.txt"), "--unknown", "score"]) == 0
    assert "perplexity" in capsys.readouterr().out


def test_predict_is_aligned_even_on_empty_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "input.txt").write_text("the dog barks .\n\nxyzzy\n")
    assert main(["predict", str(folder / "model"), str(folder / "input.txt")]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 3
    assert rows[1][:2] == ["0.000000", "0"]
    assert rows[2][1:] == ["1", "1"]
    assert float(rows[0][0]) < 0
    assert main(["predict", str(folder / "model"), str(folder / "input.txt"), "--surprisal"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("\n\n") >= 2
    assert shown.splitlines()[0].split("\t")[0] == "the"


def test_predict_shows_what_comes_next_and_prefixes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "input.txt").write_text("the dog barks .\n\nxyzzy\n")
    predict = ["predict", str(folder / "model"), str(folder / "input.txt")]
    assert main([*predict, "--next", "--top", "3"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [len(row) for row in rows] == [3, 3, 3]
    expected = load(folder / "model").next([["the", "dog", "barks", "."]])[0]
    word, chance = rows[0][0].rsplit(":", 1)
    assert load(folder / "model").vocabulary_.words[expected.argmax()] == word
    assert float(chance) == pytest.approx(expected.max(), rel=1e-3)
    assert main([*predict, "--prefix"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [len(row) for row in rows] == [5, 1, 2]
    assert main(predict) == 0
    whole = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert [float(row[-1]) for row in rows] == pytest.approx([float(value) for value in whole], abs=1e-5)
    assert main([*predict, "--prefix", "--next"]) == 2
    assert "exclude one another" in capsys.readouterr().err


def test_inspect_and_export(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(folder / "model"), "--html", str(folder / "page.html")]) == 0
    assert "classes of the word 2 back" in capsys.readouterr().out
    assert (folder / "page.html").read_text().startswith("<!doctype html>")
    assert main(["export", str(folder / "model"), "--format", "arpa", "--out", str(folder / "m.arpa")]) == 0
    assert (folder / "m.arpa").read_text().startswith("\\data\\")
    assert main(["export", str(folder / "model"), "--format", "pigeon"]) == 2
    assert "choose arpa" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (["--states", "5000"], "--states 5000 is too many"),
        (["--learner", "magic"], "choose one of"),
        (["--order", "9"], "--order"),
    ],
)
def test_refusals_leave_nothing(extra: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "refused"
    assert main(["train", "lm", str(folder / "train.txt"), "--out", str(out), *extra]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_an_empty_corpus(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty").write_text("")
    assert main(["train", "lm", str(folder / "empty"), "--out", str(folder / "refused")]) == 2
    assert "is empty" in capsys.readouterr().err


def test_a_text_in_another_language_is_remarked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = folder / "other.txt"
    other.write_text("der Hund bellt laut und the\n")
    model = folder / "model"
    assert main(["evaluate", str(model), str(other)]) == 0
    assert "does not know 5 of 6 words" in capsys.readouterr().err


def test_inspect_as_json_and_the_demo(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(folder / "model"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["learner"] == "mixed"
    assert main(["demo", "lm"]) == 0
    out = capsys.readouterr().out
    assert "surprisal (bits)" in out
    assert "sampled: " in out


def test_arpa_files_go_out_and_come_in(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, arpa, again = tmp_path / "model", tmp_path / "model.arpa", tmp_path / "again"
    options = ["--learner", "kn", "--order", "5", "--boundaries", "--memory", "2GB", "--resume", "--quiet"]
    assert main(["train", "lm", str(folder / "train.txt"), *options, "--out", str(model)]) == 0
    assert main(["export", str(model), "--format", "arpa", "--out", str(arpa)]) == 0
    assert main(["train", "lm", str(arpa), "--out", str(again), "--quiet"]) == 0
    scores = []
    for file in (model, again):
        capsys.readouterr()
        assert main(["evaluate", str(file), str(folder / "test.txt"), "--json"]) == 0
        scores.append(json.loads(capsys.readouterr().out)["perplexity"])
    assert scores[1] == pytest.approx(scores[0], rel=1e-5)
    assert load(again).order == 5
    assert sorted(file.name for file in tmp_path.iterdir()) == ["again", "model", "model.arpa"]
