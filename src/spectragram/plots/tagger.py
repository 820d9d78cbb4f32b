"""Pictures of taggers: what their hidden states stand for, and which labels follow which."""

from __future__ import annotations

import numpy as np

from spectragram.plots.charts import bar_chart, heat_map
from spectragram.plots.page import html_page, html_table, summary_table
from spectragram.tagging import Tagger
from spectragram.tagging.inspection import label_transitions, typical_observations

__all__ = ["states_of_labels", "tagger_page"]


def tagger_page(tagger: Tagger, name: str, n_words: int = 8) -> str:
    """A page with sizes, states of the labels, typical observations and label transitions."""
    sections = [("Training", summary_table(tagger.summary_))]
    states = states_of_labels(tagger)
    if states:
        sections.append(("Hidden states", str(bar_chart(states, x_label="states or dimensions"))))
    transitions = label_transitions(tagger)
    if transitions is not None:
        sections.append(
            (
                "Next label (columns) after a label (rows)",
                str(heat_map(transitions.tolist(), tagger.labels_, tagger.labels_)),
            )
        )
    rows = [[label, state, "  ".join(words)] for label, state, words in typical_observations(tagger, n_words)]
    if rows:
        sections.append(("Typical observations", html_table(["label", "state", "observations"], rows)))
    return html_page(f"Tagger {name}", sections)


def states_of_labels(tagger: Tagger) -> dict[str, float]:
    """The number of hidden states of each label; empty for taggers without members."""
    if not tagger.members_:
        return {}
    sizes = np.diff(tagger.members_[0].operators.label_starts)
    return {str(label): float(n) for label, n in zip(tagger.labels_, sizes, strict=True)}
