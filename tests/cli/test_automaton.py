"""Automata from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from spectragram.automata import Automaton
from spectragram.automata.settings import LEARNERS
from spectragram.cli import main
from spectragram.data.pautomac import write_pautomac, write_pautomac_solution
from spectragram.synthetic.automata import PNFA


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with strings as text and as PAutomaC files, and a model trained on either."""
    path = tmp_path_factory.mktemp("automaton")
    rng = np.random.default_rng(3)
    truth = PNFA.random(2, 2, rng=rng, conditioning=0.1)
    sample = truth.sample(400, rng)
    test = truth.sample(50, rng)
    lines = [" ".join(sample.decode(i)) for i in range(len(sample))]
    (path / "strings.txt").write_text("\n".join(lines) + "\n")
    write_pautomac(sample, path / "x.pautomac.train")
    write_pautomac(test, path / "x.pautomac.test")
    write_pautomac_solution([truth.value(s) for s in test], path / "x.solution")
    for name, data in (("m", "strings.txt"), ("p", "x.pautomac.train")):
        assert main(["train", "automaton", str(path / data), "--out", str(path / name), "--fast", "-q"]) == 0
    return path


def test_training_says_what_it_did(folder, capsys) -> None:
    arguments = ["train", "automaton", str(folder / "strings.txt"), "--out", str(folder / "s"), "--learner", "spectral"]
    assert main([*arguments, "--states", "2", "--basis", "sigma", "--jobs", "1"]) == 0
    said = capsys.readouterr().err
    assert "wrote" in said and "sentences 400" in said
    assert Automaton.load(folder / "s").n_states == 2


def test_predictions_are_one_line_a_string(folder, capsys) -> None:
    (folder / "in.txt").write_text("s0 s1\n\nunknown\n")
    outputs = {}
    for flags in ((), ("--prob",), ("--prefix",), ("--surprisal",), ("--next", "--top", "3")):
        assert main(["predict", str(folder / "m"), str(folder / "in.txt"), *flags]) == 0
        outputs[flags[0] if flags else ""] = capsys.readouterr().out.splitlines()
    assert {len(lines) for lines in outputs.values()} == {3}
    model = Automaton.load(folder / "m")
    strings = [["s0", "s1"], [], ["unknown"]]
    expected = model.log_prob(strings)
    np.testing.assert_allclose([float(x) for x in outputs[""]], expected)
    np.testing.assert_allclose([float(x) for x in outputs["--prob"]], np.exp(expected))
    for flag, found in (("--prefix", model.prefix_log_prob(strings)), ("--surprisal", model.surprisal(strings))):
        for line, values in zip(outputs[flag], found, strict=True):
            np.testing.assert_allclose([float(x) for x in line.split(" ")], values, rtol=1e-5)
    assert "</s>:" in outputs["--next"][1]
    assert [len(line.split()) for line in outputs["--next"]] == [3, 3, 3]
    assert main(["predict", str(folder / "m"), str(folder / "in.txt"), "--prob", "--next"]) == 2
    assert "--prob and --next exclude each other" in capsys.readouterr().err


