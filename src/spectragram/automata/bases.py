"""The space that the forward vectors of an automaton span, and which strings span it.

All forward vectors alpha_1' A_x of an automaton with m states lie in a space of at most m dimensions. Breadth-first
search finds strings whose vectors are a basis of it: a string is extended only if its vector is new (Schuetzenberger
1961; Tzeng 1992). The vectors of all strings of at most n symbols lie in the span of the basis strings of at most n
symbols, so whatever is linear in the vectors and holds for the basis strings holds for all strings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

__all__ = ["spanning_rows"]


def spanning_rows(
    initial: np.ndarray, operators: np.ndarray, tolerance: float, size: float
) -> Iterator[tuple[tuple[int, ...], np.ndarray, np.ndarray]]:
    """Strings whose forward vectors are a basis, shortest first.

    Parameters
    ----------
    initial, operators : arrays, shapes (m,) and (k, m, m)
    tolerance : float
        A vector counts as new if what the basis leaves of it is longer than this share of what rounding could leave.
    size : float
        The length that the initial vector had before earlier steps projected it.

    Yields
    ------
    string : tuple of int
    row : array, shape (m,)
        The forward vector of the string, divided by a positive number.
    direction : array, shape (m,)
        What is new in it, of length 1 and orthogonal to all directions before.
    """
    basis = np.zeros((0, len(initial)))
    largest = float(np.linalg.norm(operators, axis=(1, 2)).max(initial=0.0))
    waiting: deque[tuple[tuple[int, ...], np.ndarray, float]] = deque([((), initial, size)])
    while waiting and len(basis) < len(initial):
        string, row, size = waiting.popleft()
        new = row
        for _ in range(2):  # Gram-Schmidt loses orthogonality to rounding; a second pass restores it
            new = new - (new @ basis.T) @ basis
        length = float(np.linalg.norm(new))
        if length <= tolerance * size:
            continue
        basis = np.vstack([basis, new / length])
        yield string, row, new / length
        # Divide by the length so that long strings neither vanish nor explode.
        row = row / np.linalg.norm(row)
        waiting += [((*string, s), following, largest) for s, following in enumerate(row @ operators)]
