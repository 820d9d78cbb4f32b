"""Train the members of an ensemble on the cores there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from spectragram.engine import map_threads, resolve_jobs

__all__ = ["train_members"]

Member = TypeVar("Member")


def train_members(learn: Callable[[int, int], Member], n_models: int, n_jobs: int | None) -> list[Member]:
    """``learn(number, n_jobs)`` for every member, in order; each may use the number of threads it is given.

    If there are at least as many members as cores, each core trains one member at a time, which needs no
    synchronisation. Otherwise members are trained one after the other, each on all cores.

    >>> train_members(lambda number, n_jobs: (number, n_jobs), 3, 2)
    [(0, 1), (1, 1), (2, 1)]
    >>> train_members(lambda number, n_jobs: (number, n_jobs), 2, 4)
    [(0, 4), (1, 4)]
    """
    jobs = resolve_jobs(n_jobs)
    at_once = jobs if n_models >= jobs else 1
    return map_threads(lambda number: learn(number, jobs // at_once), range(n_models), at_once)
