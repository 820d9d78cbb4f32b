"""Deterministic automata that accept or reject strings: regular languages, and exact operations on them.

A state that a symbol leads nowhere from (target -1) rejects whatever follows. :meth:`DFA.complete` gives such moves a
target, a dead state, which minimisation, complements and comparisons need.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spectragram.automata.wfa import WFA
from spectragram.display import shown_by
from spectragram.errors import InputError, RankError

__all__ = ["DFA"]

MAX_SUBSETS = 10_000
"""Determinisation stops at this many states, of which there may be exponentially many. Chosen by hand."""


@dataclass(frozen=True, eq=False)
class DFA:
    """A deterministic automaton; state 0 is the start.

    ``==`` compares moves, accepting states and symbols; :meth:`is_equivalent` compares languages.

    Attributes
    ----------
    target : int array, shape (n_states, n_symbols)
        The state that each symbol leads to, or -1.
    accepts : bool array, shape (n_states,)
        Whether a string that ends in the state is accepted.
    symbols : tuple
        The alphabet, in the order of the columns; by default the numbers 0 .. n_symbols - 1.

    Examples
    --------
    >>> even = DFA([[1, 0], [0, 1]], [True, False], "ab")
    >>> even.accept("abba"), even.accept("ab"), (~even).accept("ab")
    (True, False, True)
    """

    target: np.ndarray
    accepts: np.ndarray
    symbols: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        target = np.ascontiguousarray(self.target, np.int64)
        accepts = np.ascontiguousarray(self.accepts, np.bool_)
        if target.ndim != 2 or accepts.shape != target.shape[:1] or not len(target):
            raise InputError(
                f"moves of shape {target.shape} and accepting states of shape {accepts.shape}",
                remedy="give target (n, k) and accepts (n,) with n of at least 1",
            )
        if target.size and not (target.min() >= -1 and target.max() < len(target)):
            raise InputError("a move leads to a state that is not there", remedy="number states from 0; -1 is nowhere")
        symbols = tuple(self.symbols) or tuple(range(target.shape[1]))
        if len(set(symbols)) != target.shape[1]:
            raise InputError(
                f"{len(set(symbols))} symbols for {target.shape[1]} columns", remedy="give each symbol once"
            )
        for name, value in (("target", target), ("accepts", accepts), ("symbols", symbols)):
            object.__setattr__(self, name, value)

    _repr_svg_ = shown_by("dfa_svg")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DFA) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.symbols, self.target.shape, self.target.tobytes(), self.accepts.tobytes()

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.target)

    @property
    def n_symbols(self) -> int:
        """Size of the alphabet."""
        return self.target.shape[1]

    @cached_property
    def _number(self) -> dict[Any, int]:
        return {symbol: i for i, symbol in enumerate(self.symbols)}

    def walk(self, string: Iterable[Any]) -> list[int]:
        """States visited, the start first; the walk stops where a symbol leads nowhere or is not in the alphabet.

        >>> DFA([[1], [0]], [True, False]).walk([0, 0, 0])
        [0, 1, 0, 1]
        """
        path = [0]
        for symbol in string:
            number = self._number.get(symbol, -1)
            following = int(self.target[path[-1], number]) if number >= 0 else -1
            if following < 0:
                break
            path.append(following)
        return path

    def accept(self, string: Sequence[Any]) -> bool:
        """Whether the string is in the language."""
        path = self.walk(string)
        return len(path) == len(string) + 1 and bool(self.accepts[path[-1]])

    # -- the same language in another form --------------------------------------------------------------------------

    def complete(self) -> DFA:
        """The automaton in which every symbol leads somewhere: a dead state is added if it is needed."""
        if (self.target >= 0).all():
            return self
        n = self.n_states
        target = np.vstack([np.where(self.target < 0, n, self.target), np.full((1, self.n_symbols), n)])
        return DFA(target, np.append(self.accepts, False), self.symbols)

    def minimize(self) -> DFA:
        """The smallest complete automaton of the language, its states numbered breadth-first (Hopcroft 1971).

        Equivalent automata over alphabets in the same order become equal.
        """
        whole = self.complete()
        labels = _equivalent_states(whole.target, whole.accepts)
        # A state for each class; target and accepts are those of any of its members.
        _, member = np.unique(labels, return_index=True)
        place = np.full(int(labels.max()) + 1, -1)
        place[labels[member]] = np.arange(len(member))
        target = place[labels[whole.target[member]]]
        return _from_start(target, whole.accepts[member], int(place[labels[0]]), self.symbols)

    def to_wfa(self) -> WFA:
        """The weighted automaton whose value is 1 for accepted strings and 0 for others."""
        operators = np.zeros((self.n_symbols, self.n_states, self.n_states))
        source, symbol = np.nonzero(self.target >= 0)
        operators[symbol, source, self.target[source, symbol]] = 1.0
        return WFA(np.eye(self.n_states)[0], operators, self.accepts.astype(np.float64))

    @classmethod
    def from_wfa(cls, wfa: WFA, symbols: Sequence[Any] = (), *, max_states: int = MAX_SUBSETS) -> DFA:
        """The language of strings whose value is positive, by determinisation (the subset construction).

        The weights must not be negative; a non-deterministic Boolean automaton has weights 0 and 1. Determinisation may
        need 2^m states: it stops with a RankError at ``max_states``.
        """
        if min(wfa.initial.min(), wfa.operators.min(initial=0.0), wfa.final.min()) < 0:
            raise InputError("determinisation of an automaton with negative weights", remedy="use to_dfa of a model")
        moves, final = wfa.operators > 0, wfa.final > 0
        subsets = [wfa.initial > 0]
        index = {subsets[0].tobytes(): 0}
        target: list[list[int]] = []
        for subset in subsets:  # it grows while it is read
            row = []
            for following in np.asarray(moves[:, subset].any(axis=1)):
                key = following.tobytes()
                if key not in index:
                    if len(subsets) >= max_states:
                        raise RankError(f"determinisation needs more than {max_states} states: allow more (max_states)")
                    index[key] = len(subsets)
                    subsets.append(following)
                row.append(index[key])
            target.append(row)
        accepts = [bool((subset & final).any()) for subset in subsets]
        return cls(np.array(target).reshape(len(subsets), wfa.n_symbols), np.array(accepts), tuple(symbols))

    # -- other languages --------------------------------------------------------------------------------------------

    def __invert__(self) -> DFA:
        """The language of all strings that this one does not accept."""
        whole = self.complete()
        return DFA(whole.target, ~whole.accepts, self.symbols)

    def __and__(self, other: DFA) -> DFA:
        """The language of strings that both accept."""
        return self._product(other, np.logical_and)

    def __or__(self, other: DFA) -> DFA:
        """The language of strings that at least one of them accepts."""
        return self._product(other, np.logical_or)

    def __sub__(self, other: DFA) -> DFA:
        """The language of strings that the first accepts and the second does not."""
        return self._product(other, np.greater)

    def __xor__(self, other: DFA) -> DFA:
        """The language of strings that exactly one of them accepts."""
        return self._product(other, np.not_equal)

    def _product(self, other: DFA, decide: Callable[..., Any]) -> DFA:
        if set(self.symbols) != set(other.symbols):
            raise InputError("automata over different alphabets", remedy="give both the same symbols")
        left, right = self.complete(), other.complete()
        columns = [right._number[symbol] for symbol in self.symbols]
        n = right.n_states
        target = left.target[:, None, :] * n + right.target[None][:, :, columns]
        accepts = decide(left.accepts[:, None], right.accepts[None])
        return _from_start(target.reshape(-1, self.n_symbols), accepts.ravel(), 0, self.symbols)

    # -- questions --------------------------------------------------------------------------------------------------

    def shortest(self) -> list[Any] | None:
        """A shortest string that is accepted, or None if none is.

        >>> DFA([[1, -1], [-1, 0]], [False, True], "ab").shortest()
        ['a']
        """
        came_from: dict[int, tuple[int, int]] = {0: (-1, -1)}
        waiting = deque([0])
        while waiting:
            state = waiting.popleft()
            if self.accepts[state]:
                string = []
                while state:
                    state, symbol = came_from[state]
                    string.append(self.symbols[symbol])
                return string[::-1]
            for symbol, following in enumerate(self.target[state].tolist()):
                if following >= 0 and following not in came_from:
                    came_from[following] = (state, symbol)
                    waiting.append(following)
        return None

    def counterexample(self, other: DFA) -> list[Any] | None:
        """A shortest string that only one of the two accepts, or None if they accept the same language."""
        return (self ^ other).shortest()

    def is_equivalent(self, other: DFA) -> bool:
        """Whether both accept the same language."""
        return self.counterexample(other) is None


def _from_start(target: np.ndarray, accepts: np.ndarray, start: int, symbols: tuple[Any, ...]) -> DFA:
    """The part that can be reached from ``start``, numbered breadth-first; every move must lead somewhere."""
    order, number = [start], {start: 0}
    for state in order:  # it grows while it is read
        for following in target[state].tolist():
            if following not in number:
                number[following] = len(order)
                order.append(following)
    renumbered = [[number[following] for following in target[state].tolist()] for state in order]
    return DFA(np.array(renumbered).reshape(len(order), target.shape[1]), accepts[order], symbols)


def _equivalent_states(target: np.ndarray, accepts: np.ndarray) -> np.ndarray:
    """A label for every state of a complete automaton, equal for states that accept the same strings, (n,)."""
    n, k = target.shape
    sources: list[list[list[int]]] = [[[] for _ in range(n)] for _ in range(k)]
    for state, row in enumerate(target.tolist()):
        for symbol, following in enumerate(row):
            sources[symbol][following].append(state)
    labels = accepts.astype(np.int64)
    blocks = [set(np.flatnonzero(labels == label).tolist()) for label in (0, 1)]
    waiting = {(label, symbol) for label in (0, 1) for symbol in range(k)}
    while waiting:
        splitter, symbol = waiting.pop()
        hit: dict[int, set[int]] = {}
        for state in blocks[splitter]:
            for source in sources[symbol][state]:
                hit.setdefault(int(labels[source]), set()).add(source)
        for label, part in hit.items():
            rest = blocks[label] - part
            if not rest:
                continue
            # The smaller half becomes the new block: each state is then moved at most log n times.
            larger, smaller = (part, rest) if len(part) > len(rest) else (rest, part)
            blocks[label] = larger
            labels[list(smaller)] = len(blocks)
            waiting |= {(len(blocks), s) for s in range(k)}
            blocks.append(smaller)
    return labels
