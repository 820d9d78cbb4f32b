"""Refinement HMMs by anchors: probabilities without negative values and without local optima.

Cohen & Collins (2014) carried over to sequences. Given label a and state h the past is independent of everything at
and after the token. If every state has an *anchor*, a feature of the future that occurs with that state alone, then

    E[past | event, a] = sum_h p(h | event, a) v_h,        v_h = E[past | anchor of h, a]

for every event at or after the token, and the weights are found by least squares over the simplex:

    event                     gives
    none                      p(h|a)
    the observation is x      p(h|x,a), hence o(x|a,h)
    the sequence ends         f(*|a,h)
    the next label is b       with w_k = E[future | b,k], E[past x next future | a,b] = sum p(h,k|a,b) v_h x w_k,
                              hence t(b,k|a,h)
    (the token is the first)  E[future | first, a] = sum_k p(k|first,a) w_k, hence pi(a,k)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.engine import map_threads
from spectragram.learning.word_cells import Cells
from spectragram.spectral.anchors import find_anchors
from spectragram.spectral.simplex import simplex_least_squares
from spectragram.tagging.em import CellEmissions, RefinedChain, TrainingChain, chain_from_counts
from spectragram.tagging.lexicon import CellVectors
from spectragram.tagging.member import Member
from spectragram.tagging.projection import Projection, with_constant
from spectragram.tagging.training import Training

__all__ = ["PivotModel", "learn_pivot", "pivot_chain"]

ANCHOR_TOKENS = 30
"""Rarer features are extreme by chance. Chosen by hand, not tuned."""
SMALLEST_SHARE = 1e-3
"""States with a smaller share of their label are dropped: nothing could be estimated for them. Chosen by hand, not
tuned."""
MIX_WITH_LABEL = 0.1
"""Share of an emission that does not depend on the state, as in EM (``EMISSION_MIX``)."""
RANK_TOLERANCE = 1e-6
"""Singular values below this share of the largest count as zero in the pseudo-inverse. A guard; any small value
does."""


@dataclass(frozen=True)
class PivotModel:
    """A model learned from anchors.

    Attributes
    ----------
    training : TrainingChain
        The training labels with the number of states that anchors gave each.
    chain : RefinedChain
    emissions : CellVectors
    """

    training: TrainingChain
    chain: RefinedChain
    emissions: CellVectors


@dataclass(frozen=True)
class _LabelStates:
    """States of one label: past means v_h (m, d), future means w_h (m, d), shares p(h|a) (m,)."""

    past: np.ndarray
    future: np.ndarray
    shares: np.ndarray


def learn_pivot(training: Training, seed: int, noise: float, *, iterate: bool) -> Member:
    """States by anchors, and EM from there if ``iterate``."""
    settings = training.settings
    along = training.along(max(settings.n_states - 1, 0), seed, noise)
    found = pivot_chain(
        training.labels,
        training.observed.offsets,
        training.n_labels,
        along,
        training.features["future"],
        training.cells,
        settings.n_states,
        n_jobs=training.n_jobs,
    )
    if not iterate:
        return Member(found.chain.operators(), found.emissions)
    emissions = CellEmissions(training.cells, found.training)
    emissions.model = found.emissions
    return training.refine(found.training, found.chain, emissions)[0]


def pivot_chain(
    labels: np.ndarray,
    offsets: np.ndarray,
    n_labels: int,
    projection: Projection,
    future_features: np.ndarray,
    cells: Cells,
    n_states: int,
    *,
    n_jobs: int = 1,
) -> PivotModel:
    """Learn from projected futures and pasts.

    Parameters
    ----------
    labels : int array, shape (n_tokens,)
    offsets : int array, shape (n_sequences + 1,)
    n_labels : int
    projection : Projection
        Of futures (left) and pasts (right).
    future_features : int array, shape (n_tokens, n_templates)
        Features that may become anchors.
    cells : Cells
        Of the lexicon.
    n_states, n_jobs : int
    """
    past, future = with_constant(projection.right), with_constant(projection.left)
    rows_of = [np.flatnonzero(labels == a) for a in range(n_labels)]

    def states_of(a: int) -> _LabelStates:
        rows, size = rows_of[a], min(n_states, int(projection.ranks[a]) + 1)
        return _label_states(past[rows, :size], future[rows, :size], future_features[rows], size)

    states = map_threads(states_of, range(n_labels), n_jobs)
    training = TrainingChain(labels, offsets, np.array([len(s.shares) for s in states]))
    return PivotModel(
        training,
        _chain(training, states, past, future),
        _emissions(training, states, past, cells, n_jobs),
    )


def _label_states(past: np.ndarray, future: np.ndarray, features: np.ndarray, size: int) -> _LabelStates:
    """Anchors of a label from the mean pasts of its features."""
    means = _feature_means(past, features) if size > 1 else np.zeros((0, size))
    size = min(size, len(means))
    if size < 2:
        return _LabelStates(past.mean(axis=0)[None], future.mean(axis=0)[None], np.ones(1))
    vertices = means[find_anchors(means[:, 1:], size)]
    shares = simplex_least_squares(past.mean(axis=0)[None], vertices)[0]
    vertices, shares = vertices[shares > SMALLEST_SHARE], shares[shares > SMALLEST_SHARE]
    shares /= shares.sum()
    # E[future past'] = sum_h p(h) w_h v_h'
    cross = future.T @ past / len(past)
    w = cross @ np.linalg.pinv(shares[:, None] * vertices, rcond=RANK_TOLERANCE)
    return _LabelStates(vertices, w.T, shares)


def _feature_means(past: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Mean past of every feature seen often enough."""
    flat = features.ravel()
    counts = np.bincount(flat)
    kept = np.flatnonzero(counts >= min(ANCHOR_TOKENS, max(1, len(past) // 2)))
    sums = np.stack([np.bincount(flat, np.repeat(column, features.shape[1]), len(counts)) for column in past.T], axis=1)
    return sums[kept] / counts[kept, None]


def _chain(training: TrainingChain, states: list[_LabelStates], past: np.ndarray, future: np.ndarray) -> RefinedChain:
    labels, starts, n_labels = training.labels, training.starts, len(states)
    n_states = int(starts[-1])
    moves, begins, ends = np.zeros((n_states, n_states)), np.zeros(n_states), np.zeros(n_states)
    last = np.zeros(len(labels), bool)
    last[training.offsets[1:] - 1] = True
    inner = np.flatnonzero(~last)
    key = labels[inner].astype(np.int64) * n_labels + labels[inner + 1]
    for pair in np.unique(key).tolist():
        a, b = divmod(pair, n_labels)
        tokens = inner[key == pair]
        v, w = states[a].past, states[b].future
        moment = past[tokens, : v.shape[1]].T @ future[tokens + 1, : w.shape[1]] / len(tokens)
        vertices = np.einsum("hi,kj->hkij", v, w).reshape(len(v) * len(w), -1)
        joint = simplex_least_squares(moment.reshape(1, -1), vertices).reshape(len(v), len(w))
        moves[starts[a] : starts[a + 1], starts[b] : starts[b + 1]] = len(tokens) * joint
    first = np.zeros(len(labels), bool)
    first[training.offsets[:-1]] = True
    for a, state in enumerate(states):
        own = slice(starts[a], starts[a + 1])
        ends[own] = _expected(past, last & (labels == a), state.past)
        begins[own] = _expected(future, first & (labels == a), state.future)
    return chain_from_counts(training, begins, moves, ends)


def _expected(view: np.ndarray, chosen: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """Expected number of the chosen tokens in each state, from their mean view."""
    n = int(chosen.sum())
    if n == 0:
        return np.zeros(len(vertices))
    return n * simplex_least_squares(view[chosen, : vertices.shape[1]].mean(axis=0)[None], vertices)[0]


def _emissions(
    training: TrainingChain, states: list[_LabelStates], past: np.ndarray, cells: Cells, n_jobs: int
) -> CellVectors:
    """p(h|x,a) / p(h|a) of every cell, from the mean pasts of its tokens."""
    sizes = training.sizes
    root = np.zeros((len(states), past.shape[1]))
    root[:, 0] = 1.0
    means = cells.back_off(cells.add_up(past), root, per="cell")
    vectors = np.ones((len(means), int(sizes.max())))
    for a, state in enumerate(states):
        if sizes[a] > 1:
            own = np.flatnonzero(cells.labels == a)
            shares = simplex_least_squares(means[own, : state.past.shape[1]], state.past, n_jobs=n_jobs)
            vectors[own, : sizes[a]] = (1 - MIX_WITH_LABEL) * shares / state.shares + MIX_WITH_LABEL
    return CellVectors(vectors, np.ones(int(sizes.sum())), training.starts)
