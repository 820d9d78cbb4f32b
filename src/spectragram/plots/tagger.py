"""Pictures of taggers: what hidden states stand for, and which labels follow which."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spectragram.plots.charts import bar_chart, heat_map
from spectragram.plots.page import html_page, html_table, save_page
from spectragram.tagging import Tagger
from spectragram.tagging.inspection import label_transitions, typical_observations

__all__ = ["save_tagger_page", "tagger_page"]


def tagger_page(tagger: Tagger, name: str, n_words: int = 8) -> str:
    """A page with sizes, states of the labels, typical observations and label transitions."""
    sections = [("Training", html_table(["", ""], [[k, str(v)] for k, v in tagger.summary_.items()]))]
    if tagger.members_:
        sizes = np.diff(tagger.members_[0].operators.label_starts)
        bars = {label: float(n) for label, n in zip(tagger.classes_, sizes, strict=True)}
        sections.append(("Hidden states", str(bar_chart(bars, x_label="states or dimensions"))))
    transitions = label_transitions(tagger)
    if transitions is not None:
        sections.append(
            (
                "Next label (columns) after a label (rows)",
                str(heat_map(transitions.tolist(), tagger.classes_, tagger.classes_)),
            )
        )
    rows = [[label, state, "  ".join(words)] for label, state, words in typical_observations(tagger, n_words)]
    if rows:
        sections.append(("Typical observations", html_table(["label", "state", "observations"], rows)))
    return html_page(f"Tagger {name}", sections)


def save_tagger_page(path: Path, tagger: Tagger, name: str, n_words: int = 8) -> None:
    """Write :func:`tagger_page` to a file."""
    save_page(path, tagger_page(tagger, name, n_words))
