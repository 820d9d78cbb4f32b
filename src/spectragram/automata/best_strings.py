"""The most probable strings of a probabilistic automaton, by best-first search.

Prefixes wait in the order of a bound on the probability of every string that begins with them:

    max_v f(u v) <= alpha_u' b        b_i = max(alpha_inf_i, max_sigma (A_sigma b)_i)

where b_i bounds the probability of any one string from state i. The bound never grows along a prefix, so strings come
out in the order of their probabilities.
"""

from __future__ import annotations

import heapq

import numpy as np

from spectragram.automata.wfa import WFA
from spectragram.errors import InputError, RankError

__all__ = ["most_probable"]

BOUND_STEPS = 200
"""Steps that lower the bound b from 1; it is a bound after each of them. Chosen by hand, not tuned."""
MAX_EXPANDED = 200_000
"""Prefixes looked at before the search gives up. Chosen by hand: about a minute for an automaton of 50 states."""


def most_probable(wfa: WFA, n: int, *, max_expanded: int = MAX_EXPANDED) -> list[tuple[tuple[int, ...], float]]:
    """The ``n`` strings of highest probability with their probabilities, best first; fewer if no more are possible.

    A RankError after ``max_expanded`` prefixes: a very flat distribution has no probable strings.
    """
    if not wfa.is_probabilistic(1e-6):
        raise InputError(
            "the most probable strings of an automaton whose weights are not probabilities",
            remedy="train a probabilistic learner (pivot, em, merge+em, ...) instead of spectral",
        )
    bound = _bound(wfa)
    best: list[tuple[tuple[int, ...], float]] = []
    # Minus the bound; prefixes before strings of the same bound, then shortest first, so that ties have an order.
    waiting: list[tuple[float, bool, int, tuple[int, ...], np.ndarray]] = [
        (-float(wfa.initial @ bound), False, 0, (), wfa.initial)
    ]
    expanded = 0
    while waiting and len(best) < n:
        negative, ends, _, string, state = heapq.heappop(waiting)
        if ends:
            best.append((string, -negative))
            continue
        if expanded >= max_expanded:
            raise RankError(
                f"{len(best)} of {n} strings were found among {max_expanded} prefixes: ask for fewer strings, or "
                "allow more prefixes (max_expanded)"
            )
        expanded += 1
        value = float(state @ wfa.final)
        if value > 0:
            heapq.heappush(waiting, (-value, True, len(string), string, state))
        following = state @ wfa.operators
        for symbol, limit in enumerate((following @ bound).tolist()):
            if limit > 0:
                longer = (*string, symbol)
                heapq.heappush(waiting, (-limit, False, len(longer), longer, following[symbol]))
    return best


def _bound(wfa: WFA) -> np.ndarray:
    """b, shape (m,)."""
    bound = np.ones(wfa.n_states)
    for _ in range(BOUND_STEPS):
        lower = np.maximum(wfa.final, (wfa.operators @ bound).max(axis=0, initial=0.0))
        if np.allclose(lower, bound, rtol=1e-6, atol=0.0):
            break
        bound = lower
    return bound
