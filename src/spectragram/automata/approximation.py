"""Deterministic automata, which show what a model does on frequent strings.

This is the approximation of Balle et al. 2014, section 7.3. Cluster the forward vectors of frequent prefixes by cosine
(average linkage, or the paper's group average); every cluster is a state and every step of a prefix a transition. Where
steps with the same symbol lead from one state to two others, merge these two, until (almost) no such case is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from spectragram.automata.dfa import DFA
from spectragram.automata.wfa import WFA
from spectragram.errors import ParameterError
from spectragram.inference.prefix_tree import PrefixTree

__all__ = ["CountedDFA", "approximate_dfa"]

UNSEEN = 0.5
"""Count added to every symbol and to the end when their overall frequencies are estimated, so that none is impossible.
Chosen by hand, not tuned."""
LEAK, SMOOTHING = 0.02, 2.0
"""Start of EM: the share of every move that goes elsewhere, and how many events the overall frequencies count as in
each state. Chosen by hand, not tuned."""
START_LEAK = 0.05
"""Share of the leak of moves that the start state loses to the others. Chosen by hand, not tuned."""
TOLERANCE = 0.3
"""Share of the weight that the second target of a symbol may carry without being merged into the first. Chosen by hand
so that pictures of part-of-speech automata keep several states; nothing else depends on it."""
FREQUENT_PREFIXES = 1000
"""Prefixes that are clustered. Chosen by hand: the distances of all pairs still take little memory and time."""
RARE = 0.02
"""Moves with a smaller share of their state are not described. Chosen by hand to keep lines short."""


@dataclass(frozen=True, eq=False)
class CountedDFA(DFA):
    """A deterministic automaton with counts of how often strings passed, which ``==`` does not compare.

    Attributes
    ----------
    counts : array, shape (n_states, n_symbols + 1)
        How often each symbol followed; the last column is the end of the string.
    """

    counts: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))

    @classmethod
    def of(cls, target: np.ndarray, counts: np.ndarray, symbols: Sequence[Any] = ()) -> CountedDFA:
        """The automaton that accepts in the states in which strings ended."""
        return cls(target, counts[:, -1] > 0, tuple(symbols), counts)

    def moves_of(self, state: int, *, most: int = 6) -> list[str]:
        """The frequent moves of a state with their shares, like ``NN->3 40%``, and ``end 5%`` for the end.

        >>> CountedDFA.of(np.array([[1], [0]]), np.array([[3.0, 1.0], [0.0, 2.0]]), ["a"]).moves_of(0)
        ['a->1 75%', 'end 25%']
        """
        shares = self.counts[state] / max(float(self.counts[state].sum()), 1.0)
        names = [*(f"{word}->{target}" for word, target in zip(self.symbols, self.target[state], strict=True)), "end"]
        order = np.argsort(-shares, kind="stable")[:most]
        return [f"{names[i]} {100 * shares[i]:.0f}%" for i in order if shares[i] >= RARE]

    def soften(self, leak: float = LEAK, smoothing: float = SMOOTHING) -> WFA:
        """A probabilistic automaton in which ``leak`` of every move goes elsewhere, so that EM can still change it.

        The overall frequencies are added to the counts of every state, as ``smoothing`` events. Symbols never seen in
        a state lead to all states.
        """
        n, k = self.target.shape
        overall = (self.counts.sum(axis=0) + UNSEEN) / (self.counts.sum() + UNSEEN * (k + 1))
        passes = self.counts.sum(axis=1, keepdims=True)
        chances = (self.counts + smoothing * overall) / (passes + smoothing)
        elsewhere = (passes.ravel() + 1.0) / (passes + 1.0).sum()
        moves = np.zeros((k, n, n))
        for symbol in range(k):
            seen = self.target[:, symbol] >= 0
            moves[symbol, np.flatnonzero(seen), self.target[seen, symbol]] = 1.0 - leak
            moves[symbol] += np.where(seen, leak, 1.0)[:, None] * elsewhere
        initial = np.full(n, START_LEAK * leak / n)
        initial[0] += 1.0 - START_LEAK * leak
        return WFA(initial, chances[:, :k].T[:, :, None] * moves, chances[:, k])


def approximate_dfa(
    tree: PrefixTree,
    states: np.ndarray,
    symbols: Sequence[Any],
    n_states: int,
    *,
    n_prefixes: int = FREQUENT_PREFIXES,
    tolerance: float = TOLERANCE,
    linkage: str = "upgma",
) -> CountedDFA:
    """Cluster the states (n_nodes, m) of the ``n_prefixes`` most frequent prefixes into at most ``n_states``.

    If a symbol leads from a state to several others, it takes the most frequent one. Another target that carries more
    than ``tolerance`` of the weight is merged with that one first. With 0 all targets are merged, as in the paper; for
    a model that is far from deterministic a single state is then left. ``linkage`` is the mean similarity that is
    clustered by: of the pairs between two clusters ("upgma"), or of all pairs in their union ("gaac", group-average
    agglomerative clustering of Manning et al. 2008, as in the paper).
    """
    if linkage not in LINKAGES:
        raise ParameterError("linkage", linkage, "is unknown", remedy=f"choose {' or '.join(LINKAGES)}")
    if n_states < 1:
        raise ParameterError("n_states", n_states, remedy="ask for at least one state")
    n_symbols = len(symbols)
    # A prefix is at most as frequent as its parent, so the parents of chosen prefixes are chosen too.
    chosen = np.sort(np.argsort(-tree.through, kind="stable")[:n_prefixes])
    labels = LINKAGES[linkage](_unit(states[chosen]), n_states)
    place = np.full(len(tree), -1)
    place[chosen] = np.arange(len(chosen))
    sources = place[tree.parent[chosen[1:]]]
    read = tree.symbol[chosen[1:]]
    weights = tree.through[chosen[1:]]
    labels = _merged_until_deterministic(labels, sources, read, weights, tolerance)
    # Number the states by first visit, so that the start is 0.
    _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
    labels = np.argsort(np.argsort(first))[labels]
    n = int(labels.max()) + 1
    steps = np.zeros((n, n_symbols, n))
    np.add.at(steps, (labels[sources], read, labels[1:]), weights)
    counts = np.zeros((n, n_symbols + 1))
    counts[:, :n_symbols] = steps.sum(axis=2)
    counts[:, n_symbols] = np.bincount(labels, tree.ends[chosen], minlength=n)
    return CountedDFA.of(np.where(steps.any(axis=2), steps.argmax(axis=2), -1), counts, symbols)


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length one; a zero vector stays zero, and is similar to no other."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def _group_average(unit: np.ndarray, n_clusters: int) -> np.ndarray:
    """Labels by Manning et al. 2008, section 17.3: merge the two clusters whose union has the highest mean cosine.

    With sums of unit vectors s and sizes n, the mean over pairs of a union is (|s_i + s_j|^2 - n) / (n (n - 1)),
    n = n_i + n_j; the merged vector itself, whose length is one, is no pair.
    """
    sums, sizes = unit.copy(), np.ones(len(unit))
    squares = (unit**2).sum(axis=1)  # zero for a zero vector
    labels, alive = np.arange(len(unit)), np.ones(len(unit), bool)
    while alive.sum() > n_clusters:
        at = np.flatnonzero(alive)
        n = sizes[at][:, None] + sizes[at]
        lengths = (sums[at] ** 2).sum(axis=1)
        union = lengths[:, None] + lengths + 2.0 * sums[at] @ sums[at].T
        mean = (union - squares[at][:, None] - squares[at]) / (n * (n - 1.0))
        np.fill_diagonal(mean, -np.inf)
        first, second = at[list(np.unravel_index(int(mean.argmax()), mean.shape))]
        for total in (sums, sizes, squares):
            total[first] += total[second]
        alive[second], labels[labels == second] = False, first
    return labels


def _between(unit: np.ndarray, n_clusters: int) -> np.ndarray:
    """Labels by the mean distance of the pairs between two clusters."""
    if len(unit) < 2:
        return np.zeros(len(unit), np.int64)
    # For unit vectors, half the squared distance is one minus the cosine.
    rows, columns = np.triu_indices(len(unit), 1)
    distances = np.clip(1.0 - (unit @ unit.T)[rows, columns], 0.0, 2.0)
    return fcluster(linkage(distances, "average"), n_clusters, "maxclust") - 1


LINKAGES = {"upgma": _between, "gaac": _group_average}


def _merged_until_deterministic(
    labels: np.ndarray, sources: np.ndarray, symbols: np.ndarray, weights: np.ndarray, tolerance: float
) -> np.ndarray:
    """Merge the second target of a state and symbol into the first while it has more than the tolerated share."""
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
