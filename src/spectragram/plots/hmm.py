"""Pictures of hidden Markov models: states, and the moves between them."""

from __future__ import annotations

import numpy as np

from spectragram.automata.wfa import WFA
from spectragram.hmm import HMM
from spectragram.hmm.inspection import state_rows
from spectragram.plots.automata import draw_automaton, graph_of_wfa
from spectragram.plots.page import html_page, html_table, summary_table

__all__ = ["hmm_page", "hmm_svg"]


def hmm_svg(model: HMM) -> str:
    """States and the more probable moves between them."""
    moves = WFA(model.startprob_, model.transmat_[None], np.zeros(len(model.startprob_)))
    return str(draw_automaton(graph_of_wfa(moves, ["p"])))


def hmm_page(model: HMM, name: str) -> str:
    """A page with the summary of training, the picture and a table of the states."""
    sections = [
        ("Training", summary_table(model.summary_)),
        ("Moves between states", hmm_svg(model)),
        ("States", html_table(*state_rows(model.model_))),
    ]
    return html_page(f"Hidden Markov model {name}", sections)
