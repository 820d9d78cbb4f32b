"""Probabilistic automata with known parameters: exact values, exact Hankel blocks, samples.

    paper                 here         shape
    alpha_1               initial      (m,)         distribution over states
    A_sigma               operators    (k, m, m)    A_sigma[i, j]: in i, emit sigma and go to j
    alpha_inf             final        (m,)         probability of ending in a state
    f, f_p, f_s           statistic    "string", "prefix", "substring"

Here initial sums to 1 and, for every state, final + sum_sigma A_sigma 1 = 1 (Balle et al. 2014, section 4.3).
An HMM is the special case in which the symbol and the next state are independent given the current state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from spectragram.data.corpus import Corpus
from spectragram.errors import InputError
from spectragram.synthetic._chance import (
    Outcomes,
    conditioned,
    draw_many,
    draw_rows,
    expected_visits,
    require_distributions,
    require_shapes,
    symbols,
    weakest_correlation,
    without_end,
)

__all__ = ["PNFA", "Statistic", "all_strings", "walk"]

Statistic = Literal["string", "prefix", "substring"]
String = Sequence[int]

STAY_ODDS = (0.5, 1.5)
"""Range of the relative odds of going on in a state, so that states differ in length. Chosen by hand, not tuned."""
BRACKET_MARGIN = 1e-6
"""Keeps the root strictly inside the interval that is searched, also where all odds are equal; any tiny value does."""


@dataclass(frozen=True)
class PNFA:
    """A probabilistic non-deterministic automaton over the symbols 0 .. n_symbols - 1."""

    initial: np.ndarray
    operators: np.ndarray
    final: np.ndarray

    def __post_init__(self) -> None:
        m = self.n_states
        fits = self.operators.shape[1:] == (m, m) and self.final.shape == (m,)
        require_shapes("(m,), (k, m, m) and (m,)", fits, self.initial, self.operators, self.final)
        require_distributions("the initial weights", self.initial.sum(), self.initial)
        leaving = self.operators.sum(axis=(0, 2)) + self.final
        require_distributions("the transition and final weights of a state", leaving, self.operators, self.final)
        if without_end(self.total):
            raise InputError("some strings never end", remedy="make a state with final > 0 reachable from every state")

    @classmethod
    def random(
        cls,
        n_states: int,
        n_symbols: int,
        *,
        rng: np.random.Generator,
        mean_length: float = 6.0,
        conditioning: float = 0.02,
    ) -> PNFA:
        """Draw an automaton whose :meth:`conditioning` is at least ``conditioning``.

        The expected length of its strings is exactly ``mean_length``. The defaults, strings of six symbols and a
        weakest correlation of 0.02, were chosen by hand: small enough to enumerate and far enough from rank deficiency
        for samples of a usual size.
        """

        def draw(sharpness: float) -> PNFA:
            initial = rng.dirichlet(np.ones(n_states))
            moves = draw_rows(n_states, n_symbols * n_states, sharpness, rng)
            moves = moves.reshape(n_states, n_symbols, n_states).transpose(1, 0, 2)
            stay = _scaled_to_length(rng.uniform(*STAY_ODDS, n_states), initial, moves.sum(axis=0), mean_length)
            return cls(initial, moves * stay[:, None], 1 - stay)

        return conditioned(draw, PNFA.conditioning, conditioning)

    @classmethod
    def from_hmm(cls, initial: np.ndarray, transition: np.ndarray, emission: np.ndarray, stop: np.ndarray) -> PNFA:
        """An HMM that in each state either stops or emits a symbol and moves on.

        Parameters
        ----------
        initial : array, shape (m,)
        transition : array, shape (m, m)
            Rows sum to 1.
        emission : array, shape (m, k)
            Rows sum to 1.
        stop : array, shape (m,)
            Probability of stopping in each state.
        """
        operators = (1 - stop)[:, None] * emission.T[:, :, None] * transition
        return cls(np.asarray(initial), operators, np.asarray(stop))

    @property
    def n_states(self) -> int:
        """Number of states m."""
        return len(self.initial)

    @property
    def n_symbols(self) -> int:
        """Number of symbols k."""
        return len(self.operators)

    @property
    def total(self) -> np.ndarray:
        """A = sum_sigma A_sigma, shape (m, m)."""
        return self.operators.sum(axis=0)

    def conditioning(self) -> float:
        """Weakest of the m canonical correlations between the prefix and the suffix of a string.

        Prefixes and suffixes are all strings up to some length, the smallest for which there are at least twice as
        many of them as states, so that a correlation of full rank can show.
        """
        prefixes, suffixes = self.initial[None], self.final[None]
        forward, backward = prefixes, suffixes
        while len(forward) < 2 * self.n_states:
            prefixes = np.einsum("pi,sij->psj", prefixes, self.operators).reshape(-1, self.n_states)
            suffixes = np.einsum("sij,pj->psi", self.operators, suffixes).reshape(-1, self.n_states)
            forward, backward = np.vstack([forward, prefixes]), np.vstack([backward, suffixes])
        return weakest_correlation(forward, backward)

    def ends(self, statistic: Statistic = "string") -> tuple[np.ndarray, np.ndarray]:
        """Initial and final weights with which the operators compute a statistic (Lemma 3.1), shape (m,) each."""
        initial, final = self.initial, self.final
        if statistic in ("prefix", "substring"):
            final = np.linalg.solve(np.eye(self.n_states) - self.total, final)  # (I - A)^-1 alpha_inf
        if statistic == "substring":
            initial = expected_visits(initial, self.total)  # alpha_1' (I - A)^-1
        return initial, final

    def forward(self, strings: Iterable[String], statistic: Statistic = "string") -> np.ndarray:
        """alpha_1' A_x for every string x, shape (n_strings, m)."""
        initial, _ = self.ends(statistic)
        rows = []
        for string in strings:
            row = initial
            for symbol in string:
                row = row @ self.operators[symbol]
            rows.append(row)
        return np.array(rows).reshape(-1, self.n_states)

    def backward(self, strings: Iterable[String], statistic: Statistic = "string") -> np.ndarray:
        """A_x alpha_inf for every string x, shape (n_strings, m)."""
        _, final = self.ends(statistic)
        rows = []
        for string in strings:
            row = final
            for symbol in reversed(string):
                row = self.operators[symbol] @ row
            rows.append(row)
        return np.array(rows).reshape(-1, self.n_states)

    def value(self, string: String, statistic: Statistic = "string") -> float:
        """P(x), P(x Sigma*) or the expected number of occurrences of x, depending on the statistic."""
        return float(self.forward([string], statistic)[0] @ self.ends(statistic)[1])

    def probability(self, string: String) -> float:
        """P(x)."""
        return self.value(string)

    def prefix_probability(self, string: String) -> float:
        """P(x Sigma*), the probability that a string starts with x."""
        return self.value(string, "prefix")

    def expected_count(self, string: String) -> float:
        """``E |w|_x``, the expected number of occurrences of x in a string."""
        return self.value(string, "substring")

    def mean_length(self) -> float:
        """Expected number of symbols in a string."""
        visits, _ = self.ends("substring")
        return float(visits @ self.total.sum(axis=1))

    def hankel(
        self,
        prefixes: Iterable[String],
        suffixes: Iterable[String],
        *,
        statistic: Statistic = "string",
        symbol: int | None = None,
    ) -> np.ndarray:
        """The exact Hankel block H[u, v] = f(u v), or H_sigma[u, v] = f(u sigma v) if ``symbol`` is given."""
        forward = self.forward(prefixes, statistic)
        if symbol is not None:
            forward = forward @ self.operators[symbol]
        return forward @ self.backward(suffixes, statistic).T

    def sample(self, n: int, rng: np.random.Generator) -> Corpus:
        """Draw n strings; the words of the corpus are s0, s1, ..."""
        starts = draw_many(self.initial, n, rng)
        tokens, offsets = walk(starts, self.steps(), self.n_states, rng)
        return Corpus(tokens, offsets, symbols("s", self.n_symbols, tokens))

    def steps(self) -> np.ndarray:
        """Distribution over the next step in each state, shape (m, k * m + 1).

        Columns are pairs (symbol, next state), symbol by symbol; the last column is the end of the string.
        """
        moves = self.operators.transpose(1, 0, 2).reshape(self.n_states, -1)
        return np.hstack([moves, self.final[:, None]])


