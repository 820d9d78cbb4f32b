"""The paper's deterministic baselines (section 7.1): DET has one state, DET+F another for the first modifier.

They are what EM's maximisation makes of hard counts, so they are smoothed over heads as EM is.
"""

from __future__ import annotations

import numpy as np

from spectragram.dependency.em import Counts, maximize
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import Grammar, root_distribution

__all__ = ["learn_deterministic"]


def learn_deterministic(
    sequences: ModifierSequences, tag_counts: np.ndarray, coarse_of: np.ndarray, *, first: bool
) -> Grammar:
    """DET, or with ``first`` DET+F; ``tag_counts`` and ``coarse_of`` are (k,)."""
    k, m = sequences.n_symbols, 2 if first else 1
    lengths = np.diff(sequences.offsets)
    automaton = np.repeat(np.arange(2 * k), np.diff(sequences.blocks))
    # The state in which each modifier is generated: 0 for the first of its sequence, m - 1 for others.
    place = np.arange(len(sequences.tokens)) - np.repeat(sequences.offsets[:-1], lengths)
    state = np.where(place == 0, 0, m - 1)
    starts, stops = np.zeros((2 * k, m)), np.zeros((2 * k, m))
    moves = np.zeros((2 * k, k, m, m))
    starts[:, 0] = np.bincount(automaton, minlength=2 * k)
    np.add.at(stops, (automaton, np.where(lengths == 0, 0, m - 1)), 1.0)
    np.add.at(moves[..., m - 1], (np.repeat(automaton, lengths), sequences.tokens, state), 1.0)
    parts = [
        maximize(Counts(starts[side], moves[side], stops[side]), coarse_of) for side in (slice(0, k), slice(k, None))
    ]
    return Grammar(
        root_distribution(sequences.roots, tag_counts),
        np.stack([part.starts for part in parts]),
        np.stack([part.moves for part in parts]),
        np.stack([part.stops for part in parts]),
    )
