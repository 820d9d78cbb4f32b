"""A split head-automata grammar as arrays: every learner returns one, and the chart works on it.

    P(y) = prod_{<h, d, x_1 ... x_T> in y} P(x_1 ... x_T | h, d)                     (Balle et al. 2014, equation 1)
    P(x_1 ... x_T | h, d) = alpha_1' A_{x_1} ... A_{x_T} alpha_inf

paper                   here         shape
P(x | *, RIGHT)         root         (k,)               the one word that heads a sentence
alpha_1^{h,d}           initial      (2, k, m)          [direction, head, state]
A_sigma^{h,d}           operators    (2, k, k, m, m)    [direction, head, modifier, state, state]
alpha_inf^{h,d}         final        (2, k, m)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spectragram.automata.wfa import WFA
from spectragram.schema import Array, Schema

__all__ = ["Grammar", "root_distribution"]

ROOT_PRIOR = 0.5
"""Weight of the overall tag frequencies in the distribution of root words, as a number of sentences.

Chosen by hand, not tuned: its only task is that no tag is impossible.
"""
SMALLEST_ROOT = 1e-300
"""Root probabilities are positive, since the chart takes their logarithms."""
UNSEEN = 0.1
"""Added to the count of every tag, the unknown one included. Chosen by hand, not tuned."""


@dataclass(frozen=True)
class Grammar:
    """Weighted automata for the modifiers of every head symbol, and the distribution of root words."""

    SCHEMA: ClassVar[Schema] = Schema(
        "Head automata",
        "An automaton for the modifiers of every tag on either side, and the distribution of root words.",
        arrays={
            "root": Array("f8", ("n_tags",), "probability of each tag at the root", least=SMALLEST_ROOT),
            "initial": Array("f8", (2, "n_tags", "n_states"), "initial weights, to the left and to the right"),
            "operators": Array("f8", (2, "n_tags", "n_tags", "n_states", "n_states"), "weights of head and modifier"),
            "final": Array("f8", (2, "n_tags", "n_states"), "final weights"),
        },
        sizes={"n_states": 1},
    )

    root: np.ndarray
    initial: np.ndarray
    operators: np.ndarray
    final: np.ndarray

    def __post_init__(self) -> None:
        # One dtype and layout, so that kernels compile once.
        for name in ("root", "initial", "operators", "final"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), np.float64))
        k, m = len(self.root), self.initial.shape[-1]
        shapes = (self.initial.shape, self.operators.shape, self.final.shape)
        if shapes != ((2, k, m), (2, k, k, m, m), (2, k, m)):
            raise ValueError(f"automata of shapes {shapes} for {k} symbols and {m} states")

    @property
    def n_symbols(self) -> int:
        """Number of symbols k."""
        return len(self.root)

    @property
    def n_states(self) -> int:
        """States m of the largest automaton."""
        return self.initial.shape[-1]

    @property
    def n_states_in_all(self) -> int:
        """States summed over automata, without those that only pad the arrays."""
        return int(((self.initial != 0) | (self.final != 0)).sum())

    def automaton(self, head: int, direction: int) -> WFA:
        """The automaton of one head and direction."""
        place = direction, head
        return WFA(self.initial[place], self.operators[place], self.final[place])


def root_distribution(roots: np.ndarray, tags: np.ndarray, prior: float = ROOT_PRIOR) -> np.ndarray:
    """P(tag | root) from counts of root words and of all words, both (k,); with a prior no tag is impossible."""
    overall = (tags + UNSEEN) / (tags.sum() + UNSEEN * len(tags))
    return np.maximum((roots + prior * overall) / (roots.sum() + prior), SMALLEST_ROOT)
