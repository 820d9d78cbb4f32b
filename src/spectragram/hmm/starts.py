"""Where EM starts: clusters of places whose pasts, presents and futures are alike, or chance.

EM only climbs, so its start decides which optimum it finds. Hidden states make neighbouring observations depend on each
other, and the singular vectors of the cross moment of neighbours span that dependence. Places are clustered by

    [ V' phi(x_{t-1}),  phi(x_t),  U' phi(x_{t+1}) ]        Omega = E[phi(x_t) phi(x_{t+1})'] = U Sigma V'

where phi are symbols, scaled by the square roots of their counts, or standardised vectors. With clusters as states,
counting gives a whole model.
"""

from __future__ import annotations

import numpy as np

from spectragram.hmm.em import Expected, Prepared, maximize
from spectragram.hmm.model import Model
from spectragram.learning.states import k_means, nearest_centres

__all__ = ["random_start", "spectral_start"]

DIMENSIONS = 20
"""Most singular vectors that are used: more are noise and slow k-means. Chosen by hand."""
CLUSTERED = 50_000
"""k-means sees at most this many places; the others go to the nearest centre. Chosen by hand to bound its time."""
RUNS, ITERATIONS, BATCH = 3, 100, 4096
"""Runs of k-means, iterations and rows in a step. Chosen by hand to bound its time."""
LEAST_SPREAD = 1e-9
"""A guard against division by zero; any tiny value does."""
SOFTNESS = 0.1
"""Share of every count that is spread over all states, since EM never leaves a zero. Chosen by hand."""
EVENNESS = 5.0
"""Shape of the random posteriors: the larger, the more even. Chosen by hand."""


def spectral_start(prepared: Prepared, n_states: int, full: bool, prior: float, rng: np.random.Generator) -> Model:
    """Cluster places by past, present and future, and count."""
    rows = _described(prepared, n_states)
    chosen = rng.permutation(len(rows))[:CLUSTERED]
    n_clusters = min(n_states, len(np.unique(rows[chosen], axis=0)))
    _, centres = k_means(
        rows[chosen], n_clusters, seed=int(rng.integers(2**31)), n_init=RUNS, max_iter=ITERATIONS, batch_size=BATCH
    )
    shares = np.full((len(rows), n_states), SOFTNESS / n_states)
    shares[np.arange(len(rows)), nearest_centres(rows, centres)] += 1.0 - SOFTNESS
    return _counted(prepared, shares, full, prior)


def random_start(prepared: Prepared, n_states: int, full: bool, prior: float, rng: np.random.Generator) -> Model:
    """Random posteriors of symbols, or nearly even ones of places around random vectors; counted."""
    values = prepared.data.values
    if prepared.data.discrete:
        shares = rng.dirichlet(np.full(n_states, 1.0), size=prepared.n_symbols)[values]
    else:
        centres = values[rng.choice(len(values), n_states, replace=len(values) < n_states)]
        shares = rng.dirichlet(np.full(n_states, EVENNESS), size=len(values))
        shares[np.arange(len(values)), nearest_centres(values, centres)] += 1.0
        shares /= shares.sum(axis=1, keepdims=True)
    return _counted(prepared, shares, full, prior)


def _described(prepared: Prepared, n_states: int) -> np.ndarray:
    """The vectors of all places, (n, e)."""
    data = prepared.data
    inner = _has_next(data.offsets)
    if data.discrete:
        k, values = prepared.n_symbols, data.values
        pairs = np.bincount(values[:-1][inner] * k + values[1:][inner], minlength=k * k).reshape(k, k)
        scale = 1.0 / np.sqrt(np.bincount(values, minlength=k) + 1.0)
        left, sigma, right = np.linalg.svd(scale[:, None] * pairs * scale, full_matrices=False)
        d = min(k, DIMENSIONS, n_states + 1)
        # A row for each symbol; frequent symbols and strong dependence count more.
        before, after = (scale[:, None] * part[:, :d] * sigma[:d] for part in (left, right.T))
        return _side_by_side(before[values], np.hstack([before, after])[values], after[values], inner)
    spread = np.maximum(data.values.std(axis=0), LEAST_SPREAD)
    standard = (data.values - data.values.mean(axis=0)) / spread
    left, sigma, right = np.linalg.svd(standard[:-1][inner].T @ standard[1:][inner] / max(1, int(inner.sum())))
    d = min(len(sigma), DIMENSIONS)
    return _side_by_side(standard @ left[:, :d] * sigma[:d], standard, standard @ right[:d].T * sigma[:d], inner)


def _side_by_side(before: np.ndarray, here: np.ndarray, after: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Past, present and future of every place; what lies outside the sequence is zero."""
    past, future = np.zeros_like(before), np.zeros_like(after)
    past[1:][inner] = before[:-1][inner]
    future[:-1][inner] = after[1:][inner]
    rows = np.hstack([past, here, future])
    return rows / max(float(np.sqrt((rows**2).mean())), LEAST_SPREAD)


def _has_next(offsets: np.ndarray) -> np.ndarray:
    """For every place but the last: whether the next one is in the same sequence, (n - 1,)."""
    inner = np.ones(int(offsets[-1]), bool)
    inner[offsets[1:][np.diff(offsets) > 0] - 1] = False
    return inner[:-1]


def _counted(prepared: Prepared, shares: np.ndarray, full: bool, prior: float) -> Model:
    """The model of known posteriors (n, m), in which neighbours are independent given them."""
    data, inner = prepared.data, _has_next(prepared.data.offsets)
    starts = shares[data.offsets[:-1][np.diff(data.offsets) > 0]].sum(axis=0)
    moves = shares[:-1][inner].T @ shares[1:][inner]
    emitted = shares
    if data.discrete:
        emitted = np.zeros((prepared.n_symbols, shares.shape[1]))
        np.add.at(emitted, data.values, shares)
    return maximize(prepared, Expected(starts, moves, emitted, 0.0), prior, full)
