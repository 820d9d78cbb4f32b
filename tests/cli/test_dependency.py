"""The command line of dependency parsers, in process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spectragram.cli import main
from spectragram.data import read_conllu, write_conllu
from spectragram.dependency.settings import LEARNERS
from spectragram.synthetic import english_dependencies

TREES = english_dependencies(150, seed=3)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dependency")
    write_conllu(TREES[:120], folder / "train.conllu")
    write_conllu(TREES[120:], folder / "test.conllu")
    bare = [tree.with_heads([-1] * len(tree), ["_"] * len(tree)) for tree in TREES[120:]]
    write_conllu(bare, folder / "bare.conllu")
    options = ["--states", "2", "--iterations", "3", "--epochs", "1", "--quiet"]
    assert main(["train", "dependency", str(folder / "train.conllu"), "--out", str(folder / "model"), *options]) == 0
    return folder


def test_predict_fills_in_heads_and_keeps_the_rest(files: Path) -> None:
    out = files / "parsed.conllu"
    assert main(["predict", str(files / "model"), str(files / "bare.conllu"), "--out", str(out)]) == 0
    parsed = list(read_conllu(out, check_tree=True))
    assert len(parsed) == 30
    for gold, mine in zip(TREES[120:], parsed, strict=True):
        assert gold.forms == mine.forms
        assert gold.comments == mine.comments


def test_marginals_go_to_misc(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(files / "model"), str(files / "bare.conllu"), "--marginals"]) == 0
    first = capsys.readouterr().out.splitlines()[0].split("\t")
    shares = [float(part.split(":")[1]) for part in first[9].removeprefix("Heads=").split(",")]
    assert shares == sorted(shares, reverse=True)
    assert 0.9 < sum(shares) < 1.01


def test_evaluate_prints_the_promised_keys(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(files / "model"), str(files / "test.conllu"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert {"uas", "uas_nopunct", "las", "exact", "sentences", "sentences_per_second"} <= set(scores)
    assert 80 < scores["las"] <= scores["uas"] <= 100


def test_negative_marginals_are_noted(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--learner", "spectral", "--states", "6", "--no-factors", "--quiet", "--out", str(files / "signed")]
    assert main(["train", "dependency", str(files / "train.conllu"), *options]) == 0
    assert main(["predict", str(files / "signed"), str(files / "bare.conllu")]) == 0
    assert "negative marginals" in capsys.readouterr().err
    assert main(["predict", str(files / "model"), str(files / "bare.conllu")]) == 0
    assert capsys.readouterr().err == ""


def test_help_lists_every_learner(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "dependency", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("\N{BOX DRAWINGS LIGHT VERTICAL}", " ").split())
    assert ", ".join(LEARNERS[:-1]) + " or " + LEARNERS[-1] in shown


def test_inspect_shows_heads_an_automaton_and_a_page(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(files / "model")]) == 0
    assert "likely" not in capsys.readouterr().err
    page = files / "page.html"
    options = [
        "--head",
        "NN",
        "--direction",
        "left",
        "--states",
        "4",
        "--html",
        str(page),
        "--parse",
        str(files / "test.conllu"),
    ]
    assert main(["inspect", str(files / "model"), *options]) == 0
    assert "goes to" in capsys.readouterr().out
    assert page.read_text().count("<svg") == 6


def test_a_tagger_fills_in_missing_tags(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    untagged = files / "untagged.conllu"
    write_conllu([t.with_columns(upos=["_"] * len(t), xpos=["_"] * len(t)) for t in TREES[120:]], untagged)
    assert main(["predict", str(files / "model"), str(untagged)]) == 2
    assert "--tagger" in capsys.readouterr().err
    tagger = str(files / "tagger")
    train = ["train", "tagger", str(files / "train.conllu"), "--label", "xpos", "--learner", "hmm", "--quiet"]
    assert main([*train, "--out", tagger]) == 0
    out = files / "tagged.conllu"
    assert main(["predict", str(files / "model"), str(untagged), "--tagger", tagger, "--out", str(out)]) == 0
    parsed = list(read_conllu(out, check_tree=True))
    assert all("_" not in sentence.xpos for sentence in parsed)
    capsys.readouterr()
    assert main(["evaluate", str(files / "model"), str(files / "test.conllu"), "--tagger", tagger, "--json"]) == 0
    assert 70 < json.loads(capsys.readouterr().out)["uas"] <= 100


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1\ta\t_\tX\tX\t_\t2\tdep\t_\t_\n2\tb\t_\tX\tX\t_\t1\tdep\t_\t_\n", "cycle"),
        ("1\ta\t_\tX\tX\t_\t0\troot\t_\t_\n2\tb\t_\tX\tX\t_\t0\troot\t_\t_\n", "second root"),
        ("1\ta\t_\tX\tX\t_\t7\tdep\t_\t_\n", "head '7'"),
        ("1\ta\t_\tX\n", "4 columns"),
    ],
)
def test_bad_trees_are_named_with_file_and_line(
    line: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.conllu"
    bad.write_text(line + "\n")
    assert main(["train", "dependency", str(bad), "--out", str(tmp_path / "model")]) == 2
    message = capsys.readouterr().err
    assert problem in message
    assert "bad.conllu:" in message
    assert not (tmp_path / "model").exists()


def test_dev_is_used_and_reported(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--states", "2", "--iterations", "3", "--epochs", "2", "--out", str(files / "chosen")]
    dev = ["--dev", str(files / "test.conllu")]
    assert main(["train", "dependency", str(files / "train.conllu"), *dev, *options]) == 0
    assert "dev uas" in capsys.readouterr().err
    assert main(["inspect", str(files / "chosen"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert 1 <= summary["iterations"][0] <= 3
    assert 1 <= summary["epochs"][0] <= 2
    assert main(["evaluate", str(files / "chosen"), str(files / "test.conllu"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["uas"] == pytest.approx(summary["dev_uas"], abs=0.006)


def test_a_head_that_is_not_a_tag_is_named_with_its_option(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(files / "model"), "--head", "NOPE"]) == 2
    assert "--head NOPE is not a tag of this model" in capsys.readouterr().err
    assert main(["inspect", str(files / "model"), "--parse", str(files / "test.conllu")]) == 2
    assert "--html FILE" in capsys.readouterr().err


def test_an_unknown_basis_is_refused(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--basis", "huge", "--out", str(tmp_path / "model")]
    assert main(["train", "dependency", str(files / "train.conllu"), *options]) == 2
    assert "--basis huge is not a basis; give sigma-lambda" in capsys.readouterr().err


def test_plain_lines_of_words_are_tagged_and_parsed(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--label", "xpos", "--fast", "--quiet", "--out", str(files / "tagger")]
    assert main(["train", "tagger", str(files / "train.conllu"), *options]) == 0
    text = files / "words.txt"
    text.write_text("".join(f"{' '.join(tree.forms)}\n" for tree in TREES[120:]), encoding="utf-8")
    tagger = ["--tagger", str(files / "tagger")]
    for arguments in ([], ["--input", "words"]):
        out = files / "from-words.conllu"
        assert main(["predict", str(files / "model"), str(text), *tagger, *arguments, "--out", str(out)]) == 0
        parsed = list(read_conllu(out, check_tree=True))
        assert [sentence.forms for sentence in parsed] == [tree.forms for tree in TREES[120:]]
    capsys.readouterr()
    assert main(["predict", str(files / "model"), str(text), "--input", "words"]) == 2
    assert "words without tags; tag them: --tagger MODEL" in capsys.readouterr().err
    assert main(["predict", str(files / "model"), str(text), "--input", "pdf"]) == 2


def known_half(sentence):
    """The sentence with the heads of its second, fourth, ... word, and nothing else, annotated."""
    head = [str(head) if place % 2 else "_" for place, head in enumerate(sentence.heads)]
    return sentence.with_columns(head=head, deprel=["_"] * len(sentence))


def test_known_heads_are_kept_and_ruled_out_ones_avoided(files: Path) -> None:
    known, out = files / "known.conllu", files / "around.conllu"
    moved = [tree for tree in TREES[120:] if len(tree) > 4][:5]
    asked = []
    for tree in moved:
        head = ["_"] * len(tree)
        head[0] = str(len(tree))  # a head that no parser would choose by itself
        misc = ["_"] * len(tree)
        misc[1] = "NotHead=0"
        asked.append(tree.with_columns(head=head, deprel=["_"] * len(tree), misc=misc))
    write_conllu(asked, known)
    assert main(["predict", str(files / "model"), str(known), "--constrained", "--out", str(out)]) == 0
    for tree in read_conllu(out, check_tree=True):
        assert tree.heads[0] == len(tree)
        assert tree.heads[1] != 0


def test_confidence_goes_to_misc_and_rises_with_what_is_known(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = files / "one.conllu"
    write_conllu([known_half(tree) for tree in TREES[120:125]], known)

    def probabilities(*options: str) -> list[float]:
        assert main(["predict", str(files / "model"), str(known), "--confidence", *options]) == 0
        text = capsys.readouterr().out
        assert text.count("Conf=") == sum(len(tree) for tree in TREES[120:125])
        return [float(line.split("=")[1]) for line in text.splitlines() if line.startswith("# tree_probability")]

    free, around = probabilities(), probabilities("--constrained")
    assert len(free) == len(around) == 5
    assert all(0 <= p <= 1 for p in free + around)
    assert sum(around) > sum(free)


def test_kbest_lists_are_ranked(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(files / "model"), str(files / "bare.conllu"), "--kbest", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    ranks = [int(line.split("=")[1]) for line in lines if line.startswith("# rank")]
    values = [float(line.split("=")[1]) for line in lines if line.startswith("# log_probability")]
    assert ranks[:3] == [1, 2, 3] and ranks.count(1) == 30
    assert values[:3] == sorted(values[:3], reverse=True)
