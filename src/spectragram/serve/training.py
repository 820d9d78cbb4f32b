"""Training in the background: another process learns from the annotation file, and its model takes over at the end.

A process of its own leaves the interpreter of the server free to answer, and can be stopped at any moment. It tells how
far it is through a pipe, and ends itself when the server is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from spectragram.engine.progress import listening
from spectragram.errors import InputError, SpectragramError
from spectragram.serve.lessons import Plan, learn

__all__ = ["Training"]

STOP_SECONDS = 5.0
"""How long a process that is asked to end may take before it is killed. Chosen by hand."""


@dataclass(frozen=True)
class State:
    """How far training is: ``idle``, ``running``, ``done``, ``failed`` or ``cancelled``."""

    state: str = "idle"
    stage: str = ""
    done: int = 0
    total: int | None = None
    message: str = ""
    started: float = 0.0
    seconds: float = 0.0

    def described(self) -> dict[str, Any]:
        """For the page."""
        seconds = time.monotonic() - self.started if self.state == "running" else self.seconds
        return {
            "state": self.state,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "message": self.message,
            "seconds": round(seconds, 1),
        }


class Training:
    """At most one training at a time. ``finished`` is called, from a thread, with the path of the new model."""

    def __init__(self, finished: Callable[[Path], str]) -> None:
        self._finished = finished
        self._lock = threading.Lock()
        self._state = State()
        self._process: Any = None
        self._cancelled = False

    @property
    def state(self) -> dict[str, Any]:
        """How far training is, for the page."""
        return self._state.described()

    def start(self, plan: Plan) -> None:
        """Begin to train."""
        with self._lock:
            if self._state.state == "running":
                raise InputError("training is running already", remedy="wait for it, or cancel it")
            context = multiprocessing.get_context("spawn")  # fork would copy a process that has threads
            here, there = context.Pipe()
            process = context.Process(target=_run, args=(plan, there), daemon=True, name="training")
            process.start()
            there.close()
            self._process, self._cancelled = process, False
            self._state = State("running", "starting", started=time.monotonic())
            threading.Thread(target=self._follow, args=(process, here, plan.out), daemon=True).start()

    def cancel(self) -> None:
        """Stop the training that is running, if any."""
        with self._lock:
            if self._state.state == "running":
                self._cancelled = True
                self._process.terminate()

    def _follow(self, process: Any, here: Connection, out: Path) -> None:
        """Listen to the process until it ends."""
        outcome: tuple[str, str] | None = None
        while outcome is None:
            try:
                told = here.recv()
            except (EOFError, OSError):
                break
            if told[0] == "progress":
                _, stage, done, total = told
                self._state = State("running", stage, done, total, started=self._state.started)
            else:
                outcome = told
        here.close()
        process.join(STOP_SECONDS)
        if process.is_alive():
            process.kill()
        self._end(outcome, out)

    def _end(self, outcome: tuple[str, str] | None, out: Path) -> None:
        started = self._state.started
        state, message = outcome or ("failed", "the training process ended unexpectedly; was memory short?")
        if self._cancelled:
            state, message = "cancelled", "training was cancelled; nothing changed"
        elif state == "done":
            try:
                message = self._finished(out)
            except SpectragramError as trouble:
                state, message = "failed", str(trouble)
        self._state = State(state, message=message, started=started, seconds=time.monotonic() - started)


def _run(plan: Plan, there: Connection) -> None:
    """The process: learn, save, and say how it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    threading.Thread(target=_end_with_server, args=(there,), daemon=True).start()
    sending = threading.Lock()

    def tell(*message: Any) -> None:
        with sending:
            there.send(message)

    try:
        with listening(lambda stage, done, total: tell("progress", stage, done, total)):
            learn(plan)
        tell("done", "")
    except SpectragramError as trouble:
        tell("failed", str(trouble))
    except MemoryError:
        tell("failed", "out of memory")
    except Exception as trouble:
        tell("failed", f"{type(trouble).__name__}: {trouble}")
        raise


def _end_with_server(there: Connection) -> None:
    """Nothing is ever sent here: the wait ends when the server does."""
    try:
        there.recv()
    except (EOFError, OSError):
        os._exit(1)
