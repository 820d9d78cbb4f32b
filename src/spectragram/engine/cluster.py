"""Work that goes to the workers of an executor, if there is one: a Dask cluster, processes, threads.

    with working_on(executor):                            # None: this process
        answers = map_shards(parse, sentences, n_jobs=2)    # list, in order
        expect = Resident(count, shards, n_jobs=2)          # shards stay with the workers that have them
        for _ in range(20):
            counts = expect(parameters)                     # list, in order

An estimator enters :func:`working_on` with its own ``executor`` for the time of ``fit``, so learners need not pass it
on. It holds for the thread that enters it: threads of :func:`~spectragram.engine.threads.map_threads`, and the workers
themselves, see no executor and do their work on the spot, so no task ever waits for another.

Shards are cut without looking at the number of workers, and results come back in the order of the shards, so what is
made of them is the same to the last bit wherever the work is done.
"""

from __future__ import annotations

import contextlib
import functools
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from spectragram.engine.processes import in_order
from spectragram.engine.threads import map_threads
from spectragram.engine.workers import CURRENT, Borrowed, Executor, Kept
from spectragram.errors import InputError, MissingExtraError

__all__ = ["Resident", "connect", "current_executor", "map_shards", "stream_shards", "working_on"]

Item = TypeVar("Item")
Result = TypeVar("Result")

CONNECT_SECONDS = 10.0
"""How long to wait for a scheduler. A scheduler that runs answers in milliseconds, one that a batch system has just
started may need a few seconds."""


@contextlib.contextmanager
def working_on(executor: Executor | None) -> Iterator[None]:
    """Send the shards of this block to the workers of an executor; None changes nothing."""
    if executor is None:
        yield
        return
    Borrowed(executor)  # refuses what is no executor, and a cluster that is gone
    token = CURRENT.set(executor)
    try:
        yield
    finally:
        CURRENT.reset(token)


def current_executor(own: Executor | None = None) -> Executor | None:
    """``own`` if there is one; otherwise the executor of the innermost :func:`working_on` of this thread."""
    return CURRENT.get() if own is None else own


def stream_shards(
    function: Callable[..., Result], shards: Iterable[Item], executor: Executor, *kept: Any
) -> Iterator[Result]:
    """``function(shard, *kept)`` for each shard, in order, while later ones are in progress.

    Shards are drawn a few ahead of the work, so they may come from a generator. The values ``kept`` go to every worker
    once. Function, shards and results must pickle.
    """
    workers = Borrowed(executor)
    with contextlib.closing(in_order(function, shards, workers, *map(workers.keep, kept))) as results:
        yield from results


def map_shards(
    function: Callable[..., Result], shards: Iterable[Item], *kept: Any, n_jobs: int | None = 1
) -> list[Result]:
    """``[function(shard, *kept) for shard in shards]``, by the current executor or on ``n_jobs`` threads.

    A single shard is not worth sending.
    """
    shards, executor = list(shards), current_executor()
    if executor is not None and len(shards) > 1:
        return list(stream_shards(function, shards, executor, *kept))
    return map_threads(lambda shard: function(shard, *kept), shards, n_jobs)


class Resident(Generic[Result]):
    """Shards that stay where they are, for functions that are called many times: the E-steps of EM.

    With an executor every shard is sent once, when it is first needed. A Dask cluster then sends the task to the worker
    that has the shard; other executors get shards with every call.

    Parameters
    ----------
    function
        Called as ``function(shard, *now)``.
    shards
        What ``function`` works on; cheap views of arrays, since in this process they are used as they are.
    n_jobs
        Threads, without an executor or with a single shard.
    """

    def __init__(self, function: Callable[..., Result], shards: Sequence[Any], n_jobs: int | None = 1) -> None:
        self.function, self.shards, self.n_jobs = function, shards, n_jobs
        executor = current_executor()
        self._workers = None if executor is None or len(shards) < 2 else Borrowed(executor)
        self._kept: list[Kept] = [] if self._workers is None else [self._workers.keep(shard) for shard in shards]

    def __call__(self, *now: Any) -> list[Result]:
        """The results of all shards, in order; ``now`` goes to every worker once."""
        if self._workers is None:
            return map_threads(lambda shard: self.function(shard, *now), self.shards, self.n_jobs)
        function = functools.partial(_spread, self.function)
        return list(in_order(function, self._kept, self._workers, self._workers.keep(now)))


def _spread(function: Callable[..., Result], shard: Any, now: tuple[Any, ...]) -> Result:
    return function(shard, *now)


@contextlib.contextmanager
def connect(where: str | None) -> Iterator[Executor | None]:
    """The cluster that ``--cluster`` names, for the time of a command: an address, ``local:4``, or None.

    ``local:4`` starts four worker processes with one thread each and ends them afterwards.
    """
    if where is None:
        yield None
        return
    n_workers = _local_workers(where)
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("a cluster", "dask") from None
    import logging

    for name in ("distributed", "distributed.client"):  # Dask gives the second a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is raised, and told once
    with contextlib.ExitStack() as stack:
        try:
            address: Any = where
            if n_workers:
                address = stack.enter_context(_local_cluster(n_workers))
            client: Any = distributed.Client(  # type: ignore[no-untyped-call]
                address, timeout=CONNECT_SECONDS, set_as_default=False
            )
            stack.enter_context(client)
        except (OSError, ValueError) as trouble:
            reason = str(trouble).splitlines()[0][:100]
            remedy = "start 'dask scheduler' and 'dask worker ADDRESS' first, or give local:4"
            raise InputError(f"no cluster at {where} ({reason})", remedy=remedy) from None
        if not n_workers and not client.nthreads():
            raise InputError(f"the cluster at {where} has no workers", remedy=f"start some: dask worker {where}")
        yield client


def _local_cluster(n_workers: int) -> Any:
    """Processes on this machine. They do not see Ctrl-C, which is for this process: it ends them."""
    import logging
    from multiprocessing import resource_tracker

    import distributed
    from distributed.gc import disable_gc_diagnosis

    resource_tracker.ensure_running()  # when it starts, it lets Ctrl-C through again
    blocked = {signal.SIGINT} if hasattr(signal, "pthread_sigmask") else set()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked) if blocked else set()
    try:
        # The threads that start now, and all processes that they will start, have Ctrl-C blocked for good.
        cluster = distributed.LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any free port
            silence_logs=logging.CRITICAL,
        )
    finally:
        if blocked:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    # Its statistics of garbage collections are Python code in which an interrupt would be lost.
    disable_gc_diagnosis(force=True)  # type: ignore[no-untyped-call]
    return cluster


def _local_workers(where: str) -> int:
    """N of ``local:N``; 0 for an address."""
    kind, colon, rest = where.partition(":")
    if kind == "local" and rest.isdigit() and int(rest) > 0:
        return int(rest)
    if kind == "local" or not colon:
        raise InputError(f"--cluster {where}", remedy="give the address of a scheduler (tcp://host:8786) or local:4")
    return 0
