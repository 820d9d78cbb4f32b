"""Weighted finite automata as arrays, and exact operations on them.

    f(x_1 ... x_T) = alpha_1' A_{x_1} ... A_{x_T} alpha_inf            (Balle et al. 2014, section 2)

    paper                        here                 shape
    alpha_1                      initial              (m,)
    A_sigma                      operators            (k, m, m)
    alpha_inf                    final                (m,)
    A = sum_sigma A_sigma        WFA.total_operator   (m, m)
    f, f_p, f_s                  statistic            "string", "prefix", "substring"
    H_f = P S                    forward, backward    rows of P and columns of S, both (m,)
    M^-1 A M                     change_of_basis
    Lemma 3.1                    change_statistic

Every learner returns these arrays. An automaton is probabilistic (a PNFA) if no weight is negative, the initial weights
sum to 1, and so do, in each state, the weights of all moves and the final weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.linalg

from spectragram.automata.bases import spanning_rows
from spectragram.automata.stein import CONVERGES, sum_of_products
from spectragram.display import shown_by
from spectragram.errors import InputError, RankError

__all__ = ["WFA", "Statistic"]

MINIMISED = 100
"""Automata of at most this many states together are minimised before their distance is computed, which finds distances
near zero exactly and sums that converge only for the difference. Chosen by hand: more states take seconds."""
CHECKED_STRINGS = 10**5
"""Most strings of one length whose signs are checked. Chosen by hand to bound time and memory."""

Statistic = Literal["string", "prefix", "substring"]
String = Sequence[int]


@dataclass(frozen=True, eq=False)
class WFA:
    """A weighted automaton over the symbols 0 .. n_symbols - 1.

    ``==`` says whether two are the same object; :meth:`is_equivalent` compares functions.
    """

    initial: np.ndarray
    operators: np.ndarray
    final: np.ndarray

    def __post_init__(self) -> None:
        for name in ("initial", "operators", "final"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), np.float64))
        m = self.initial.shape
        if len(m) != 1 or self.operators.ndim != 3 or self.operators.shape[1:] != m + m or self.final.shape != m:
            raise InputError(
                f"weights of shapes {self.initial.shape}, {self.operators.shape}, {self.final.shape}",
                remedy="give initial (m,), operators (k, m, m) and final (m,)",
            )
        if not all(np.isfinite(array).all() for array in (self.initial, self.operators, self.final)):
            raise InputError("some weights are infinite or undefined", remedy="check the moments they come from")

    # -- values ---------------------------------------------------------------------------------------------------

    @property
    def n_states(self) -> int:
        """Number of states m."""
        return len(self.initial)

    @property
    def n_symbols(self) -> int:
        """Number of symbols k."""
        return len(self.operators)

    @property
    def total_operator(self) -> np.ndarray:
        """A = sum_sigma A_sigma, shape (m, m)."""
        return self.operators.sum(axis=0)

    _repr_svg_ = shown_by("automaton_svg")

    def value(self, string: String) -> float:
        """f(x), which underflows for long strings; :class:`~spectragram.automata.Automaton` computes logarithms."""
        return float(self.forward(string) @ self.final)

    def values(self, strings: Iterable[String]) -> np.ndarray:
        """f(x) of every string, shape (n_strings,)."""
        return np.array([self.value(string) for string in strings])

    def forward(self, string: String) -> np.ndarray:
        """alpha_1' A_x, which is row x of P in H_f = P S, shape (m,)."""
        row = self.initial
        for symbol in string:
            row = row @ self.operators[symbol]
        return row

    def backward(self, string: String) -> np.ndarray:
        """A_x alpha_inf, which is column x of S in H_f = P S, shape (m,)."""
        column = self.final
        for symbol in reversed(string):
            column = self.operators[symbol] @ column
        return column

    # -- the same function in another form --------------------------------------------------------------------------

    def change_of_basis(self, M: np.ndarray) -> WFA:
        """The automaton M^-1 A M, which computes the same function, for an invertible M (m, m)."""
        inverse = np.linalg.inv(M)
        return WFA(self.initial @ M, inverse @ self.operators @ M, inverse @ self.final)

    def minimize(self, tolerance: float = 1e-10) -> WFA:
        """The smallest automaton of the same function: what is both reachable and observable is kept."""
        reached = self._reachable(tolerance, float(np.linalg.norm(self.initial)))
        # Compare with the length of the original final weights: what is left of them may be rounding error.
        return reached.reverse()._reachable(tolerance, float(np.linalg.norm(self.final))).reverse()

    def _reachable(self, tolerance: float, size: float) -> WFA:
        found = [direction for _, _, direction in spanning_rows(self.initial, self.operators, tolerance, size)]
        if not found:
            return WFA(np.zeros(1), np.zeros((self.n_symbols, 1, 1)), np.zeros(1))
        basis = np.array(found)
        return WFA(self.initial @ basis.T, basis @ self.operators @ basis.T, basis @ self.final)

    def reverse(self) -> WFA:
        """The automaton of x -> f(x read backwards)."""
        return WFA(self.final, self.operators.transpose(0, 2, 1), self.initial)

    # -- new functions from old -------------------------------------------------------------------------------------

    def __add__(self, other: WFA) -> WFA:
        """The automaton of f + g (direct sum)."""
        self._require_same_alphabet(other)
        operators = np.stack(
            [scipy.linalg.block_diag(a, b) for a, b in zip(self.operators, other.operators, strict=True)]
        )
        return WFA(np.concatenate([self.initial, other.initial]), operators, np.concatenate([self.final, other.final]))

    def __mul__(self, factor: float) -> WFA:
        """The automaton of c f."""
        return WFA(self.initial * factor, self.operators, self.final)

    __rmul__ = __mul__

    def __sub__(self, other: WFA) -> WFA:
        """The automaton of f - g."""
        return self + -1.0 * other

    def __neg__(self) -> WFA:
        """The automaton of -f."""
        return -1.0 * self

    def concatenate(self, other: WFA) -> WFA:
        """The automaton of x -> sum over all cuts x = u v of f(u) g(v), with m + m' states (Cauchy product)."""
        self._require_same_alphabet(other)
        m, n = self.n_states, other.n_states
        operators = np.zeros((self.n_symbols, m + n, m + n))
        operators[:, :m, :m], operators[:, m:, m:] = self.operators, other.operators
        # What may end in f may begin in g.
        operators[:, :m, m:] = (self.operators @ self.final)[:, :, None] * other.initial
        initial = np.concatenate([self.initial, self.initial @ self.final * other.initial])
        return WFA(initial, operators, np.concatenate([np.zeros(m), other.final]))

    def star(self) -> WFA:
        """The automaton of f* = 1 + f + f f + ..., products by :meth:`concatenate`, with m + 1 states.

        The value of a string is a sum over all its cuts, so the absolute value of f(empty string) must be below 1.

            c = 1 / (1 - f(empty))        Q_sigma = A_sigma (I + c alpha_inf alpha_1')
            f*(empty) = c                 f*(x) = c alpha_1' Q_x alpha_inf
        """
        empty = float(self.initial @ self.final)
        if abs(empty) >= 1.0 - CONVERGES:
            raise RankError(f"the star diverges: the value of the empty string is {empty:.6g}, not between -1 and 1")
        c = 1.0 / (1.0 - empty)
        m = self.n_states
        operators = np.zeros((self.n_symbols, m + 1, m + 1))
        operators[:, :m, :m] = self.operators @ (np.eye(m) + c * np.outer(self.final, self.initial))
        # The last state serves the empty string alone.
        return WFA(np.append(c * self.initial, 1.0), operators, np.append(self.final, 1.0))

    def product(self, other: WFA) -> WFA:
        """The automaton of x -> f(x) g(x), with m times m' states (Hadamard product)."""
        self._require_same_alphabet(other)
        operators = np.stack([np.kron(a, b) for a, b in zip(self.operators, other.operators, strict=True)])
        return WFA(np.kron(self.initial, other.initial), operators, np.kron(self.final, other.final))

    def total(self) -> float:
        """sum_x f(x) over all strings; it must converge (:meth:`is_irredundant`)."""
        return float(self.initial @ self._solve(self.final))

    def inner_product(self, other: WFA) -> float:
        """sum_x f(x) g(x) over all strings, in closed form and in memory for m times m' numbers."""
        self._require_same_alphabet(other)
        # The values of two distributions are at most 1, so the sum of their products converges if that of f does.
        converges = self.is_probabilistic() and other.is_probabilistic() and self.is_irredundant()
        summed = sum_of_products(self.initial, self.operators, other.initial, other.operators, converges=converges)
        return float(self.final @ summed @ other.final)

    def l2_distance(self, other: WFA) -> float:
        """sqrt(sum_x (f(x) - g(x))^2) over all strings.

        In closed form, in memory for m times m' numbers. For automata with more than 100 states together, distances
        below about 1e-8 times the norms of f and g are rounding error.
        """
        if self.n_states + other.n_states <= MINIMISED:
            difference = (self - other).minimize(1e-12)
            return float(np.sqrt(max(difference.inner_product(difference), 0.0)))
        square = self.inner_product(self) - 2.0 * self.inner_product(other) + other.inner_product(other)
        return float(np.sqrt(max(square, 0.0)))

    def counterexample(self, other: WFA, tolerance: float = 1e-8) -> tuple[int, ...] | None:
        """A shortest string on which the two automata differ, or None if they compute the same function.

        The forward vectors of f - g span a space of at most m + m' dimensions, so it is enough to look at the strings
        of a basis (:mod:`spectragram.automata.bases`), which have fewer than m + m' symbols. Values count as equal if
        they differ by less than a share of ``tolerance`` of the terms that they are sums of.
        """
        difference = self.minimize(tolerance) - other.minimize(tolerance)
        size = float(np.linalg.norm(difference.initial))
        for string, row, _ in spanning_rows(difference.initial, difference.operators, tolerance, size):
            if abs(row @ difference.final) > tolerance * np.linalg.norm(row) * np.linalg.norm(difference.final):
                return string
        return None

    def is_equivalent(self, other: WFA, tolerance: float = 1e-8) -> bool:
        """Whether the two automata compute the same function, up to rounding; see :meth:`counterexample`."""
        return self.counterexample(other, tolerance) is None

    def change_statistic(self, source: Statistic, target: Statistic) -> WFA:
        """Convert the automaton of f, f_p or f_s into that of another of them (Lemma 3.1).

        alpha~_1' = alpha_1' (I - A)^-1        alpha~_inf = (I - A)^-1 alpha_inf
        f: (alpha_1, alpha_inf)    f_p: (alpha_1, alpha~_inf)    f_s: (alpha~_1, alpha~_inf)
        """
        for name in (source, target):
            if name not in get_args(Statistic):
                raise InputError(f"statistic {name!r} is unknown", remedy="choose string, prefix or substring")
        rest = np.eye(self.n_states) - self.total_operator
        initial, final = self.initial, self.final
        if source == "string" and target != "string":
            final = self._solve(final)
        elif source != "string" and target == "string":
            final = rest @ final
        if source != "substring" and target == "substring":
            initial = self.reverse()._solve(initial)
        elif source == "substring" and target != "substring":
            initial = initial @ rest
        return WFA(initial, self.operators, final)

    # -- properties -------------------------------------------------------------------------------------------------

    def spectral_radius(self) -> float:
        """Largest modulus of an eigenvalue of A; if it is below 1, sums over all strings converge."""
        return float(np.abs(np.linalg.eigvals(self.total_operator)).max())

    def is_irredundant(self) -> bool:
        """Whether sums over all strings converge, that is, whether the spectral radius of A is below 1."""
        return self.spectral_radius() < 1.0 - CONVERGES

    def is_probabilistic(self, tolerance: float = 1e-9) -> bool:
        """Whether weights are probabilities: none is negative, the initial ones and those of each state sum to 1."""
        leaving = self.final + self.operators.sum(axis=(0, 2))
        smallest = min(self.initial.min(), self.operators.min(initial=0.0), self.final.min())
        return bool(
            smallest >= -tolerance
            and abs(self.initial.sum() - 1.0) <= tolerance
            and np.abs(leaving - 1.0).max() <= tolerance
        )

    def is_stochastic(self, tolerance: float = 1e-9, max_length: int = 6) -> bool:
        """Whether f is a probability distribution over strings.

        Whether any value is negative is undecidable for automata that are not probabilistic. For those, the sum over
        all strings is checked exactly, and the signs for all strings of up to ``max_length`` symbols, as long as there
        are at most 10^5 of each length.
        """
        if not self.is_irredundant() or abs(self.total() - 1.0) > tolerance:
            return False
        if self.is_probabilistic(tolerance):
            return True
        rows = self.initial[None]
        for _ in range(max_length + 1):
            if (rows @ self.final < -tolerance).any():
                return False
            if len(rows) * self.n_symbols > CHECKED_STRINGS:
                break
            rows = (rows @ self.operators).reshape(-1, self.n_states)
        return True

    def _solve(self, right: np.ndarray) -> np.ndarray:
        """(I - A)^-1 right."""
        if not self.is_irredundant():
            radius = self.spectral_radius()
            raise RankError(f"sums over all strings diverge: the spectral radius is {radius:.6g}, not below 1")
        return np.linalg.solve(np.eye(self.n_states) - self.total_operator, right)

    def _require_same_alphabet(self, other: WFA) -> None:
        if self.n_symbols != other.n_symbols:
            raise InputError(
                f"automata over {self.n_symbols} and {other.n_symbols} symbols",
                remedy="learn both over one alphabet",
            )
