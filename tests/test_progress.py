"""Progress: a bar on a terminal and in a notebook, lines in a log, and listeners in place of all of them."""

from __future__ import annotations

import io
import re
import sys
import time
import types

import pytest

from spectragram.engine.progress import _Pace, listening, progress


class Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def run_three_steps(enabled: bool = True) -> None:
    with progress("EM", total=3, enabled=enabled) as report:
        for step in range(3):
            report(log_likelihood=f"-{step}.5")


def test_a_terminal_sees_a_bar_with_the_phase_and_the_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    run_three_steps()
    shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "EM" in shown and "3/3" in shown and "log_likelihood -2.5" in shown
    assert "/s" in shown and "left" in shown


@pytest.mark.parametrize(("terminal", "enabled"), [(False, True), (True, False)])
def test_short_work_in_a_log_and_quiet_callers_show_nothing(
    terminal: bool, enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    run_three_steps(enabled)
    assert stream.getvalue() == ""


def test_a_listener_hears_every_step_in_place_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    heard: list[tuple[str, int, int | None]] = []
    with listening(lambda *call: heard.append(call)):
        run_three_steps()
        run_three_steps(enabled=False)
    assert heard == [("EM", 0, 3), ("EM", 1, 3), ("EM", 2, 3), ("EM", 3, 3)]
    assert stream.getvalue() == ""
    with progress("EM", enabled=False):
        assert len(heard) == 4


def run_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spectragram.engine.progress.FIRST_SECONDS", 0.0)
    with progress("EM", total=4) as report:
        report(2, dev="7.5")
        time.sleep(0.05)
        report()


def test_long_work_writes_plain_lines_with_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    run_slowly(monkeypatch)
    *_, last = stream.getvalue().splitlines()
    assert re.fullmatch(r"EM: 3 of 4, 0 s, [\d.,]+/s, 0 s left", last)


def test_work_of_unknown_length_counts_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("spectragram.engine.progress.FIRST_SECONDS", 0.0)
    with progress("tokeniser") as report:
        time.sleep(0.05)
        report(98)
    assert re.fullmatch(r"tokeniser: 98 done, 0 s, [\d.,]+/s", stream.getvalue().splitlines()[-1])


def test_large_numbers_are_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = _Pace("words", None)
    pace.report(24_000)
    monkeypatch.setattr("time.monotonic", lambda: pace.started + 10)
    assert str(pace) == "words: 24,000 done, 10 s, 2,400/s"


def test_a_step_that_takes_long_is_shown_before_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("spectragram.engine.progress.FIRST_SECONDS", 0.0)
    with progress("vectors"):
        time.sleep(0.05)
        assert stream.getvalue() == "vectors: 0 s\n"


def test_a_notebook_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    handle = types.SimpleNamespace(update=shown.append)

    def display(first: str, display_id: bool) -> types.SimpleNamespace:
        shown.append(first)
        return handle

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=True)  # type: ignore[attr-defined]
    pages = types.ModuleType("IPython.display")
    pages.HTML, pages.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", pages)
    run_slowly(monkeypatch)
    assert len(shown) > 1
    assert shown[-1].startswith('<progress value="3" max="4"></progress> EM: 3 of 4')
