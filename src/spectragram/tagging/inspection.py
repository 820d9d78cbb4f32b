"""What the hidden states of a trained tagger stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spectragram.tagging.lexicon import EXACT, INITIAL, SEPARATOR, CellVectors

if TYPE_CHECKING:
    from spectragram.tagging.estimator import Tagger

__all__ = ["label_transitions", "typical_observations"]


def typical_observations(tagger: Tagger, n: int = 8) -> list[tuple[str, int, list[str]]]:
    """(label, state, its most typical observations) of the first member, where its states are probabilities.

    Typical is what the state sees often, compared with the other states of its label: C(x,a) p(h|x,a) / p(h|a).
    """
    member = tagger.members_[0] if tagger.members_ else None
    emissions = member.emissions if member else None
    if (
        member is None
        or not isinstance(emissions, CellVectors)
        or len(member.operators.pair_state) != len(emissions.root)
    ):
        return []
    lexicon = tagger._trained.lexicon
    node = np.repeat(np.arange(len(lexicon.keys)), np.diff(lexicon.cell_starts))
    exact = (EXACT + SEPARATOR, INITIAL + SEPARATOR)
    is_exact = np.array([key.startswith(exact) for key in lexicon.keys])[node]
    rows = []
    for a, label in enumerate(tagger.classes_):
        own = np.flatnonzero(is_exact & (lexicon.cell_labels == a))
        for h in range(emissions.starts[a + 1] - emissions.starts[a]):
            weight = lexicon.cell_counts[own] * emissions.vectors[own, h]
            best = own[np.argsort(-weight, kind="stable")[:n]]
            rows.append((label, h, ["/".join(lexicon.keys[x].split(SEPARATOR)[1:]) for x in node[best]]))
    return rows


def label_transitions(tagger: Tagger) -> np.ndarray | None:
    """Mean over states of p(next label | label), (n_labels, n_labels), where states are probabilities."""
    member = tagger.members_[0] if tagger.members_ else None
    if member is None or len(member.operators.pair_state) != len(member.operators.initial):
        return None
    starts = member.operators.label_starts[:-1]
    to_labels = np.add.reduceat(member.operators.transition, starts, axis=1)
    return np.add.reduceat(to_labels, starts, axis=0) / np.diff(member.operators.label_starts)[:, None]