def test_the_format_of_input_can_be_given(folder, capsys) -> None:
    """The strings of a PAutomaC file read as text have other symbols: lengths and a header."""
    path = str(folder / "x.pautomac.test")
    printed = []
    for form in ("auto", "pautomac", "text"):
        assert main(["predict", str(folder / "p"), path, "--input-format", form]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert len(printed[2].splitlines()) == len(printed[1].splitlines()) + 1
    assert main(["predict", str(folder / "p"), path, "--input-format", "csv"]) == 2
    assert "choose one of auto, text, pautomac" in capsys.readouterr().err


def test_scores_have_the_promised_keys(folder, capsys) -> None:
    command = ["evaluate", str(folder / "p"), str(folder / "x.pautomac.test"), "--solution", str(folder / "x.solution")]
    assert main([*command, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert {"wer", "perplexity_symbol", "perplexity_string", "strings", "pautomac", "pautomac_bound"} <= set(scores)
    assert scores["pautomac_bound"] <= scores["pautomac"] < scores["pautomac_bound"] * 1.2
    assert main(["evaluate", str(folder / "m"), str(folder / "strings.txt")]) == 0
    assert "perplexity_string" in capsys.readouterr().out


def test_jobs_do_not_show_in_predictions(folder, capsys) -> None:
    for command in (
        ["predict", str(folder / "m"), str(folder / "strings.txt")],
        ["evaluate", str(folder / "m"), str(folder / "strings.txt")],
    ):
        printed = []
        for jobs in ("1", "2"):
            assert main([*command, "--jobs", jobs]) == 0
            printed.append(capsys.readouterr().out)
        assert printed[0] == printed[1]


def test_negative_estimates_are_counted(folder, capsys) -> None:
    (folder / "odd.txt").write_text("\n".join(["a b", "a b a b", "b a", "a a"] * 6) + "\n")
    options = ["--learner", "spectral", "--states", "8", "--basis", "40", "-q"]
    assert main(["train", "automaton", str(folder / "odd.txt"), "--out", str(folder / "odd"), *options]) == 0
    (folder / "in.txt").write_text("b b b\na a a b\n")
    counts = []
    for model, strings in (("odd", "in.txt"), ("m", "strings.txt")):
        assert main(["evaluate", str(folder / model), str(folder / strings), "--json"]) == 0
        counts.append(json.loads(capsys.readouterr().out)["negative"])
    assert counts[0] > counts[1] == 0


def test_help_lists_every_learner(capsys) -> None:
    assert main(["train", "automaton", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("\N{BOX DRAWINGS LIGHT VERTICAL}", " ").split())
    assert ", ".join(LEARNERS[:-1]) + " or " + LEARNERS[-1] in shown


def test_inspect_and_its_page(folder, capsys) -> None:
    assert main(["inspect", str(folder / "m"), "--html", str(folder / "page.html"), "--states", "3"]) == 0
    assert "deterministic approximation" in capsys.readouterr().out
    (folder / "foreign.txt").write_text("x y\n")
    assert main(["inspect", str(folder / "m"), "--strings", str(folder / "foreign.txt")]) == 2
    assert "no symbol of these strings" in capsys.readouterr().err
    assert main(["inspect", str(folder / "m"), "--strings", str(folder / "strings.txt"), "--states", "2"]) == 0
    shown = capsys.readouterr().out
    assert "s0->" in shown and "%" in shown
    page = (folder / "page.html").read_text()
    assert "<svg" in page and "Parts" in page


@pytest.mark.parametrize("format", ["openfst", "symbols", "dot", "pautomac", "json", "svg"])
def test_exports(folder, format, capsys) -> None:
    source = str(folder / "strings.txt")
    assert (
        main(["train", "automaton", source, "--out", str(folder / "e"), "--learner", "merge+em", "--fast", "-q"]) == 0
    )
    assert main(["export", str(folder / "e"), "--format", format]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 1
    assert main(["export", str(folder / "e"), "--format", format, "--out", str(folder / "file")]) == 0
    assert (folder / "file").stat().st_size > 10


def test_demo(capsys) -> None:
    assert main(["demo", "automaton"]) == 0
    shown = capsys.readouterr().out
    assert "merge+em" in shown
    assert "after " in shown and "sampled: " in shown


def test_trouble_is_said_in_a_line(folder, capsys) -> None:
    (folder / "empty.txt").write_text("")
    (folder / "lies.pautomac.train").write_text("3 2\n1 0\n1 1\n")
    usual = ["train", "automaton", str(folder / "strings.txt"), "--out", str(folder / "no")]
    for arguments, message in (
        (["train", "automaton", str(folder / "empty.txt"), "--out", str(folder / "no")], "empty"),
        (["train", "automaton", str(folder / "lies.pautomac.train"), "--out", str(folder / "no")], "promises 3"),
        ([*usual, "--fast", "--best"], "--fast and --best exclude each other"),
        ([*usual, "--basis", "all"], "--basis all; give sigma"),
        ([*usual, "--learner", "x"], "--learner x is unknown"),
        ([*usual, "--states", "1000000"], "1000000 states over 2 symbols would take"),
        (["export", str(folder / "m"), "--format", "fst"], "choose one of"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err
    assert not (folder / "no").exists()
