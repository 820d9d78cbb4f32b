"""The weights of a grammar with hidden states, laid out for the kernels: tensors for rules, vectors for symbols.

paper (Cohen et al. 2012)   here                                shape
C^{a -> b c}                binary[start:stop] as [x, y, z]     (m_a, m_b, m_c): parent, left, right
c^1_a                       root                                (m_a,)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.chart_rules import Rules

__all__ = ["Operators", "layout", "make_operators"]


class Operators(NamedTuple):
    """The weights of a grammar with ``n_states[a]`` hidden states for symbol a.

    Attributes
    ----------
    n_states : int32 array, shape (n_symbols,)
    state_start : int64 array, shape (n_symbols + 1,)
        Symbol a owns ``state_start[a]:state_start[a + 1]`` of ``kept`` and ``root``.
    binary_start : int64 array, shape (n_binary + 1,)
    binary : float64 array
        Tensor of rule a -> b c, as parent, left, right.
    binary_up : float64 array
        The same tensors as left, right, parent, so that the inside pass, too, reads memory in order.
    unary_start : int64 array, shape (n_unary + 1,)
    unary : float64 array
        Matrix of a unary rule, as parent, child.
    kept : float64 array
        Weight of a top item that is its bottom item, for each state.
    root : float64 array
    """

    n_states: np.ndarray
    state_start: np.ndarray
    binary_start: np.ndarray
    binary: np.ndarray
    binary_up: np.ndarray
    unary_start: np.ndarray
    unary: np.ndarray
    kept: np.ndarray
    root: np.ndarray

    def rounded(self) -> Operators:
        """The same operators with weights in single precision, as model files hold them."""
        names = ("binary", "binary_up", "unary", "kept", "root")
        return self._replace(**{name: getattr(self, name).astype(np.float32).astype(np.float64) for name in names})


def make_operators(
    rules: Rules,
    n_states: np.ndarray,
    binary: np.ndarray,
    unary: np.ndarray,
    kept: np.ndarray,
    root: np.ndarray,
) -> Operators:
    """Lay out flat tensors (rules in order, each as parent, left, right) for the kernels."""
    n_states = np.ascontiguousarray(n_states, np.int32)
    state_start, binary_start, unary_start = layout(rules, n_states)
    binary = np.ascontiguousarray(binary, np.float64)
    return Operators(
        n_states,
        state_start,
        binary_start,
        binary,
        _turned(rules.binary, n_states, binary_start, binary),
        unary_start,
        np.ascontiguousarray(unary, np.float64),
        np.ascontiguousarray(kept, np.float64),
        np.ascontiguousarray(root, np.float64),
    )


def layout(rules: Rules, n_states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the vector of each symbol, the tensor of each binary and the matrix of each unary rule begin."""
    sizes = n_states.astype(np.int64)

    def starts(lengths: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    return (
        starts(sizes),
        starts(sizes[rules.binary].prod(axis=1)),
        starts(sizes[rules.unary].prod(axis=1)),
    )


@njit(cache=True, nogil=True)
def _turned(binary_rules: np.ndarray, n_states: np.ndarray, start: np.ndarray, binary: np.ndarray) -> np.ndarray:
    """Every tensor from (parent, left, right) to (left, right, parent)."""
    turned = np.empty_like(binary)
    for r in range(len(binary_rules)):
        n_parent = n_states[binary_rules[r, 0]]
        n_pairs = n_states[binary_rules[r, 1]] * n_states[binary_rules[r, 2]]
        for x in range(n_parent):
            for pair in range(n_pairs):
                turned[start[r] + pair * n_parent + x] = binary[start[r] + x * n_pairs + pair]
    return turned
