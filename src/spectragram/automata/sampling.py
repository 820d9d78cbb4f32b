"""Gibbs sampling: the average of the automata that the strings leave plausible, instead of the most probable one.

EM finds one automaton, whose many small weights follow the noise of the sample. Shibata & Yoshinaka (2012) won PAutomaC
by averaging over the posterior instead. One sweep draws the states behind every string given the weights, counts, and
draws new weights:

    s | x, A ~ alpha, A, beta            forward vectors are shared by common prefixes
    A | c    ~ Dirichlet(c + prior)      each family of priors below
    E[A | c] = (c + prior) / total       averaged over blocks of sweeps: the result is the mixture of these automata

    family      Dirichlet distributions of a state i
    joint       P(sigma, j | i): one over all moves and the end
    factored    P(sigma or end | i) and P(j | i, sigma): nearly deterministic automata have few targets for each symbol
    tied        P(sigma or end | i) and P(j | i): hidden Markov models

Backwards each string is drawn on its own, s_T ~ alpha_x(i) alpha_inf(i) and s_{t-1} ~ alpha_u(i) A_{x_t}(i, s_t) with
u = x_1 ... x_{t-1}, but not one string after the other: the nodes of the prefix tree are visited from the last to the
first, and at each one all strings that pass it are drawn. Forward vectors, most of what has to be read, are then read
once and in the order in which they lie in memory.

Small concentrations (the prior counts of a cell) make the weights sparse. Fitting them to the counts of each sweep
(Minka's fixed point) was tried on PAutomaC 3 and 31. It made them smaller still; held-out strings became slightly more
probable on the one and less on the other, and the distance to the solution grew on both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from spectragram.automata.em import Expected
from spectragram.automata.wfa import WFA
from spectragram.engine.kernels import REORDER
from spectragram.inference.chain import filter_prefixes
from spectragram.inference.prefix_tree import PrefixTree

__all__ = ["Chain", "Prior", "draw_states", "start_chain", "sweep_cost"]

CONCENTRATIONS = {"joint": (0.05, 0.0), "factored": (0.02, 0.2), "tied": (0.03, 0.2)}
"""Prior counts of each target (or move), and of each symbol and the end. Joint and factored ones were chosen on
PAutomaC 3, 17 and 31 from a few values between 0.005 and 0.3, with held-out strings and the solutions in view, which
disagreed twice on problem 31 (the value with the better distance was taken); tied ones by hand, not compared."""
DRAW_COST, DRAW_COST_PER_STATE, READ_COST, WEIGHT_COST = 2000.0, 30.0, 60.0, 3000.0
"""What it costs to draw a state, to read a number of a forward vector, and to draw a weight, in operations of a matrix
product that take as long. Measured with 12 to 64 states."""
BLOCK, MOST_BLOCKS = 25, 4
"""Weights are averaged over blocks of at least this many sweeps, and probabilities of strings over at most this many
blocks: in a long run states change their roles, so an average of weights over all of it is worse. Chosen by hand; eight
blocks brought 0.001 to 0.005 more for one sampler alone, but every block is a part of the model."""
WIDE = 8
"""States whose chances are added up at once before it is asked which of them was drawn: as many as a wide register
holds; 16 are no faster."""
BURNT = 1 / 3
"""The share of sweeps before the first block. Chosen by hand."""
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
    """A sampler between two runs: the weights drawn last, its prior, and the averages over blocks of the last run.

    The averages are parts of a mixture in equal shares.
    """

    weights: WFA
    prior: Prior
    averages: tuple[WFA, ...]

    def run(self, trees: Sequence[PrefixTree], sweeps: int, rng: np.random.Generator) -> Chain:
        """Go on for some sweeps; all but the first are averaged."""
        weights, prior = self.weights, self.prior
        memory = np.empty((max(map(len, trees)), weights.n_states), np.float32)
        burnt = int(BURNT * sweeps)
        for _ in range(burnt):
            weights = prior.draw(draw_states(trees, weights, memory, rng), rng)
        averages: list[WFA] = []
        n_blocks = int(np.clip((sweeps - burnt) // BLOCK, 1, MOST_BLOCKS))
        for block in np.array_split(np.arange(burnt, sweeps), n_blocks):
            sums = [np.zeros_like(part) for part in _parts(weights)]
            for _ in block:
                counts = draw_states(trees, weights, memory, rng)
                for sum_, part in zip(sums, _parts(prior.mean(counts)), strict=True):
                    sum_ += part
                weights = prior.draw(counts, rng)
            averages.append(WFA(*(sum_ / len(block) for sum_ in sums)))
        return Chain(weights, prior, tuple(averages))


def start_chain(start: WFA, family: str) -> Chain:
    """A chain whose first sweep draws states under the weights of an automaton."""
    return Chain(start, Prior(family, *CONCENTRATIONS[family]), (start,))


def _parts(wfa: WFA) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return wfa.initial, wfa.operators, wfa.final


def sweep_cost(trees: Sequence[PrefixTree], wfa: WFA) -> float:
    """Floating-point operations of a sweep: forward vectors of all nodes, a draw for every symbol, and new weights."""
    nodes, tokens = sum(map(len, trees)), sum(float(tree.through.sum()) for tree in trees)
    forward = nodes * wfa.n_states * (2.0 * wfa.n_states + READ_COST)
    drawing = tokens * (DRAW_COST + DRAW_COST_PER_STATE * wfa.n_states)
    return forward + drawing + WEIGHT_COST * wfa.operators.size


def draw_states(trees: Sequence[PrefixTree], wfa: WFA, memory: np.ndarray, rng: np.random.Generator) -> Expected:
    """Counts of one draw of the states behind all strings; ``memory`` (nodes of the largest tree, m) is overwritten."""
    parts = wfa.initial, wfa.operators, wfa.operators.transpose(0, 2, 1), wfa.final
    weights: list[np.ndarray] = [np.ascontiguousarray(part, np.float32) for part in parts]
    n_symbols, m = wfa.operators.shape[:2]
    total = Expected(np.zeros(m), np.zeros(wfa.operators.shape), np.zeros(m), 0.0)
    for tree in trees:
        chances = rng.random(int(tree.through.sum()))
        moves, stops, starts = _count_draws(
            tree.parent,
            tree.symbol,
            tree.groups,
            tree.ends,
            tree.through,
            *weights,
            chances,
            memory,  # type: ignore[call-arg]
        )
        total = total + Expected(starts, moves.reshape(n_symbols, m, m).transpose(0, 2, 1), stops, 0.0)
    return total


@njit(cache=True, nogil=True)
def _count_draws(
    parent: np.ndarray,
    symbol: np.ndarray,
    groups: np.ndarray,
    ends: np.ndarray,
    through: np.ndarray,
    initial: np.ndarray,
    operators: np.ndarray,
    transposed: np.ndarray,
    final: np.ndarray,
    chances: np.ndarray,
    states: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Moves (k m, m), row sigma m + j for the moves with sigma into j; stops (m,) and starts (m,).

    ``chances`` are uniform random numbers, one for each symbol and one for the end of every string. Strings that are
    impossible are left out.
    """
    filter_prefixes(parent, symbol, groups, initial, operators, states)
    n, m = len(parent), len(final)
    entries, endings = transposed.reshape(-1, m), final.reshape(1, m)
    moves, stops, starts = np.zeros((len(entries), m), np.int64), np.zeros(m), np.zeros(m)
    first, child, sibling = _family(parent, through)
    drawn = np.full(len(chances), -1, np.int32)  # the states at a node, first[node] and on; -1 if impossible
    for node in range(n - 1, -1, -1):
        place = first[node]
        for _ in range(int(ends[node])):
            state = _draw(states, node, endings, 0, chances[place])
            if state >= 0:
                stops[state] += 1.0
            drawn[place] = state
            place += 1
        below = child[node]
        while below >= 0:
            for i in range(first[below], first[below] + int(through[below])):
                if drawn[i] >= 0:
                    row = symbol[below] * m + drawn[i]
                    state = _draw(states, node, entries, row, chances[place])
                    if state >= 0:
                        moves[row, state] += 1
                    drawn[place] = state
                place += 1
            below = sibling[below]
    for i in range(len(chances) - int(through[0]), len(chances)):
        if drawn[i] >= 0:
            starts[drawn[i]] += 1.0
    return moves, stops, starts


