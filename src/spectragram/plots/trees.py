"""Drawings of constituency trees and of the posteriors of a parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spectragram.data.trees import Tree, fold
from spectragram.files import split_words
from spectragram.plots.charts import bar_chart, measures_chart
from spectragram.plots.page import html_page, html_table, summary_table
from spectragram.plots.svg import INK, MUTED, PALETTE, Drawing, mix, text_width

if TYPE_CHECKING:
    from spectragram.constituency import ConstituencyParser
    from spectragram.constituency.brackets import LabelSet, SpanPosteriors

__all__ = ["constituency_page", "draw_chart", "draw_tree", "states_chart"]

LEVEL, GAP, MARGIN, SIZE = 46.0, 14.0, 16.0, 13.0
"""Pixels between levels of a tree, between words, around the drawing, and the font size. Chosen by eye, like all sizes
and colours of drawings."""
LEAST_DRAWN = 0.01
"""Spans whose best label is less probable stay empty. Chosen by eye: the chart shows what could be right."""
WHITE_TEXT = 0.55
"""Text is white on cells that are more probable, since they are dark."""


def draw_tree(tree: Tree, title: str = "") -> Drawing:
    """A tree with its words on one line at the bottom and every label above the middle of its children."""
    leaves = tree.leaves()
    depth = fold(tree, lambda node, below: 1 + max(below, default=0))
    # A word takes the width that it or its tag needs.
    widths = [max(text_width(word, SIZE), text_width(tag, SIZE)) + GAP for word, tag in tree.pos()]
    centres = MARGIN + np.cumsum(widths) - np.array(widths) / 2
    head = 26.0 if title else 0.0
    bottom = head + MARGIN + LEVEL * depth
    drawing = Drawing(2 * MARGIN + float(sum(widths)), bottom + SIZE + MARGIN, title)
    if title:
        drawing.text(MARGIN, 20, title, size=14, font_weight="bold")
    position = iter(zip(centres.tolist(), leaves, strict=True))

    def place(node: Tree, level: int) -> float:
        y = head + MARGIN + SIZE + LEVEL * level
        if node.word is not None:
            x, word = next(position)
            drawing.line(x, y + 5, x, bottom - SIZE, stroke=MUTED, stroke_dasharray="2,3")
            drawing.text(x, bottom, word, size=SIZE, anchor="middle")
            drawing.text(x, y, node.label, size=SIZE, anchor="middle", fill=PALETTE[2])
            return x
        below = [place(child, level + 1) for child in node.children]
        x = (below[0] + below[-1]) / 2
        for child in below:
            drawing.line(x, y + 5, child, y + LEVEL - SIZE, stroke=MUTED)
        drawing.text(x, y, node.label, size=SIZE, anchor="middle", fill=PALETTE[0], font_weight="bold")
        return x

    place(tree, 0)
    return drawing


def draw_chart(words: list[str], posteriors: SpanPosteriors, labels: LabelSet, title: str = "") -> Drawing:
    """The most probable label of every span, as a triangle of cells over the words; darker is more probable."""
    n = len(words)
    side = max(38.0, max(text_width(word, 11) for word in words) + 8)
    head = 30.0 if title else 8.0
    drawing = Drawing(2 * MARGIN + side * n, head + 26.0 * n + 40.0, title)
    if title:
        drawing.text(MARGIN, 20, title, size=14, font_weight="bold")
    floor = head + 26.0 * n
    for i, j, row in posteriors:
        best = int(row.argmax()) if len(row) else 0
        if not len(row) or row[best] < LEAST_DRAWN:
            continue
        x, y = MARGIN + side * (i + j - 1) / 2, floor - 26.0 * (j - i)
        tip = f"{labels.phrases[best]} over '{' '.join(words[i:j])}': {row[best]:.3f}"
        drawing.rect(x + 1, y + 1, side - 2, 24, fill=mix(float(row[best])), tip=tip, rx=3)
        ink = "#ffffff" if row[best] > WHITE_TEXT else INK
        drawing.text(x + side / 2, y + 17, labels.phrases[best], size=11, anchor="middle", fill=ink)
    for i, word in enumerate(words):
        x = MARGIN + side * (i + 0.5)
        tag = labels.tags[int(posteriors.tags[i].argmax())]
        drawing.text(x, floor + 14, tag, size=10, anchor="middle", fill=PALETTE[2])
        drawing.text(x, floor + 29, word, size=11, anchor="middle")
    return drawing


def constituency_page(parser: ConstituencyParser, name: str, sentence: str = "") -> str:
    """An HTML page about a trained parser: sizes, states of labels, what states prefer, and a sentence."""
    from spectragram.constituency.inspection import state_rows

    model = parser.model_
    sections = [
        ("Training", summary_table(parser.summary_)),
        ("States of the most frequent labels", str(states_chart(parser, 25))),
    ]
    words = split_words(sentence)
    if words:
        (tree,) = parser.predict([words])
        (posteriors,) = parser.marginals([words])
        sections.append(("Its tree", str(draw_tree(tree))))
        if model.probabilistic:
            sections.append(("Surprisal word by word", str(measures_chart(parser.measure([words])[0]))))
        sections.append(("Posteriors of all spans", str(draw_chart(words, posteriors, model.labels))))
    if model.probabilistic:
        header = ["label", "state", "share", "most probable"]
        sections.append(("What the states prefer", html_table(header, state_rows(model, 5))))
    return html_page(f"Constituency parser {name}", sections)


def states_chart(parser: ConstituencyParser, n_labels: int) -> Drawing:
    """Number of hidden states of the most frequent labels, as bars."""
    from spectragram.constituency.inspection import label_rows

    rows = label_rows(parser.model_)[:n_labels]
    return bar_chart({str(label): float(m) for label, _, m in rows}, x_label="hidden states")
