"""Probabilistic automata from spectral ones: hidden states are the corners, or the clusters, of forward vectors.

The forward vector of every prefix is a convex combination of those of the hidden states. If each state has a *pivot*,
a prefix after which the automaton is surely in that state, the pivots are the corners of the set of all forward vectors
(Cohen & Collins 2014 use the same idea for trees). From corner v_i the spectral automaton yields

    P(sigma | i) = v_i A_sigma total        P(end | i) = v_i alpha_inf
    v_i A_sigma / P(sigma | i) = sum_j w_j v_j,  w >= 0, sum w = 1      =>      A'_sigma(i, j) = P(sigma | i) w_j

All weights are probabilities by construction: a proper model without EM, and a good start for EM. EM only climbs, so
its start decides which optimum it finds. Another start takes clusters of prefixes with similar predicted futures as
states (:func:`cluster_start`). :func:`soften` moves both away from zeros, which EM could never leave.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.automata.em import Expected, maximize
from spectragram.automata.spectral import SpectralModel
from spectragram.automata.wfa import WFA
from spectragram.errors import InputError
from spectragram.inference.chain import CANCELLED, forward_states
from spectragram.inference.prefix_tree import PrefixTree
from spectragram.learning.states import k_means, nearest_centres
from spectragram.spectral.anchors import find_anchors
from spectragram.spectral.simplex import simplex_least_squares

__all__ = ["cluster_start", "learn_pivot", "soften", "spectral_states"]

MIN_COUNT = 30
"""Rarer prefixes cannot be corners: they are extreme by chance. Chosen by hand, not tuned."""
PER_STATE = 4
"""Prefixes for each state that are candidates in any case, however rare. Chosen by hand, not tuned."""
SHARPENED, NEAR = 3, 0.9
"""How often corners are replaced by the mean of the points near them, which have at least this weight on the corner.
Chosen by hand, not tuned."""
SOFTNESS = 0.2
"""Share of every move that is spread evenly over all states before EM. Chosen by hand, not tuned."""
CLUSTERED, BATCH, RUNS, ITERATIONS = 20_000, 4096, 3, 100
"""k-means uses this many of the most frequent prefixes, this many in a step, and the best of a few runs. Chosen by
hand to bound its time, not tuned."""
FEW_SYMBOLS = 12
"""Up to this size of alphabet, predicted futures are two symbols long instead of one. Chosen by hand: the number of
futures is the square of the alphabet's size."""
SAME_FUTURE = 9
"""Decimals of predicted futures that must differ for two prefixes to be told apart; beyond them is rounding error."""
TINY = 1e-12
"""A guard against division by zero; any tiny value does."""


def spectral_states(tree: PrefixTree, model: SpectralModel) -> np.ndarray:
    """Forward vectors of all prefixes, scaled to total 1, shape (n_nodes, m)."""
    states, _ = forward_states(
        tree.parent, tree.symbol, tree.groups, model.wfa.initial, model.wfa.operators, model.total, CANCELLED,
        model.context_states, model.contexts.locate_nodes(tree), 0.0,
    )  # fmt: skip
    return states


def learn_pivot(
    model: SpectralModel, trees: Sequence[PrefixTree], n_states: int, *, min_count: float = MIN_COUNT
) -> WFA:
    """A probabilistic automaton whose states are the extreme forward vectors of frequent prefixes."""
    points, weights = _frequent_states(model, trees, n_states, min_count)
    n_states = min(n_states, len(points))
    corners = points[find_anchors(points, n_states)]
    corners = _sharpened(corners, points, weights)
    return _read_off(model, corners)


def _frequent_states(
    model: SpectralModel, trees: Sequence[PrefixTree], n_states: int, min_count: float
) -> tuple[np.ndarray, np.ndarray]:
    found = [spectral_states(tree, model) for tree in trees]
    points, weights = np.concatenate(found), np.concatenate([tree.through for tree in trees])
    if not len(points):
        raise InputError("no strings to learn from", remedy="give at least one")
    least = min(min_count, np.sort(weights)[-min(len(weights), PER_STATE * n_states)])
    frequent = weights >= least
    return points[frequent], weights[frequent]


