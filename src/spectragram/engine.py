"""Where moments are counted: map over shards of a corpus and merge, in this process, local processes or a cluster.

    counts = map_reduce(count_pairs, corpus.shards(16), n_jobs=-1)
    counts = map_reduce(count_pairs, shards, executor=distributed.Client("tcp://scheduler:8786"))

Results are merged in the order of the shards, whatever order they finish in, so the outcome is the same to the
last bit wherever the work is done. Only a few shards are under way at a time, and each result is merged as soon
as all before it are, so memory stays flat however long the corpus is; shards may be a generator.

A shard whose worker dies is sent again. What was under way beside it then runs one by one, so that a shard that
kills every worker it meets is the one named in the end.

Local processes are *spawned*, never forked: a fork would copy locks held by the threads of BLAS or numba. They
ignore Ctrl-C (the parent handles it), use one BLAS thread each, and hold one end of a pipe that closes when the
parent leaves or dies, upon which they exit: no orphans. For numba kernels that release the GIL,
:func:`map_threads` is cheaper than processes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import multiprocessing
import operator
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sized
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeVar

from spectragram.errors import InputError, LostShardError, SpectragramError

__all__ = ["map_reduce", "map_threads", "resolve_jobs"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int | None], object]
"""Called with (shards merged so far, shards in all or None where that is not known)."""

AHEAD = 2
"""Shards under way for each worker: one that runs, one that waits so that it never idles."""


class Future(Protocol):
    """What :func:`map_reduce` needs of the futures of an executor."""

    def result(self) -> Any:
        """Wait; return the result or raise what went wrong."""

    def cancel(self) -> Any:
        """Give up if that is still possible."""


class Executor(Protocol):
    """Anything with ``submit``: ``concurrent.futures``, ``distributed.Client``, ..."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Start ``fn(*args, **kwargs)`` somewhere; return a future."""


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
            workers: _Borrowed | _Processes = (
                _Borrowed(executor) if executor is not None else _Processes(jobs, function)
            )
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
    function: Callable[[Item], Result], shards: Iterable[Item], workers: _Borrowed | _Processes, retries: int
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
    workers: _Borrowed | _Processes,
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


class _Borrowed:
    """An executor that belongs to the caller."""

    remedy = "look at the log of the workers: were they out of memory? Give smaller shards, or more retries"

    def __init__(self, executor: Any) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise InputError(
                f"executor={type(executor).__name__} has no submit()",
                remedy="give a concurrent.futures executor or a distributed.Client",
            )
        workers = getattr(executor, "_max_workers", None) or 8
        if hasattr(executor, "get_executor"):
            # A Dask client. Without pure=False it would hash every shard and run equal ones once.
            workers = max(1, sum(executor.nthreads().values()))
            executor = executor.get_executor(pure=False)
        self.executor = executor
        self.window = AHEAD * workers

    def submit(self, function: Callable[..., Any], shard: Any) -> Future:
        try:
            return self.executor.submit(function, shard)
        except BrokenExecutor as trouble:
            raise LostShardError(f"the executor is broken ({trouble})", remedy=self.remedy) from trouble

    def __enter__(self) -> _Borrowed:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _Processes:
    """Local processes that are replaced when one dies and never outlive this one."""

    remedy = (
        "was a process killed for want of memory? Give smaller shards or a smaller n_jobs; "
        "a script that uses n_jobs must start its work under: if __name__ == '__main__'"
    )

    def __init__(self, n: int, function: Callable[..., Any]) -> None:
        _require_importable(function)
        self.n = n
        self.window = AHEAD * n

    def __enter__(self) -> _Processes:
        context = multiprocessing.get_context("spawn")
        # Workers hold the reading end only: it reports the end of the file once this process lets go of the other.
        self.far_end, self.lifeline = context.Pipe(duplex=False)
        self.pool = ProcessPoolExecutor(self.n, context, _begin_worker, (self.far_end,))
        return self

    def __exit__(self, trouble: object, *_: object) -> None:
        if trouble is not None:
            self.lifeline.close()  # what still runs does so in vain: do not wait for it
        self.pool.shutdown(cancel_futures=True)
        self.lifeline.close()
        self.far_end.close()

    def submit(self, function: Callable[..., Any], shard: Any) -> Future:
        try:
            return self.pool.submit(function, shard)
        except BrokenExecutor as trouble:
            # A pool that lost a process takes no more work.
            self.__exit__(trouble)
            return self.__enter__().pool.submit(function, shard)


def _begin_worker(lifeline: Connection) -> None:
    """Run at the start of every worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    if "numpy" in sys.modules:
        # Imported by the caller's own main module: too late for the environment.
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        threadpool_limits(1)
    threading.Thread(target=_exit_with_parent, args=(lifeline,), daemon=True).start()


def _exit_with_parent(lifeline: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)


def _require_importable(function: Callable[..., Any]) -> None:
    """Say what is wrong with a function that another process could not find by its name."""
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    try:
        pickle.dumps(function)
        reason = None
    except (pickle.PicklingError, AttributeError, TypeError) as trouble:
        reason = str(trouble)
    main = sys.modules["__main__"]
    if reason is None and inner.__module__ == "__main__" and getattr(main, "__file__", None) is None:
        reason = "it was typed into this session"
    if reason is not None:
        raise InputError(
            f"{name} cannot be sent to another process ({reason})",
            remedy="define it at the top level of a module, pass settings with functools.partial, or use n_jobs=1",
        )
