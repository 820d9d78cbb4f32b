"""Deterministic automata: a picture of what any model does on frequent strings.

The approximation of Balle et al. 2014, section 7.3: take the forward vectors of frequent prefixes, cluster them by
cosine (average linkage), let every cluster be a state and every step of a prefix a transition; where two steps with
the same symbol lead from one state to two, merge those two, until nothing (much) is left to merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from spectragram.automata.wfa import WFA
from spectragram.errors import InputError
from spectragram.inference.prefix_tree import PrefixTree

__all__ = ["DFA", "approximate_dfa"]


@dataclass(frozen=True)
class DFA:
    """A deterministic automaton with the counts seen on it; state 0 is the start.

    Attributes
    ----------
    target : int array, shape (n_states, n_symbols)
        Where each symbol leads, -1 where it was never seen.
    counts : array, shape (n_states, n_symbols + 1)
        How often each symbol, and last the end, followed.
    """

    target: np.ndarray
    counts: np.ndarray

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.target)

    def walk(self, string: Sequence[int]) -> list[int]:
        """States visited, the start first; it ends early where a symbol leads nowhere.

        >>> DFA(np.array([[1], [0]]), np.ones((2, 2))).walk([0, 0, 0])
        [0, 1, 0, 1]
        """
        path = [0]
        for symbol in string:
            following = int(self.target[path[-1], symbol])
            if following < 0:
                break
            path.append(following)
        return path

    def to_wfa(self, leak: float = 0.02, smoothing: float = 2.0) -> WFA:
        """As a probabilistic automaton; ``leak`` of every move goes elsewhere, so that EM can still change it.

        ``smoothing`` events of the overall frequencies are added to the counts of every state. Symbols never seen
        in a state lead anywhere.
        """
        n, k = self.target.shape
        overall = (self.counts.sum(axis=0) + 0.5) / (self.counts.sum() + 0.5 * (k + 1))
        passes = self.counts.sum(axis=1, keepdims=True)
        chances = (self.counts + smoothing * overall) / (passes + smoothing)
        elsewhere = (passes.ravel() + 1.0) / (passes + 1.0).sum()
        moves = np.zeros((k, n, n))
        for symbol in range(k):
            seen = self.target[:, symbol] >= 0
            moves[symbol, np.flatnonzero(seen), self.target[seen, symbol]] = 1.0 - leak
            moves[symbol] += np.where(seen, leak, 1.0)[:, None] * elsewhere
        initial = np.full(n, 0.05 * leak / n)
        initial[0] += 1.0 - 0.05 * leak
        return WFA(initial, chances[:, :k].T[:, :, None] * moves, chances[:, k])


def approximate_dfa(
    tree: PrefixTree,
    states: np.ndarray,
    n_symbols: int,
    n_states: int,
    *,
    n_prefixes: int = 1000,
    tolerance: float = 0.3,
) -> DFA:
    """Cluster the states (n_nodes, m) of the ``n_prefixes`` most frequent prefixes into at most ``n_states``.

    A symbol that leads from a state to several takes the most frequent way; the others are merged into it where they
    carry more than ``tolerance`` of the weight. 0 merges always, as the paper does, which on models that are far from
    deterministic leaves a single state.
    """
    if n_states < 1:
        raise InputError(f"n_states={n_states}", remedy="ask for at least one state")
    chosen = np.sort(np.argsort(-tree.through, kind="stable")[:n_prefixes])  # parents are as frequent: all are in
    labels = _clusters(states[chosen], n_states)
    place = np.full(len(tree), -1)
    place[chosen] = np.arange(len(chosen))
    sources = place[tree.parent[chosen[1:]]]
    symbols = tree.symbol[chosen[1:]]
    weights = tree.through[chosen[1:]]
    labels = _merged_until_deterministic(labels, sources, symbols, weights, tolerance)
    # Number states by first visit, so that the start is 0.
    _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
    labels = np.argsort(np.argsort(first))[labels]
    n = int(labels.max()) + 1
    steps = np.zeros((n, n_symbols, n))
    np.add.at(steps, (labels[sources], symbols, labels[1:]), weights)
    counts = np.zeros((n, n_symbols + 1))
    counts[:, :n_symbols] = steps.sum(axis=2)
    counts[:, n_symbols] = np.bincount(labels, tree.ends[chosen], minlength=n)
    return DFA(np.where(steps.any(axis=2), steps.argmax(axis=2), -1), counts)


def _clusters(vectors: np.ndarray, n_clusters: int) -> np.ndarray:
    """Average linkage by cosine; a vector of zeros is like no other."""
    if len(vectors) < 2:
        return np.zeros(len(vectors), np.int64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1.0)
    # For unit vectors half the squared distance is one minus the cosine.
    rows, columns = np.triu_indices(len(unit), 1)
    distances = np.clip(1.0 - (unit @ unit.T)[rows, columns], 0.0, 2.0)
    return fcluster(linkage(distances, "average"), n_clusters, "maxclust") - 1


def _merged_until_deterministic(
    labels: np.ndarray, sources: np.ndarray, symbols: np.ndarray, weights: np.ndarray, tolerance: float
) -> np.ndarray:
    """Merge the second target of a (state, symbol) into its first while that has more than the tolerated share."""
    while True:
        steps: dict[tuple[int, int], dict[int, float]] = {}
        for source, symbol, target, weight in zip(labels[sources], symbols, labels[1:], weights, strict=True):
            targets = steps.setdefault((int(source), int(symbol)), {})
            targets[int(target)] = targets.get(int(target), 0.0) + float(weight)
        worst, pair = tolerance, None
        for targets in steps.values():
            first, *others = sorted(targets, key=lambda target: (-targets[target], target))
            share = targets[others[0]] / sum(targets.values()) if others else 0.0
            if share > worst:
                worst, pair = share, (first, others[0])
        if pair is None:
            return labels
        labels = np.where(labels == pair[1], pair[0], labels)
