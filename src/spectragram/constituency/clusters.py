"""Hidden states of nodes from clusters of their projections (:mod:`spectragram.learning.states`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.constituency.projection import Projection
from spectragram.learning import states

__all__ = ["cluster_shares", "random_shares", "states_by_count"]

SOFT = 0.05
"""Share of a node that is spread evenly over all states, so that EM can still move it. Chosen by hand on
wsj-sample dev."""
NODES_A_STATE, GROWTH = 20.0, 0.6
"""A symbol seen n times gets (n / 20) ** 0.6 states: more for frequent symbols, but not in proportion. Tuned on
wsj-sample dev."""
WEIGHT_OF_SIGMA = 0.5
"""Dimensions are weighted by their singular value to this power. Tuned on wsj-sample dev."""


def states_by_count(counts: np.ndarray, n_states: int) -> np.ndarray:
    """Number of states of each symbol, at most ``n_states``.

    >>> states_by_count(np.array([30, 200, 600, 2000, 50000]), 16).tolist()
    [1, 4, 8, 16, 16]
    """
    return states.states_by_count(counts, n_states, per_state=NODES_A_STATE, power=GROWTH, whole=np.round)


def cluster_shares(
    projections: Sequence[Projection], n_states: np.ndarray, n_nodes: int, random_state: int = 0, n_jobs: int = 1
) -> np.ndarray:
    """How much of each node belongs to each state of its symbol, (n_nodes, largest number of states)."""

    def coordinates(a: int) -> np.ndarray:
        projection = projections[a]
        views = [(projection.inside, projection.sigma), (projection.outside, projection.sigma)]
        return states.joint_coordinates(views, power=WEIGHT_OF_SIGMA)

    nodes = [projection.nodes for projection in projections]
    state = states.cluster_rows(nodes, n_states, coordinates, seed=random_state, n_jobs=n_jobs)
    sizes = np.empty(n_nodes, np.int32)
    for a, own in enumerate(nodes):
        sizes[own] = n_states[a]
    return states.state_shares(state, sizes, soft=SOFT)


def random_shares(symbol: np.ndarray, n_states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A start without knowledge: every node spread at random over the states of its symbol."""
    return states.random_shares(n_states[symbol], rng)
