"""Processes that are interrupted or killed at random moments leave the old model file or the new one, never another.

python -m tests.faults --saves 100 --trainings 100 --seed 0         each with SIGKILL and with SIGINT
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from spectragram import load

GOLDEN = Path(__file__).parent / "golden"
SAVE = """
import signal
import sys
from spectragram import load
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell inherits that it is ignored
models = [load(path) for path in sys.argv[2:]]
print("ready", flush=True)
while True:
    for model in models:
        model.save(sys.argv[1])
"""
"""Saves one model after the other under the same name until it is killed."""
PATIENCE = 60
"""Seconds after which a process that was asked to end counts as hanging."""


def kill_while_saving(folder: Path, how: signal.Signals, chance: random.Random) -> str:
    """What is left after a process that saves all the time was killed: ``lm``, ``clusters`` or what is wrong."""
    target = folder / "model.sgm"
    choices = {name: (GOLDEN / f"{name}.sgm").read_bytes() for name in ("lm", "clusters")}
    target.write_bytes(choices["lm"])
    paths = [str(GOLDEN / f"{name}.sgm") for name in choices]
    process = subprocess.Popen(
        [sys.executable, "-c", SAVE, str(target), *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(chance.random() * 0.2)
    process.send_signal(how)
    process.wait(PATIENCE)
    process.stdout.close()
    return _verdict(folder, target, how)


def kill_while_training(folder: Path, how: signal.Signals, chance: random.Random, longest: float = 4.0) -> str:
    """The same for a process that trains and saves once."""
    text, target = folder / "text.txt", folder / "model.sgm"
    text.write_text("a b c a b\nb c a\n" * 200)
    target.write_bytes((GOLDEN / "lm.sgm").read_bytes())
    command = [
        sys.executable,
        "-m",
        "spectragram",
        "train",
        "lm",
        str(text),
        "-o",
        str(target),
        "-q",
        "--learner",
        "kn",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(chance.random() * longest)
    process.send_signal(how)
    process.wait(PATIENCE)
    text.unlink()
    return _verdict(folder, target, how)


def _verdict(folder: Path, target: Path, how: signal.Signals) -> str:
    """Which model is there; a process that could not tidy up may leave a file behind that nobody takes for a model."""
    others = sorted(path.name for path in folder.iterdir() if path != target)
    if others and how == signal.SIGINT:
        return f"debris: {others}"
    for name in others:
        (folder / name).unlink()
    return load(target).kind


def main() -> int:
    """Count what was left."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--saves", type=int, default=10)
    parser.add_argument("--trainings", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for what, times in ((kill_while_saving, given.saves), (kill_while_training, given.trainings)):
            for how in (signal.SIGKILL, signal.SIGINT):
                found = [what(Path(folder), how, chance) for _ in range(times)]
                counts = {verdict: found.count(verdict) for verdict in sorted(set(found))}
                wrong += sum(n for verdict, n in counts.items() if verdict not in ("lm", "clusters"))
                print(what.__name__, how.name, counts, flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