def _scaled_to_length(odds: np.ndarray, initial: np.ndarray, moves: np.ndarray, length: float) -> np.ndarray:
    """Probability of going on in each state, with odds proportional to ``odds``, for strings of this mean length."""

    def goes_on(log_scale: float) -> np.ndarray:
        return 1 / (1 + 1 / (np.exp(log_scale) * odds))

    def excess(log_scale: float) -> float:
        stay = goes_on(log_scale)
        return float(expected_visits(initial, stay[:, None] * moves) @ stay) - length

    # If all odds were equal, the mean length would equal them, so the extreme odds bracket the solution.
    bracket = length / np.array([odds.max() + BRACKET_MARGIN, odds.min() - BRACKET_MARGIN])
    return goes_on(brentq(excess, *np.log(bracket)))


def walk(
    starts: np.ndarray, steps: np.ndarray, n_states: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Run n independent walkers until all of them have ended.

    Parameters
    ----------
    starts : int array, shape (n,)
        The row of ``steps`` in which each walker begins.
    steps : array, shape (n_automata * n_states, k * n_states + 1)
        :meth:`PNFA.steps` of one automaton, or of several stacked on top of each other. A walker never leaves its
        automaton.
    n_states : int
        Number of states of each automaton.

    Returns
    -------
    tokens : int32 array, shape (n_tokens,)
    offsets : int64 array, shape (n + 1,)
        Walker i emitted the symbols ``tokens[offsets[i]:offsets[i + 1]]``.
    """
    outcomes = Outcomes(steps)
    end = steps.shape[1] - 1
    walkers, rows = np.arange(len(starts)), starts
    lengths = np.zeros(len(starts), np.int64)
    emitted: list[tuple[np.ndarray, np.ndarray]] = []
    while len(walkers):
        outcome = outcomes.draw(rows, rng)
        goes_on = outcome != end
        walkers, outcome = walkers[goes_on], outcome[goes_on]
        emitted.append((walkers, (outcome // n_states).astype(np.int32)))
        lengths[walkers] += 1
        automaton = rows[goes_on] // n_states
        rows = automaton * n_states + outcome % n_states
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.empty(offsets[-1], np.int32)
    for time, (walkers, symbol) in enumerate(emitted):
        tokens[offsets[walkers] + time] = symbol
    return tokens, offsets


def all_strings(n_symbols: int, max_length: int) -> list[tuple[int, ...]]:
    """All strings of at most ``max_length`` symbols, shortest first."""
    return [s for n in range(max_length + 1) for s in product(range(n_symbols), repeat=n)]
