"""The hierarchy of word clusters: a tree of its upper levels, and a page to walk through all of it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from spectragram.plots.page import html_page, summary_table
from spectragram.plots.svg import INK, MUTED, Drawing, clean, mix, text_width

if TYPE_CHECKING:
    from spectragram.clusters import WordClusters

__all__ = ["clusters_page", "hierarchy_drawing"]

ROW, STEP, SIZE = 19.0, 46.0, 12.0
"""Height of a row, width of a level and size of letters, in pixels. Chosen by eye."""

_EXPLORER_STYLE = (
    "<style>.tree details{margin-left:1.1rem;border-left:1px solid #e4e7eb;padding-left:.4rem}"
    ".tree summary{cursor:pointer}.tree code{color:#2563eb}.tree span{color:#7b8794}"
    ".tree p{margin:.1rem 0 .1rem 1.1rem}</style>"
)


class _Nodes:
    """Every node of the tree: its path, its numbers of words and tokens, its most frequent words.

    Nodes below m are clusters, node m + t comes from merge t.
    """

    def __init__(self, model: WordClusters, n_words: int) -> None:
        m = len(model.cluster_paths_)
        counts = model.vocabulary_.counts
        ranked: list[list[int]] = [[] for _ in range(m)]
        for word in np.argsort(-counts, kind="stable").tolist():
            ranked[model.clusters_[word]].append(word)
        self.n_leaves = m
        self.merges = model.merges_.tolist()
        self.n_words = [len(words) for words in ranked]
        self.n_tokens = np.bincount(model.clusters_, weights=counts, minlength=m).astype(int).tolist()
        top = [words[:n_words] for words in ranked]
        self.paths = list(model.cluster_paths_) + [""] * len(self.merges)
        for first, second in self.merges:
            self.n_words.append(self.n_words[first] + self.n_words[second])
            self.n_tokens.append(self.n_tokens[first] + self.n_tokens[second])
            top.append(sorted(top[first] + top[second], key=lambda word: -counts[word])[:n_words])
        for t in range(len(self.merges) - 1, -1, -1):
            for bit, child in enumerate(self.merges[t]):
                self.paths[child] = self.paths[m + t] + str(bit)
        self.words = [[model.vocabulary_.words[word] for word in words] for words in top]

    def children(self, node: int) -> list[int]:
        return self.merges[node - self.n_leaves] if node >= self.n_leaves else []

    @property
    def root(self) -> int:
        return len(self.paths) - 1


def hierarchy_drawing(model: WordClusters, depth: int = 5, n_words: int = 9) -> Drawing:
    """The first ``depth`` levels of the hierarchy, with the most frequent words of each node at the end."""
    nodes = _Nodes(model, n_words)
    height: dict[int, float] = {}
    ends: list[int] = []
    # Depth first without recursion; a node is placed when its children are.
    waiting = [(nodes.root, 0, False)]
    while waiting:
        node, level, ready = waiting.pop()
        below = nodes.children(node) if level < depth else []
        if not below:
            height[node] = 30 + ROW * len(ends)
            ends.append(node)
        elif ready:
            height[node] = sum(height[child] for child in below) / 2
        else:
            waiting.append((node, level, True))
            waiting.extend((child, level + 1, False) for child in reversed(below))
    texts = {node: f"{' '.join(nodes.words[node])}{' ...' if nodes.n_words[node] > n_words else ''}" for node in ends}
    left = 20 + STEP * depth
    labels = max(text_width(nodes.paths[node], SIZE) for node in ends) + 70
    width = left + labels + max(text_width(text, SIZE) for text in texts.values()) + 20
    drawing = Drawing(width, 40 + ROW * len(ends), "Hierarchy of word clusters")
    most = max(nodes.n_tokens)
    for node, y in height.items():
        x = 20 + STEP * len(nodes.paths[node])
        if node in texts:
            drawing.line(x, y, left, y, stroke=mix(0.25, high=MUTED))
            drawing.text(left + 8, y + 4, nodes.paths[node], SIZE, fill=MUTED)
            drawing.text(left + labels - 12, y + 4, str(nodes.n_words[node]), SIZE - 2, "end", MUTED)
            drawing.text(left + labels, y + 4, texts[node], SIZE, tip=f"{nodes.n_tokens[node]} tokens")
            continue
        for child in nodes.children(node):
            drawing.polyline([(x, y), (x, height[child]), (x + STEP, height[child])], stroke=MUTED)
    for node, y in height.items():
        share = (nodes.n_tokens[node] / most) ** 0.5
        tip = f"{nodes.paths[node] or 'root'}: {nodes.n_words[node]} words, {nodes.n_tokens[node]} tokens"
        drawing.circle(20 + STEP * len(nodes.paths[node]), y, 2 + 5 * share, fill=mix(0.35 + 0.65 * share), tip=tip)
    drawing.text(left + labels - 12, 14, "words", SIZE - 2, "end", INK)
    drawing.text(left + labels, 14, "most frequent", SIZE - 2, fill=INK)
    return drawing


def _explorer(nodes: _Nodes, open_levels: int = 3) -> str:
    """Nested, foldable lists: children are built before the nodes that hold them, however deep the tree."""
    parts: list[str] = []
    for node, path in enumerate(nodes.paths):
        words = escape(clean(" ".join(nodes.words[node])))
        size = f"{nodes.n_words[node]} words, {nodes.n_tokens[node]} tokens"
        head = f"<code>{path or 'root'}</code> {words} <span>{size}</span>"
        below = nodes.children(node)
        if not below:
            parts.append(f"<p>{head}</p>")
            continue
        inside = "".join(parts[child] for child in below)
        for child in below:
            parts[child] = ""
        state = " open" if len(path) < open_levels else ""
        parts.append(f"<details{state}><summary>{head}</summary>{inside}</details>")
    return f'{_EXPLORER_STYLE}<div class="tree">{parts[-1]}</div>'


def clusters_page(model: WordClusters, name: str, n_words: int = 12) -> str:
    """A page with the summary of training, a picture of the upper levels, and the whole hierarchy to unfold."""
    sections = [
        ("Training", summary_table(model.summary_)),
        ("Upper levels", str(hierarchy_drawing(model))),
        ("All clusters", _explorer(_Nodes(model, n_words))),
    ]
    return html_page(f"Word clusters {name}", sections)
