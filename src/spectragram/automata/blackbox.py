"""Learn an automaton from any function on strings, by calling it.

A basis is extended until the rank of its Hankel block stops growing. Then Lemma 4.1 applies, and the automaton computes
the function exactly (up to rounding) if any automaton does. Prefixes that add nothing to the rank are not extended, so
a function of rank n over k symbols needs about k n^2 calls, not k^length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from spectragram.automata.hankel import ExactBlock
from spectragram.automata.model import Weighted
from spectragram.automata.spectral import automaton_from_block
from spectragram.automata.wfa import WFA, Statistic
from spectragram.data.symbols import spell
from spectragram.errors import InputError, ParameterError, RankError

__all__ = ["Oracle", "learn_function", "oracle_of", "predictor_of"]

String = tuple[int, ...]
SPARE_RANK = 3
"""The basis stops growing when its rank is this many times the number of states asked for. Chosen by hand: a larger
basis averages out what the dropped dimensions contribute."""


class Oracle:
    """A function on strings that remembers and checks its answers, so it is never called twice for the same string."""

    def __init__(self, function: Callable[[String], float], max_calls: int, spell: Callable[[String], object]) -> None:
        self.function, self.max_calls, self.spell = function, max_calls, spell
        self.answers: dict[String, float] = {}

    def __call__(self, string: String) -> float:
        """The value of the function, from memory if it is known."""
        if string not in self.answers:
            if len(self.answers) >= self.max_calls:
                raise RankError(
                    f"the function was called {self.max_calls} times and its rank still grows: allow more calls "
                    "(max_calls), a larger tolerance if it is noisy, or fewer states"
                )
            answer = float(self.function(string))
            if not np.isfinite(answer):
                raise InputError(
                    f"the function returned {answer} for {self.spell(string)!r}",
                    remedy="it must return a finite number for every string",
                )
            self.answers[string] = answer
        return self.answers[string]


def oracle_of(function: Callable[[tuple[Any, ...]], float], words: Sequence[Any], max_calls: int) -> Oracle:
    """Make a function on strings of words a function on strings of their numbers."""
    if not words:
        raise InputError("an empty alphabet", remedy="give at least one symbol")
    return Oracle(
        lambda string: function(tuple(words[s] for s in string)),
        max_calls,
        spell=lambda string: " ".join(spell(words[s]) for s in string),
    )


def learn_function(
    oracle: Oracle, n_symbols: int, *, n_states: int | None = None, tolerance: float = 1e-8, min_length: int = 2
) -> WFA:
    """The smallest automaton of the function, or an approximation with ``n_states`` states.

    All prefixes and suffixes of up to ``min_length`` symbols are looked at before growth may stop; increase it if all
    short strings have the value zero. Singular values below a share of ``tolerance`` of the largest count as zero.
    """
    symbols = range(n_symbols)
    prefixes: list[String] = [()]
    suffixes: list[String] = [()]
    rank, length = 0, 0
    while True:
        length += 1
        wide = list(dict.fromkeys([*prefixes, *((*u, s) for u in prefixes for s in symbols)]))
        tall = list(dict.fromkeys([*suffixes, *((s, *v) for v in suffixes for s in symbols)]))
        H = _block(oracle, wide, tall)
        found = _rank(H, tolerance)
        searching = length <= min_length
        if found == rank and not searching:
            break
        rank = found
        if n_states is not None and rank >= SPARE_RANK * n_states and not searching:
            break
        # At first every string is kept, since the function may be zero on all short ones.
        prefixes = wide if searching else [wide[i] for i in _independent(H, rank)]
        suffixes = tall if searching else [tall[i] for i in _independent(H.T, rank)]
    if not rank:
        problem = f"is too short: the function is zero on all {len(oracle.answers)} strings that were tried"
        raise ParameterError("min_length", min_length, problem, remedy="try longer strings")
    H = _block(oracle, prefixes, suffixes)
    shifted = np.stack([_block(oracle, [(*u, s) for u in prefixes], suffixes) for s in symbols])
    block = ExactBlock(H, shifted, _block(oracle, [()], suffixes)[0], _block(oracle, prefixes, [()])[:, 0])
    return automaton_from_block(block, n_states or rank, smallest=tolerance)[0]


def _block(oracle: Oracle, prefixes: list[String], suffixes: list[String]) -> np.ndarray:
    return np.array([[oracle(u + v) for v in suffixes] for u in prefixes])


def _rank(H: np.ndarray, tolerance: float) -> int:
    sigma = scipy.linalg.svdvals(H)
    return int((sigma > tolerance * sigma[0]).sum()) if sigma[0] > 0 else 0


def _independent(H: np.ndarray, rank: int) -> list[int]:
    """Rows of H that span all rows, in order; the empty string (row 0) is always among them."""
    _, _, order = scipy.linalg.qr(H.T, mode="economic", pivoting=True)
    return sorted({0, *order[:rank].tolist()})


def predictor_of(wfa: WFA, statistic: Statistic) -> Weighted:
    """The automaton of string weights, ready to predict; its totals are NaN if sums over all strings diverge."""
    string = wfa.change_statistic(statistic, "string")
    try:
        total = string.change_statistic("string", "prefix").final
    except RankError:
        total = np.full(wfa.n_states, np.nan)
    weight = float(string.initial @ total)
    start = string.initial / weight if np.isfinite(weight) and weight > 0 else string.initial
    return Weighted.without_contexts(string, total, start)
