"""Entropy of the derivations that begin with a prefix, by the expectation semiring over the chart of prefixes.

A derivation d that begins with the prefix has weight p(d); of all of them together we need P = sum of p(d) and
r = - sum of p(d) log p(d), since their entropy given the prefix is log P + r / P. Pairs (p, r) add up place by place
and multiply as (p q, p s + q r) (Li & Eisner 2009), so every step of :mod:`chart_prefix` has a twin:

    of a sum of products  C . (x (x) y)     C . (r_x (x) y + x (x) r_y) + C_r . (x (x) y)            C_r = - C log C
    of reach = U (1 - L U)^-1 = U M         U_r M + U M (L_r U + L U_r) M

What has not been read yet is not enumerated. A top item c that no word has been read of has the entropy H(c) of a whole
tree below it, which is the solution of a linear system (Grenander 1967; Hale 2006):

    H(bottom a) = sum over rules of C (- log C + H(b) + H(c))        H(tag) = entropy of its words
    H(top a)    = sum over b of U (- log U + H(bottom b))

and enters through L_r(a, b) = sum over c of C (- log C + H(c)). Derivations have hidden states; unknown words together
are one word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from spectragram.inference.chart_prefix import Forward, Prefixes, PrefixGrammar
from spectragram.inference.chart_rules import Operators, Rules
from spectragram.inference.chart_spans import Spans, relative, rescaled
from spectragram.inference.chart_tensors import (
    LEFT,
    PARENT,
    RIGHT,
    Bilinear,
    child_sums,
    group_tensors,
    multiply,
    unary_matrix,
)

__all__ = ["EntropyGrammar"]


class EntropyGrammar(PrefixGrammar):
    """A grammar prepared for prefixes and for the entropy of their derivations.

    Parameters
    ----------
    rules, operators, n_tags
        As for :class:`~spectragram.inference.chart_prefix.PrefixGrammar`.
    word_entropies : array, shape (n_tag_states,)
        Entropy in nats of the words of each tag and state.
    first_entropies : array, shape (n_tag_states,), optional
        The same at the beginning of a sentence, if it differs.
    """

    def __init__(
        self,
        rules: Rules,
        operators: Operators,
        n_tags: int,
        word_entropies: np.ndarray,
        first_entropies: np.ndarray | None = None,
    ) -> None:
        super().__init__(rules, operators, n_tags)
        self.word_entropies = word_entropies
        self.first_entropies = word_entropies if first_entropies is None else first_entropies

    def prefixes(self, sentences: Sequence[np.ndarray], *, entropy: bool = False) -> list[Prefixes]:
        """As in the base class; with ``entropy`` also the entropies of derivations."""
        if not entropy:
            return super().prefixes(sentences)
        chart = Spans([len(vectors) for vectors in sentences])
        both, scales = self._inside_twice(chart, sentences)
        forward = self._forward(chart, both[: chart.n_spans], scales)
        entropies = self._entropies(chart, both, scales, forward)
        return [replace(self._of_places(forward, a, b), entropies=entropies[a:b]) for a, b in chart.places()]

    # Twins of what PrefixGrammar is made of

    @cached_property
    def _surprising(self) -> np.ndarray:
        """C_r of all binary rules, flat."""
        return _times_log(self.operators.binary)

    @cached_property
    def _closing_r(self) -> np.ndarray:
        kept, unary = _times_log(self.operators.kept), _times_log(self.operators.unary)
        return unary_matrix(self.rules, self.operators, unary, kept)

    @cached_property
    def top_entropies(self) -> np.ndarray:
        """H of top items, nats, (n_all_states,)."""
        surprising = child_sums(self.rules, self.operators, self._surprising, LEFT).sum(axis=1)
        children = self.corners + child_sums(self.rules, self.operators, self.operators.binary, RIGHT)
        choices = self._closing_r.sum(axis=1)
        own = surprising + children @ choices
        own[: self.n_tag_states] += self.word_entropies
        bottoms = np.linalg.solve(np.eye(self.size) - children @ self.closing, own)
        return choices + self.closing @ bottoms

    @cached_property
    def _reach_r(self) -> np.ndarray:
        own = child_sums(self.rules, self.operators, self._surprising, LEFT)
        rest = self._weighted_rest(self.top_entropies)
        inner = (own + rest) @ self.closing + self.corners @ self._closing_r
        return self._closing_r @ self.inverse + self.reach @ inner @ self.inverse

    def _weighted_rest(self, entropies: np.ndarray) -> np.ndarray:
        """sum over c of C H(c), parents by left children."""
        operators = self.operators
        sizes, start = operators.n_states.astype(np.int64), operators.state_start
        pieces = [
            np.tile(entropies[start[c] : start[c + 1]], int(sizes[a] * sizes[b])) for a, b, c in self.rules.binary
        ]
        weights = np.concatenate([*pieces, np.zeros(0)])
        return child_sums(self.rules, operators, operators.binary * weights, LEFT)

    @cached_property
    def _upwards_twice(self) -> Bilinear:
        """C and C_r: targets n_all_states and more are those of C_r."""
        return group_tensors(
            self.rules, self.operators, [self.operators.binary, self._surprising], self.n_tag_states, LEFT, RIGHT
        )

    @cached_property
    def _sideways_twice(self) -> Bilinear:
        return group_tensors(
            self.rules, self.operators, [self.operators.binary, self._surprising], self.n_tag_states, PARENT, LEFT
        )

    def _inside_twice(self, chart: Spans, sentences: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """p of all spans, then r of all spans, float32 (2 * n_spans, n_all_states), and their common scales."""
        n, size = chart.n_spans, self.size
        both = np.zeros((2 * n, size), np.float32)
        scales = np.full(n, -np.inf)
        closing = np.ascontiguousarray(self.closing.T, np.float32)
        closing_r = np.ascontiguousarray(self._closing_r.T, np.float32)
        for length in range(1, chart.longest + 1):
            here = chart.of_length(length)
            if length == 1:
                bottoms, base = self.words_of(chart, sentences), np.zeros(here.stop - here.start)
                bottoms_r = _times_log(bottoms)
            else:
                rows = chart.splits(length)
                factors, base = relative(scales[rows].sum(axis=2))
                found = multiply(self._upwards_twice, both, both, rows, factors)
                bottoms = np.ascontiguousarray(found[:, :size])
                bottoms_r = found[:, size:] + multiply(self.upwards, both, both, *_either(rows, n, n, factors))
            tops = bottoms @ closing
            both[here], scales[here] = rescaled(tops, base)
            largest = np.maximum(tops.max(axis=1, initial=0.0), np.finfo(np.float32).tiny)
            both[n + here.start : n + here.stop] = (bottoms_r @ closing + bottoms @ closing_r) / largest[:, None]
        return both, scales

    def _entropies(self, chart: Spans, both: np.ndarray, scales: np.ndarray, forward: Forward) -> np.ndarray:
        """Entropies of derivations at all places, (n_places,)."""
        n, size, n_places = chart.n_spans, self.size, chart.n_places
        root, root_r = self.operators.root, _times_log(self.operators.root)
        opened = np.vstack([forward.single, np.zeros_like(forward.single)])
        entropies = np.zeros(n_places)
        for k in range(chart.longest + 1):
            here, rows = chart.at(k)
            if k == 0:
                begun, begun_r = np.tile(root, (len(here), 1)), np.tile(root_r, (len(here), 1))
                end_r, base = np.zeros(len(here)), np.zeros(len(here))
            else:
                factors, base = relative(forward.log_scales[rows[:, :, 0]] + scales[rows[:, :, 1]])
                found = multiply(self._sideways_twice, opened, both, rows, factors).astype(np.float64)
                mixed = multiply(self.sideways, opened, both, *_either(rows, n_places, n, factors))
                begun, begun_r = found[:, :size], found[:, size:] + mixed
                whole = rows[:, 0, 1]
                end_r = factors[:, 0] * (both[n + whole].astype(np.float64) @ root + both[whole] @ root_r)
            with np.errstate(invalid="ignore"):
                share = np.nan_to_num(np.exp(base - forward.log_scales[here]))  # one over the weight of the prefix
            vectors_r = (begun_r @ self.reach + begun @ self._reach_r) * share[:, None]
            opened[n_places + here] = vectors_r
            tags = slice(0, self.n_tag_states)
            next_word = forward.opened[here, tags] @ (self.word_entropies if k else self.first_entropies)
            total_r = vectors_r[:, tags].sum(axis=1) + next_word + end_r * share
            entropies[here] = np.where(share > 0.0, total_r + forward.log_scales[here], 0.0)
        return np.maximum(entropies, 0.0)


def _either(rows: np.ndarray, first: int, second: int, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Terms in which r stands once on the left, once on the right, where r begins at row ``first`` and ``second``."""
    terms = np.concatenate([rows + np.array([first, 0]), rows + np.array([0, second])], axis=1)
    return terms, np.concatenate([factors, factors], axis=1)


def _times_log(weights: np.ndarray) -> np.ndarray:
    """- w log w, zero for zero."""
    return -weights * np.log(np.where(weights > 0.0, weights, 1.0))
