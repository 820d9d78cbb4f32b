"""Automata as pictures: states in columns by distance from the start, arrows with what they read."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.automata.dfa import DFA
from spectragram.automata.export import to_dot
from spectragram.automata.wfa import WFA
from spectragram.plots.svg import INK, MUTED, Drawing, mix, text_width

__all__ = ["Graph", "automaton_dot", "draw_automaton", "graph_of_dfa", "graph_of_wfa"]

RADIUS = 21.0
COLUMN, ROW = 190.0, 104.0
LABEL_SIZE = 10.5


@dataclass(frozen=True)
class Graph:
    """What is drawn: names of states, their share of visits, where strings start and end, and labelled arrows."""

    names: list[str]
    visits: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    edges: dict[tuple[int, int], str]
    weights: dict[tuple[int, int], float]


def graph_of_dfa(dfa: DFA, words: Sequence[str], *, smallest: float = 0.02, most: int = 4) -> Graph:
    """A deterministic automaton; symbols rarer in their state than ``smallest`` are left out."""
    passes = np.maximum(dfa.counts.sum(axis=1), 1e-12)
    moves = np.zeros((dfa.target.shape[1], dfa.n_states, dfa.n_states))
    source, symbol = np.nonzero(dfa.target >= 0)
    moves[symbol, source, dfa.target[source, symbol]] = dfa.counts[source, symbol] / passes[source]
    starts = np.eye(dfa.n_states)[0]
    return _graph(moves, starts, dfa.counts[:, -1] / passes, passes / passes.sum(), words, smallest, most)


def graph_of_wfa(
    wfa: WFA, words: Sequence[str], *, smallest: float = 0.05, most: int = 4, max_states: int = 20
) -> Graph:
    """Any automaton: arrows of weight above ``smallest`` in size, the ``max_states`` most visited states."""
    visits = _visits(wfa)
    kept = np.sort(np.argsort(-visits, kind="stable")[:max_states])
    part = WFA(wfa.initial[kept], wfa.operators[:, kept][:, :, kept], wfa.final[kept])
    return _graph(
        part.operators, part.initial, part.final, visits[kept] / max(visits.sum(), 1e-300), words, smallest, most, kept
    )


def _visits(wfa: WFA) -> np.ndarray:
    """How much passes through each state, by size, on strings of up to a hundred symbols."""
    row, total = np.abs(wfa.initial), np.abs(wfa.initial)
    step = np.abs(wfa.operators).sum(axis=0)
    for _ in range(100):
        row = row @ step
        if not np.isfinite(row).all() or row.sum() > 1e6:
            break
        total = total + row
    return total


def _graph(
    moves: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    visits: np.ndarray,
    words: Sequence[str],
    smallest: float,
    most: int,
    numbers: np.ndarray | None = None,
) -> Graph:
    edges, weights = {}, {}
    for source, target in np.argwhere(np.abs(moves).max(axis=0) >= smallest).tolist():
        along = moves[:, source, target]
        order = np.argsort(-np.abs(along), kind="stable")
        shown = [s for s in order if abs(along[s]) >= smallest]
        lines = [f"{words[s]} {along[s]:.2g}" for s in shown[:most]]
        edges[source, target] = "\n".join([*lines, f"+{len(shown) - most} more"] if len(shown) > most else lines)
        weights[source, target] = float(np.abs(along).sum())
    names = [str(i) for i in (range(len(starts)) if numbers is None else numbers.tolist())]
    return Graph(names, visits, starts, ends, edges, weights)


def automaton_dot(graph: Graph) -> str:
    """The same graph for graphviz."""
    edges = [(source, target, label) for (source, target), label in graph.edges.items()]
    labels = [
        f"{name}\nend {end:.2g}" if abs(end) >= 0.01 else name
        for name, end in zip(graph.names, graph.ends, strict=True)
    ]
    return to_dot(
        edges, labels, np.flatnonzero(graph.starts > 0.05).tolist(), np.flatnonzero(graph.ends > 0.05).tolist()
    )


def draw_automaton(graph: Graph, title: str = "") -> Drawing:
    """States in columns by distance from the start; double rings end strings, darker ones are visited more."""
    places, n_columns, n_rows = _layout(graph)
    left, top = 60.0, 70.0 if title else 46.0
    drawing = Drawing(left + n_columns * COLUMN, top + n_rows * ROW + 30, title)
    if title:
        drawing.text(14, 24, title, size=14, font_weight="bold")
    at = {i: (left + x * COLUMN + RADIUS, top + y * ROW + RADIUS + 18) for i, (x, y) in places.items()}
    for (source, target), label in sorted(graph.edges.items()):
        weight = min(graph.weights[source, target], 1.0)
        _arrow(drawing, at[source], at[target], label, weight, (target, source) in graph.edges and source != target)
    largest = max(float(graph.visits.max(initial=0.0)), 1e-12)
    for i, (x, y) in at.items():
        if graph.starts[i] > 0.05:
            drawing.line(x - RADIUS - 24, y, x - RADIUS - 5, y, stroke=INK)
            drawing.arrow_head(x - RADIUS - 2, y, 1, 0)
        end = float(graph.ends[i])
        tip = f"state {graph.names[i]}: {100 * graph.visits[i]:.1f} % of visits, ends with {end:.3g}"
        drawing.circle(x, y, RADIUS, fill=mix(0.12 + 0.5 * graph.visits[i] / largest), tip=tip, stroke=INK)
        if end > 0.05:
            drawing.circle(x, y, RADIUS - 4, fill="none", stroke=INK)
        drawing.text(
            x, y + (0 if abs(end) >= 0.01 else 4), graph.names[i], size=12, anchor="middle", font_weight="bold"
        )
        if abs(end) >= 0.01:
            drawing.text(x, y + 12, f"end {end:.2g}", size=8, anchor="middle", fill=MUTED)
    return drawing


def _layout(graph: Graph) -> tuple[dict[int, tuple[float, float]], int, int]:
    """Columns by distance from the start; in each, rows ordered by the mean row of the neighbours to the left."""
    n = len(graph.names)
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for source, target in graph.edges:
        neighbours[source].add(target)
    distance = dict.fromkeys(np.flatnonzero(graph.starts > 0.05).tolist() or [int(np.argmax(graph.starts))], 0)
    queue = deque(distance)
    while queue:
        state = queue.popleft()
        for target in sorted(neighbours[state] - set(distance)):
            distance[target] = distance[state] + 1
            queue.append(target)
    far = max(distance.values(), default=0) + 1
    columns: list[list[int]] = [[] for _ in range(far + 1)]
    for i in range(n):
        columns[distance.get(i, far)].append(i)
    columns = [part for column in columns if column for part in _split(column)]
    n_rows = max(map(len, columns))
    row: dict[int, float] = {}
    for column in columns:
        means = {}
        for i in column:
            before = [row[s] for s, t in graph.edges if t == i and s in row]
            means[i] = sum(before) / len(before) if before else n_rows / 2
        offset = (n_rows - len(column)) / 2
        for k, i in enumerate(sorted(column, key=lambda i: (means[i], i))):
            row[i] = offset + k
    places = {i: (float(x), row[i]) for x, column in enumerate(columns) for i in column}
    return places, len(columns), n_rows


def _split(column: list[int], most: int = 6) -> list[list[int]]:
    """A tall column becomes several of about the same height."""
    n = math.ceil(len(column) / most)
    return [column[i::n] for i in range(n)]


def _arrow(
    drawing: Drawing, start: tuple[float, float], stop: tuple[float, float], label: str, weight: float, both: bool
) -> None:
    colour = mix(0.35 + 0.65 * weight, "#ffffff", "#334155")
    width = 0.8 + 1.6 * weight
    (x1, y1), (x2, y2) = start, stop
    if start == stop:
        drawing.path(
            f"M{x1 - 9:.1f},{y1 - RADIUS + 2:.1f} C{x1 - 30:.1f},{y1 - RADIUS - 34:.1f} "
            f"{x1 + 30:.1f},{y1 - RADIUS - 34:.1f} {x1 + 9:.1f},{y1 - RADIUS + 2:.1f}",
            stroke=colour, stroke_width=width,
        )  # fmt: skip
        drawing.arrow_head(x1 + 9, y1 - RADIUS + 2, -0.45, 1, fill=colour)
        _label(drawing, x1, y1 - RADIUS - 28, label)
        return
    dx, dy = x2 - x1, y2 - y1
    length = math.hypot(dx, dy)
    # Arrows there and back, and arrows over other columns, bend to their own side.
    bend = 22.0 if both else 0.0
    if abs(dx) > 1.5 * COLUMN or (abs(dx) < 1 and abs(dy) > 1.5 * ROW):
        bend += 0.16 * length
    nx, ny = -dy / length, dx / length
    cx, cy = (x1 + x2) / 2 - bend * 2 * nx, (y1 + y2) / 2 - bend * 2 * ny
    ax, ay = _towards((x1, y1), (cx, cy), RADIUS)
    bx, by = _towards((x2, y2), (cx, cy), RADIUS + 2)
    drawing.path(f"M{ax:.1f},{ay:.1f} Q{cx:.1f},{cy:.1f} {bx:.1f},{by:.1f}", stroke=colour, stroke_width=width)
    drawing.arrow_head(bx, by, bx - cx, by - cy, fill=colour)
    # The label sits a little nearer to the source, so that crossing arrows keep theirs apart.
    t = 0.42
    lx = (1 - t) ** 2 * ax + 2 * t * (1 - t) * cx + t * t * bx
    ly = (1 - t) ** 2 * ay + 2 * t * (1 - t) * cy + t * t * by
    _label(drawing, lx, ly - 3, label)


def _towards(a: tuple[float, float], b: tuple[float, float], distance: float) -> tuple[float, float]:
    length = math.hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    return a[0] + distance * (b[0] - a[0]) / length, a[1] + distance * (b[1] - a[1]) / length


def _label(drawing: Drawing, x: float, y: float, label: str) -> None:
    lines = label.split("\n")
    height = LABEL_SIZE + 1.5
    width = max(text_width(line, LABEL_SIZE) for line in lines)
    top = y - height * (len(lines) - 1) / 2
    drawing.rect(
        x - width / 2 - 1, top - LABEL_SIZE + 1, width + 2, height * len(lines), fill="#ffffff", fill_opacity=0.82
    )
    for k, line in enumerate(lines):
        drawing.text(x, top + k * height, line, size=LABEL_SIZE, anchor="middle")
