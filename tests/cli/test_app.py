"""The command line as a whole: help, exit codes, errors without tracebacks, interrupts."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from spectragram import Tagger, storage
from spectragram._version import __version__
from spectragram.cli import app, main
from spectragram.clusters import count_files
from spectragram.errors import InputError
from spectragram.kinds import KINDS


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for verb in ("train", "predict", "evaluate", "inspect", "export", "extract", "demo", "reproduce"):
        assert verb in shown


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"spectragram {__version__}\n"


def test_the_demo_corpus_can_be_taken_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "corpus"
    assert main(["demo", "--write", str(folder)]) == 0
    written = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(written) == sorted(folder.iterdir())
    assert len(written) == 14
    assert len((folder / "test.strings").read_text().splitlines()) == 200


@pytest.mark.parametrize("verb", ["predict", "evaluate", "inspect", "export"])
def test_verbs_of_a_model_explain_themselves(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    assert f"spectragram {verb} MODEL" in capsys.readouterr().out
    assert main([verb]) == 2


@pytest.mark.parametrize("kind", list(KINDS))
def test_training_is_refused_before_it_begins(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "data", tmp_path / "missing" / "model"
    data.write_text(" \n\n")
    assert main(["train", kind, str(data), "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {out}: cannot be written: there is no such folder")
    assert main(["train", kind, str(data), "--out", str(tmp_path / "model")]) == 2
    assert capsys.readouterr().err == f"error: {data}: is empty; give training data\n"


def test_a_kind_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "horoscope", "data", "--out", "model"]) == 2
    assert "no model kind 'horoscope'; choose one of" in capsys.readouterr().err


def test_no_model_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "missing")
    assert main(["predict", missing]) == 2
    assert capsys.readouterr().err == f"error: {missing}: no such model file; check the path\n"


def test_a_file_that_is_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "text"
    path.write_text("hello world, this is not a model")
    assert main(["evaluate", str(path), "gold"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path}: is not a model file")
    assert error.count("\n") == 1


def test_a_model_of_an_unknown_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model"
    storage.write(path, "horoscope", {}, {"a": np.zeros(1)})
    assert main(["predict", str(path)]) == 2
    assert "no model kind 'horoscope'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "horoscope", "x"], "choose one of automaton"),
        (["demo", "horoscope"], "choose one of automaton"),
        (["reproduce", "nobody-1900", "--data", "."], "choose one of balle-2014"),
        (["frobnicate"], "No such command"),
    ],
)
def test_wrong_words_exit_with_two(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(app, "command", lambda: broken)
    return main([])


def test_exit_codes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert raising(InputError("two\nlines", path="f", line=3), monkeypatch) == 2
    assert capsys.readouterr().err == "error: f:3: two lines\n"
    assert raising(KeyboardInterrupt(), monkeypatch) == 130
    assert raising(OSError(errno.ENOSPC, "full"), monkeypatch) == 2
    assert raising(MemoryError(), monkeypatch) == 2
    with pytest.raises(ZeroDivisionError):  # a defect of ours is not dressed up as the user's mistake
        raising(ZeroDivisionError(), monkeypatch)


def test_help_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    built = list(KINDS)
    for name in built:
        assert main(["train", name, "--help"]) == 0
        shown = capsys.readouterr().out
        assert "--out" in shown
        assert "--seed" in shown


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
def test_interrupt_leaves_a_short_message(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time, spectragram.cli.lm as lm\n"
        # A shell that started the tests in the background has them ignore interrupts.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def slow():\n    print('ready', flush=True); time.sleep(60)\n"
        "lm.demo = slow; sys.argv = ['spectragram', 'demo', 'lm']\n"
        "from spectragram.cli import run; run()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert error.strip() == "interrupted"


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
def test_an_interrupt_inside_a_finalizer_is_not_lost(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, time, spectragram.cli.lm as lm\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finalized:\n    def __del__(self):\n        os.kill(os.getpid(), signal.SIGINT); time.sleep(1)\n"
        "def slow():\n    Finalized(); time.sleep(20)\n"
        "lm.demo = slow; sys.argv = ['spectragram', 'demo', 'lm']\n"
        "from spectragram.cli import run; run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stderr.strip()) == (130, "interrupted")


def test_names_that_are_written_twice_agree() -> None:
    """Importing them would make every command slow to start."""
    from spectragram.cli import app as cli
    from spectragram.clusters import counts
    from spectragram.reproduce import PAPERS

    assert list(cli.PAPERS) == list(PAPERS)
    assert cli.COUNTS_KIND == counts.COUNTS_KIND


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lm")
    (folder / "text").write_text("the dog barks\na cat sleeps\nthe cat barks\n" * 40)
    assert main(["train", "lm", str(folder / "text"), "-o", str(folder / "m"), "--learner", "kn", "-q"]) == 0
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "lm", "{text}", "-o", "{text}"], "is read by this very command"),
        (["train", "lm", "{text}", "-o", "-"], "cannot go to standard output"),
        (["train", "lm", "{text}", "-o", "{new}", "--dev", "{empty}"], "is empty; give held-out data"),
        (["train", "lm", "{text}", "-o", "{new}", "--seed", "-1"], "--seed"),
        (["train", "lm", "{text}", "-o", "{new}", "--states", "9999"], "--states"),
        (["predict", "{m}", "{text}", "-o", "{m}"], "is read by this very command"),
        (["inspect", "{m}", "--html", "{nowhere}/x.html"], "there is no such folder"),
        (["evaluate", "{m}", "{m}"], "is a model file"),
        (["demo", "--write", "{text}"], "is not a folder"),
        (["predict", "-", "{text}"], "cannot come from standard input"),
        (["inspect", "{counts}"], "holds counts of words, not a model"),
    ],
)
def test_mistakes_are_told_before_anything_is_done(
    arguments: list[str], said: str, lm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lm / "empty").touch()
    count_files(lm / "text").save(lm / "counts")
    names = {name: str(lm / name) for name in ("text", "m", "new", "empty", "nowhere", "counts")}
    before = {path.name: path.read_bytes() for path in lm.iterdir()}
    assert main([argument.format(**names) for argument in arguments]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""
    assert {path.name: path.read_bytes() for path in lm.iterdir()} == before


def test_the_model_is_found_wherever_options_stand(
    lm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model file that an option names is not the model."""
    other = tmp_path / "other"
    Tagger(2).fit([["the", "dog"], ["a", "cat"]] * 20, [["D", "N"]] * 40).save(other)
    assert main(["predict", "--out", str(other), str(lm / "m"), str(lm / "text")]) == 0
    assert other.read_text().count("\n") == 120
    assert main(["inspect", "--json", str(lm / "m")]) == 0
    assert json.loads(capsys.readouterr().out)["learner"] == "kn"


