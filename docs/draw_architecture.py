"""Draw the picture of the packages in architecture.md: who builds on whom, from the bottom up.

python docs/draw_architecture.py      writes docs/images/architecture.svg
"""

from __future__ import annotations

from pathlib import Path

from spectragram.plots import Drawing
from spectragram.plots.svg import INK, MUTED, mix

LAYERS: list[tuple[str, list[tuple[str, str]]]] = [
    (
        "on top",
        [
            ("cli", "parse arguments, call, print"),
            ("serve", "the page in the browser"),
            ("plots", "pictures and pages"),
            ("reproduce", "the papers' tables"),
        ],
    ),
    ("of tasks", [("pipeline", "Pipeline: raw text to trees, made of tagging and dependency")]),
    (
        "tasks",
        [
            ("automata", "Automaton"),
            ("dependency", "DependencyParser"),
            ("tagging", "Tagger"),
            ("constituency", "ConstituencyParser"),
            ("clusters", "WordClusters"),
            ("lm", "LanguageModel"),
        ],
    ),
    (
        "shared by tasks",
        [
            ("learning", "words, views, states, EM, factors"),
            ("estimator", "fit, save, load"),
            ("storage", "model files"),
            ("metrics", "scores"),
        ],
    ),
    (
        "knows no task",
        [("data", "files to integer arrays"), ("spectral", "linear algebra"), ("inference", "dynamic programs")],
    ),
    ("at the bottom", [("engine", "threads, processes, progress"), ("files", "open, replace"), ("errors", "messages")]),
]
"""Each layer imports from those below it; inside a layer only ``dependency`` imports ``automata``."""

WIDTH, LEFT, BOX, GAP, ROW = 940, 120, 52, 10, 84


def main() -> None:
    """Draw one row of boxes a layer."""
    drawing = Drawing(WIDTH, ROW * len(LAYERS) + 8, "The packages of spectragram, each layer built on those below it")
    for row, (name, boxes) in enumerate(LAYERS):
        y = 8 + row * ROW
        drawing.text(8, y + BOX / 2 + 4, name, size=13, fill=MUTED)
        width = (WIDTH - LEFT - 8 - GAP * (len(boxes) - 1)) / len(boxes)
        for place, (package, what) in enumerate(boxes):
            x = LEFT + place * (width + GAP)
            drawing.rect(x, y, width, BOX, fill=mix(0.08 + 0.05 * row), stroke=INK, rx=5)
            drawing.text(x + width / 2, y + 22, package, size=14, anchor="middle", font_weight="bold")
            drawing.text(x + width / 2, y + 40, what, size=11, anchor="middle")
        if row:
            drawing.line(LEFT + (WIDTH - LEFT) / 2, y - ROW + BOX + 26, LEFT + (WIDTH - LEFT) / 2, y - ROW + BOX + 6)
            drawing.arrow_head(LEFT + (WIDTH - LEFT) / 2, y - ROW + BOX + 6, 0, -1)
    drawing.save(Path(__file__).parent / "images" / "architecture.svg")


if __name__ == "__main__":
    main()
