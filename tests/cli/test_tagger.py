"""Taggers from the command line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from spectragram.cli import main
from spectragram.data.conllu import parse_conllu
from spectragram.synthetic import write_english
from spectragram.tagging.settings import LEARNERS


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_english(tmp_path_factory.mktemp("english"), n=200, seed=1)


@pytest.fixture(scope="module")
def model(corpus: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "chunks"
    arguments = ["train", "tagger", str(corpus["chunks"]), "--out", str(path), "--states", "3", "--iterations", "2"]
    assert main([*arguments, "--quiet"]) == 0
    return path


def test_predict_adds_a_column(corpus: dict[str, Path], model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(model), str(corpus["chunks"])]) == 0
    given = corpus["chunks"].read_text().splitlines()
    found = capsys.readouterr().out.splitlines()
    assert len(found) == len(given)
    for before, after in zip(given, found, strict=True):
        assert after.startswith(before)
        if before:
            assert after.split("\t")[2] in ("B-NP", "I-NP", "O")


def test_predict_needs_no_label_column(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "words").write_text("The\ndog\n\nbarks\n")
    assert main(["predict", str(model), str(tmp_path / "words")]) == 0
    assert [line.split() and line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "The", "dog", [], "barks",
    ]  # fmt: skip


def test_marginals_sum_to_about_one(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "words").write_text("The\ndog\n")
    assert main(["predict", str(model), str(tmp_path / "words"), "--marginals"]) == 0
    for line in capsys.readouterr().out.splitlines():
        total = sum(float(part.rpartition(":")[2]) for part in line.split()[1].split("|"))
        assert 0.97 < total < 1.01


def test_evaluate(corpus: dict[str, Path], model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(model), str(corpus["chunks"]), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert {"accuracy", "unknown_accuracy", "span_f1", "tokens", "tokens_per_second"} <= set(scores)
    assert scores["accuracy"] > 90 and scores["labels"]["NP"]["support"] > 0
    assert main(["evaluate", str(model), str(corpus["chunks"])]) == 0
    assert "precision" in capsys.readouterr().out


def test_conllu_columns_are_replaced(
    corpus: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "m", tmp_path / "out.conllu"
    train = ["train", "tagger", str(corpus["conllu"]), "--out", str(path), "--learner", "hmm", "-q"]
    assert main([*train, "--label", "xpos"]) == 0
    assert main(["predict", str(path), str(corpus["conllu"]), "--out", str(out)]) == 0
    before, after = (p.read_text().splitlines() for p in (corpus["conllu"], out))
    changed = {
        i
        for a, b in zip(before, after, strict=True)
        for i, (x, y) in enumerate(zip(a.split("\t"), b.split("\t"), strict=True))
        if x != y
    }
    assert changed <= {4}
    assert main(["evaluate", str(path), str(corpus["conllu"]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] > 90


def test_lines_of_words(
    corpus: dict[str, Path], model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, words = tmp_path / "m", tmp_path / "words.txt"
    words.write_text("The dog barks\nThe cat\n")
    assert main(["train", "tagger", str(corpus["conllu"]), "--out", str(path), "--learner", "hmm", "-q"]) == 0
    for options in ([], ["--input", "words"]):
        assert main(["predict", str(path), str(words), *options]) == 0
        found = parse_conllu(capsys.readouterr().out)
        assert [s.forms for s in found] == [["The", "dog", "barks"], ["The", "cat"]]
        assert found[0].upos[:2] == ["DET", "NOUN"]
    assert main(["predict", str(model), str(words), "--input", "words"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["The", "dog", "barks", "", "The", "cat", ""]
    assert lines[0][1] == "B-NP"
    assert main(["predict", str(model), str(words), "--input", "text"]) == 2
    assert "choose among auto, words" in capsys.readouterr().err


def test_a_word_without_a_tag_does_not_stop_training(tmp_path: Path, corpus: dict[str, Path]) -> None:
    lines = corpus["conllu"].read_text().splitlines()
    cells = lines[next(i for i, line in enumerate(lines) if line.startswith("2\t"))].split("\t")
    cells[4] = "_"
    lines[next(i for i, line in enumerate(lines) if line.startswith("2\t"))] = "\t".join(cells)
    (tmp_path / "a.conllu").write_text("\n".join(lines) + "\n")
    options = ["--label", "xpos", "--fast", "--iterations", "1", "--epochs", "1", "-q"]
    assert main(["train", "tagger", str(tmp_path / "a.conllu"), "--out", str(tmp_path / "m"), *options]) == 0


def test_two_columns_and_an_ensemble(tmp_path: Path, corpus: dict[str, Path]) -> None:
    words = [line.split("\t") for line in corpus["tags"].read_text().splitlines()]
    chunks = [line.split("\t") for line in corpus["chunks"].read_text().splitlines()]
    merged = ["\t".join([*w, c[1]]) if len(w) == 2 else "" for w, c in zip(words, chunks, strict=True)]
    with gzip.open(tmp_path / "three.gz", "wt") as stream:
        stream.write("\n".join(merged))
    options = ["--columns", "0,1", "--models", "2", "--fast", "--iterations", "1", "-q"]
    assert main(["train", "tagger", str(tmp_path / "three.gz"), "--out", str(tmp_path / "m"), *options]) == 0
    assert main(["evaluate", str(tmp_path / "m"), str(tmp_path / "three.gz")]) == 0


def test_frames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    phone = np.repeat(rng.integers(0, 2, 40), 5)
    np.savez(
        tmp_path / "speech.npz",
        features=rng.standard_normal((200, 3)) + 3 * phone[:, None],
        offsets=np.arange(0, 201, 20),
        frame_phone=phone,
        phone_names=np.array(["aa", "sil"]),
        utterances=np.array([f"u/s{i}" for i in range(10)]),
    )
    source = str(tmp_path / "speech.npz")
    train = ["train", "tagger", source, "--out", str(tmp_path / "m"), "--fast", "--drop", "s0,s1", "-q"]
    assert main(train) == 0
    assert main(["evaluate", str(tmp_path / "m"), source, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["tokens"] == 160 and scores["accuracy"] > 80
    assert main(["evaluate", str(tmp_path / "m"), source, "--drop", "s2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 180
    assert main(["predict", str(tmp_path / "m"), source]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 8


def test_inspect_writes_a_page(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(model), "--html", str(tmp_path / "page.html")]) == 0
    assert "B-NP" in capsys.readouterr().out
    assert "<svg" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("dog\tNN\ncat\n", [], "2"),
        ("dog\tNN\n", ["--columns", "5"], "no column 5"),
        ("dog\tNN\n", ["--columns", "x"], "--columns x"),
        ("dog\tNN\n", ["--label", "upos"], "label column"),
        ("dog\tNN\n", ["--input-format", "xml"], "format"),
        ("dog\tNN\n", ["--fast", "--best"], "exclude"),
        ("", [], "is empty"),
    ],
)
def test_bad_input_says_what_to_do(
    text: str, options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").write_text(text)
    assert main(["train", "tagger", str(tmp_path / "data"), "--out", str(tmp_path / "m"), "-q", *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_words_without_tags_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.conllu").write_text("1\tdog\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n")
    train = ["train", "tagger", str(tmp_path / "a.conllu"), "--out", str(tmp_path / "m"), "-q", "--label", "xpos"]
    assert main(train) == 2
    assert "a.conllu:1" in (message := capsys.readouterr().err) and "XPOS" in message


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "tagger"]) == 0
    assert "spectral+em" in capsys.readouterr().out


def test_negative_marginals_are_noted(
    corpus: dict[str, Path], model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, signed = str(corpus["chunks"]), str(tmp_path / "m")
    assert main(["train", "tagger", source, "--out", signed, "--learner", "spectral", "--states", "6", "-q"]) == 0
    assert main(["predict", signed, source]) == 0
    assert "negative" in capsys.readouterr().err
    assert main(["predict", str(model), source]) == 0
    assert capsys.readouterr().err == ""


def test_help_lists_every_learner(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "tagger", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert ", ".join(LEARNERS[:-1]) + " or " + LEARNERS[-1] in shown


CONLLU = "1\tdogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    (folder / "train").write_text("dogs\tN\nbark\tV\n\ncats\tN\nsleep\tV\n\n" * 20)
    (folder / "bare").write_text("dogs\nbark\n\n")
    (folder / "german").write_text("dogs\tSubstantiv\nbark\tVerb\n\n")
    (folder / "ud.txt").write_text(CONLLU * 20)
    assert main(["train", "tagger", str(folder / "train"), "-o", str(folder / "m"), "--fast", "-q"]) == 0
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate", "{m}", "{ud.txt}"], "is CoNLL-U"),
        (["predict", "{m}", "{ud.txt}"], "is CoNLL-U"),
        (["evaluate", "{m}", "{bare}"], "column 0 of 1 is observed and cannot be the label"),
        (["train", "tagger", "{train}", "-o", "{new}", "--columns", "0,1"], "column 1 of 2 is observed"),
        (["train", "tagger", "{train}", "-o", "{new}", "--label", "0"], "column 0 of 2 is observed"),
        (["train", "tagger", "{train}", "-o", "{new}", "--dev", "{german}"], "without a single label"),
        (["train", "tagger", "{train}", "-o", "{new}", "--emissions", "gaussian"], "for text"),
        (["train", "tagger", "{train}", "-o", "{new}", "--drop", "sa1"], "only speech frames"),
        (["train", "tagger", "{ud.txt}", "-o", "{new}", "--columns", "1,2"], "in CoNLL-U the form is observed"),
        (["inspect", "{m}", "--words", "-1"], "--words"),
    ],
)
def test_files_and_options_that_do_not_fit_are_refused(
    arguments: list[str], said: str, columns: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {f"{{{name}}}": str(columns / name) for name in ("m", "ud.txt", "bare", "train", "german", "new")}
    assert main([names.get(argument, argument) for argument in arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (columns / "new").exists()


def test_conllu_is_known_by_its_content(columns: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "tagger", str(columns / "ud.txt"), "-o", str(columns / "ud.sgm"), "--fast", "-q"]) == 0
    assert main(["predict", str(columns / "ud.sgm"), str(columns / "ud.txt")]) == 0
    assert capsys.readouterr().out == CONLLU * 20
    (columns / "ud.sgm").unlink()


def test_confidence_and_ranked_labels(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "words"
    text.write_text("the\tDT\ndog\tNN\nbarks\tVBZ\n\n", encoding="utf-8")
    assert main(["predict", str(model), str(text), "--confidence"]) == 0
    rows = [line.split("\t")[-1].split(":") for line in capsys.readouterr().out.splitlines() if line]
    assert len(rows) == 3 and all(0 < float(p) <= 1 for _, p in rows)
    assert main(["predict", str(model), str(text), "--kbest", "3"]) == 0
    ranked = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    values = [float(row[2]) for row in ranked]
    assert [row[:2] for row in ranked] == [["1", "1"], ["1", "2"], ["1", "3"]]
    assert values == sorted(values, reverse=True) and all(len(row[3].split()) == 3 for row in ranked)