@pytest.mark.parametrize("verb", ["predict", "evaluate", "inspect", "export"])
def test_an_option_takes_a_value_in_all_kinds_or_in_none(verb: str) -> None:
    """Otherwise the model could not be told from the value of an option before its kind is known."""
    for kind in KINDS:
        command = app._alone(app._function(kind, verb))
        for parameter in command.params:
            for name in parameter.opts:
                if name.startswith("-"):
                    assert app.options_of(verb)[name] == (not parameter.is_flag), (kind, name)


def test_errors_name_options_and_not_parameters(lm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = ["train", "lm", str(lm / "text"), "-o", str(lm / "new"), "--learner", "em"]
    assert main([*train, "--states", "9999"]) == 2
    assert "n_states" not in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(lm: Path) -> None:
    long = lm / "long"
    long.write_text("the dog barks\n" * 50_000)
    command = f"{sys.executable} -m spectragram predict {lm / 'm'} {long} | head -2"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 2


@pytest.mark.parametrize("trouble", [KeyboardInterrupt(), SystemError("returned a result with an exception set")])
def test_interrupts_end_quietly(
    trouble: BaseException, lm: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if isinstance(trouble, SystemError):
        trouble.__cause__ = KeyboardInterrupt()

    def interrupted(*_: object, **__: object) -> None:
        raise trouble

    monkeypatch.setattr("spectragram.lm.LanguageModel.evaluate", interrupted)
    assert main(["evaluate", str(lm / "m"), str(lm / "text")]) == 130
    assert capsys.readouterr().err.endswith("interrupted\n")


def test_other_system_errors_are_shown(lm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise SystemError("a defect")

    monkeypatch.setattr("spectragram.lm.LanguageModel.evaluate", broken)
    with pytest.raises(SystemError, match="a defect"):
        main(["evaluate", str(lm / "m"), str(lm / "text")])


def test_every_kind_exports_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = Tagger(2).fit([["the", "dog"], ["a", "cat"]] * 20, [["D", "N"]] * 40)
    model.save(tmp_path / "m")
    assert main(["export", str(tmp_path / "m")]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["kind"] == "tagger"
    assert content["params"]["n_states"] == 2
    stored = storage.read(tmp_path / "m")
    assert content["arrays"].keys() == stored.arrays.keys()
    for name, array in stored.arrays.items():
        found = content["arrays"][name]
        if isinstance(array, list):
            assert found == {"dtype": "str", "values": array}
        else:
            assert np.array_equal(np.array(found["values"], found["dtype"]).reshape(array.shape), array)
    assert any(isinstance(array, list) for array in stored.arrays.values())
    assert main(["export", str(tmp_path / "m"), "--format", "yaml"]) == 2


def test_inspect_gives_json(lm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(lm / "m"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["learner"] == "kn"
    assert summary["tokens"] == 360
