"""Print the share of lines that the tests run, by package, and fail if a package has less than 90 %.

python -m tests.coverage_by_package REPORT     REPORT is what ``pytest --cov --cov-report=json:REPORT`` wrote
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

LEAST = 90.0


def by_package(report: dict) -> dict[str, tuple[int, int]]:
    """Lines run and lines there are, for every package below spectragram; its own modules under 'spectragram'."""
    run: Counter[str] = Counter()
    there: Counter[str] = Counter()
    for name, found in report["files"].items():
        parts = Path(name).parts
        inside = parts[parts.index("spectragram") + 1 :]
        package = inside[0] if len(inside) > 1 else "spectragram"
        run[package] += found["summary"]["covered_lines"]
        there[package] += found["summary"]["num_statements"]
    return {package: (run[package], there[package]) for package in sorted(there) if there[package]}


def main(path: str) -> int:
    shares = {
        package: 100.0 * run / there for package, (run, there) in by_package(json.loads(Path(path).read_text())).items()
    }
    for package, share in shares.items():
        print(f"coverage {package:<14} {share:5.1f} %")
    low = [package for package, share in shares.items() if share < LEAST]
    if low:
        print(f"less than {LEAST:.0f} % of the lines are run by a test: {', '.join(low)}", file=sys.stderr)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
