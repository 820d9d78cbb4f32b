"""The workers of :func:`spectragram.engine.map_reduce`: the caller's executor, or local processes.

Local processes are *spawned*, never forked: a fork would copy locks held by threads of BLAS or numba. They ignore
Ctrl-C (the parent handles it), use one BLAS thread each, and hold one end of a pipe. The pipe closes when the parent
finishes or dies, and then they exit, so no process is orphaned.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, Protocol

from spectragram.engine.threads import single_threaded_blas
from spectragram.errors import InputError, LostShardError

__all__ = ["Borrowed", "Executor", "Future", "Processes"]

AHEAD = 2
"""Shards in progress for each worker: one runs and one waits, so that the worker is never idle."""

_UNTIL_EXIT = contextlib.ExitStack()
"""What a worker process keeps for as long as it lives."""

UNKNOWN_WORKERS = 8
"""Assumed size of an executor that does not tell. Chosen by hand; it only decides how far ahead shards are sent."""


class Future(Protocol):
    """What :func:`map_reduce` needs of the futures of an executor."""

    def result(self) -> Any:
        """Wait; return the result or raise what went wrong."""

    def cancel(self) -> Any:
        """Cancel the call if it has not started."""


class Executor(Protocol):
    """Anything with ``submit``: an executor of ``concurrent.futures``, a ``distributed.Client`` and so on."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Start ``fn(*args, **kwargs)`` somewhere; return a future."""


class Borrowed:
    """An executor that belongs to the caller: it is used but never shut down."""

    remedy = "look at the log of the workers: did they run out of memory? Use smaller shards or more retries"

    def __init__(self, executor: Any) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise InputError(
                f"executor={type(executor).__name__} has no submit()",
                remedy="give a concurrent.futures executor or a distributed.Client",
            )
        workers = getattr(executor, "_max_workers", None) or UNKNOWN_WORKERS
        if hasattr(executor, "get_executor"):
            # A Dask client. Without pure=False it would hash every shard and run equal ones once.
            workers = max(1, sum(executor.nthreads().values()))
            executor = executor.get_executor(pure=False)
        self.executor = executor
        self.window = AHEAD * workers

    def submit(self, function: Callable[..., Any], shard: Any) -> Future:
        """Start work on a shard."""
        try:
            return self.executor.submit(function, shard)
        except BrokenExecutor as trouble:
            raise LostShardError(f"the executor is broken ({trouble})", remedy=self.remedy) from trouble

    def __enter__(self) -> Borrowed:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Processes:
    """Local processes: they are replaced if one dies, and they never outlive this process."""

    remedy = (
        "was a process killed because memory ran out? Use smaller shards or a smaller n_jobs; "
        "a script that uses n_jobs must start its work under: if __name__ == '__main__'"
    )

    def __init__(self, n: int, function: Callable[..., Any]) -> None:
        _require_importable(function)
        self.n = n
        self.window = AHEAD * n

    def __enter__(self) -> Processes:
        context = multiprocessing.get_context("spawn")
        # Workers hold the reading end only: it reports end of file as soon as this process closes the other end.
        self.far_end, self.lifeline = context.Pipe(duplex=False)
        self.pool = ProcessPoolExecutor(self.n, context, _begin_worker, (self.far_end,))
        return self

    def __exit__(self, trouble: object, *_: object) -> None:
        if trouble is not None:
            self.lifeline.close()  # results still in progress are not needed: do not wait for them
        self.pool.shutdown(cancel_futures=True)
        self.lifeline.close()
        self.far_end.close()

    def submit(self, function: Callable[..., Any], shard: Any) -> Future:
        """Start work on a shard, in new processes if the old ones were lost."""
        try:
            return self.pool.submit(function, shard)
        except BrokenExecutor as trouble:
            # A pool that has lost a process accepts no more work.
            self.__exit__(trouble)
            return self.__enter__().pool.submit(function, shard)


def _begin_worker(lifeline: Connection) -> None:
    """Run at the start of every worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    if "numpy" in sys.modules:
        # The caller's main module imported it: too late for the environment. The limit holds until the process ends.
        _UNTIL_EXIT.enter_context(single_threaded_blas())
    threading.Thread(target=_exit_with_parent, args=(lifeline,), daemon=True).start()


def _exit_with_parent(lifeline: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)


def _require_importable(function: Callable[..., Any]) -> None:
    """Raise an error that explains why another process could not import the function by its name."""
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
        reason = "it was defined in an interactive session"
    if reason is not None:
        raise InputError(
            f"{name} cannot be sent to another process ({reason})",
            remedy="define it at the top level of a module, pass settings with functools.partial, or use n_jobs=1",
        )
