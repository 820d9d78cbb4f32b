"""Dependency trees as arcs over the words, and the page of a trained parser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.dependency import DependencyParser
from spectragram.dependency.inspection import DIRECTIONS, frequent_modifiers, head_dfa
from spectragram.plots.automata import LEGEND, draw_automaton, graph_of_dfa
from spectragram.plots.page import html_page, html_table, summary_table
from spectragram.plots.svg import INK, MUTED, PALETTE, Drawing, is_right_to_left, mix, text_width

__all__ = ["dependency_page", "draw_dependencies"]

SIZE, GAP, MARGIN, LEVEL = 14.0, 18.0, 16.0, 24.0
"""In pixels: the size of words, the space between them, around the picture, and between one arc and the next above it.

Chosen by eye."""


def draw_dependencies(
    sentence: Sentence, *, probabilities: np.ndarray | None = None, gold: Sequence[int] | None = None, title: str = ""
) -> Drawing:
    """Draw the words in a row, and an arc from every head to its modifier with the relation on it.

    Words of a script that runs from right to left stand in that order.
    Improbable arcs are pale if their ``probabilities`` (n,) are given; arcs that differ from ``gold`` heads are red.
    """
    heads = sentence.heads.tolist()
    tags = [x if x != "_" else u for x, u in zip(sentence.xpos, sentence.upos, strict=True)]
    relations = ["" if relation == "_" else relation for relation in sentence.deprels]
    widths = [
        max(text_width(form, SIZE), text_width(tag, 10), text_width(relation, 10)) + GAP
        for form, tag, relation in zip(sentence.forms, tags, relations, strict=True)
    ]
    centres = MARGIN + np.cumsum(widths) - np.array(widths) / 2
    backwards = is_right_to_left(sentence.forms)
    if backwards:
        centres = 2 * MARGIN + sum(widths) - centres
    levels = _levels(heads)
    top = MARGIN + (22.0 if title else 0.0)
    base = top + LEVEL * (max(levels) + 1)
    drawing = Drawing(2 * MARGIN + sum(widths), base + 52.0, title)
    if title:
        drawing.text(MARGIN, MARGIN + 4, title, SIZE)
    marks: list[tuple[float, float, str, str]] = []
    for word, head in enumerate(heads):
        sure = 1.0 if probabilities is None else float(probabilities[word])
        colour = PALETTE[1] if gold is not None and gold[word] != head else PALETTE[0]
        colour = mix(0.3 + 0.7 * sure, high=colour)
        tip = f"{sentence.forms[word]} <- {sentence.forms[head - 1] if head else 'root'}" + (
            "" if probabilities is None else f" {sure:.2f}"
        )
        x, handle = float(centres[word]), base - LEVEL * levels[word] - 8
        if head == 0:
            drawing.line(x, top, x, base - 4, colour, stroke_width=1.4)
            drawing.arrow_head(x, base - 2, 0, 1, fill=colour)
            drawing.text(x + 4, top + 10, relations[word] or "root", 10, fill=MUTED, tip=tip)
            continue
        # Arcs leave a head a little beside its middle, so that those of its two sides do not touch.
        start = float(centres[head - 1]) + (4 if (word > head - 1) != backwards else -4)
        drawing.path(
            f"M{start:.1f},{base - 4:.1f} C{start:.1f},{handle:.1f} {x:.1f},{handle:.1f} {x:.1f},{base - 4:.1f}",
            colour,
            tip=tip,
            stroke_width=1.4,
        )
        drawing.arrow_head(x, base - 2, 0, 1, fill=colour)
        if relations[word]:
            # The middle of such a curve lies three quarters of the way to its handles.
            y = base - 4 - 0.75 * (base - 4 - handle)
            marks.append(((start + x) / 2, y - 3, relations[word], tip))
    for x, y, relation, tip in marks:
        width = text_width(relation, 10)
        drawing.rect(x - width / 2, y - 8, width, 10, fill="#ffffff")
        drawing.text(x, y, relation, 10, "middle", MUTED, tip)
    for form, tag, x in zip(sentence.forms, tags, centres.tolist(), strict=True):
        drawing.text(x, base + 18, form, SIZE, "middle", INK)
        drawing.text(x, base + 34, tag, 10, "middle", MUTED)
    return drawing


def _levels(heads: Sequence[int]) -> list[int]:
    """Height of each word's arc, which lies above all arcs that it covers."""
    arcs = [(min(word, head - 1), max(word, head - 1)) if head else (word, word) for word, head in enumerate(heads)]
    levels = [0] * len(arcs)
    for number in sorted(range(len(arcs)), key=lambda i: arcs[i][1] - arcs[i][0]):
        left, right = arcs[number]
        if heads[number]:
            below = [levels[i] for i, (a, b) in enumerate(arcs) if left <= a and b <= right and i != number and a < b]
            levels[number] = 1 + max(below, default=0)
    return levels


def dependency_page(
    parser: DependencyParser,
    name: str,
    head: str | None,
    direction: str,
    dfa_states: int,
    sentences: Sequence[Sentence],
) -> str:
    """A page with the summary, frequent modifiers, the automaton of one head, and parsed sentences."""
    chosen = head or _branching_head(parser, direction)
    found = head_dfa(parser, chosen, direction, dfa_states)
    automaton = draw_automaton(graph_of_dfa(found.dfa), f"{direction} modifiers of {chosen}")
    sections = [
        ("Training", summary_table(parser.summary_)),
        (
            "Modifiers",
            html_table(["head", "direction", "none", "frequent first modifiers"], frequent_modifiers(parser)),
        ),
        (f"The {direction} automaton of {chosen}, made deterministic", LEGEND + str(automaton)),
    ]
    for sentence, parsed, marginals in zip(
        sentences, parser.predict(sentences), parser.marginals(sentences), strict=True
    ):
        sure = marginals[np.arange(len(parsed)), parsed.heads]
        gold = sentence.heads
        known = gold.tolist() if (gold >= 0).all() else None
        sections.append((" ".join(parsed.forms), str(draw_dependencies(parsed, probabilities=sure, gold=known))))
    return html_page(f"Dependency parser {name}", sections)


def _branching_head(parser: DependencyParser, direction: str) -> str:
    """The most frequent tag that usually has modifiers on this side: its automaton has something to show."""
    for symbol in range(1, len(parser.tags_)):
        wfa = parser.grammar_.automaton(symbol, DIRECTIONS[direction])
        if float(wfa.initial @ wfa.final) < 0.5:
            return parser.tags_[symbol]
    return parser.tags_[1]
