"""Progress on a terminal, silence in a pipe.

with progress("EM", total=20, enabled=verbose) as report:
    for _ in range(20):
        ...
        report(log_likelihood="-12.3")

Each phase has its own bar. Learners report two facts: ``log_likelihood`` of the training data and ``dev``, the score on
held-out data.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["Report", "progress", "silent"]

Report = Callable[..., None]
"""Learners call ``report(n=1, **facts)`` after each step; each fact is a short string."""


def silent(n: int = 1, **facts: object) -> None:
    """Ignore the report: the default of every learner."""


@contextlib.contextmanager
def progress(what: str, total: int | None = None, *, enabled: bool = True) -> Iterator[Report]:
    """Yield ``report(n=1, **facts)``, which advances a bar on standard error if that is a terminal.

    ``facts`` (short strings) are shown beside the bar. Without a ``total`` there is a spinner and a count.
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
    # transient: the bar is erased at the end, so that only results stay on the terminal.
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, facts="")

        def report(n: int = 1, **facts: object) -> None:
            bar.update(task, advance=n, facts=" ".join(f"{key} {value}" for key, value in facts.items()))

        yield report
