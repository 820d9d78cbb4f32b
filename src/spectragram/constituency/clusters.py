"""Hidden states from spectral vectors: nodes of a label whose insides and outsides agree become one state.

Counting with clusters as states gives a proper probabilistic grammar at once (Narayan & Cohen 2015), and EM a start
that random ones do not reach.
"""

from __future__ import annotations

import numpy as np

from spectragram.constituency.projection import Projection
from spectragram.engine import map_threads
from spectragram.spectral.kmeans import k_means

__all__ = ["cluster_shares", "random_shares", "states_by_count"]

SOFT = 0.05
"""Share of a node spread evenly over all states: EM can still move it."""


def states_by_count(counts: np.ndarray, n_states: int) -> np.ndarray:
    """How many states a symbol gets: more for frequent ones, (count / 20) ** 0.6, at most ``n_states``.

    >>> states_by_count(np.array([30, 200, 600, 2000, 50000]), 16).tolist()
    [1, 4, 8, 16, 16]
    """
    return np.clip(np.round((counts / 20.0) ** 0.6), 1, n_states).astype(np.int32)


def cluster_shares(
    projections: list[Projection], n_states: np.ndarray, n_nodes: int, random_state: int = 0, n_jobs: int = 1
) -> np.ndarray:
    """How much of each node belongs to each state of its symbol, (n_nodes, largest number of states)."""
    shares = np.zeros((n_nodes, int(n_states.max())))

    def cluster(a: int) -> np.ndarray:
        return k_means(_coordinates(projections[a]), int(n_states[a]), seed=random_state)[0]

    several = [int(a) for a in np.flatnonzero(n_states > 1)]
    labels = dict(zip(several, map_threads(cluster, several, n_jobs), strict=True))
    for a, projection in enumerate(projections):
        k = int(n_states[a])
        shares[projection.nodes, :k] = SOFT / k
        shares[projection.nodes, labels.get(a, 0)] += 1.0 - SOFT
    return shares


def random_shares(symbol: np.ndarray, n_states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A start without knowledge: every node spread at random over the states of its symbol."""
    valid = np.arange(int(n_states.max())) < n_states[symbol][:, None]
    shares = rng.gamma(1.0, size=valid.shape) * valid
    return shares / shares.sum(axis=1, keepdims=True)


def _coordinates(projection: Projection) -> np.ndarray:
    """Inside and outside vectors, every dimension standardised and weighed by the root of its singular value."""
    both = np.hstack([projection.inside, projection.outside])
    spread = np.maximum(both.std(axis=0), 1e-9)
    return (both - both.mean(axis=0)) / spread * np.sqrt(np.tile(projection.sigma, 2))
