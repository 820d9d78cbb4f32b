"""The verb ``extract``: automata of commands that answer line by line."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from spectragram.automata import Automaton
from spectragram.cli import main

PARITY = "import sys\nfor line in sys.stdin: print(1 - line.split().count('a') % 2, flush=True)"
COIN = "import sys\nfor line in sys.stdin: print('0.5 0.25 0.25', flush=True)"


def run(code: str, out: Path, *options: str) -> int:
    return main(["extract", "--alphabet", "a b", "--out", str(out), *options, "--", sys.executable, "-c", code])


def test_a_command_becomes_an_automaton(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(PARITY, tmp_path / "m", "--compared", "10") == 0
    said = capsys.readouterr().err
    assert "2 states from" in said and "learned exactly" in said and "wrote" in said
    model = Automaton.load(tmp_path / "m")
    np.testing.assert_allclose(model.value([list("abba"), ["a"], []]), [1, 0, 1], atol=1e-9)
    assert model.to_dfa().n_states == 2


def test_a_command_that_says_what_comes_next(tmp_path: Path) -> None:
    assert run(COIN, tmp_path / "m", "--next", "--quiet", "--compared", "0") == 0
    np.testing.assert_allclose(Automaton.load(tmp_path / "m").next([["a", "b"]]), [[0.5, 0.25, 0.25]], atol=1e-9)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print(1)", "the command ended after 1 answers"),
        ("import sys\nfor line in sys.stdin: print('x', flush=True)", "answered 'x' to"),
        (r"import sys; sys.stdout.buffer.write(b'\xff\n')", r"answered '\\xff' to"),
        (COIN, "9 numbers for 3 strings"),
        ("import sys\nfor line in sys.stdin: print(*line.split().__len__() * [0], 1, flush=True)", "as many numbers"),
    ],
)
def test_commands_that_do_not_answer(code, said, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(code, tmp_path / "m") == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_a_command_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extract", "--alphabet", "a", "--out", str(tmp_path / "m"), "--", "no-such-command"]) == 2
    assert "'no-such-command' cannot be run" in capsys.readouterr().err