def _sharpened(corners: np.ndarray, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Replace each corner by the mean of the points close to it, since single points are noisy."""
    for _ in range(SHARPENED):
        shares = simplex_least_squares(points, corners)
        near = np.where(shares > NEAR, weights[:, None], 0.0)
        mass = near.sum(axis=0)
        means = near.T @ points / np.maximum(mass, TINY)[:, None]
        corners = np.where((mass > 0)[:, None], means, corners)
    return corners


def _read_off(model: SpectralModel, corners: np.ndarray) -> WFA:
    """The equations above; in a corner after which the spectral automaton predicts nothing, the string ends."""
    wfa, total, n = model.wfa, model.total, len(corners)
    after = np.einsum("im,smk->sik", corners, wfa.operators)
    chances = np.maximum(after @ total, 0.0)
    ends = np.maximum(corners @ wfa.final, 0.0)
    scaled = after / np.maximum(after @ total, TINY)[:, :, None]
    moves = simplex_least_squares(scaled.reshape(-1, wfa.n_states), corners).reshape(wfa.n_symbols, n, n)
    start = simplex_least_squares((wfa.initial / (wfa.initial @ total))[None], corners)[0]
    leaving = chances.sum(axis=0) + ends
    ends = np.where(leaving > 0, ends, 1.0)
    mass = np.where(leaving > 0, leaving, 1.0)
    return WFA(start, (chances / mass)[:, :, None] * moves, ends / mass)


def cluster_start(model: SpectralModel, trees: Sequence[PrefixTree], n_states: int, rng: np.random.Generator) -> WFA:
    """A probabilistic automaton whose states are clusters of prefixes; moves between clusters are counted."""
    futures = [_predicted_futures(model, spectral_states(tree, model)) for tree in trees]
    weights = np.concatenate([tree.through for tree in trees])
    often = np.argsort(-weights, kind="stable")[:CLUSTERED]
    points = np.concatenate(futures)[often]
    n_states = min(n_states, len(np.unique(points.round(SAME_FUTURE), axis=0)))
    _, centres = k_means(
        points,
        n_states,
        seed=int(rng.integers(2**31)),
        weights=weights[often],
        n_init=RUNS,
        max_iter=ITERATIONS,
        batch_size=BATCH,
    )
    labels = [nearest_centres(part, centres) for part in futures]
    return maximize(_counted(trees, labels, n_states, model.wfa.n_symbols))


def _predicted_futures(model: SpectralModel, states: np.ndarray) -> np.ndarray:
    """Square roots of the probabilities of the next symbol, for small alphabets also of the next two."""
    one = np.column_stack([(model.wfa.operators @ model.total).T, model.wfa.final])
    ahead = [one]
    if model.wfa.n_symbols <= FEW_SYMBOLS:
        ahead += list(model.wfa.operators @ one)
    return np.sqrt(np.clip(states @ np.hstack(ahead), 0.0, 1.0))


def _counted(trees: Sequence[PrefixTree], labels: list[np.ndarray], n_states: int, n_symbols: int) -> Expected:
    moves = np.zeros((n_symbols, n_states, n_states))
    stops, starts = np.zeros(n_states), np.zeros(n_states)
    for tree, label in zip(trees, labels, strict=True):
        np.add.at(moves, (tree.symbol[1:], label[tree.parent[1:]], label[1:]), tree.through[1:])
        stops += np.bincount(label, tree.ends, minlength=n_states)
        starts[label[0]] += tree.through[0]
    return Expected(starts, moves, stops, 0.0)


def soften(wfa: WFA, share: float = SOFTNESS) -> WFA:
    """Spread a share of every move, and of the start, evenly over all states."""
    spread = wfa.operators.sum(axis=2, keepdims=True) / wfa.n_states
    initial = (1.0 - share) * wfa.initial + share * wfa.initial.sum() / wfa.n_states
    return WFA(initial, (1.0 - share) * wfa.operators + share * spread, wfa.final)
