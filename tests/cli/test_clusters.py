"""Word clusters from the shell: every verb, every bad input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from spectragram import load
from spectragram.cli import main
from spectragram.synthetic import english_text

LINES = [" ".join(words) for words in english_text(300, seed=4)]
SMALL = ["--clusters", "12", "--vocab", "120", "--dimensions", "5", "--quiet"]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


@pytest.fixture(scope="module")
def model(text: Path) -> Path:
    path = text.with_name("model")
    assert main(["train", "clusters", str(text), "--out", str(path), *SMALL]) == 0
    return path


def test_train_says_what_it_did(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "clusters", str(text), "--out", str(tmp_path / "m"), *SMALL[:-1]]) == 0
    assert "mutual information" in capsys.readouterr().err


def test_several_files_are_one_text(text: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(LINES[:100]) + "\n")
    with gzip.open(tmp_path / "b.txt.gz", "wt") as stream:
        stream.write("\n".join(LINES[100:]) + "\n")
    args = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt.gz"), "--out", str(tmp_path / "m")]
    assert main(["train", "clusters", *args, *SMALL]) == 0
    assert load(tmp_path / "m").paths_ == load(model).paths_


def test_counts_are_kept_and_trained_from(text: Path, model: Path, tmp_path: Path) -> None:
    counts, first, second = (str(tmp_path / name) for name in ("counts", "first", "second"))
    assert main(["train", "clusters", str(text), "--out", first, "--counts", counts, *SMALL]) == 0
    assert main(["train", "clusters", counts, "--out", second, *SMALL]) == 0
    assert load(first).paths_ == load(second).paths_ == load(model).paths_


def test_evaluate_agrees_with_training(model: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(model), str(text), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["mutual_information"] == pytest.approx(load(model).summary_["mutual_information"])
    assert scores["clusters"] == 12
    assert scores["tokens"] == sum(len(line.split()) for line in LINES)


def test_predict_writes_one_line_for_each(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.txt"
    source.write_text("the dog\n\n  \nthe never-seen\n")
    loaded = load(model)
    unknown = loaded.cluster_paths_[loaded.unknown_cluster_]
    assert main(["predict", str(model), str(source)]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert [len(line.split()) for line in lines] == [2, 0, 0, 2, 0]
    assert lines[3].split() == [loaded.paths_["the"], unknown]
    assert main(["predict", str(model), str(source), "--bits", "2"]) == 0
    assert capsys.readouterr().out.split("\n")[3].split() == [loaded.paths_["the"][:2], unknown[:2]]
    assert main(["predict", str(model), str(source), "--ids"]) == 0
    assert capsys.readouterr().out.split("\n")[3].split()[1] == str(loaded.unknown_cluster_)


def test_predict_can_place_new_words(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.txt"
    source.write_text("\n".join(line.replace(" the ", " zyx ") for line in LINES) + "\n")
    loaded = load(model)
    assert main(["predict", str(model), str(source), "--assign", "--ids"]) == 0
    found = {
        label
        for words, labels in zip(source.read_text().split("\n"), capsys.readouterr().out.split("\n"), strict=True)
        for word, label in zip(words.split(), labels.split(), strict=True)
        if word == "zyx"
    }
    assert found == {str(loaded.clusters_[loaded.vocabulary_.index["the"]])}


def test_extend_adds_words(model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("\n".join(line.replace(" the ", " zyx ") for line in LINES) + "\n")
    args = [str(tmp_path / "new.txt"), "--extend", str(model), "--out", str(tmp_path / "m"), "--quiet"]
    assert main(["train", "clusters", *args]) == 0
    assert load(tmp_path / "m").paths_["zyx"] == load(model).paths_["the"]


def test_inspect_shows_the_hierarchy(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["inspect", str(model), "--depth", "2", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert "the" in out
    html = page.read_text()
    assert html.count("<details") == 11
    assert "<svg" in html
    assert "&lt;unk&gt;" in html
    assert "<unk>" not in html


def test_export_formats(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 121
    assert all(set(line.split("\t")[0]) <= {"0", "1"} for line in lines)
    assert main(["export", str(model), "--format", "word2vec", "--out", str(tmp_path / "v.txt")]) == 0
    assert (tmp_path / "v.txt").read_text().startswith("121 5\n")
    assert main(["export", str(model), "--format", "xml"]) == 2
    assert "choose one of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "options", "problem"),
    [
        (b"\x7fELF\x00\x01\xff\xfe" * 50, [], "bad:1"),
        (b"", [], "is empty"),
        (b"word word word", [], "only one word"),
        (b"a b c d e", ["--clusters", "50"], "--clusters 50 does not fit 5 words"),
        (b"a b c d e", ["--learner", "magic"], "choose one of"),
        (b"a b c d e", ["--context", "LR9"], "choose one of"),
    ],
)
def test_bad_input_is_one_clear_line(
    content: bytes, options: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad").write_bytes(content)
    assert main(["train", "clusters", str(tmp_path / "bad"), "--out", str(tmp_path / "m"), *options]) == 2
    err = capsys.readouterr().err
    assert problem in err
    assert err.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_text_without_newlines_and_with_control_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd").write_text("a\tb \x1c\x1d a\x85b \u2028 c a b c " * 20)
    assert main(["train", "clusters", str(tmp_path / "odd"), "--out", str(tmp_path / "m"), "--clusters", "3"]) == 0
    capsys.readouterr()
    assert main(["export", str(tmp_path / "m")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert all(len(line.split("\t")) == 3 for line in lines)


def test_demo_shows_clusters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "clusters"]) == 0
    out = capsys.readouterr().out
    assert "nearest to" in out
    assert "held-out" in out


def test_memory_and_resume_leave_the_same_model_and_nothing_else(text: Path, tmp_path: Path) -> None:
    assert main(["train", "clusters", str(text), "--clusters", "9", "--out", str(tmp_path / "plain"), "--quiet"]) == 0
    options = ["--memory", "1GB", "--resume", "--quiet"]
    assert main(["train", "clusters", str(text), "--clusters", "9", "--out", str(tmp_path / "bound"), *options]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bound", "plain"]
    plain, bound = (load(tmp_path / name) for name in ("plain", "bound"))
    assert plain.paths_ == bound.paths_
