"""Draw how the cost of word clusters grows, from the last full run of speed/clusters in the history.

python -m benchmarks.draw_scaling      writes docs/images/clusters-*.svg
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from spectragram.plots.charts import line_chart

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"
NAME = re.compile(r"([\d.]+)M tokens, (\d+) clusters, (\d+) words")
AXES = {
    "tokens": ("million tokens (100 clusters, 50,000 words)", lambda n, m, v: n if (m, v) == (100, 50_000) else None),
    "clusters": ("clusters (5M tokens, 50,000 words)", lambda n, m, v: m if (n, v) == (5, 50_000) else None),
    "vocabulary": ("words (20M tokens, 100 clusters)", lambda n, m, v: v if (n, m) == (20, 100) else None),
}


def main() -> None:
    rows = _last_full_run()
    for name, (label, place) in AXES.items():
        series: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            found = NAME.fullmatch(row["name"])
            x = place(float(found[1]), int(found[2]), int(found[3])) if found else None
            if x is not None:
                series.setdefault(row["measure"], []).append((x, row["value"]))
        ordered = {measure: sorted(points) for measure, points in series.items()}
        chart = line_chart(ordered, x_label=label, y_label="seconds, gigabytes", log_x=True, log_y=True)
        chart.save(IMAGES / f"clusters-{name}.svg")


def _last_full_run() -> list[dict]:
    runs = [json.loads(line) for line in (HERE / "history.jsonl").read_text(encoding="utf-8").splitlines()]
    for run in reversed(runs):
        rows = [row for row in run["rows"] if row["benchmark"] == "speed/clusters"]
        if rows and not run["quick"]:
            return rows
    raise SystemExit("no full run of speed/clusters in the history: python -m benchmarks speed/clusters")


if __name__ == "__main__":
    main()
