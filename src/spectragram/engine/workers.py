"""Who works on shards: the caller's executor (a Dask cluster, say), or local processes.

Tasks run with one thread of BLAS wherever they run, so that the last bits of sums do not depend on the worker.

A cluster keeps values between tasks (:class:`Kept`): the model of a prediction, the sentences of an E-step. They travel
to a worker once, and again only if all workers that had them are gone.

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
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor, wait
from contextvars import ContextVar
from multiprocessing.connection import Connection
from typing import Any, Protocol

from spectragram.engine.threads import single_threaded_blas
from spectragram.errors import InputError, LostShardError

__all__ = ["CURRENT", "Borrowed", "Executor", "Future", "Kept", "Processes"]

AHEAD = 2
"""Shards in progress for each worker: one runs and one waits, so that the worker is never idle."""

_UNTIL_EXIT = contextlib.ExitStack()
"""What a worker process keeps for as long as it lives."""

RECONNECT = "see whether the scheduler still runs, start it again if not, and repeat the command"

WATCH_SECONDS = 2.0
"""Time between two looks at whether a task on a cluster can still end. Chosen by hand: a look costs a millisecond."""

MORE_SENDINGS, PAUSE_SECONDS = 3, 0.5
"""How often, and how soon, a value is sent again that did not arrive. Chosen by hand: as often as a shard is tried
again, and late enough for the scheduler to have noticed which worker is gone, or for this process that the scheduler
is."""

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


CURRENT: ContextVar[Executor | None] = ContextVar("spectragram_executor", default=None)
"""Where this thread sends shards, see :func:`spectragram.engine.working_on`."""


class Kept:
    """A value that the workers of a Dask cluster keep; other executors get it with every task."""

    def __init__(self, value: Any, client: Any) -> None:
        self.value = value
        self._client = client
        self._future: Any = None

    def handle(self) -> Any:
        """What to send in its place: a future of the cluster, or the value itself."""
        if self._client is None:
            return self.value
        if self._future is None or self._future.status != "finished":  # new, or lost with the last worker that had it
            self._future = self._sent()
        return self._future

    def _sent(self) -> Any:
        """A future of the value; the scheduler breaks off if the worker that receives it dies, and is asked again."""
        for _ in range(MORE_SENDINGS):
            try:
                return self._client.scatter([self.value], hash=False)[0]
            except OSError:
                if self._client.status != "running":
                    raise
                time.sleep(PAUSE_SECONDS)
        return self._client.scatter([self.value], hash=False)[0]


class _Watched:
    """A task on a cluster that is given up if what it needs is lost: Dask may wait for that for ever."""

    def __init__(self, future: Any, client: Any, needed: list[Any]) -> None:
        self.future, self.client, self.needed = future, client, needed

    def result(self) -> Any:
        """Wait; return the result or raise what went wrong."""
        while True:
            done, _ = wait([self.future], timeout=WATCH_SECONDS)
            if done or self.client.status != "running":
                return self.future.result(timeout=0)
            if not all(self.client.who_has(self.needed).values()):
                self.future.cancel()
                raise CancelledError("what the task needs was lost with its worker")

    def cancel(self) -> Any:
        """Cancel the task if it has not started."""
        return self.future.cancel()


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
        self.client = executor if hasattr(executor, "get_executor") else None
        if self.client is not None:
            # A Dask client. Without pure=False it would hash every shard and run equal ones once.
            self.require_connected()
            workers = max(1, sum(executor.nthreads().values()))
            executor = executor.get_executor(pure=False)
        self.executor = executor
        self.window = AHEAD * workers

    def keep(self, value: Any) -> Kept:
        """A value to give to many tasks."""
        return Kept(value, self.client)

    def require_connected(self) -> None:
        """Raise an error if there is no scheduler any more that would take a task."""
        if self.client is not None and self.client.status != "running":
            address = getattr(self.client.scheduler, "address", None) or "the cluster"
            raise LostShardError(f"the connection to {address} is lost", remedy=RECONNECT)

    def submit(self, function: Callable[..., Any], *args: Any) -> Future:
        """Start work on a shard, the first of ``args``; workers see the values of those that are kept."""
        self.require_connected()
        try:
            sent = [_handle(value) for value in args]
            future = self.executor.submit(functools.partial(_on_its_own, function), *sent)
            needed = [handle for handle, value in zip(sent, args, strict=True) if isinstance(value, Kept)]
            return future if self.client is None else _Watched(future, self.client, needed)
        except BrokenExecutor as trouble:
            raise LostShardError(f"the executor is broken ({trouble})", remedy=self.remedy) from trouble
        except OSError as trouble:
            if self.client is None:
                raise
            raise LostShardError(f"the scheduler does not answer ({trouble})", remedy=RECONNECT) from trouble

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

    def submit(self, function: Callable[..., Any], *args: Any) -> Future:
        """Start work on a shard, in new processes if the old ones were lost."""
        try:
            return self.pool.submit(function, *args)
        except BrokenExecutor as trouble:
            # A pool that has lost a process accepts no more work.
            self.__exit__(trouble)
            return self.__enter__().pool.submit(function, *args)

    def require_connected(self) -> None:
        """They always are."""


def _handle(value: Any) -> Any:
    return value.handle() if isinstance(value, Kept) else value


def _on_its_own(function: Callable[..., Any], *args: Any) -> Any:
    """Run a task with one thread of BLAS and no executor, so that it does all its work itself."""
    token = CURRENT.set(None)
    try:
        with single_threaded_blas():
            return function(*args)
    finally:
        CURRENT.reset(token)


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
