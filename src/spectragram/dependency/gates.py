"""Gates: which arcs and which ends of halves the chart looks at.

Most pairs of words are neither, and tags alone show it. Two quick log-linear models, those of
:mod:`spectragram.inference.gates`, choose a head for each word, and an end for each half, each choice for itself:

    P(i is the head of j)  ~  exp score(i, j)               P(half (i, d) ends at k)  ~  exp score(i, k + 1)

What is much less probable than the best choice stays out of the chart, and so do its factors. Factors are trained
without gates: those of their own training data would leave them too few rivals of the gold tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.dependency.encoding import Encoded
from spectragram.dependency.features import gold_pairs
from spectragram.inference.gates import choice_gradients, gate_scores, open_gates, step_gates
from spectragram.learning.factors import fit_weights, require_table, start_weights
from spectragram.schema import Schema, weight_table

__all__ = ["FEWEST_WORDS", "GRADES", "SHORTEST", "Gates", "learn_gates"]

GRADES = np.array([1, 2, 3, 4, 5, 6, 8, 11, 16, 31])
"""Distances at which a new grade begins: exact up to 6, then growing as distances get rare. Chosen by hand, not tuned.

Other grades would give features other keys: raise :data:`spectragram.inference.hashed.VERSION` after a change.
"""
MARGIN = 8.0
"""What scores so much less than the best choice, a 3000th of its probability, stays out."""
SHORTEST = 8
"""Charts of sentences of fewer words leave nothing out: there is nothing to gain. Chosen by hand, not tuned."""
BITS = 18
"""Size of the tables, 1 MB: they stay in the cache of a processor. Chosen by hand, not tuned."""
EPOCHS, RATE = 3, 0.2
"""Passes over the trees and step size of AdaGrad, of three pairs that were tried on the WSJ sample. With this margin
38 % of the arcs stay, and 99.8 % of the right ones."""
FEWEST_WORDS = 50_000
"""Words of the training data from which there are gates: those of fewer are too sure of themselves. On Tamil (6,300
words) they lose 0.8 LAS, on the WSJ sample (70,000) nothing."""


@dataclass(frozen=True)
class Gates:
    """Weights of arcs and of ends of halves, (2^b,) float32 each."""

    arcs: np.ndarray
    ends: np.ndarray

    def __post_init__(self) -> None:
        require_table(self.arcs)
        require_table(self.ends)
        if self.arcs.size != self.ends.size:
            raise ValueError(f"tables of {self.arcs.size} and {self.ends.size} weights")

    def open(self, sentences: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        """The arcs and the ends of halves worth looking at in sentences of tags (n,), both (2, n, n) bool."""
        return [
            open_gates(*gate_scores(*with_marks(tags), self.arcs, self.ends), MARGIN)
            if len(tags) >= SHORTEST
            else _all_open(len(tags))
            for tags in sentences
        ]

    SCHEMA: ClassVar[Schema] = Schema(
        "Gates",
        "Weights of what tags alone say about arcs and ends of halves.",
        arrays={
            "arcs": weight_table("n_gates", "weights of arcs"),
            "ends": weight_table("n_gates", "weights of ends of halves"),
        },
    )

    def to_arrays(self) -> dict[str, Any]:
        """All arrays by name, for model files."""
        return {"arcs": self.arcs, "ends": self.ends}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_arrays`."""
        return cls(arrays["arcs"], arrays["ends"])


def _all_open(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.ones((2, n, n), np.bool_), np.ones((2, n, n), np.bool_)


def with_marks(tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tags with those of the marks around them, (n + 2,), and the grades of all distances."""
    marked = np.zeros(len(tags) + 2, np.int64)
    marked[1:-1] = tags + 1
    return marked, np.searchsorted(GRADES, np.arange(len(marked)), side="right").astype(np.int64)


def learn_gates(encoded: Encoded, heads: np.ndarray, rng: np.random.Generator, n_jobs: int = 1) -> Gates:
    """Fit the weights to trees with heads (n_tokens,) as in CoNLL-U."""
    arcs, ends = (start_weights(np.zeros(1 << BITS, np.float32)) for _ in range(2))

    def gradient(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        span = slice(*encoded.offsets[number : number + 2])
        marked = with_marks(encoded.tags[span])
        scores = gate_scores(*marked, arcs.table, ends.table)
        return *marked, *choice_gradients(*scores, heads[span], gold_pairs(heads[span])[1])

    def step(found: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], now: int) -> None:
        tags, grades, of_arcs, of_ends = found
        step_gates(tags, grades, of_arcs, arcs, RATE, now)
        step_gates(tags, grades, of_ends, ends, RATE, now)

    every = np.arange(len(encoded))
    fitted = fit_weights(gradient, step, (arcs, ends), every, n_epochs=EPOCHS, rng=rng, n_jobs=n_jobs)
    return Gates(*fitted.tables)
