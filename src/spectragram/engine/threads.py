"""Threads over kernels that release the GIL, each with one BLAS and one OpenMP thread.

Left alone, BLAS would start as many threads again for each of ours, and the order of its sums, hence the last bits of a
result, would depend on the machine. The number of BLAS threads belongs to the whole process, so the first
:func:`single_threaded_blas` that is entered, in any thread, sets it and the last one that is left restores it. The
number of OpenMP threads belongs to each thread, so every thread sets its own.
"""

from __future__ import annotations

import contextlib
import operator
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

from spectragram.errors import InputError

__all__ = ["Threads", "map_threads", "resolve_jobs", "single_threaded_blas"]

Item = TypeVar("Item")
Result = TypeVar("Result")


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
    """``[function(item) for item in items]`` on ``n_jobs`` threads; results are in the order of the items.

    It pays off if ``function`` spends its time in kernels that release the GIL.
    """
    items = list(items)
    with Threads(min(resolve_jobs(n_jobs), len(items))) as threads:
        return threads.map(function, items)


class Threads:
    """Threads that are kept between calls: for many short calls of :meth:`map` in a row.

    >>> with Threads(2) as threads:
    ...     threads.map(abs, [-1, 2])
    [1, 2]
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.n_jobs = resolve_jobs(n_jobs or 1)
        self._stack = contextlib.ExitStack()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        self._stack.enter_context(single_threaded_blas())
        if self.n_jobs > 1:
            pool = ThreadPoolExecutor(self.n_jobs, thread_name_prefix="spectragram", initializer=_limit_openmp)
            self._pool = self._stack.enter_context(pool)
        return self

    def __exit__(self, *trouble: Any) -> None:
        self._stack.__exit__(*trouble)
        self._pool = None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """``[function(item) for item in items]``, in the order of the items."""
        if self._pool is None:
            return [function(item) for item in items]
        # Executor.map cancels what has not begun when a result is an error or Ctrl-C arrives.
        return list(self._pool.map(function, items))


@contextlib.contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One thread for BLAS in the whole process, and one for OpenMP in this thread, while the block runs.

    Blocks may be nested and may overlap in several threads.
    """
    before, now = getattr(_INSIDE, "n_modules", 0), len(sys.modules)
    # Inside a block of this thread, there is nothing to do for OpenMP unless a library has been loaded since.
    openmp = None if before == now else _limit_openmp()
    _BLAS.hold()
    _INSIDE.n_modules = now
    try:
        yield
    finally:
        _INSIDE.n_modules = before
        _BLAS.release()
        if openmp is not None:
            openmp.restore_original_limits()


class _BlasLimit:
    """The process-wide limit, set by its first holder and lifted by the last one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_holders = 0
        self.controller: Any = None
        self.limits: list[Any] = []

    def hold(self) -> None:
        with self.lock:
            self.n_holders += 1
            controller = _libraries("blas")
            # A library that was imported since the first holder came has to be limited as well.
            if controller is not self.controller:
                self.controller = controller
                self.limits.append(controller.limit(limits=1))

    def release(self) -> None:
        with self.lock:
            self.n_holders -= 1
            if self.n_holders == 0:
                while self.limits:
                    self.limits.pop().restore_original_limits()
                self.controller = None


_BLAS = _BlasLimit()
_INSIDE = threading.local()
"""``n_modules``: how many modules were loaded when this thread's innermost block was entered."""
_FOUND: dict[int, dict[str, Any]] = {}


def _libraries(kind: str) -> Any:
    """A controller of the libraries of a kind, "blas" or "openmp", that are loaded so far.

    Each kind has its own, because a limit of threadpoolctl restores all libraries of its controller. Finding them takes
    milliseconds, so they are looked for again only after something has been imported.
    """
    n_modules = len(sys.modules)
    found = _FOUND.get(n_modules)
    if found is None:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

        everything = ThreadpoolController()
        found = {name: everything.select(user_api=name) for name in ("blas", "openmp")}
        _FOUND.clear()
        _FOUND[n_modules] = found
    return found[kind]


def _limit_openmp() -> Any:
    return _libraries("openmp").limit(limits=1)