@njit(cache=True, nogil=True)
def _family(parent: np.ndarray, through: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each node the place of its first string, its last child, and the child of its parent before it, or -1.

    The root has the last places.
    """
    n, place = len(parent), 0
    first, child, sibling = np.empty(n, np.int64), np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for node in range(1, n):
        first[node] = place
        place += int(through[node])
        sibling[node] = child[parent[node]]
        child[parent[node]] = node
    first[0] = place
    return first, child, sibling


@njit(cache=True, nogil=True, fastmath=REORDER)
def _draw(left: np.ndarray, i: int, right: np.ndarray, j: int, chance: float) -> int:
    """An index drawn with probabilities proportional to left[i] * right[j]; -1 if all are zero.

    Rows are given by their numbers, since a view of a row takes as long to make as its product to compute.
    """
    m = left.shape[1]
    total = left.dtype.type(0)
    for s in range(m):
        total += left[i, s] * right[j, s]
    rest = left.dtype.type(chance) * total
    begin = 0
    while begin + WIDE < m:
        block = left.dtype.type(0)
        for s in range(begin, begin + WIDE):
            block += left[i, s] * right[j, s]
        if rest <= block:
            break
        rest -= block
        begin += WIDE
    for s in range(begin, m):
        rest -= left[i, s] * right[j, s]
        if rest <= 0 and left[i, s] * right[j, s] > 0:
            return s
    for s in range(m - 1, -1, -1):  # rounding has left a rest behind the last one
        if left[i, s] * right[j, s] > 0:
            return s
    return -1
