"""Worker processes that run cases one after the other, each within 20 processor seconds and 2 GB."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tests.fuzz.cases import Result, Samples, prepare, run

SECONDS, GIGABYTES = 20, 2
MEMORY = Path("/dev/shm")
"""Cases are written where Linux keeps files in memory: on disks, syncing and removing small files takes as long as all
the rest."""
PATIENCE = 300.0
"""Seconds by the clock after which a case counts as hanging although it takes no processor time."""


def work(numbers: list[int], seed: int, what: str, samples: Samples, pipe: Connection) -> None:
    """Run cases; say which one begins, and what came of it."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    try:
        for number in numbers:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            group, argv = prepare(number, seed, what, samples, folder)
            pipe.send(("begins", number, group, argv))
            _limit()
            result = run(group, argv, folder)
            said = "" if result.verdict in ("fine", "refused") and len(numbers) > 1 else result.said
            pipe.send(("ends", number, result.verdict, said))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        pipe.close()


def _limit() -> None:
    """From now on so much processor time, and so much memory more than there was after the first case."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + SECONDS + 1, hard))
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        now = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        # Compiled code and libraries are loaded on first use and take address space too.
        limit = now + (GIGABYTES + 2) * 2**30
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


class Worker:
    """A process and what it is doing."""

    def __init__(self, numbers: list[int], *job: Any) -> None:
        self.numbers, self.job = list(numbers), job
        self.again: set[int] = set()
        self.start()

    def start(self) -> None:
        """Begin with the cases that are left."""
        self.pipe, theirs = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=work, args=(self.numbers, *self.job, theirs))
        self.process.start()
        theirs.close()
        self.current: tuple[int, str, list[str]] | None = None
        self.since = time.monotonic()

    def receive(self) -> tuple[int, Result] | None:
        """What the worker says; a finished case, or None. A worker that died is started again behind its case."""
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            return self._died()
        self.since = time.monotonic()
        if message[0] == "begins":
            self.current = message[1:]
            return None
        assert self.current is not None
        number, group, argv = self.current
        self.numbers.remove(number)
        self.current = None
        return number, Result(group, message[2], argv, message[3])

    def _died(self) -> tuple[int, Result] | None:
        self.process.join()
        code = self.process.exitcode or 0
        if self.current is None:
            assert code == 0, f"a worker ended with {code} between cases"
            return None
        number, group, argv = self.current
        if -code == signal.SIGXCPU and number not in self.again:
            self.again.add(number)  # its time may have gone into compiling kernels, which are kept
            self.start()
            return None
        self.numbers.remove(number)
        verdict = "hang" if -code in (signal.SIGXCPU, signal.SIGKILL) else "crash"
        if self.numbers:
            self.start()
        return number, Result(group, verdict, argv, f"exit status {code}")

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return not self.numbers

    def kill_if_stuck(self) -> None:
        """End a case that waits for something that never comes."""
        if self.current is not None and time.monotonic() - self.since > PATIENCE:
            self.process.kill()


def run_all(numbers: list[int], seed: int, what: str, samples: Samples, jobs: int) -> Iterator[tuple[int, Result]]:
    """Results of cases, in the order in which they are ready."""
    workers = [Worker(numbers[k::jobs], seed, what, samples) for k in range(jobs) if numbers[k::jobs]]
    while active := [worker for worker in workers if not worker.is_done]:
        by_pipe = {worker.pipe: worker for worker in active}
        for pipe in wait(list(by_pipe), timeout=5.0):
            found = by_pipe[pipe].receive()  # type: ignore[index]
            if found is not None:
                yield found
        for worker in active:
            worker.kill_if_stuck()
    for worker in workers:
        worker.process.join()


def as_line(number: int, result: Result) -> str:
    """A result as a line of JSON."""
    return json.dumps({"case": number, **vars(result)})
