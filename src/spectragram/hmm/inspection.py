"""What ``inspect`` shows of a hidden Markov model."""

from __future__ import annotations

import numpy as np

from spectragram.hmm.emissions import Categorical
from spectragram.hmm.model import Model

__all__ = ["state_rows"]

SHOWN = 5
"""Symbols, numbers of a mean and next states shown for each state. Chosen by hand: rows stay on one line."""


def state_rows(model: Model) -> tuple[list[str], list[list[str]]]:
    """A header and a row for each state: how often it starts a sequence, what it emits, where it leads."""
    rows = []
    for state in range(model.n_states):
        if isinstance(model.emissions, Categorical):
            emits = _largest(model.emissions.table[state])
        else:
            emits = " ".join(f"{value:.4g}" for value in model.emissions.means[state][:SHOWN])
        rows.append([str(state), f"{model.start[state]:.3f}", emits, _largest(model.moves[state])])
    return ["state", "start", "symbols" if isinstance(model.emissions, Categorical) else "mean", "next states"], rows


def _largest(chances: np.ndarray) -> str:
    best = (-chances).argsort(kind="stable")[:SHOWN]
    return " ".join(f"{i}:{chances[i]:.3f}" for i in best)
