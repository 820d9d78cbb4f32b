"""Where EM begins: automata read off a spectral one, made soft enough to move away from.

EM only climbs, so the start decides which optimum it finds. Prefixes are compared by the futures that the spectral
automaton predicts for them: their extreme points (:mod:`spectragram.automata.pivot`) or their clusters are the states.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.automata.em import Expected, maximize
from spectragram.automata.pivot import spectral_states
from spectragram.automata.spectral import SpectralModel
from spectragram.automata.wfa import WFA
from spectragram.inference.prefix_tree import PrefixTree
from spectragram.spectral.kmeans import k_means, nearest_centres

__all__ = ["cluster_start", "soften"]

SOFTNESS = 0.2
"""Share of every move that goes to all states alike; what starts at zero would stay there."""
CLUSTERED = 20_000
"""This many of the most frequent prefixes decide where clusters lie."""
BATCH = 4096
"""Prefixes in one step of mini-batch k-means. Chosen by hand, not tuned."""


def soften(wfa: WFA, share: float = SOFTNESS) -> WFA:
    """Spread a share of every move, and of the start, evenly over all states."""
    spread = wfa.operators.sum(axis=2, keepdims=True) / wfa.n_states
    initial = (1.0 - share) * wfa.initial + share * wfa.initial.sum() / wfa.n_states
    return WFA(initial, (1.0 - share) * wfa.operators + share * spread, wfa.final)


def cluster_start(model: SpectralModel, trees: Sequence[PrefixTree], n_states: int, rng: np.random.Generator) -> WFA:
    """States are clusters of prefixes; moves are counted between them."""
    futures = [_predicted_futures(model, spectral_states(tree, model)) for tree in trees]
    weights = np.concatenate([tree.through for tree in trees])
    often = np.argsort(-weights, kind="stable")[:CLUSTERED]
    points = np.concatenate(futures)[often]
    n_states = min(n_states, len(np.unique(points.round(9), axis=0)))
    seed = int(rng.integers(2**31))
    _, centres = k_means(points, n_states, seed=seed, weights=weights[often], n_init=3, max_iter=100, batch_size=BATCH)
    labels = [nearest_centres(part, centres) for part in futures]
    return maximize(_counted(trees, labels, n_states, model.wfa.n_symbols))


def _predicted_futures(model: SpectralModel, states: np.ndarray) -> np.ndarray:
    """Square roots of the probabilities of what comes next, for small alphabets also of the next two symbols."""
    one = np.column_stack([(model.wfa.operators @ model.total).T, model.wfa.final])
    ahead = [one]
    if model.wfa.n_symbols <= 12:
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
