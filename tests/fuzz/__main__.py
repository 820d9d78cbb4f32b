"""The command line of the fuzzer."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.fuzz.cases import FAILURES, Samples
from tests.fuzz.samples import LAST, train_models, write_data
from tests.fuzz.workers import as_line, run_all

EVERY = 10_000
"""Cases between two reports on how far it is; chosen by hand."""


def make_samples(folder: Path) -> Samples:
    """Data and trained models, unless the folder has them already.

    They are made in another process, so that workers are forked from one without threads.
    """
    if not (folder / LAST).exists():
        process = multiprocessing.get_context("fork").Process(target=lambda: train_models(folder, write_data(folder)))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit("the models to mutate could not be trained")
    data = {path.name.removeprefix("data."): path for path in folder.glob("data.*")}
    data["gz"] = data.pop("text.gz")
    data["holes"] = data.pop("holes.conllu")
    data |= {"trees": folder / "few.trees", "columns": folder / "small.tags"}
    models = {path.stem: path for path in folder.glob("*.sgm") if path.stem != "again"}
    return Samples(data, models | {"counts": folder / LAST})


def report(counts: Counter[tuple[str, str]]) -> str:
    """Counts by group and verdict, as a table."""
    verdicts = sorted({verdict for _, verdict in counts})
    groups = sorted({group for group, _ in counts})
    lines = ["| | " + " | ".join(verdicts) + " |", "|---|" + "---|" * len(verdicts)]
    for group in [*groups, "all"]:
        row = [sum(n for (g, v), n in counts.items() if v == verdict and group in (g, "all")) for verdict in verdicts]
        lines.append(f"| {group} | " + " | ".join(map(str, row)) + " |")
    return "\n".join(lines)


def main() -> int:
    """Run cases and print what came of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="mutated inputs, and as many hostile models")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--what", choices=("inputs", "models", "both"), default="both")
    parser.add_argument("--only", type=int, help="run this case alone and show what it prints")
    parser.add_argument("--samples", type=Path, help="folder that keeps the trained models between runs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.samples or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        samples = make_samples(folder)
        counts: Counter[tuple[str, str]] = Counter()
        for what in ("inputs", "models") if given.what == "both" else (given.what,):
            numbers = list(range(given.first, given.first + given.cases)) if given.only is None else [given.only]
            for number, result in run_all(numbers, given.seed, what, samples, given.jobs):
                counts[result.group, result.verdict] += 1
                if result.verdict in FAILURES or given.only is not None:
                    print(what, as_line(number, result), flush=True)
                if (done := counts.total()) % EVERY == 0:
                    print(f"{done} cases so far\n{report(counts)}", file=sys.stderr, flush=True)
        print(report(counts))
    return int(any(verdict in FAILURES for _, verdict in counts))


if __name__ == "__main__":
    sys.exit(main())
