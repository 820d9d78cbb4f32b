"""Compile every kernel before it is needed, e.g. while an image of a container is built."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import typer

from spectragram.cli.console import note
from spectragram.errors import SpectragramError
from spectragram.kinds import KINDS, kind_named

__all__ = ["warm_up"]

SHOWN = 200
"""Characters of what a failed process said last."""


def warm_up(
    kinds: Annotated[
        list[str] | None, typer.Argument(metavar="[KIND]...", help="Kinds to compile; default all.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes at a time; -1: one for each core.")] = -1,
) -> None:
    """Compile everything that training and prediction use, in several processes, and keep it for later runs.

    Each process runs the demo of a kind. Compiled code goes to NUMBA_CACHE_DIR if that is set, otherwise beside the
    package or into the user's cache folder.
    """
    named = [kind_named(kind).name for kind in kinds or KINDS]
    n_processes = jobs if jobs > 0 else os.cpu_count() or 1
    with ThreadPoolExecutor(n_processes) as pool:
        for kind, problem in zip(named, pool.map(_compile, named), strict=True):
            if problem is not None:
                raise SpectragramError(f"the demo of '{kind}' failed: {problem}")
            note(f"compiled {kind}")


def _compile(kind: str) -> str | None:
    """Run the demo of a kind in a process of its own; the last thing it said if it failed."""
    done = subprocess.run(
        [sys.executable, "-m", "spectragram", "demo", kind], capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else (done.stderr.strip() or "no message").splitlines()[-1][-SHOWN:]
