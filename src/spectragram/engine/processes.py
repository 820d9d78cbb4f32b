"""Count over shards of a corpus and merge the counts: in this process, in local processes or on a cluster.

    counts = map_reduce(count_pairs, corpus.shards(16), n_jobs=-1)
    counts = map_reduce(count_pairs, shards, executor=distributed.Client("tcp://scheduler:8786"))

Results are merged in the order of the shards, whichever finishes first, so the result is the same to the last bit
wherever the work is done. Only a few shards are in progress at a time, and each result is merged as soon as all
results before it are, so memory does not grow with the corpus; the shards may come from a generator.

If a worker dies, its shard is sent again. The other shards that were in progress then run one at a time, so that if a
shard kills every worker, the error names that shard.

For numba kernels that release the GIL, :func:`~spectragram.engine.threads.map_threads` is cheaper than processes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sized
from concurrent.futures import BrokenExecutor, CancelledError
from typing import Any, TypeVar

from spectragram.engine.threads import resolve_jobs
from spectragram.engine.workers import Borrowed, Executor, Future, Processes
from spectragram.errors import InputError, LostShardError, SpectragramError

__all__ = ["in_order", "map_reduce"]

RETRIES = 3
"""How many times a lost shard is sent again: a cluster may replace a machine now and then, but a shard that fails four
times will fail always."""
DEATHS = 2
"""Losses that a task which Dask has given up counts for: after the second time it is not sent again."""

Item = TypeVar("Item")
Result = TypeVar("Result")
Merged = TypeVar("Merged")
Progress = Callable[[int, int | None], object]
"""Called with the number of shards merged so far and the total, which is None if it is not known."""


def map_reduce(
    function: Callable[[Item], Result],
    shards: Iterable[Item],
    *,
    merge: Callable[[Merged, Result], Merged] = operator.add,
    n_jobs: int | None = 1,
    executor: Executor | None = None,
    retries: int = RETRIES,
    progress: Progress | None = None,
    initial: Merged | None = None,
) -> Merged:
    """Merge ``function(shard)`` over all shards, in their order: ``merge(merge(r0, r1), r2)`` and so on.

    Parameters
    ----------
    function
        Called once for each shard. With processes it must be importable by name (a function of a module, or
        ``functools.partial`` of one) and shards and results must pickle. It may run more than once for a
        shard whose worker was lost, so it should only compute.
    shards
        Any iterable; it is read a few shards ahead of the work. On a cluster, send small descriptions of where the
        data is (a file and a range) rather than the data.
    merge
        Adds a result to what was merged so far; it may modify and return its first argument.
    n_jobs
        Local processes to use (1: this process; -1: all cores). Ignored if there is an ``executor``.
    executor
        Anything with ``submit(function, shard)``, for instance a ``distributed.Client``.
    retries
        How many times a lost shard is sent again. A shard that raises an exception is not.
    progress
        Called as ``progress(done, total)`` after each shard is merged; ``total`` is None for a generator.
    initial
        What to start or continue from: the first shard's result is merged into it.

    Raises
    ------
    LostShardError
        If the workers of one shard died ``retries + 1`` times.
    InputError
        If there are no shards, or ``function`` cannot be sent to another process.
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
            results = stack.enter_context(contextlib.closing(in_order(function, shards, workers, retries=retries)))
        return _fold(results, merge, total, progress, initial)


def _fold(
    results: Iterable[Result],
    merge: Callable[[Merged, Result], Merged],
    total: int | None,
    progress: Progress | None,
    initial: Merged | None,
) -> Merged:
    merged: Any = initial
    done = 0
    for done, result in enumerate(results, 1):
        merged = result if merged is None else merge(merged, result)
        if progress is not None:
            progress(done, total)
    if done == 0:
        raise InputError("no shards to count", remedy="give at least one")
    return merged


def in_order(
    function: Callable[..., Result],
    shards: Iterable[Item],
    workers: Borrowed | Processes,
    *beside: Any,
    retries: int = RETRIES,
) -> Generator[Result]:
    """``function(shard, *beside)`` in the order of the shards, with at most ``workers.window`` of them in progress."""
    numbered = enumerate(shards)
    in_progress: deque[tuple[int, Item, Future]] = deque()
    careful = False
    try:
        while True:
            if not careful:
                for number, shard in itertools.islice(numbered, workers.window - len(in_progress)):
                    in_progress.append((number, shard, workers.submit(function, shard, *beside)))
            if not in_progress:
                return
            number, shard, future = in_progress[0]
            again = functools.partial(workers.submit, function, shard, *beside)
            result, losses = _wait(number, shard, future, again, workers, retries)
            in_progress.popleft()
            # After a worker died, the shards in progress run one at a time before a new one starts: if a worker
            # dies then, its own shard is to blame.
            careful = bool(in_progress) and (careful or losses > 0)
            yield result
    finally:
        for _, _, future in in_progress:
            future.cancel()


def _wait(
    number: int,
    shard: object,
    future: Future,
    again: Callable[[], Future],
    workers: Borrowed | Processes,
    retries: int,
) -> tuple[Any, int]:
    """Result of one shard, which is sent again if its worker is lost, and how often that happened."""
    losses = 0
    while True:
        try:
            return future.result(), losses
        except SpectragramError:
            raise
        except Exception as trouble:
            if not _is_loss(trouble):
                trouble.add_note(f"raised while working on {_named(number, shard)}")
                raise
            workers.require_connected()
            # Dask gives up on a task that killed several workers in a row, so that counts for more than one.
            losses += DEATHS if type(trouble).__name__ == "KilledWorker" else 1
            if losses > retries:
                reason = f"{type(trouble).__name__}: {trouble}".removesuffix(": ")
                raise LostShardError(
                    f"{_named(number, shard)} was lost {losses} times ({reason})", remedy=workers.remedy
                ) from trouble
            future = again()


def _named(number: int, shard: object) -> str:
    """What errors call a shard; those with a ``title`` say themselves what is in them."""
    title = getattr(shard, "title", None)
    return f"shard {number}" + (f" ({title})" if isinstance(title, str) else "")


def _is_loss(trouble: BaseException) -> bool:
    """Whether the worker or the connection to it was lost, as opposed to an error in ``function``."""
    if isinstance(trouble, BrokenExecutor | CancelledError | ConnectionError | TimeoutError):
        return True
    # KilledWorker, CommClosedError and others of Dask, recognised without importing it.
    return type(trouble).__module__.partition(".")[0] == "distributed"
