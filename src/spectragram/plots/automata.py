"""Automata as pictures: states on an oval, arrows labelled with symbols; as SVG and as DOT."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spectragram.automata.approximation import CountedDFA
from spectragram.automata.dfa import DFA
from spectragram.automata.estimator import Automaton
from spectragram.automata.export import to_dot
from spectragram.automata.wfa import WFA
from spectragram.plots.charts import spectrum_chart
from spectragram.plots.page import html_page, html_table, summary_table
from spectragram.plots.svg import INK, Drawing, mix, text_width

__all__ = ["LEGEND", "Graph", "automaton_dot", "automaton_page", "draw_automaton", "graph_of_dfa", "graph_of_wfa"]

RADIUS, MARGIN = 23.0, 96.0
LABEL_SIZE, LINE = 10.5, 12.0
"""Sizes in pixels, as all lengths in this module: chosen by eye."""
RARE_END, FREQUENT_END = 0.01, 0.05
"""Final weights below the first are not written; those above the second give a state a double ring. Chosen by eye."""
LIKELY_START = 0.05
"""A state with a larger initial weight is marked as a start. Chosen by eye."""
LONGEST, EXPLODES = 100, 1e6
"""Visits are summed over strings of at most this many symbols, or until their total weight exceeds this: the sum of an
automaton with negative weights may diverge. Chosen by hand; only shades depend on it."""
TINY = 1e-12
"""A guard against division by zero; any tiny value does."""
LEGEND = "<p>Arrows: symbols and their share of all moves from that state. States: share of strings that end there.</p>"


@dataclass(frozen=True)
class Graph:
    """What is drawn.

    Attributes
    ----------
    names : list of str
        Names of the states.
    visits, starts, ends : arrays, shape (n_states,)
        Share of visits, initial weight and final weight of each state.
    edges, weights : dict
        Label and total weight of each arrow, by source and target.
    weighted : bool
        Whether weights are written.
    rings : bool array, shape (n_states,), optional
        Which states have a double ring; by default those with a large final weight.
    """

    names: list[str]
    visits: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    edges: dict[tuple[int, int], str]
    weights: dict[tuple[int, int], float]
    weighted: bool = True
    rings: np.ndarray | None = None

    @property
    def double(self) -> np.ndarray:
        """Whether each state has a double ring, (n_states,)."""
        return self.ends > FREQUENT_END if self.rings is None else self.rings


def graph_of_dfa(dfa: DFA, *, smallest: float = 0.02, most: int = 4) -> Graph:
    """The graph of a deterministic automaton; an arrow names at most ``most`` symbols.

    If the automaton has counts, symbols with a smaller share of their state are left out.
    """
    starts = np.eye(dfa.n_states)[0]
    if not isinstance(dfa, CountedDFA):
        wfa = dfa.to_wfa()
        visits = np.full(dfa.n_states, 1.0 / dfa.n_states)
        return _graph(wfa.operators, starts, wfa.final, visits, dfa.symbols, smallest, most, weighted=False)
    passes = np.maximum(dfa.counts.sum(axis=1), TINY)
    moves = np.zeros((dfa.target.shape[1], dfa.n_states, dfa.n_states))
    source, symbol = np.nonzero(dfa.target >= 0)
    moves[symbol, source, dfa.target[source, symbol]] = dfa.counts[source, symbol] / passes[source]
    ends = dfa.counts[:, -1] / passes
    graph = _graph(moves, starts, ends, passes / passes.sum(), dfa.symbols, smallest, most)
    # Where every state accepts, as in most distributions, only frequent ends are worth a ring.
    return graph if dfa.accepts.all() else replace(graph, ends=np.where(dfa.accepts, ends, 0.0), rings=dfa.accepts)


def graph_of_wfa(
    wfa: WFA, words: Sequence[Any], *, smallest: float = 0.05, most: int = 4, max_states: int = 20
) -> Graph:
    """The graph of any automaton: its ``max_states`` most visited states, and arrows whose absolute weight is large.

    Symbols with an absolute weight below ``smallest`` are left out, and an arrow names at most ``most`` of them.
    """
    visits = _visits(wfa)
    kept = np.sort(np.argsort(-visits, kind="stable")[:max_states])
    part = WFA(wfa.initial[kept], wfa.operators[:, kept][:, :, kept], wfa.final[kept])
    return _graph(
        part.operators, part.initial, part.final, visits[kept] / max(visits.sum(), TINY), words, smallest, most, kept
    )


def _visits(wfa: WFA) -> np.ndarray:
    """Sum of the absolute forward weights of each state over all strings of up to a hundred symbols."""
    row, total = np.abs(wfa.initial), np.abs(wfa.initial)
    step = np.abs(wfa.operators).sum(axis=0)
    for _ in range(LONGEST):
        row = row @ step
        if not np.isfinite(row).all() or row.sum() > EXPLODES:
            break
        total = total + row
    return total


def _graph(
    moves: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    visits: np.ndarray,
    words: Sequence[Any],
    smallest: float,
    most: int,
    numbers: np.ndarray | None = None,
    weighted: bool = True,
) -> Graph:
    edges, weights = {}, {}
    for source, target in np.argwhere(np.abs(moves).max(axis=0) >= smallest).tolist():
        along = moves[:, source, target]
        order = np.argsort(-np.abs(along), kind="stable")
        shown = [s for s in order if abs(along[s]) >= smallest]
        lines = [f"{words[s]} {along[s]:.2g}" if weighted else f"{words[s]}" for s in shown[:most]]
        edges[source, target] = "\n".join([*lines, f"+{len(shown) - most} more"] if len(shown) > most else lines)
        weights[source, target] = float(np.abs(along).sum())
    names = [str(i) for i in (range(len(starts)) if numbers is None else numbers.tolist())]
    return Graph(names, visits, starts, ends, edges, weights, weighted)


def automaton_dot(graph: Graph) -> str:
    """The same graph for graphviz."""
    edges = [(source, target, label) for (source, target), label in graph.edges.items()]
    labels = [
        f"{name}\nend {end:.2g}" if graph.weighted and abs(end) >= RARE_END else name
        for name, end in zip(graph.names, graph.ends, strict=True)
    ]
    starts, ends = np.flatnonzero(graph.starts > LIKELY_START), np.flatnonzero(graph.double)
    return to_dot(edges, labels, starts.tolist(), ends.tolist())


def draw_automaton(graph: Graph, title: str = "") -> Drawing:
    """States on an oval, the start at its left; strings end in double rings, and darker states are visited more."""
    at, width, height = _oval(graph, 60.0 if title else 30.0)
    drawing = Drawing(width, height, title)
    if title:
        drawing.text(14, 24, title, size=14, font_weight="bold")
    labels = _Labels([(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in at.values()])
    centre = (width / 2, sum(y for _, y in at.values()) / len(at))
    # The labels of strong arrows are placed first.
    for (source, target), label in sorted(graph.edges.items(), key=lambda edge: (-graph.weights[edge[0]], edge[0])):
        weight = min(graph.weights[source, target], 1.0)
        if source == target:
            labels.place(label, *_loop(drawing, at[source], centre, weight, bool(graph.starts[source] > LIKELY_START)))
        else:
            labels.place(label, *_arrow(drawing, at[source], at[target], weight))
    for i, place in at.items():
        _state(drawing, graph, i, place)
    labels.draw(drawing)
    return drawing


def automaton_page(model: Automaton, name: str, dfa: CountedDFA) -> str:
    """A page with the summary of training, a picture of the deterministic approximation, the parts and the spectrum."""
    sections = [
        ("Training", summary_table(model.summary_)),
        ("What it does on frequent strings", LEGEND + str(draw_automaton(graph_of_dfa(dfa)))),
    ]
    parts = [[part["part"], part["states"], part["weight"]] for part in model.summary_.get("parts", [])]
    if parts:
        sections.append(("Parts", html_table(["part", "states", "weight"], parts)))
    if len(model.spectrum_):
        sections.append(("Spectrum", str(spectrum_chart(model.spectrum_))))
    return html_page(f"Automaton {name}", sections)


def _state(drawing: Drawing, graph: Graph, i: int, place: tuple[float, float]) -> None:
    x, y = place
    end, visits = float(graph.ends[i]), float(graph.visits[i])
    if graph.starts[i] > LIKELY_START:
        drawing.line(x - RADIUS - 26, y, x - RADIUS - 5, y, stroke=INK)
        drawing.arrow_head(x - RADIUS - 2, y, 1, 0)
    tip = f"state {graph.names[i]}"
    if graph.weighted:
        tip += f": {100 * visits:.1f} % of visits, ends with {end:.3g}"
    shade = mix(0.12 + 0.5 * visits / max(float(graph.visits.max()), TINY))
    drawing.circle(x, y, RADIUS, fill=shade, tip=tip, stroke=INK)
    if graph.double[i]:
        drawing.circle(x, y, RADIUS - 3, fill="none", stroke=INK)
    shows_end = graph.weighted and abs(end) >= RARE_END
    drawing.text(x, y + (0 if shows_end else 4), graph.names[i], size=12, anchor="middle", font_weight="bold")
    if shows_end:
        drawing.text(x, y + 11, f"{end:.2f}", size=9.5, anchor="middle")


def _oval(graph: Graph, top: float) -> tuple[dict[int, tuple[float, float]], float, float]:
    """Positions of the states, in the order of a search from the start, and the size of the picture."""
    order = _visiting_order(graph)
    n = len(order)
    rx, ry = 150.0 + 26.0 * n, 90.0 + 19.0 * n
    if n == 1:
        rx = ry = 0.0
    angles = [math.pi + 2 * math.pi * k / n for k in range(n)]
    at = {
        i: (MARGIN + rx + rx * math.cos(angle), top + MARGIN * 0.7 + ry + ry * math.sin(angle))
        for i, angle in zip(order, angles, strict=True)
    }
    return at, 2 * (MARGIN + rx), top + 2 * (MARGIN * 0.7 + ry)


def _visiting_order(graph: Graph) -> list[int]:
    """The states in breadth-first order from the most probable start, along heavy arrows first."""
    order = [int(np.argmax(graph.starts))]
    queue = deque(order)
    while queue:
        source = queue.popleft()
        following = [t for s, t in graph.edges if s == source and t not in order]
        for target in sorted(following, key=lambda t: (-graph.weights[source, t], t)):
            order.append(target)
            queue.append(target)
    return order + [i for i in range(len(graph.names)) if i not in order]


Curve = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]


def _loop(
    drawing: Drawing, place: tuple[float, float], centre: tuple[float, float], weight: float, is_start: bool
) -> tuple[Curve, tuple[float, ...]]:
    """Draw a move from a state to itself, on the outer side."""
    x, y = place
    dx, dy = x - centre[0], y - centre[1]
    length = math.hypot(dx, dy)
    # A start has an arrow on its left already.
    ux, uy = (dx / length, dy / length) if length > 1 and not is_start else (-0.6, -0.8)
    px, py = -uy, ux

    def spot(outwards: float, sideways: float) -> tuple[float, float]:
        return x + outwards * ux + sideways * px, y + outwards * uy + sideways * py

    a, b = spot(RADIUS - 3, -9), spot(RADIUS - 3, 9)
    c, d = spot(RADIUS + 34, -26), spot(RADIUS + 34, 26)
    colour = _shade(weight)
    path = f"M{a[0]:.1f},{a[1]:.1f} C{c[0]:.1f},{c[1]:.1f} {d[0]:.1f},{d[1]:.1f} {b[0]:.1f},{b[1]:.1f}"
    drawing.path(path, stroke=colour, stroke_width=0.8 + 1.6 * weight)
    drawing.arrow_head(b[0], b[1], b[0] - d[0], b[1] - d[1], fill=colour)
    return (spot(RADIUS + 30, 0), spot(RADIUS + 42, 0), spot(RADIUS + 66, 0)), (0.0, 0.25, 0.5, 0.75, 1.0)


def _arrow(
    drawing: Drawing, start: tuple[float, float], stop: tuple[float, float], weight: float
) -> tuple[Curve, tuple[float, ...]]:
    """Draw a move to another state, bent to one side so that the arrow back does not hide it."""
    (x1, y1), (x2, y2) = start, stop
    dx, dy = x2 - x1, y2 - y1
    length = math.hypot(dx, dy)
    bend = 14.0 + 0.08 * length
    middle = (x1 + x2) / 2 + 2 * bend * dy / length, (y1 + y2) / 2 - 2 * bend * dx / length
    a, b = _towards(start, middle, RADIUS), _towards(stop, middle, RADIUS + 2)
    colour = _shade(weight)
    path = f"M{a[0]:.1f},{a[1]:.1f} Q{middle[0]:.1f},{middle[1]:.1f} {b[0]:.1f},{b[1]:.1f}"
    drawing.path(path, stroke=colour, stroke_width=0.8 + 1.6 * weight)
    drawing.arrow_head(b[0], b[1], b[0] - middle[0], b[1] - middle[1], fill=colour)
    # Nearer to the source than to the target, which keeps the labels of crossing arrows apart.
    return (a, middle, b), (0.36, 0.48, 0.26, 0.6, 0.7, 0.18, 0.8)


def _shade(weight: float) -> str:
    return mix(0.35 + 0.65 * weight, "#ffffff", "#334155")


def _towards(a: tuple[float, float], b: tuple[float, float], distance: float) -> tuple[float, float]:
    length = math.hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    return a[0] + distance * (b[0] - a[0]) / length, a[1] + distance * (b[1] - a[1]) / length


class _Labels:
    """Texts along curves, each placed where it covers the least of what was placed before."""

    def __init__(self, taken: list[tuple[float, float, float, float]]) -> None:
        self.taken = list(taken)
        self.placed: list[tuple[float, float, list[str], float]] = []

    def place(self, label: str, curve: Curve, spots: tuple[float, ...]) -> None:
        lines = label.split("\n")
        width = max(text_width(line, LABEL_SIZE) for line in lines)
        height = LINE * len(lines)
        best, least = (0.0, 0.0), math.inf
        for t in spots:
            x, y = ((1 - t) ** 2 * a + 2 * t * (1 - t) * b + t * t * c for a, b, c in zip(*curve, strict=True))
            hidden = sum(
                _overlap((x - width / 2, y - height / 2, x + width / 2, y + height / 2), box) for box in self.taken
            )
            if hidden < least - 1e-9:
                best, least = (x, y), hidden
        x, y = best
        self.taken.append((x - width / 2, y - height / 2, x + width / 2, y + height / 2))
        self.placed.append((x, y, lines, width))

    def draw(self, drawing: Drawing) -> None:
        for x, y, lines, width in self.placed:
            top = y - LINE * len(lines) / 2
            drawing.rect(x - width / 2, top, width, LINE * len(lines), fill="#ffffff", fill_opacity=0.8)
            for k, line in enumerate(lines):
                drawing.text(x, top + (k + 0.8) * LINE, line, size=LABEL_SIZE, anchor="middle")


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
