"""Where moments are counted: map over shards of a corpus and merge, in this process, local processes or a cluster.

    counts = map_reduce(count_pairs, corpus.shards(16), n_jobs=-1)
    counts = map_reduce(count_pairs, shards, executor=distributed.Client("tcp://scheduler:8786"))

Results are merged in the order of the shards, whatever order they finish in, so the outcome is the same to the
last bit wherever the work is done. Only a few shards are under way at a time, and each result is merged as soon
as all before it are, so memory stays flat however long the corpus is; shards may be a generator.

A shard whose worker dies is sent again. What was under way beside it then runs one by one, so that a shard that
kills every worker it meets is the one named in the end.

For numba kernels that release the GIL, :func:`map_threads` is cheaper than processes.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sized
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from typing import Any, TypeVar

from spectragram.errors import InputError, LostShardError, SpectragramError
from spectragram.workers import Borrowed, Executor, Future, Processes

__all__ = ["Executor", "map_reduce", "map_threads", "require_memory", "resolve_jobs"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int | None], object]
"""Called with (shards merged so far, shards in all or None where that is not known)."""


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of workers that ``n_jobs`` asks for: None is 1, -1 all cores this process may use, -2 all but one.

    >>> resolve_jobs(3)
    3
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise InputError(f"n_jobs={n_jobs!r}", remedy="give a positive number of workers, or -1 for all cores")
    jobs = operator.index(n_jobs)
    if jobs > 0:
        return jobs
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + jobs)


def require_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Refuse what this machine cannot hold, before the operating system ends the program without a word."""
    try:
        available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not told here
        return
    if n_bytes > available:
        needed = f"{n_bytes / 1e9:.0f} GB of memory, and this machine has {available / 1e9:.0f}"
        raise InputError(f"{what} needs {needed}", remedy=remedy)


def map_threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None = 1) -> list[Result]:
    """``[function(item) for item in items]`` on ``n_jobs`` threads; the order of results is that of items.

    Worth it where ``function`` spends its time in kernels that release the GIL.
    """
    jobs = resolve_jobs(n_jobs)
    items = list(items)
    if jobs == 1 or len(items) < 2:
        return [function(item) for item in items]
    # Executor.map cancels what has not begun when a result is an error or Ctrl-C arrives.
    with ThreadPoolExecutor(min(jobs, len(items)), thread_name_prefix="spectragram") as pool:
        return list(pool.map(function, items))


def map_reduce(
    function: Callable[[Item], Result],
    shards: Iterable[Item],
    *,
    merge: Callable[[Result, Result], Result] = operator.add,
    n_jobs: int | None = 1,
    executor: Executor | None = None,
    retries: int = 3,
    progress: Progress | None = None,
    initial: Result | None = None,
) -> Result:
    """Merge ``function(shard)`` over all shards, in their order: ``merge(merge(r0, r1), r2)`` and so on.

    Parameters
    ----------
    function
        Called once for each shard. With processes it must be importable by name (a function of a module, or
        ``functools.partial`` of one) and shards and results must pickle. It may run more than once for a
        shard whose worker was lost, so it should only compute.
    shards
        Any iterable; it is read a few shards ahead of the work. On a cluster, small descriptions of where the
        data is (a file and a range) travel better than the data.
    merge
        Combines two results; may change and return its first argument.
    n_jobs
        Local processes to use (1: this process; -1: all cores). With ``executor``: ignored.
    executor
        Anything with ``submit(function, shard)``, for instance a ``distributed.Client``.
    retries
        How many times a lost shard is sent again. A shard that raises is not: it would raise again.
    progress
        Called as ``progress(done, total)`` after each shard is merged; ``total`` is None for a generator.
    initial
        What the first result is merged into (a count that is continued), instead of standing alone.

    Raises
    ------
    LostShardError
        When the workers of one shard died ``retries + 1`` times.
    InputError
        When there is no shard, or ``function`` cannot be sent to another process.
    """
    total = len(shards) if isinstance(shards, Sized) else None
    jobs = resolve_jobs(n_jobs) if executor is None else 0
    if total is not None and jobs > 1:
        jobs = max(1, min(jobs, total))
    with contextlib.ExitStack() as stack:
        if jobs == 1:
            results: Iterable[Result] = map(function, shards)
        else:
            workers: Borrowed | Processes = Borrowed(executor) if executor is not None else Processes(jobs, function)
            stack.enter_context(workers)
            results = stack.enter_context(contextlib.closing(_in_order(function, shards, workers, retries)))
        return _fold(results, merge, total, progress, initial)


def _fold(
    results: Iterable[Result],
    merge: Callable[[Result, Result], Result],
    total: int | None,
    progress: Progress | None,
    initial: Result | None,
) -> Result:
    merged: Any = initial
    done = 0
    for done, result in enumerate(results, 1):
        merged = result if merged is None else merge(merged, result)
        if progress is not None:
            progress(done, total)
    if done == 0:
        raise InputError("no shards to count", remedy="give at least one")
    return merged


def _in_order(
    function: Callable[[Item], Result], shards: Iterable[Item], workers: Borrowed | Processes, retries: int
) -> Generator[Result]:
    """Results in the order of the shards, with at most ``workers.window`` shards under way."""
    numbered = enumerate(shards)
    under_way: deque[tuple[int, Item, Future]] = deque()
    careful = False
    try:
        while True:
            if not careful:
                for number, shard in itertools.islice(numbered, workers.window - len(under_way)):
                    under_way.append((number, shard, workers.submit(function, shard)))
            if not under_way:
                return
            result, losses = _wait(function, *under_way[0], workers, retries)
            under_way.popleft()
            # When a worker died, all that was under way goes one by one before anything new is started: what
            # dies then has no one else to blame.
            careful = bool(under_way) and (careful or losses > 0)
            yield result
    finally:
        for _, _, future in under_way:
            future.cancel()


def _wait(
    function: Callable[[Item], Result],
    number: int,
    shard: Item,
    future: Future,
    workers: Borrowed | Processes,
    retries: int,
) -> tuple[Result, int]:
    """Result of one shard, sent again when its worker is lost, and how often it was."""
    losses = 0
    while True:
        try:
            return future.result(), losses
        except SpectragramError:
            raise
        except Exception as trouble:
            if not _is_loss(trouble):
                trouble.add_note(f"raised while working on shard {number}")
                raise
            losses += 1
            if losses > retries:
                raise LostShardError(
                    f"shard {number} was lost {losses} times ({type(trouble).__name__}: {trouble})",
                    remedy=workers.remedy,
                ) from trouble
            future = workers.submit(function, shard)


def _is_loss(trouble: BaseException) -> bool:
    """Whether the worker or the way to it was lost, as opposed to ``function`` having failed."""
    if isinstance(trouble, BrokenExecutor | CancelledError | ConnectionError | TimeoutError):
        return True
    # KilledWorker, CommClosedError, ... of a cluster, recognised without importing it.
    return type(trouble).__module__.partition(".")[0] == "distributed"
