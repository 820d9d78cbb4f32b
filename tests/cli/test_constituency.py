"""The parser from the command line."""

from __future__ import annotations

import json
import math

import pytest

from spectragram.cli import main
from spectragram.constituency.settings import LEARNERS
from spectragram.data.brackets import parse_tree, write_trees
from spectragram.synthetic.english import english_trees


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("constituency")
    write_trees(english_trees(200), folder / "train.mrg")
    write_trees(english_trees(230)[200:], folder / "dev.mrg")
    args = ["--fast", "--states", "4", "--iterations", "1", "--jobs", "1", "--quiet"]
    assert main(["train", "constituency", str(folder / "train.mrg"), "--out", str(folder / "m"), *args]) == 0
    return folder


def run(capsys, *args: object) -> str:
    assert main([str(arg) for arg in args]) == 0
    return capsys.readouterr().out


def test_one_line_out_for_each_line_in(files, tmp_path, capsys):
    text = tmp_path / "in.txt"
    text.write_text("The dog barks .\n\n( odd ) input\nzork\n", encoding="utf-8")
    lines = run(capsys, "predict", files / "m", text).split("\n")
    assert len(lines) == 5 and lines[1] == "" and lines[4] == ""
    assert parse_tree(lines[2]).leaves() == ["-LRB-", "odd", "-RRB-", "input"]
    out = tmp_path / "out.txt"
    run(capsys, "predict", files / "m", text, "--out", out, "--decoder", "max-rule")
    assert len(out.read_text(encoding="utf-8").split("\n")) == 5


def test_kbest_marginals_and_surprisal(files, tmp_path, capsys):
    text = tmp_path / "in.txt"
    text.write_text("The dog barks .\nIt runs\n", encoding="utf-8")
    best = run(capsys, "predict", files / "m", text, "--kbest", 3).splitlines()
    values = [float(value) for value in best[0].split("\t")[::2]]
    assert len(best) == 2 and len(values) <= 3 and max(values) <= 1e-9
    posteriors = [json.loads(line) for line in run(capsys, "predict", files / "m", text, "--marginals").splitlines()]
    assert len(posteriors) == 2 and len(posteriors[0]["tags"]) == 4
    assert all(0.0 <= p <= 1.0001 for _, _, _, p in posteriors[0]["spans"])
    bits = [line.split() for line in run(capsys, "predict", files / "m", text, "--surprisal").splitlines()]
    assert [len(line) for line in bits] == [5, 3]
    assert all(float(value) >= -1e-6 for line in bits for value in line)


def test_log_probabilities_are_the_sums_of_surprisals(files, tmp_path, capsys):
    text = tmp_path / "in.txt"
    text.write_text("The dog barks .\n\nIt runs\n", encoding="utf-8")
    values = run(capsys, "predict", files / "m", text, "--log-prob").split("\n")
    bits = run(capsys, "predict", files / "m", text, "--surprisal").split("\n")
    assert [line == "" for line in values] == [line == "" for line in bits] == [False, True, False, True]
    for value, line in ((values[0], bits[0]), (values[2], bits[2])):
        assert float(value) == pytest.approx(-math.log(2) * sum(map(float, line.split())), abs=1e-3)


def test_the_decoder_of_training_is_that_of_prediction(files, tmp_path, capsys):
    args = ["--fast", "--states", "4", "--iterations", "1", "--quiet", "--decoder", "goodman"]
    assert main(["train", "constituency", str(files / "train.mrg"), "--out", str(tmp_path / "m"), *args]) == 0
    text = tmp_path / "in.txt"
    text.write_text("".join(" ".join(tree.leaves()) + "\n" for tree in english_trees(230)[200:]), encoding="utf-8")
    asked = run(capsys, "predict", files / "m", text, "--decoder", "goodman")
    assert run(capsys, "predict", tmp_path / "m", text) == asked != run(capsys, "predict", files / "m", text)


def test_held_out_trees_choose_the_iteration(files, tmp_path, capsys):
    args = ["--fast", "--states", "2", "--iterations", "1", "--dev", str(files / "dev.mrg")]
    assert main(["train", "constituency", str(files / "train.mrg"), "--out", str(tmp_path / "m"), *args]) == 0
    assert "dev f1" in capsys.readouterr().err


def test_evaluate_prints_what_evalb_does(files, capsys):
    scores = json.loads(run(capsys, "evaluate", files / "m", files / "dev.mrg", "--json"))
    wanted = {"f1", "precision", "recall", "exact", "f1_40", "tag_accuracy", "sentences", "sentences_per_second"}
    assert wanted | {"fallbacks"} <= set(scores)
    assert scores["f1"] > 60 and scores["sentences"] == 30 and scores["fallbacks"] == 0


def test_inspect_shows_states_and_draws(files, tmp_path, capsys):
    page = tmp_path / "page.html"
    shown = run(capsys, "inspect", files / "m", "--html", page, "--sentence", "The <b> dog barks")
    assert "NP" in shown and "states" in shown
    html = page.read_text(encoding="utf-8")
    assert html.count("<svg") == 4 and "&lt;b&gt;" in html
    assert html.count("<div") == html.count("<section")  # one scrolling frame around each picture


