"""Run the benchmarks, print ours beside the anchor, keep a history.

    python -m benchmarks                    everything (minutes to an hour)
    python -m benchmarks --quick            a subset that takes a few minutes
    python -m benchmarks speed/encode_text  only what starts with this

Each module ``benchmarks/{speed,accuracy,beside}/<name>.py`` has ``run(quick) -> list of rows`` (``beside`` runs another
tool on the same data, turn by turn); a row is a dict with

    name, measure, value                what was measured
    anchor, anchor_source, better       what to compare it with (may be None), and whether "higher" or "lower" is better
    spread                              of a ratio over turns: smallest and largest

Accuracy needs the corpora that SPECTRAGRAM_DATA names; without them a module returns no rows and is listed as skipped.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from spectragram._version import __version__
from spectragram.cli.console import print_table

HERE = Path(__file__).parent
HEADER = ["name", "measure", "ours", "anchor", "", "anchor from"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", help="names to run, e.g. speed/encode_text or accuracy")
    parser.add_argument("--quick", action="store_true", help="a subset that takes minutes")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    parser.add_argument("--no-history", action="store_true", help="do not append to benchmarks/history.jsonl")
    options = parser.parse_args()
    run = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "library": __version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "quick": options.quick,
    }
    rows: list[dict[str, Any]] = []
    for name in _names(options.only):
        start = time.perf_counter()
        found = importlib.import_module("benchmarks." + name.replace("/", ".")).run(options.quick)
        rows += (new := [{"benchmark": name, **row} for row in found])
        if new and not options.no_history:  # at once: a long run may be interrupted
            with (HERE / "history.jsonl").open("a", encoding="utf-8") as history:
                history.write(json.dumps({**run, "rows": new}) + "\n")
        print(f"\n{name}: {time.perf_counter() - start:.1f} s" + ("" if found else ", skipped: no data or no peer"))
        if found:
            print_table(HEADER, [table_line(row) for row in found])
    if options.json:
        options.json.write_text(json.dumps({**run, "rows": rows}, indent=1) + "\n", encoding="utf-8")


def _names(only: list[str]) -> list[str]:
    names = [
        f"{folder}/{path.stem}"
        for folder in ("speed", "accuracy", "beside")
        for path in sorted((HERE / folder).glob("[a-z]*.py"))
    ]
    chosen = [name for name in names if not only or any(name.startswith(wanted) for wanted in only)]
    if not chosen:
        raise SystemExit(f"no benchmark starts with {', '.join(only)}; there are {', '.join(names)}")
    return chosen


def table_line(row: dict[str, Any]) -> list[Any]:
    """What the table shows of a row; see HEADER."""
    anchor = row.get("anchor")
    verdict = ""
    if anchor is not None:
        ahead = row["value"] >= anchor if row.get("better") == "higher" else row["value"] <= anchor
        verdict = "better" if ahead else "worse"
    shown = "" if anchor is None else anchor
    value = row["value"]
    if "spread" in row:
        value = f"{value:.2f} ({row['spread'][0]:.2f} to {row['spread'][1]:.2f})"
    return [row["name"], row["measure"], value, shown, verdict, row.get("anchor_source") or ""]


if __name__ == "__main__":
    main()
