"""One case: what is mutated and which command reads it, decided by a number; and the verdict on what happened."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from spectragram import cli
from tests.fuzz.mutations import mutate_archive, mutate_bytes, mutate_model
from tests.fuzz.samples import uses_of_data, uses_of_model

FAILURES = ("traceback", "crash", "hang", "memory", "partial output", "many lines", "wrong status")
OLD = b"what was there before"


@dataclass(frozen=True)
class Samples:
    """The files that are mutated, by format and by name of the model."""

    data: dict[str, Path]
    models: dict[str, Path]


@dataclass(frozen=True)
class Result:
    """What happened: the group for the report, the verdict, the command, and what it said."""

    group: str
    verdict: str
    argv: list[str]
    said: str


def prepare(number: int, seed: int, what: str, samples: Samples, folder: Path) -> tuple[str, list[str]]:
    """Write the mutated file of a case into an empty folder; the group and the command that reads it."""
    chance = random.Random(f"{seed} {what} {number}")
    out = folder / "out"
    if chance.random() < 0.5:
        out.write_bytes(OLD)
    if what == "models":
        name = chance.choice(sorted(set(samples.models) - {"counts"}))
        target = folder / "hostile.sgm"
        mutate_model(samples.models[name], target, chance)
        return f"model {name}", chance.choice(list(uses_of_model(name, target, samples.data, out)))
    name = chance.choice([*sorted(samples.data), "counts", "model file"])
    if name == "model file":
        target = folder / "hostile.sgm"
        model = chance.choice(sorted(set(samples.models) - {"counts"}))
        target.write_bytes(mutate_bytes(samples.models[model].read_bytes(), chance))
        return "input model file", chance.choice(list(uses_of_model(model, target, samples.data, out)))
    if name == "counts":
        target = folder / "hostile.counts"
        mutate_model(samples.models[name], target, chance)
        own = ["train", "clusters", str(target), "-o", str(out), "--clusters", "3", "-q"]
        other = ["train", "clusters", str(samples.data["text"]), "-o", str(out), "-q", "--counts", str(target)]
        return "input counts", chance.choice([own, other])
    target = folder / samples.data[name].name
    raw = samples.data[name].read_bytes()
    spoil = mutate_archive if name == "npz" and chance.random() < 0.8 else mutate_bytes
    target.write_bytes(spoil(raw, chance))
    return f"input {name}", chance.choice(list(uses_of_data(name, target, samples.models, out)))


def _where(trouble: Exception) -> str:
    """What was raised, and by which of our lines."""
    frames = [frame for frame in traceback.extract_tb(trouble.__traceback__) if "spectragram/" in frame.filename]
    ours = [f"{frame.filename.rsplit('spectragram/', 1)[1]}:{frame.lineno} {frame.name}" for frame in frames[-4:]]
    return f"{type(trouble).__name__}: {str(trouble)[:200]} at {' < '.join(reversed(ours))}"


def run(group: str, argv: list[str], folder: Path) -> Result:
    """Run a command inside this process and judge what it did."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    output, errors = io.BytesIO(), io.StringIO()
    stdout = io.TextIOWrapper(output, encoding="utf-8", errors="surrogatepass")
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"a b\n"), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(errors), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            status = cli.main(argv)
            stdout.flush()
    except Exception as trouble:
        return Result(group, "traceback", argv, _where(trouble))
    said = errors.getvalue()
    if status == 0:
        return Result(group, "fine", argv, said)
    if status != 2:
        return Result(group, "wrong status", argv, f"{status}: {said}")
    if "out of memory" in said:
        return Result(group, "memory", argv, said)
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    if output.getvalue() or after != before:
        return Result(group, "partial output", argv, said + str(sorted(after)) + repr(output.getvalue()[:200]))
    lines = said.count("\n")
    return Result(group, "refused" if lines == 1 else "many lines", argv, said)