def test_traces_and_functional_tags_are_taken_off(tmp_path, capsys):
    data = tmp_path / "raw.mrg"
    data.write_text(
        "( (S (NP-SBJ-1 (DT The) (NN dog)) (VP (VBZ is) (VP (VBN seen) (NP (-NONE- *-1))))) )\n" * 4, encoding="utf-8"
    )
    assert main(["train", "constituency", str(data), "-o", str(tmp_path / "m"), "--fast", "-q"]) == 0
    scores = json.loads(run(capsys, "evaluate", tmp_path / "m", data, "--json"))
    assert scores["f1"] == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "data.mrg: is empty"),
        ("(S (NP a)\n", "data.mrg:1"),
        ("plain text\n", "data.mrg:1"),
        ("(S (NP ()))\n", "data.mrg:1"),
    ],
)
def test_bad_treebanks_are_refused_with_file_and_line(tmp_path, capsys, text, message):
    data = tmp_path / "data.mrg"
    data.write_text(text, encoding="utf-8")
    assert main(["train", "constituency", str(data), "-o", str(tmp_path / "m")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_options_that_exclude_each_other(files, tmp_path, capsys):
    assert main(["train", "constituency", str(files / "train.mrg"), "-o", str(tmp_path / "m"), "--fast", "--best"]) == 2
    assert main(["predict", str(files / "m"), str(files / "dev.mrg"), "--kbest", "2", "--surprisal"]) == 2
    assert capsys.readouterr().err.count("exclude each other") == 2


def test_an_unknown_decoder_is_refused(files, tmp_path, capsys):
    text = tmp_path / "in.txt"
    text.write_text("The dog barks .\n", encoding="utf-8")
    for command in (["predict", files / "m", text], ["evaluate", files / "m", files / "dev.mrg"]):
        assert main([str(part) for part in command] + ["--decoder", "nonsense"]) == 2
        assert "choose one of mbr, max-rule, goodman" in capsys.readouterr().err


def test_negative_posteriors_are_noted(files, tmp_path, capsys):
    model, text = tmp_path / "m", tmp_path / "in.txt"
    args = ["--fast", "--states", "6", "--learner", "spectral", "--quiet"]
    assert main(["train", "constituency", str(files / "train.mrg"), "--out", str(model), *args]) == 0
    sentences = [" ".join(tree.leaves()) for tree in english_trees(230)[200:]]
    text.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    assert main(["predict", str(model), str(text)]) == 0
    assert "negative" in capsys.readouterr().err
    assert main(["predict", str(files / "m"), str(text)]) == 0
    assert capsys.readouterr().err == ""


def test_help_lists_every_learner(capsys):
    assert main(["train", "constituency", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert ", ".join(LEARNERS[:-1]) + " or " + LEARNERS[-1] in shown


def test_a_sentence_without_derivation_has_one_tree(files, tmp_path, capsys):
    (tmp_path / "odd").write_text("the dog the\nThe dog barks .\n")
    first, second = run(capsys, "predict", files / "m", tmp_path / "odd", "--kbest", 2).splitlines()
    value, tree = first.split("\t")
    assert float(value) == float("-inf")
    assert parse_tree(tree).leaves() == ["the", "dog", "the"]
    assert float(second.split("\t")[0]) > float("-inf")


def test_inspect_shows_the_tree_of_a_sentence(files, capsys):
    assert "(DT The)" in run(capsys, "inspect", files / "m", "--rules", 0, "--sentence", "The dog barks .")


def test_known_brackets_are_kept(files, tmp_path, capsys):
    text = tmp_path / "known.txt"
    text.write_text("(? The (NP dog barks) .)\n\nThe dog barks .\n", encoding="utf-8")
    around, empty, free = run(capsys, "predict", files / "m", text, "--constrained").split("\n")[:3]
    assert "(NP (" in around and parse_tree(around).leaves() == parse_tree(free).leaves()
    assert ("NP", 1, 3) in list(parse_tree(around).spans()) and ("NP", 1, 3) not in list(parse_tree(free).spans())
    assert empty == ""


def test_confidence_is_json_with_probabilities_of_brackets_and_tags(files, tmp_path, capsys):
    text = tmp_path / "in.txt"
    text.write_text("The dog barks .\n", encoding="utf-8")
    sure = json.loads(run(capsys, "predict", files / "m", text, "--confidence"))
    assert parse_tree(sure["tree"]).leaves() == ["The", "dog", "barks", "."]
    assert len(sure["tags"]) == 4
    assert all(0 <= p <= 1 for p in [sure["probability"], *sure["tags"], *(span[3] for span in sure["spans"])])


def test_demo_shows_a_tree(capsys):
    shown = run(capsys, "demo", "constituency")
    assert "spectral+em" in shown and "\n(TOP\n" in shown
