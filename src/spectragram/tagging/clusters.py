"""Hidden states from spectral vectors: tokens of a label whose views agree become one state.

The concatenated projections of a token (future, present, destiny) are clustered label by label. Counting with these
clusters as states gives a proper probabilistic model at once, and EM a start that random ones do not reach.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.engine import map_threads
from spectragram.spectral.kmeans import k_means

__all__ = ["cluster_states", "states_per_label"]


def states_per_label(labels: np.ndarray, n_labels: int, n_states: int, tokens_a_state: int) -> np.ndarray:
    """Number of hidden states of each label, growing with its frequency."""
    counts = np.bincount(labels, minlength=n_labels)
    return np.clip(counts // tokens_a_state, 1, n_states)


def cluster_states(
    labels: np.ndarray,
    sizes: np.ndarray,
    views: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    seed: int,
    n_jobs: int = 1,
) -> np.ndarray:
    """A hidden state for every token, int64 (n_tokens,).

    ``views`` are pairs of coordinates (n_tokens, n_dims) and singular values (n_labels, n_dims); ``sizes`` (n_labels,)
    the number of states of each label.
    """
    states = np.zeros(len(labels), np.int64)
    refined = [a for a in range(len(sizes)) if sizes[a] > 1]
    rows_of = {a: np.flatnonzero(labels == a) for a in refined}

    def cluster(a: int) -> np.ndarray:
        rows = rows_of[a]
        vectors = np.concatenate([_weighed(view[rows], sigma[a]) for view, sigma in views], axis=1)
        return k_means(vectors.astype(np.float32), int(sizes[a]), seed=seed)[0]

    for a, found in zip(refined, map_threads(cluster, refined, n_jobs), strict=True):
        states[rows_of[a]] = found
    return states


def _weighed(view: np.ndarray, singular_values: np.ndarray) -> np.ndarray:
    """Every dimension standardised and weighed by its singular value; all views of the same total length."""
    kept = singular_values > 0
    scaled = view[:, kept] / np.maximum(view[:, kept].std(axis=0), 1e-9) * singular_values[kept]
    return scaled / max(1e-9, float(np.sqrt((scaled**2).sum(axis=1).mean())))
