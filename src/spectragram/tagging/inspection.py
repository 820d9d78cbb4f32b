"""What the hidden states of a trained tagger stand for, and which labels follow which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spectragram.tagging.lexicon import CellVectors

if TYPE_CHECKING:
    from spectragram.tagging.estimator import Tagger

__all__ = ["label_transitions", "typical_observations"]


def typical_observations(tagger: Tagger, n: int = 8) -> list[tuple[str, int, list[str]]]:
    """(label, state, its most typical observations) of the first member; empty if its states have no probabilities.

    Observations are ranked by C(x,a) p(h|x,a) / p(h|a): those that the state sees often, compared with the other
    states of its label.
    """
    member = tagger.members_[0] if tagger.members_ else None
    emissions = member.emissions if member else None
    if (
        member is None
        or not isinstance(emissions, CellVectors)
        or len(member.operators.pair_state) != len(emissions.root)
    ):
        return []
    tree = tagger.model_.lexicon.tree
    names = {node: "/".join(observation) for node, observation in tagger.model_.lexicon.exact()}
    is_exact = np.zeros(len(tree.keys), bool)
    is_exact[list(names)] = True
    rows = []
    for a, label in enumerate(tagger.labels_):
        own = np.flatnonzero(is_exact[tree.cell_nodes] & (tree.cell_labels == a))
        for h in range(emissions.starts[a + 1] - emissions.starts[a]):
            weight = tree.cell_counts[own] * emissions.vectors[own, h]
            best = own[np.argsort(-weight, kind="stable")[:n]]
            rows.append((label, h, [names[node] for node in tree.cell_nodes[best].tolist()]))
    return rows


def label_transitions(tagger: Tagger) -> np.ndarray | None:
    """p(next label | label), (n_labels, n_labels), averaged over the states of a label.

    None if the states have no probabilities, as those of ``spectral``.
    """
    member = tagger.members_[0] if tagger.members_ else None
    if member is None or len(member.operators.pair_state) != len(member.operators.initial):
        return None
    starts = member.operators.label_starts[:-1]
    to_labels = np.add.reduceat(member.operators.transition, starts, axis=1)
    return np.add.reduceat(to_labels, starts, axis=0) / np.diff(member.operators.label_starts)[:, None]
