"""Weighted determinisation: one state for each direction of the forward vectors, if there are finitely many.

The forward vector of a prefix u, up to its length, says all that the automaton knows about what follows u. Where only
finitely many directions occur, they are the states of a deterministic automaton of the same function (Mohri 1997).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.automata.wfa import WFA
from spectragram.errors import RankError

__all__ = ["Directions", "determinize", "find_directions"]

ZERO = 1e-12
"""A forward vector that is shorter than this share of the one before it, times the operator, is zero; near the
rounding error."""
MINIMISED = 100
"""Larger automata are not minimised first: it would take seconds. Chosen by hand."""


@dataclass(frozen=True)
class Directions:
    """All directions of forward vectors, the initial one first.

    Attributes
    ----------
    vectors : array, shape (n, m)
        The first vector found of each direction, with length 1; zero for strings that nothing with a value follows.
    target : int array, shape (n, k)
    scale : array, shape (n, k)
        vectors[i] A_sigma = scale[i, sigma] vectors[target[i, sigma]].
    sizes : array, shape (n,)
        Length of the forward vector of the string by which each direction was found first.
    wfa : WFA
        The automaton in whose basis the vectors are.
    """

    vectors: np.ndarray
    target: np.ndarray
    scale: np.ndarray
    sizes: np.ndarray
    wfa: WFA


def find_directions(wfa: WFA, max_states: int, tolerance: float = 1e-6) -> Directions | None:
    """Follow every symbol from every direction until nothing new appears; None if there are more than ``max_states``.

    Two vectors have the same direction if, at length 1, they are nearer than ``tolerance``.
    """
    if wfa.n_states <= MINIMISED:
        wfa = wfa.minimize()  # states that cannot be told apart would give one direction several vectors
    sizes = [float(np.linalg.norm(wfa.initial))]
    vectors = [wfa.initial / (sizes[0] or 1.0)]
    target: list[list[int]] = []
    scale: list[list[float]] = []
    largest = float(np.linalg.norm(wfa.operators, axis=(1, 2)).max(initial=0.0))
    for vector, size in zip(vectors, sizes):  # noqa: B905 - both grow while they are read
        row, lengths = [], []
        for following in vector @ wfa.operators:
            length = float(np.linalg.norm(following))
            unit = following / length if length > ZERO * largest else np.zeros_like(following)
            gaps = np.linalg.norm(np.array(vectors) - unit, axis=1)
            nearest = int(gaps.argmin())
            if gaps[nearest] > tolerance:
                if len(vectors) >= max_states:
                    return None
                nearest = len(vectors)
                vectors.append(unit)
                sizes.append(size * length)
            row.append(nearest)
            lengths.append(length if unit.any() else 0.0)
        target.append(row)
        scale.append(lengths)
    shape = len(vectors), wfa.n_symbols
    return Directions(
        np.array(vectors),
        np.array(target, np.int64).reshape(shape),
        np.array(scale).reshape(shape),
        np.array(sizes),
        wfa,
    )


def determinize(wfa: WFA, *, max_states: int = 1000, tolerance: float = 1e-6) -> WFA:
    """The deterministic automaton of the same function; a RankError if it has more than ``max_states`` states.

    At most one state has an initial weight, and at most one move with each symbol leaves a state.
    """
    found = find_directions(wfa, max_states, tolerance)
    if found is None:
        raise RankError(
            f"determinisation needs more than {max_states} states, or never ends: allow more (max_states), "
            "or approximate the automaton (to_dfa)"
        )
    n, k = found.target.shape
    operators = np.zeros((k, n, n))
    source, symbol = np.indices((n, k))
    operators[symbol, source, found.target] = found.scale
    return WFA(found.sizes[0] * np.eye(n)[0], operators, found.vectors @ found.wfa.final)
