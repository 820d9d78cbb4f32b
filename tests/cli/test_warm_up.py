"""Compiling everything beforehand."""

from __future__ import annotations

import subprocess

import pytest

from spectragram.cli import main, warm_up


def test_every_kind_has_its_own_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[list[str]] = []

    def remember(command: list[str], **_: object) -> subprocess.CompletedProcess:
        ran.append(command[1:])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(warm_up.subprocess, "run", remember)
    assert main(["warm-up", "lm", "clusters", "--jobs", "1"]) == 0
    assert ran == [["-m", "spectragram", "demo", "lm"], ["-m", "spectragram", "demo", "clusters"]]
    assert capsys.readouterr().err.splitlines() == ["compiled lm", "compiled clusters"]


def test_a_demo_that_fails_is_named_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(command: list[str], **_: object) -> subprocess.CompletedProcess:
        return subprocess.CompletedProcess(command, 1, "", "Traceback\nOSError: disk full\n")

    monkeypatch.setattr(warm_up.subprocess, "run", fail)
    assert main(["warm-up", "lm"]) == 2
    assert "the demo of 'lm' failed: OSError: disk full" in capsys.readouterr().err
