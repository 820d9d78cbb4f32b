"""Tiny random grammars, and all derivations of a short sentence by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spectragram.inference.chart_rules import (
    Operators,
    Rules,
    Weights,
    layout,
    make_operators,
    make_rules,
    make_weights,
)

Part = tuple[str, int, int, int, int]
"""('edge', rule, i, k, j), ('link', rule, i, j, -1), ('item', symbol, i, j, top)"""


@dataclass(frozen=True)
class TinyGrammar:
    """Symbols 0, 1 are tags, 2, 3 phrases; few binary rules, three unary ones, one pair of them alike."""

    rules: Rules
    operators: Operators
    lexical: np.ndarray  # (n_words, n_tags, largest number of states)

    @property
    def weights(self) -> Weights:
        """A positive one-state grammar over the same rules, for the coarse pass."""
        ones = np.ones
        return make_weights(
            self.rules, 0.5 * ones(len(self.rules.binary)), 0.3 * ones(len(self.rules.unary)), 0.7 * ones(4), ones(4)
        )

    def coarse_lexical(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Both tags for each of n words."""
        return (
            np.arange(0, 2 * n + 1, 2, dtype=np.int32),
            np.tile(np.array([0, 1], np.int32), n),
            np.full(2 * n, 0.8),
        )

    def lexical_of(self, items: np.ndarray, spans: np.ndarray) -> np.ndarray:
        """Word vectors of the bottom items over single words, as the kernel wants them."""
        parts = [
            self.lexical[spans[span, 0], symbol, : self.operators.n_states[symbol]]
            for symbol, top, span in items
            if top == 0 and spans[span, 1] - spans[span, 0] == 1
        ]
        return np.concatenate(parts)

    def tensor(self, r: int) -> np.ndarray:
        a, b, c = (self.operators.n_states[s] for s in self.rules.binary[r])
        return self.operators.binary[self.operators.binary_start[r] : self.operators.binary_start[r + 1]].reshape(
            a, b, c
        )

    def matrix(self, u: int) -> np.ndarray:
        a, b = (self.operators.n_states[s] for s in self.rules.unary[u])
        return self.operators.unary[self.operators.unary_start[u] : self.operators.unary_start[u + 1]].reshape(a, b)

    def _slice(self, vector: np.ndarray, a: int) -> np.ndarray:
        return vector[self.operators.state_start[a] : self.operators.state_start[a + 1]]

    def bottoms(self, a: int, i: int, j: int) -> Iterator[tuple[np.ndarray, tuple[Part, ...]]]:
        """Every way to build a bottom item: its vector and all that it is made of."""
        own = ("item", a, i, j, 0)
        if j - i == 1 and a < 2:
            yield self.lexical[i, a, : self.operators.n_states[a]], (own,)
        for r, (parent, b, c) in enumerate(self.rules.binary.tolist()):
            if parent != a:
                continue
            for k in range(i + 1, j):
                for left, left_parts in self.tops(b, i, k):
                    for right, right_parts in self.tops(c, k, j):
                        vector = np.einsum("xyz,y,z->x", self.tensor(r), left, right)
                        yield vector, (own, ("edge", r, i, k, j), *left_parts, *right_parts)

    def tops(self, a: int, i: int, j: int) -> Iterator[tuple[np.ndarray, tuple[Part, ...]]]:
        """Every way to build a top item."""
        own = ("item", a, i, j, 1)
        for vector, parts in self.bottoms(a, i, j):
            yield self._slice(self.operators.kept, a) * vector, (own, ("link", -1, i, j, a), *parts)
        for u, (parent, b) in enumerate(self.rules.unary.tolist()):
            if parent == a:
                for vector, parts in self.bottoms(b, i, j):
                    yield self.matrix(u) @ vector, (own, ("link", u, i, j, a), *parts)

    def derivations(self, n: int) -> list[tuple[float, tuple[Part, ...]]]:
        """Value and parts of every derivation of a sentence of n words."""
        return [
            (float(self._slice(self.operators.root, a) @ vector), parts)
            for a in range(4)
            for vector, parts in self.tops(a, 0, n)
        ]


def tiny_grammar(
    rng: np.random.Generator, *, signed: bool, n_states: tuple[int, ...] = (2, 1, 3, 2), n_words: int = 5
) -> TinyGrammar:
    """Random weights; ``signed`` ones are negative as often as positive."""
    binary = np.array([[2, 0, 1], [2, 1, 3], [2, 2, 3], [3, 0, 2], [3, 1, 1], [3, 3, 2]])
    unary = np.array([[2, 0], [3, 1], [3, 1], [2, 3]])
    rules = make_rules(binary, unary, 4)
    states = np.array(n_states, np.int32)
    state_start, binary_start, unary_start = layout(rules, states)

    def draw(size: int) -> np.ndarray:
        values = rng.random(size) + 0.1
        return values * rng.choice([-1.0, 1.0], size) if signed else values

    operators = make_operators(
        rules, states, draw(binary_start[-1]), draw(unary_start[-1]), draw(state_start[-1]), draw(state_start[-1])
    )
    lexical = draw(n_words * 2 * int(states.max())).reshape(n_words, 2, -1)
    return TinyGrammar(rules, operators, lexical)
