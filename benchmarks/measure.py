"""What benchmarks share: a row, the corpora, programs that take turns, a peer in an environment of its own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Row = dict[str, Any]
# The system's own figure for a child (ru_maxrss) begins with what its parent held.
AND_TELL_MEMORY = """
import sys
from spectragram.cli import main
status = main(sys.argv[2:])
lines = open("/proc/self/status").read().splitlines()
open(sys.argv[1], "w").write(next(line for line in lines if line.startswith("VmHWM")))
sys.exit(status)
"""


class Seconds(float):
    """What a task returns that ran in another process, where this one's clock does not see it."""


def row(
    name: str,
    measure: str,
    value: float,
    anchor: float | None = None,
    source: str | None = None,
    better: str = "lower",
) -> Row:
    """One line of the table: what was measured and, where there is one, the figure to compare it with."""
    return {
        "name": name,
        "measure": measure,
        "value": value,
        "anchor": anchor,
        "anchor_source": None if anchor is None else source,
        "better": better,
    }


def data_folder() -> Path | None:
    """The corpora that SPECTRAGRAM_DATA names, or None."""
    folder = os.environ.get("SPECTRAGRAM_DATA")
    return Path(folder) if folder else None


def take_turns(
    tasks: dict[str, Callable[[], object]], turns: int, clock: Callable[[], float] = time.process_time
) -> dict[str, list[float]]:
    """Seconds of every task in every turn; the tasks alternate, so that a busy minute hits all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(turns):
        for name, task in tasks.items():
            start = clock()
            found = task()
            seconds[name].append(found if isinstance(found, Seconds) else clock() - start)
    return seconds


def ratio_row(name: str, peer: str, theirs: list[float], ours: list[float], goal: float = 1.0) -> Row:
    """How many times longer the peer takes: median over the turns, with the smallest and the largest."""
    ratios = [their / our for their, our in zip(theirs, ours, strict=True)]
    found = row(name, f"{peer} / ours, CPU s", statistics.median(ratios), goal, f"{peer}, same run", "higher")
    return found | {"spread": [min(ratios), max(ratios)], "turns": len(ratios)}


def run_command(arguments: list[str], folder: Path) -> tuple[float, float, float]:
    """Run ``spectragram`` in a process of its own: wall seconds, processor seconds, peak gigabytes."""
    peak = folder / "peak"
    start = time.perf_counter()
    command = [sys.executable, "-c", AND_TELL_MEMORY, str(peak), *arguments]
    child = os.posix_spawn(sys.executable, command, dict(os.environ))
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - start
    if status != 0:
        raise RuntimeError(f"spectragram {' '.join(arguments)} failed")
    return wall, used.ru_utime + used.ru_stime, int(peak.read_text().split()[1]) / 1e6


class PeerEnvironment:
    """A peer whose requirements differ from ours: its own environment, made on first use, a script that speaks JSON."""

    def __init__(self, name: str, requirements: list[str]) -> None:
        self.folder = HERE / "environments" / name
        self.requirements = requirements

    def ready(self) -> bool:
        """Make the environment if need be; False where the packages cannot be had."""
        stamp = self.folder / "installed.json"
        if stamp.exists() and json.loads(stamp.read_text()) == self.requirements:
            return True
        print(f"making an environment for {', '.join(self.requirements)} in {self.folder}", file=sys.stderr)
        venv.create(self.folder, with_pip=True, clear=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self.requirements]
        done = subprocess.run([self._python(), *install], capture_output=True, text=True)
        if done.returncode:
            print(f"skipped: pip could not install them\n{done.stderr[-500:]}", file=sys.stderr)
            return False
        stamp.write_text(json.dumps(self.requirements))
        return True

    def call(self, script: str, *arguments: str) -> Any:
        """Run ``benchmarks/environments/<script>`` there; what it printed last, read as JSON."""
        command = [self._python(), str(HERE / "environments" / script), *arguments]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise RuntimeError(f"{script} {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1])

    def _python(self) -> str:
        return str(self.folder / ("Scripts" if os.name == "nt" else "bin") / "python")
