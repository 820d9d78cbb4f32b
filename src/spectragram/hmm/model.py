"""A trained hidden Markov model: everything that prediction needs, and the computations on sequences.

p(x_1 ... x_T) = sum over s of  pi(s_1) b_{x_1}(s_1) prod_t P(s_{t-1}, s_t) b_{x_t}(s_t)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from spectragram.data.number_sequences import NumberSequences
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.hmm.emissions import SCHEMAS, Emissions, emissions_from, require_distributions
from spectragram.inference.hidden_markov import best_path, filter_states, hidden_counts
from spectragram.inference.prefix_tree import grow_chains, sum_along_paths
from spectragram.schema import Array, Part, Schema

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """Attributes: start (m,), moves (m, m) and emissions."""

    start: np.ndarray
    moves: np.ndarray
    emissions: Emissions

    @property
    def n_states(self) -> int:
        """Number of hidden states."""
        return len(self.start)

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        m = self.n_states
        return m - 1 + m * (m - 1) + self.emissions.n_parameters

    def log_probs(self, data: NumberSequences) -> np.ndarray:
        """Log-probability (or log-density) of each sequence, (n_sequences,)."""
        likelihood, offset = self.scaled_likelihood(data.values)
        tree = grow_chains(data.offsets)
        states = np.empty((len(tree), self.n_states))
        scales = filter_states(tree.parent, tree.symbol, tree.groups, self.start, self.moves, likelihood, states)
        steps = np.zeros(len(tree))
        with np.errstate(divide="ignore"):
            steps[1:] = np.log(scales[1:]) + offset[tree.symbol[1:]]
        return sum_along_paths(tree.parent, steps)[tree.end_of]

    def posteriors(self, data: NumberSequences) -> np.ndarray:
        """Probability of every state at every place given the whole sequence, (n, m)."""
        likelihood, _ = self.scaled_likelihood(data.values)
        tree = grow_chains(data.offsets)
        states, backs = np.empty((2, len(tree), self.n_states))
        transposed = np.ascontiguousarray(self.moves.T)
        _, _, shares, _ = hidden_counts(
            tree.parent,
            tree.symbol,
            tree.groups,
            tree.ends,
            self.start,
            self.moves,
            transposed,
            likelihood,
            states,
            backs,
        )
        # Places of impossible sequences have no posterior: every state is as good as another.
        total = shares.sum(axis=1, keepdims=True)
        return np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1.0 / self.n_states)

    def best_paths(self, data: NumberSequences) -> tuple[np.ndarray, np.ndarray]:
        """The most probable states of each sequence, (n,) in all, and their joint log-probabilities, (n_sequences,)."""
        log_likelihood = self.emissions.log_likelihood(data.values)
        with np.errstate(divide="ignore"):
            log_start, log_moves = np.log(self.start), np.log(self.moves)
        found = [best_path(log_start, log_moves, part) if len(part) else (np.zeros(0, np.int64), 0.0)
                 for part in data.split(log_likelihood)]  # fmt: skip
        return np.concatenate([path for path, _ in found]), np.array([value for _, value in found])

    def scaled_likelihood(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Likelihoods (n, m) divided by the largest of each place, and the logarithms of these, (n,)."""
        found = self.emissions.log_likelihood(values)
        largest = found.max(axis=1)
        largest = np.where(np.isfinite(largest), largest, 0.0)
        return np.exp(found - largest[:, None]), largest

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """One sequence of n observations, and its states."""
        states = np.empty(n, np.int64)
        chances = rng.random(n)
        cumulative = np.cumsum(np.vstack([self.moves, self.start]), axis=1)
        cumulative /= cumulative[:, -1:]
        state = self.n_states  # the row of the start
        for t in range(n):
            state = int(np.searchsorted(cumulative[state], chances[t], side="right"))
            states[t] = state
        return self.emissions.draw(states, rng), states

    SCHEMA: ClassVar[Schema] = Schema(
        "Hidden Markov model",
        "Initial probabilities, moves between hidden states, and what these emit.",
        arrays={
            "start": Array("f8", ("n_states",), "initial probabilities", sums=True),
            "moves": Array("f8", ("n_states", "n_states"), "probability of the next state", sums=True),
        },
        parts={"emissions": Part(SCHEMAS, {"n_states": "n_states"}, values=None)},
        sizes={"n_states": 1},
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        return {}, {"start": self.start, "moves": self.moves, **prefixed("emissions", self.emissions.to_arrays())}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Model:
        """Inverse of :meth:`to_state`; ``KeyError`` or ``ValueError`` for what does not fit together."""
        start, moves = np.asarray(arrays["start"], np.float64), np.asarray(arrays["moves"], np.float64)
        m = len(start)
        if start.ndim != 1 or not m or moves.shape != (m, m):
            raise ValueError(f"initial probabilities of shape {start.shape}, moves of shape {moves.shape}")
        require_distributions(start, "initial probabilities")
        require_distributions(moves, "moves")
        return cls(start, moves, emissions_from(without_prefix("emissions", arrays), m))
