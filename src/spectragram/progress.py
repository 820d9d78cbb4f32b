"""Progress on a terminal, silence in a pipe.

with progress("EM", total=20, enabled=verbose) as report:
    for _ in range(20):
        ...
        report(log_likelihood="-12.3")

Bars are named after the phase; facts are ``log_likelihood``, of the training data, and ``dev``, the score on held-out
data.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["Report", "progress", "silent"]

Report = Callable[..., None]
"""What learners call after each step: ``report(n=1, **facts)``; facts are short strings by name."""


def silent(n: int = 1, **facts: object) -> None:
    """A report that goes nowhere: the default of every learner."""


@contextlib.contextmanager
def progress(what: str, total: int | None = None, *, enabled: bool = True) -> Iterator[Report]:
    """Yield ``report(n=1, **facts)``; it moves a bar on standard error when that is a terminal.

    ``facts`` (short strings) are shown beside the bar; ``total`` None shows a spinner and a count.
    """
    if not enabled or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn(what),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[facts]}"),
    )
    # transient: the terminal is left as it was, so that results stand alone.
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, facts="")

        def report(n: int = 1, **facts: object) -> None:
            bar.update(task, advance=n, facts=" ".join(f"{key} {value}" for key, value in facts.items()))

        yield report
