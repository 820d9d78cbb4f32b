"""Hidden states of tokens from clusters of their projected views (:mod:`spectragram.learning.states`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.learning import states
from spectragram.learning.views import rows_by_label

__all__ = ["cluster_states", "states_per_label"]


def states_per_label(labels: np.ndarray, n_labels: int, n_states: int, tokens_a_state: int) -> np.ndarray:
    """Number of hidden states of each label, growing with its frequency."""
    return states.states_by_count(np.bincount(labels, minlength=n_labels), n_states, per_state=tokens_a_state)


def cluster_states(
    labels: np.ndarray,
    sizes: np.ndarray,
    views: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    seed: int,
    n_jobs: int = 1,
) -> np.ndarray:
    """A hidden state for every token, int64 (n_tokens,).

    Parameters
    ----------
    labels : int array, shape (n_tokens,)
    sizes : int array, shape (n_labels,)
        Number of states of each label.
    views : pairs of arrays, shapes (n_tokens, n_dims) and (n_labels, n_dims)
        Coordinates of tokens, and singular values of the dimensions.
    seed, n_jobs : int
    """
    rows_of = rows_by_label(labels, len(sizes))

    def coordinates(a: int) -> np.ndarray:
        own = [(view[rows_of[a]], sigma[a]) for view, sigma in views]
        # Single precision halves the time of k-means.
        return states.joint_coordinates(own, power=1.0, equal_lengths=True).astype(np.float32)

    return states.cluster_rows(rows_of, sizes, coordinates, seed=seed, n_jobs=n_jobs)
