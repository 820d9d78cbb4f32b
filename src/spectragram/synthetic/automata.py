"""Probabilistic automata with known parameters: exact values, exact Hankel blocks, samples.

    paper                 here         shape
    alpha_1               initial      (m,)         distribution over states
    A_sigma               operators    (k, m, m)    A_sigma[i, j]: in i, emit sigma and go to j
    alpha_inf             final        (m,)         probability of ending in a state
    f, f_p, f_s           statistic    "string", "prefix", "substring"

where initial sums to 1 and, for every state, final + sum_sigma A_sigma 1 = 1 (Balle et al. 2014, section 4.3).
An HMM is the case in which emission and move are independent given the state.
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
    draw_rows,
    require_distributions,
    symbols,
    weakest_correlation,
)

__all__ = ["PNFA", "Statistic", "all_strings", "walk"]

Statistic = Literal["string", "prefix", "substring"]
String = Sequence[int]


@dataclass(frozen=True)
class PNFA:
    """A probabilistic non-deterministic automaton over the symbols 0 .. n_symbols - 1."""

    initial: np.ndarray
    operators: np.ndarray
    final: np.ndarray

    def __post_init__(self) -> None:
        m = self.n_states
        if self.operators.shape[1:] != (m, m) or self.final.shape != (m,):
            raise InputError(
                f"shapes {self.initial.shape}, {self.operators.shape}, {self.final.shape}",
                remedy="give (m,), (k, m, m) and (m,)",
            )
        require_distributions("initial weights", self.initial.sum(), self.initial)
        leaving = self.operators.sum(axis=(0, 2)) + self.final
        require_distributions("moves and end of a state", leaving, self.operators, self.final)
        if max(abs(np.linalg.eigvals(self.total))) > 1 - 1e-9:
            raise InputError("some strings never end", remedy="let every state reach one with final > 0")

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
        """Draw an automaton whose :meth:`conditioning` is at least the one asked for.

        Strings have exactly ``mean_length`` symbols on average.
        """

        def draw(sharpness: float) -> PNFA:
            initial = rng.dirichlet(np.ones(n_states))
            moves = draw_rows(n_states, n_symbols * n_states, sharpness, rng)
            moves = moves.reshape(n_states, n_symbols, n_states).transpose(1, 0, 2)
            stay = _scaled_to_length(rng.uniform(0.5, 1.5, n_states), initial, moves.sum(axis=0), mean_length)
            return cls(initial, moves * stay[:, None], 1 - stay)

        return conditioned(draw, PNFA.conditioning, conditioning)

    @classmethod
    def from_hmm(cls, initial: np.ndarray, transition: np.ndarray, emission: np.ndarray, stop: np.ndarray) -> PNFA:
        """An HMM that in each state ends (``stop``) or else emits a symbol and moves on.

        Parameters
        ----------
        initial : (m,); transition : (m, m), rows sum to 1; emission : (m, k), rows sum to 1; stop : (m,)
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
        """Weakest of the m canonical correlations between how a short string begins and how it goes on.

        Short strings are all up to a length at which there are at least twice as many as states.
        """
        prefixes, suffixes = self.initial[None], self.final[None]
        forward, backward = prefixes, suffixes
        while len(forward) < 2 * self.n_states:
            prefixes = np.einsum("pi,sij->psj", prefixes, self.operators).reshape(-1, self.n_states)
            suffixes = np.einsum("sij,pj->psi", self.operators, suffixes).reshape(-1, self.n_states)
            forward, backward = np.vstack([forward, prefixes]), np.vstack([backward, suffixes])
        return weakest_correlation(forward, backward)

    def ends(self, statistic: Statistic = "string") -> tuple[np.ndarray, np.ndarray]:
        """Initial and final weights that make the operators compute a statistic (Lemma 3.1), (m,) each."""
        initial, final = self.initial, self.final
        rest = np.eye(self.n_states) - self.total
        if statistic in ("prefix", "substring"):
            final = np.linalg.solve(rest, final)  # (I - A)^-1 alpha_inf
        if statistic == "substring":
            initial = np.linalg.solve(rest.T, initial)  # alpha_1' (I - A)^-1
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
        """P(x), P(x Sigma*), or the expected number of times x occurs, by statistic."""
        return float(self.forward([string], statistic)[0] @ self.ends(statistic)[1])

    def probability(self, string: String) -> float:
        """P(x)."""
        return self.value(string)

    def prefix_probability(self, string: String) -> float:
        """P(x Sigma*): that a string starts with x."""
        return self.value(string, "prefix")

    def expected_count(self, string: String) -> float:
        """How often x occurs in a string, on average: ``E |w|_x``."""
        return self.value(string, "substring")

    def mean_length(self) -> float:
        """Average number of symbols of a string."""
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
        """The exact Hankel block H[u, v] = f(u v), or H_sigma[u, v] = f(u sigma v) where a symbol is given."""
        forward = self.forward(prefixes, statistic)
        if symbol is not None:
            forward = forward @ self.operators[symbol]
        return forward @ self.backward(suffixes, statistic).T

    def sample(self, n: int, rng: np.random.Generator) -> Corpus:
        """Draw n strings; the words of the corpus are s0, s1, ..."""
        starts = Outcomes(self.initial[None]).draw(np.zeros(n, np.int64), rng)
        tokens, offsets = walk(starts, self.steps(), self.n_states, rng)
        return Corpus(tokens, offsets, symbols("s", self.n_symbols, tokens))

    def steps(self) -> np.ndarray:
        """What may happen next, (m, k * m + 1): every (symbol, next state), symbol-major, and last the end."""
        moves = self.operators.transpose(1, 0, 2).reshape(self.n_states, -1)
        return np.hstack([moves, self.final[:, None]])


def _scaled_to_length(odds: np.ndarray, initial: np.ndarray, moves: np.ndarray, length: float) -> np.ndarray:
    """Probability of going on in each state, with odds in the given proportions, that makes strings this long."""

    def goes_on(log_scale: float) -> np.ndarray:
        return 1 / (1 + 1 / (np.exp(log_scale) * odds))

    def excess(log_scale: float) -> float:
        stay = goes_on(log_scale)
        visits = np.linalg.solve(np.eye(len(odds)) - (stay[:, None] * moves).T, initial)
        return float(visits @ stay) - length

    # Were all odds alike, strings would be as long as the odds; the extremes enclose the answer.
    return goes_on(brentq(excess, *np.log(length / np.array([odds.max() + 1e-6, odds.min() - 1e-6]))))


def walk(
    starts: np.ndarray, steps: np.ndarray, n_states: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Let every walker step until its end, all of them at once.

    Parameters
    ----------
    starts : int array, shape (n,)
        Row of ``steps`` in which each begins.
    steps : array, shape (n_automata * n_states, k * n_states + 1)
        As :meth:`PNFA.steps`, for one automaton or for several below one another; a walker stays in its own.

    Returns
    -------
    tokens : int32 array; offsets : int64 array, shape (n + 1,)
        The symbols that walker i emitted are ``tokens[offsets[i]:offsets[i + 1]]``.
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
    """Every string of at most ``max_length`` symbols, shortest first."""
    return [s for n in range(max_length + 1) for s in product(range(n_symbols), repeat=n)]
