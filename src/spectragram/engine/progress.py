"""Progress of long work: a bar on a terminal or in a notebook, plain lines in a log.

with progress("EM", total=20, enabled=verbose) as report:
    for _ in range(20):
        ...
        report(log_likelihood="-12.3")

Each phase has its own bar. Learners report two facts: ``log_likelihood`` of the training data and ``dev``, the score on
held-out data. In a notebook and in a log a phase that is over within two seconds shows nothing.
"""

from __future__ import annotations

import contextlib
import html
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Listener", "Report", "listening", "progress", "silent"]

Report = Callable[..., None]
"""Learners call ``report(n=1, **facts)`` after each step; each fact is a short string."""

Listener = Callable[[str, int, "int | None"], None]
"""Called with the name of a phase, how many of its steps are done, and how many there are if that is known."""

FIRST_SECONDS = 2.0
"""Time before a phase is shown in a notebook or a log: shorter ones are not worth a line."""
LOG_SECONDS, NOTEBOOK_SECONDS = 30.0, 0.5
"""Time between two lines of a log, and between two states of a bar. Chosen by hand: an hour makes 120 lines."""

_listeners: list[Listener] = []


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send all progress that is enabled to ``listener`` in place of the terminal, e.g. to show it on a page."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def silent(n: int = 1, **facts: object) -> None:
    """Ignore the report: the default of every learner."""


@contextlib.contextmanager
def progress(what: str, total: int | None = None, *, enabled: bool = True) -> Iterator[Report]:
    """Yield ``report(n=1, **facts)``, which advances a bar on standard error, in a notebook, or lines in a log.

    ``facts`` (short strings) are shown beside the bar. Without a ``total`` there is a count and no time left.
    """
    if not enabled:
        yield silent
    elif _listeners:
        yield _told(what, total)
    elif _in_notebook():
        with _Beats(what, total, NOTEBOOK_SECONDS, _NotebookBar()) as beats:
            yield beats.report
    elif sys.stderr.isatty():
        with _terminal_bar(what, total) as report:
            yield report
    else:
        stream = sys.stderr
        with _Beats(what, total, LOG_SECONDS, lambda beats: print(beats, file=stream, flush=True)) as beats:
            yield beats.report


@contextlib.contextmanager
def _terminal_bar(what: str, total: int | None) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn(what),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rate]}"),
        *([] if total is None else [TextColumn("left"), TimeRemainingColumn()]),
        TextColumn("{task.fields[facts]}"),
    )
    # transient: the bar is erased at the end, so that only results stay on the terminal.
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, facts="", rate="")
        pace = _Pace(what, total)

        def report(n: int = 1, **facts: object) -> None:
            pace.report(n, **facts)
            bar.update(task, advance=n, facts=pace.facts, rate=pace.rate)

        yield report


class _Pace:
    """How far a phase is, and how fast it goes."""

    def __init__(self, what: str, total: int | None) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self.facts = ""
        self.started = time.monotonic()

    def report(self, n: int = 1, **facts: object) -> None:
        """Note ``n`` more steps."""
        self.done += n
        self.facts = " ".join(f"{key} {value}" for key, value in facts.items())

    @property
    def seconds(self) -> float:
        """Time since the phase began."""
        return time.monotonic() - self.started

    @property
    def rate(self) -> str:
        """Steps in a second; in a minute if there are few."""
        pace = self.done / max(self.seconds, 1e-9)
        if self.done == 0:
            return ""
        return f"{pace:,.0f}/s" if pace >= 100 else f"{pace:.3g}/s" if pace >= 1 else f"{60 * pace:.3g}/min"

    def __str__(self) -> str:
        """One line: what is done, the rate, and the time left if it is known."""
        parts = [f"{self.seconds:.0f} s"]
        if self.done:
            of = " done" if self.total is None else f" of {self.total:,}"
            parts = [f"{self.done:,}{of}", *parts, self.rate]
            if self.total is not None and self.done < self.total:
                parts.append(f"{(self.total - self.done) * self.seconds / self.done:.0f} s left")
        return f"{self.what}: " + ", ".join(part for part in (*parts, self.facts) if part)


class _Beats(_Pace):
    """Shows a phase now and then, also during a step that takes long, and a last time when it is over."""

    def __init__(self, what: str, total: int | None, every: float, show: Callable[[_Beats], Any]) -> None:
        super().__init__(what, total)
        self.every = every
        self.show = show
        self.shown = False
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._beat, name="spectragram-progress", daemon=True)

    def _beat(self) -> None:
        wait = FIRST_SECONDS
        while not self.over.wait(wait):
            self.shown = True
            self.show(self)
            wait = self.every

    def __enter__(self) -> _Beats:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
        if self.shown:
            self.show(self)


class _NotebookBar:
    """A bar below the cell of a notebook."""

    def __init__(self) -> None:
        self.handle: Any = None

    def __call__(self, pace: _Pace) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found,unused-ignore]

        length = "" if pace.total is None else f' value="{pace.done}" max="{max(pace.total, 1)}"'
        shown = HTML(f"<progress{length}></progress> {html.escape(str(pace))}")
        if self.handle is None:
            self.handle = display(shown, display_id=True)
        else:
            self.handle.update(shown)


def _in_notebook() -> bool:
    """Whether this runs in a kernel that shows HTML, without importing what is not there."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _told(what: str, total: int | None) -> Report:
    """A report that tells every listener."""
    done = 0

    def report(n: int = 1, **facts: object) -> None:
        nonlocal done
        done += n
        for listener in _listeners:
            listener(what, done, total)

    for listener in _listeners:
        listener(what, 0, total)
    return report
