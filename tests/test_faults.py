"""Killed processes, full disks, folders that cannot be written to, and two writers: the old file or the new one."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spectragram import load
from tests.faults import GOLDEN, kill_while_saving
from tests.fuzz.__main__ import main as fuzz

TWO_WRITERS = """
import sys
from spectragram import load
model = load(sys.argv[2])
for _ in range(40):
    model.save(sys.argv[1])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_leaves_a_whole_file(how: signal.Signals, tmp_path: Path) -> None:
    for seed in range(2):
        assert kill_while_saving(tmp_path, how, random.Random(seed)) in ("lm", "clusters")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "model.sgm"
    target.write_bytes((GOLDEN / "lm.sgm").read_bytes())
    (tmp_path / "text.txt").write_text("a b c a b\n" * 50)
    done = subprocess.run(
        [sys.executable, "-m", "spectragram", "train", "lm", "text.txt", "-o", "model.sgm", "-q", "--learner", "kn"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},  # Python would not notice that its own files are cut off
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: model.sgm: ")
    assert done.stderr.count("\n") == 1
    assert target.read_bytes() == (GOLDEN / "lm.sgm").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.sgm", "text.txt"]


def test_two_writers_do_not_mix_their_files(tmp_path: Path) -> None:
    target = tmp_path / "model.sgm"
    writers = [
        subprocess.Popen([sys.executable, "-c", TWO_WRITERS, str(target), str(GOLDEN / f"{name}.sgm")])
        for name in ("lm", "clusters")
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert load(target).kind in ("lm", "clusters")
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.slow
def test_a_little_fuzzing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzz", "--cases", "60", "--seed", "7"])
    assert fuzz() == 0, capsys.readouterr().out
