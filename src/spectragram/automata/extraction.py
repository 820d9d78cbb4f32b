"""Learn the automaton of any function on strings by asking for values.

A basis grows until the rank of its Hankel block does not. Then Lemma 4.1 applies: if the block has the rank of the
function, the automaton computes the function exactly, up to rounding. Random strings test it: where it is wrong, the
prefixes and suffixes of a shortest such string join the basis, which raises the rank (Beimel et al. 2000). Prefixes and
suffixes that add nothing to the rank are dropped, so a function of rank n over k symbols needs about 2 k n^2 values,
not k^length.

Values of long strings may be tiny. With relative weighting every row and column of the block is scaled to length 1, so
that a string counts by what follows it, not by how probable it is. An approximation should rather be good where strings
are frequent: frequency weighting divides rows and columns by the square roots of their totals, as the spectral learner
does with counts.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from spectragram.automata.hankel import ExactBlock
from spectragram.automata.oracles import NextOracle, Oracle, String
from spectragram.automata.spectral import automaton_from_block
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Vocabulary
from spectragram.errors import ParameterError, RankError

__all__ = ["Basis", "Extracted", "Search", "basis_of", "extract", "frequent_basis", "random_strings", "typical_strings"]

SPARE_RANK = 3
"""The basis stops growing when its rank is this many times the number of states asked for. Chosen by hand: a larger
basis averages out what the dropped dimensions contribute."""
SEARCHED = 64
"""At first every short string is kept, up to this many, since the function may be zero on most of them. Chosen by
hand to bound the number of queries for large alphabets."""
SMALLEST_ROW = 1e-10
"""Rows and columns shorter than this share of the longest are not scaled up further: they may be rounding error."""
TESTED, MAX_ROUNDS = 300, 30
"""Random strings of each test, and how often a wrong one may extend the basis. Chosen by hand, not tuned."""
PUMPED = 60
"""How many of them repeat two parts equally often, as in brackets: functions of which random strings show too little.
Chosen by hand."""
TEST_FACTOR, SMALLEST_GAP = 100.0, 1e-6
"""A value is wrong if it is off by more than this many times the tolerance, or this share, of the terms that it is a
sum of. Chosen by hand: errors of the block are amplified in long strings."""
TYPICAL, TYPICAL_SHARE, LONGEST_TYPICAL = 2000, 0.2, 50
"""Strings drawn from a next oracle that is approximated, the share of the queries that they may take, and how long they
may be. Chosen by hand, not tuned."""
LONGER = 6
"""Test strings have up to twice the symbols of the longest string of the basis, and this many more. Chosen by hand."""

Basis = tuple[list[String], list[String]]


@dataclass(frozen=True)
class Search:
    """How to search; see :meth:`spectragram.automata.Automaton.from_function` for what the parameters mean."""

    n_states: int | None = None
    tolerance: float = 1e-8
    min_length: int = 2
    weighting: str = "relative"
    seed: int = 0


@dataclass(frozen=True)
class Extracted:
    """An automaton, the basis and the singular values (n_prefixes or fewer,) of its block, and whether it is exact.

    ``is_exact`` is True if the rank stopped growing, no dimension was dropped, and all random strings agreed.
    """

    wfa: WFA
    basis: Basis
    singular_values: np.ndarray
    is_exact: bool


def extract(oracle: Oracle, n_symbols: int, search: Search, basis: Basis | None = None) -> Extracted:
    """Learn an automaton from a grown basis, or from a given one."""
    if basis is not None:
        return _from_basis(oracle, n_symbols, search, basis, grown=False)
    rng = np.random.default_rng(search.seed)
    grown, complete = _grow(oracle, n_symbols, search, ([()], [()]))
    for _ in range(MAX_ROUNDS):
        found = _from_basis(oracle, n_symbols, search, grown, grown=complete)
        if not complete:
            return found
        try:
            wrong = _wrong_string(oracle, found.wfa, grown, search, n_symbols, rng)
            if wrong is None:
                return found
            grown, complete = _grow(oracle, n_symbols, search, _extended(grown, wrong), searching=False)
        except RankError:
            if search.n_states is None:
                raise
            break
    return Extracted(found.wfa, found.basis, found.singular_values, False)


def _grow(
    oracle: Oracle, n_symbols: int, search: Search, basis: Basis, *, searching: bool = True
) -> tuple[Basis, bool]:
    """Extend prefixes and suffixes in turn until the rank does not grow; also returns whether that was reached.

    If states are limited, a basis of many times their number is enough, and so is what the queries paid for.
    """
    prefixes, suffixes = basis
    symbols = range(n_symbols)
    limit = np.inf if search.n_states is None else SPARE_RANK * search.n_states
    rank, length = 0, 0
    while True:
        length += 1
        keep_all = searching and length <= search.min_length
        try:
            wide = list(dict.fromkeys([*prefixes, *((*u, s) for u in prefixes for s in symbols)]))
            H = _scaled(_block(oracle, wide, suffixes), search)[0]
            prefixes_found = wide if keep_all and len(wide) <= SEARCHED else _chosen(wide, H, search.tolerance)
            tall = list(dict.fromkeys([*suffixes, *((s, *v) for v in suffixes for s in symbols)]))
            H = _scaled(_block(oracle, prefixes_found, tall), search)[0]
        except RankError:
            if search.n_states is None or not rank:
                raise
            return (prefixes, suffixes), False
        suffixes = tall if keep_all and len(tall) <= SEARCHED else _chosen(tall, H.T, search.tolerance)
        prefixes = prefixes_found
        found = _rank(H, search.tolerance)
        if not keep_all and (found == rank or found >= limit):
            break
        rank = found
    if not found:
        problem = f"is too short: the function is zero on all {oracle.n_queries} strings that were tried"
        raise ParameterError("min_length", search.min_length, problem, remedy="try longer strings")
    return (prefixes, suffixes), found < limit


def _from_basis(oracle: Oracle, n_symbols: int, search: Search, basis: Basis, *, grown: bool) -> Extracted:
    prefixes, suffixes = basis
    H = _block(oracle, prefixes, suffixes)
    shifted = np.stack([_block(oracle, [(*u, s) for u in prefixes], suffixes) for s in range(n_symbols)])
    _, rows, columns = _scaled(H, search)
    initial, final = _block(oracle, [()], suffixes)[0], _block(oracle, prefixes, [()])[:, 0]
    block = _ScaledBlock(H, shifted, initial, final, None, rows, columns)
    singular_values = scipy.linalg.svdvals(rows[:, None] * H * columns)
    rank = _rank(rows[:, None] * H * columns, search.tolerance)
    n_states = min(search.n_states or rank, max(rank, 1))
    wfa = automaton_from_block(block, n_states, smallest=search.tolerance)[0]
    return Extracted(wfa, basis, singular_values, grown and n_states == rank)


@dataclass(frozen=True)
class _ScaledBlock(ExactBlock):
    rows: np.ndarray | None = None
    columns: np.ndarray | None = None

    def scales(self, kappa: float) -> tuple[np.ndarray, np.ndarray]:
        """The scales that were given."""
        assert self.rows is not None and self.columns is not None
        return self.rows, self.columns


def _block(oracle: Oracle, prefixes: Sequence[String], suffixes: Sequence[String]) -> np.ndarray:
    """H[u, v] = f(u v), all asked for in one call."""
    return oracle.values([u + v for u in prefixes for v in suffixes]).reshape(len(prefixes), len(suffixes))


def _scaled(H: np.ndarray, search: Search) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The block with its rows and columns weighted, and their scales.

    ``relative`` makes rows and then columns of length 1; ``frequency`` divides them by the square roots of their
    totals; ``absolute`` leaves them as they are.
    """
    if search.weighting == "absolute":
        return H, np.ones(H.shape[0]), np.ones(H.shape[1])
    if search.weighting == "frequency":
        size = np.abs(H)
        rows, columns = (np.sqrt(_inverse(size.sum(axis=axis))) for axis in (1, 0))
    else:
        rows = _inverse(np.linalg.norm(H, axis=1))
        columns = _inverse(np.linalg.norm(rows[:, None] * H, axis=0))
    return rows[:, None] * H * columns, rows, columns


