"""Probabilistic automata from spectral ones: the extreme states are the hidden ones.

The forward vector of every prefix is a convex combination of those of the hidden states. If each state has a *pivot*,
a prefix after which the automaton is surely there, the pivots are the corners of the set of all forward vectors
(Cohen & Collins 2014 use the same idea for trees). From corner v_i the spectral automaton reads off

    P(sigma | i) = v_i A_sigma total        P(end | i) = v_i alpha_inf
    v_i A_sigma / P(sigma | i) = sum_j w_j v_j,  w >= 0, sum w = 1      =>      A'_sigma(i, j) = P(sigma | i) w_j

All weights are probabilities by construction: a proper model without EM, and the best place to start EM.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.automata.spectral import SpectralModel
from spectragram.automata.wfa import WFA
from spectragram.errors import InputError
from spectragram.inference.chain import forward_states
from spectragram.inference.prefix_tree import PrefixTree
from spectragram.spectral.anchors import find_anchors
from spectragram.spectral.simplex import simplex_least_squares

__all__ = ["learn_pivot", "spectral_states"]

MIN_COUNT = 30
"""Prefixes seen less often are extreme by chance."""


def spectral_states(tree: PrefixTree, model: SpectralModel) -> np.ndarray:
    """Forward vectors of all prefixes, scaled to total 1, (n_nodes, m)."""
    states, _ = forward_states(
        tree.parent, tree.symbol, tree.groups, model.wfa.initial, model.wfa.operators, model.total, True,
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
    least = min(min_count, np.sort(weights)[-min(len(weights), 4 * n_states)])
    frequent = weights >= least
    return points[frequent], weights[frequent]


def _sharpened(corners: np.ndarray, points: np.ndarray, weights: np.ndarray, rounds: int = 3) -> np.ndarray:
    """Each corner becomes the mean of the points that are almost at it: single points are noisy."""
    for _ in range(rounds):
        shares = simplex_least_squares(points, corners)
        near = np.where(shares > 0.9, weights[:, None], 0.0)
        mass = near.sum(axis=0)
        means = near.T @ points / np.maximum(mass, 1e-300)[:, None]
        corners = np.where((mass > 0)[:, None], means, corners)
    return corners


def _read_off(model: SpectralModel, corners: np.ndarray) -> WFA:
    """The equations above; a corner of which the spectral automaton predicts nothing ends the string."""
    wfa, total, n = model.wfa, model.total, len(corners)
    after = np.einsum("im,smk->sik", corners, wfa.operators)
    chances = np.maximum(after @ total, 0.0)
    ends = np.maximum(corners @ wfa.final, 0.0)
    scaled = after / np.maximum(after @ total, 1e-12)[:, :, None]
    moves = simplex_least_squares(scaled.reshape(-1, wfa.n_states), corners).reshape(wfa.n_symbols, n, n)
    start = simplex_least_squares((wfa.initial / (wfa.initial @ total))[None], corners)[0]
    leaving = chances.sum(axis=0) + ends
    ends = np.where(leaving > 0, ends, 1.0)
    mass = np.where(leaving > 0, leaving, 1.0)
    return WFA(start, (chances / mass)[:, :, None] * moves, ends / mass)
