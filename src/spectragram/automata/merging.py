"""Deterministic automata by merging the states of a prefix tree.

Start with one state for each frequent prefix. Compare the most frequent successor that is not merged yet (the "blue"
state) with all states kept so far (the "red" ones), and merge it with the one that continues most alike, or keep it.
Two states, and with them all that follows, are merged if the evidence favours it:

    score = sum over merged pairs of  log P(c + c') - log P(c) - log P(c')  > 0

where P is the Dirichlet-multinomial probability of the counts c of what follows a state (symbols and end). On a large
sample of a deterministic automaton this finds that automaton; on other samples it finds a deterministic approximation
from which EM can start.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.special import gammaln

from spectragram.automata.approximation import CountedDFA
from spectragram.inference.prefix_tree import PrefixTree

__all__ = ["merge_states"]

MIN_PASSES = 5
"""Prefixes seen less often have no state of their own at the start; they still count for what follows their parents.
Chosen by hand, not tuned."""
MIN_EVIDENCE = 10
"""A blue state seen less often is merged with the red state that fits best, whatever the score. Chosen by hand, not
tuned."""
MAX_STATES = 200
"""Chosen by hand to bound the time of merging, which compares every blue state with every red one."""
CONCENTRATION = 0.5
"""Parameter of the Dirichlet distribution: Jeffreys' prior. Not tuned."""
UNDONE, KEPT = np.bool_(False), np.bool_(True)
"""What becomes of a merge. They have a type because numba compiles a kernel once more for every plain constant."""


def merge_states(
    tree: PrefixTree, n_symbols: int, *, max_states: int = MAX_STATES, concentration: float = CONCENTRATION
) -> CountedDFA:
    """Learn a deterministic automaton of at most ``max_states`` states from a prefix tree of counts."""
    frequent = tree.through >= MIN_PASSES
    frequent[0] = True
    number = np.cumsum(frequent) - 1
    n = int(frequent.sum())
    target = np.full((n, n_symbols), -1, np.int64)
    counts = np.zeros((n, n_symbols + 1), np.int64)
    counts[:, n_symbols] = np.rint(tree.ends[frequent])
    from_frequent = np.flatnonzero(frequent[np.maximum(tree.parent, 0)])[1:]
    counts[number[tree.parent[from_frequent]], tree.symbol[from_frequent]] = np.rint(tree.through[from_frequent])
    inner = from_frequent[frequent[from_frequent]]
    target[number[tree.parent[inner]], tree.symbol[inner]] = number[inner]
    numbers = np.arange(int(counts.sum()) + 2)
    per_symbol = gammaln(numbers + concentration) - gammaln(concentration)
    spread = concentration * (n_symbols + 1)
    per_state = gammaln(numbers + spread) - gammaln(spread)
    kept = _red_blue(target, counts, per_symbol, per_state, max_states, MIN_EVIDENCE)
    place = np.full(n + 1, -1)
    place[kept] = np.arange(len(kept))
    return CountedDFA.of(place[target[kept]], counts[kept])


@njit(cache=True, nogil=True)
def _red_blue(
    target: np.ndarray,
    counts: np.ndarray,
    per_symbol: np.ndarray,
    per_state: np.ndarray,
    max_states: int,
    min_evidence: int,
) -> np.ndarray:
    """Merge in place; returns the states that are kept, the start first."""
    n, k = target.shape
    red = np.empty(max(max_states, 1), np.int64)
    is_red = np.zeros(n, np.bool_)
    red[0], is_red[0], n_red = 0, True, 1
    pairs = np.empty((2, n + k + 1), np.int64)
    log = np.empty((2, n + k + 1), np.int64)
    added = np.empty((2, n + k + 1), np.int64)
    while True:
        source, symbol, most = -1, -1, -1
        for i in range(n_red):
            for s in range(k):
                blue = target[red[i], s]
                if blue >= 0 and not is_red[blue] and counts[blue].sum() > most:
                    source, symbol, most = red[i], s, counts[blue].sum()
        if source < 0:
            return red[:n_red].copy()
        blue = target[source, symbol]
        best, best_score = np.int64(-1), -np.inf
        for i in range(n_red):
            target[source, symbol] = red[i]
            score = _fold(target, counts, red[i], blue, per_symbol, per_state, pairs, log, added, UNDONE)
            if score > best_score:
                best, best_score = red[i], score
        if best_score > 0.0 or n_red == max_states or most < min_evidence:
            target[source, symbol] = best
            _fold(target, counts, best, blue, per_symbol, per_state, pairs, log, added, KEPT)
        else:
            target[source, symbol] = blue
            red[n_red], is_red[blue] = blue, True
            n_red += 1


@njit(cache=True, nogil=True)
def _fold(
    target: np.ndarray,
    counts: np.ndarray,
    state: int | np.int64,
    subtree: int,
    per_symbol: np.ndarray,
    per_state: np.ndarray,
    pairs: np.ndarray,
    log: np.ndarray,
    added: np.ndarray,
    keep: bool | np.bool_,
) -> float:
    """Merge a subtree into a state, node by node, and return the score; undo it unless ``keep``."""
    n_pairs, n_log, n_added, score = 1, 0, 0, 0.0
    pairs[0, 0], pairs[1, 0] = state, subtree
    n_events = counts.shape[1]
    while n_pairs > 0:
        n_pairs -= 1
        into, merged = pairs[0, n_pairs], pairs[1, n_pairs]
        passes, passes_merged = 0, 0
        for s in range(n_events):
            a, b = counts[into, s], counts[merged, s]
            score += per_symbol[a + b] - per_symbol[a] - per_symbol[b]
            passes += a
            passes_merged += b
            counts[into, s] = a + b
        score -= per_state[passes + passes_merged] - per_state[passes] - per_state[passes_merged]
        log[0, n_log], log[1, n_log] = into, merged
        n_log += 1
        for s in range(n_events - 1):
            below = target[merged, s]
            if below >= 0 and target[into, s] >= 0:
                pairs[0, n_pairs], pairs[1, n_pairs] = target[into, s], below
                n_pairs += 1
            elif below >= 0:
                target[into, s] = below
                added[0, n_added], added[1, n_added] = into, s
                n_added += 1
    if not keep:
        for i in range(n_log - 1, -1, -1):
            for s in range(n_events):
                counts[log[0, i], s] -= counts[log[1, i], s]
        for i in range(n_added):
            target[added[0, i], added[1, i]] = -1
    return score
