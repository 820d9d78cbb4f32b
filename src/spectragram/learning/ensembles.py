"""Train the members of an ensemble: on the cores there are, or each by a worker of the current executor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from spectragram.engine import current_executor, map_threads, resolve_jobs, stream_shards
from spectragram.engine.progress import Report, silent

__all__ = ["train_members"]

Member = TypeVar("Member")
Learn = Callable[[int, int, Report], Member]
"""``learn(number, n_jobs, report)`` trains a member on so many threads."""


def train_members(
    learn: Learn[Member],
    n_models: int,
    n_jobs: int | None,
    report: Report = silent,
    *,
    side_by_side: bool | None = None,
) -> list[Member]:
    """``learn(number, n_jobs, report)`` for every member, in order; each may use the number of threads it is given.

    If there are at least as many members as cores, each core trains one member at a time, which needs no
    synchronisation. Otherwise members are trained one after the other, each on all cores, unless ``side_by_side`` says
    otherwise.

    With an executor every worker trains a member at a time. Then ``learn`` and the members must pickle; ``learn`` goes
    to every worker once, and what a member would have reported is reported when it is done.

    >>> train_members(lambda number, n_jobs, report: (number, n_jobs), 3, 2)
    [(0, 1), (1, 1), (2, 1)]
    >>> train_members(lambda number, n_jobs, report: (number, n_jobs), 2, 4)
    [(0, 4), (1, 4)]
    """
    executor = current_executor()
    if executor is not None and n_models > 1:
        members = []
        for member, n_reports in stream_shards(_train, map(_Turn, range(n_models)), executor, learn):
            report(n_reports)
            members.append(member)
        return members
    jobs = resolve_jobs(n_jobs)
    if side_by_side is None:
        side_by_side = n_models >= jobs
    at_once = min(jobs, n_models) if side_by_side else 1
    return map_threads(lambda number: learn(number, max(1, jobs // max(at_once, 1)), report), range(n_models), at_once)


@dataclass(frozen=True)
class _Turn:
    """Which member a worker is to train."""

    number: int

    @property
    def title(self) -> str:
        return f"member {self.number + 1}"


def _train(turn: _Turn, learn: Learn[Member]) -> tuple[Member, int]:
    """A member, and how often it reported."""
    n_reports = 0

    def count(n: int = 1, **facts: object) -> None:
        nonlocal n_reports
        n_reports += n

    return learn(turn.number, 1, count), n_reports