def _inverse(sizes: np.ndarray) -> np.ndarray:
    """1 / size of each row, but not more than for the smallest row that counts; 1 if all are zero."""
    return 1.0 / np.maximum(sizes, SMALLEST_ROW * sizes.max(initial=0.0)) if sizes.any() else np.ones(len(sizes))


def _rank(H: np.ndarray, tolerance: float) -> int:
    sigma = scipy.linalg.svdvals(H)
    return int((sigma > tolerance * sigma[0]).sum()) if sigma[0] > 0 else 0


def _chosen(strings: list[String], H: np.ndarray, tolerance: float) -> list[String]:
    """Strings whose rows span all rows of H, in order; the empty string (row 0) is always among them."""
    _, _, order = scipy.linalg.qr(H.T, mode="economic", pivoting=True)
    return [strings[i] for i in sorted({0, *order[: _rank(H, tolerance)].tolist()})]


def _extended(basis: Basis, string: String) -> Basis:
    prefixes, suffixes = basis
    cuts = range(len(string) + 1)
    return (
        list(dict.fromkeys([*prefixes, *(string[:i] for i in cuts)])),
        list(dict.fromkeys([*suffixes, *(string[i:] for i in reversed(cuts))])),
    )


def _wrong_string(
    oracle: Oracle, wfa: WFA, basis: Basis, search: Search, n_symbols: int, rng: np.random.Generator
) -> String | None:
    """A shortest of some random strings on which the automaton is wrong."""
    longest = 2 * max(len(string) for side in basis for string in side) + LONGER
    strings = random_strings(TESTED - PUMPED, n_symbols, longest, rng) + _pumped(PUMPED, n_symbols, longest, rng)
    if isinstance(oracle, NextOracle):
        strings += oracle.draw(TESTED // 10, rng, longest)
    strings.sort(key=len)
    allowed = max(SMALLEST_GAP, TEST_FACTOR * search.tolerance)
    for string, value in zip(strings, oracle.values(strings), strict=True):
        state = wfa.forward(string)
        terms = max(abs(value), float(np.linalg.norm(state) * np.linalg.norm(wfa.final)))
        if abs(state @ wfa.final - value) > allowed * terms:
            return string
    return None


def random_strings(n: int, n_symbols: int, longest: int, rng: np.random.Generator) -> list[String]:
    """Strings of all lengths up to ``longest``, half of equally probable symbols and half with runs of one symbol.

    Languages often tell strings apart by long runs, which are rare among equally probable symbols.
    """
    strings = []
    for number in range(n):
        string = rng.integers(0, n_symbols, rng.integers(0, longest + 1)).tolist()
        repeats = rng.random(len(string)) < rng.random() * (number % 2)
        for place in range(1, len(string)):
            if repeats[place]:
                string[place] = string[place - 1]
        strings.append(tuple(string))
    return strings


def _pumped(n: int, n_symbols: int, longest: int, rng: np.random.Generator) -> list[String]:
    """Strings u^i v^i, half of them as long as allowed: no automaton can compare the two numbers of repetitions."""
    strings = []
    for number in range(n):
        u, v = (rng.integers(0, n_symbols, rng.integers(1, 3)).tolist() for _ in range(2))
        most = max(longest // len(u + v), 1)
        times = most if number % 2 else int(rng.integers(1, most + 1))
        strings.append(tuple(u * times + v * times))
    return strings


def frequent_basis(strings: Sequence[String], size: int) -> Basis:
    """The ``size`` most frequent prefixes and suffixes of strings; the empty string comes first."""
    prefixes = Counter(string[:i] for string in strings for i in range(len(string) + 1))
    suffixes = Counter(string[i:] for string in strings for i in range(len(string) + 1))

    def most(counts: Counter[String]) -> list[String]:
        order = sorted(counts, key=lambda string: (-counts[string], len(string), string))
        return list(dict.fromkeys([(), *order]))[:size]

    return most(prefixes), most(suffixes)


def typical_strings(oracle: Oracle, seed: int) -> list[String]:
    """Strings drawn from a next oracle for a share of its queries; none from another one, or if there are too few."""
    if not isinstance(oracle, NextOracle):
        return []
    rng = np.random.default_rng(seed)
    drawn: list[String] = []
    with contextlib.suppress(RankError):
        while len(drawn) < TYPICAL and oracle.n_queries < TYPICAL_SHARE * oracle.max_queries:
            drawn += oracle.draw(TYPICAL // 10, rng, LONGEST_TYPICAL)
    return drawn


def basis_of(basis: int | Mapping[str, Any] | None, strings: list[String], vocabulary: Vocabulary) -> Basis | None:
    """The basis that a user asks for: None if it is to be grown."""
    if basis is None:
        return None
    if isinstance(basis, Mapping):
        if set(basis) != {"prefixes", "suffixes"}:
            raise ParameterError("basis", basis, remedy="give a dictionary with prefixes and suffixes")
        sides = [
            [tuple(vocabulary.encode(string).tolist()) for string in basis[side]] for side in ("prefixes", "suffixes")
        ]
        if any(-1 in string for side in sides for string in side):
            raise ParameterError("basis", basis, "has a symbol outside the alphabet", remedy="use the alphabet alone")
        return sides[0], sides[1]
    if not isinstance(basis, int) or basis < 1:
        raise ParameterError("basis", basis, remedy="give a number of strings, or a dictionary")
    if not strings:
        raise ParameterError("basis", basis, "of no strings", remedy="give strings, or let the basis grow (None)")
    return frequent_basis(strings, basis)
