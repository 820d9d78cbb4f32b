"""Exact prefix probabilities of many sentences at once: a whole inside chart, then one forward pass over it.

    paper (Stolcke 1995)     here        what it is
    inside beta(i, k)        top         weight of words i .. k-1 below a top item, for every symbol and state
    forward alpha(k)         opened      weight of the first k words and a bottom item that begins after them
    left corners R_L         reach       U (1 - L U)^-1: from top items that begin to all bottom items that may

With C the tensors of binary rules, U(a, b) the weight of a top item a over a bottom item b (kept or unary), and
L(a, b) the weight of a -> b c summed over c:

    top(i, k)    = U (sum over rules and j of C . (top(i, j) (x) top(j, k)))
    begun(k)     = sum over rules and i of opened(i) . C . top(i, k)       begun(0) = root      [as right children]
    opened(k)    = begun(k) reach
    p(w | first k words) = sum over tags and states of opened(k) p(w | tag, state)              [the next word]
    p(end | first k words) = root . top(0, k)

``opened(k)`` over tags and the end sum to p(first k words), because a proper grammar chooses something at every step
from left to right. They are divided by that sum, so next-word distributions add up to one whatever was rounded.
Vectors of all symbols and states lie one after the other. Charts are in single precision, like model files; every
span has its own scale, so nothing underflows. Spans of one length and all sentences advance together: the work is
matrix products, one for each pair of children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spectragram.errors import InputError
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
    normalised,
    unary_matrix,
)

__all__ = ["Forward", "PrefixGrammar", "Prefixes"]


@dataclass(frozen=True)
class Prefixes:
    """What a sentence of n words says about its prefixes of 0 .. n words.

    Attributes
    ----------
    opened : float64 array, shape (n + 1, n_tag_states)
        p(tag and state of the next word | prefix).
    ends : float64 array, shape (n + 1,)
        p(the sentence ends here | prefix); with ``opened`` it sums to one. A prefix that is impossible has zeros.
    entropies : float64 array, shape (n + 1,), or None
        Entropy in nats of the derivations that begin with the prefix, see :mod:`chart_entropy`.
    """

    opened: np.ndarray
    ends: np.ndarray
    entropies: np.ndarray | None = None


class PrefixGrammar:
    """A grammar prepared for prefixes.

    Parameters
    ----------
    rules : Rules
    operators : Operators
        Weights of a proper grammar; they are normalised again, as files hold rounded ones.
    n_tags : int
        Symbols below this number are tags, which have words and no binary rules.
    """

    def __init__(self, rules: Rules, operators: Operators, n_tags: int) -> None:
        self.rules, self.operators = rules, normalised(rules, operators)
        self.size = int(operators.state_start[-1])
        self.n_tag_states = int(operators.state_start[n_tags])
        try:
            inverse = np.linalg.inv(np.eye(self.size) - self.corners @ self.closing)
        except np.linalg.LinAlgError:
            inverse = np.full((self.size, self.size), np.nan)
        self.inverse, self.reach = inverse, self.closing @ inverse
        if not (np.isfinite(self.reach).all() and self.reach.min() > -1e-6):  # noise of inversion is far smaller
            raise InputError(
                "the grammar can expand first children for ever, so its prefixes have no probability",
                remedy="train with another learner or seed, e.g. spectral+em",
            )

    @cached_property
    def corners(self) -> np.ndarray:
        """L: the weight of a -> b c summed over c, (n_all_states, n_all_states)."""
        return child_sums(self.rules, self.operators, self.operators.binary, LEFT)

    @cached_property
    def closing(self) -> np.ndarray:
        """U: the weight of a top item over a bottom item, (n_all_states, n_all_states)."""
        return unary_matrix(self.rules, self.operators, self.operators.unary, self.operators.kept)

    @cached_property
    def upwards(self) -> Bilinear:
        """From left and right child to the parent."""
        return group_tensors(self.rules, self.operators, [self.operators.binary], self.n_tag_states, LEFT, RIGHT)

    @cached_property
    def sideways(self) -> Bilinear:
        """From the parent and the left child to the right child."""
        return group_tensors(self.rules, self.operators, [self.operators.binary], self.n_tag_states, PARENT, LEFT)

    def prefixes(self, sentences: Sequence[np.ndarray]) -> list[Prefixes]:
        """The prefixes of sentences that are vectors p(word | tag, state) up to factors, (n, n_tag_states) each."""
        chart = Spans([len(vectors) for vectors in sentences])
        tops, scales = self._inside(chart, sentences)
        forward = self._forward(chart, tops, scales)
        return [self._of_places(forward, a, b) for a, b in chart.places()]

    def _of_places(self, forward: Forward, a: int, b: int) -> Prefixes:
        return Prefixes(forward.opened[a:b, : self.n_tag_states], forward.ends[a:b])

    def words_of(self, chart: Spans, sentences: Sequence[np.ndarray]) -> np.ndarray:
        """Bottom vectors of all single words, each scaled to a maximum of one: float32 (n_words, n_all_states)."""
        bottoms = np.zeros((int(chart.lengths.sum()), self.size), np.float32)
        words = np.concatenate([np.zeros((0, self.n_tag_states)), *sentences])
        largest = np.maximum(words.max(axis=1, initial=0.0), np.finfo(np.float64).tiny)
        bottoms[:, : self.n_tag_states] = words / largest[:, None]
        return bottoms

    def _inside(self, chart: Spans, sentences: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Vectors of the top items of all spans, float32 (n_spans, n_all_states), and logarithms of their scales."""
        tops = np.zeros((chart.n_spans, self.size), np.float32)
        scales = np.full(chart.n_spans, -np.inf)
        closing = np.ascontiguousarray(self.closing.T, np.float32)
        for length in range(1, chart.longest + 1):
            here = chart.of_length(length)
            if length == 1:
                bottoms, base = self.words_of(chart, sentences), np.zeros(here.stop - here.start)
            else:
                rows = chart.splits(length)
                factors, base = relative(scales[rows].sum(axis=2))
                bottoms = multiply(self.upwards, tops, tops, rows, factors)
            tops[here], scales[here] = rescaled(bottoms @ closing, base)
        return tops, scales

    def _forward(self, chart: Spans, tops: np.ndarray, scales: np.ndarray) -> Forward:
        root = self.operators.root
        opened, log_scales = np.zeros((chart.n_places, self.size)), np.full(chart.n_places, -np.inf)
        single, ends = np.zeros((chart.n_places, self.size), np.float32), np.zeros(chart.n_places)
        for k in range(chart.longest + 1):
            here, rows = chart.at(k)
            if k == 0:
                begun, base, end = np.tile(root, (len(here), 1)), np.zeros(len(here)), np.zeros(len(here))
            else:
                factors, base = relative(log_scales[rows[:, :, 0]] + scales[rows[:, :, 1]])
                begun = multiply(self.sideways, single, tops, rows, factors).astype(np.float64)
                whole = rows[:, 0, 1]
                end = factors[:, 0] * (tops[whole].astype(np.float64) @ root)
            vectors = np.maximum(begun @ self.reach, 0.0)
            total = vectors[:, : self.n_tag_states].sum(axis=1) + end
            safe = np.where(total > 0.0, total, 1.0)
            opened[here], ends[here] = vectors / safe[:, None], end / safe
            single[here] = opened[here]
            with np.errstate(divide="ignore"):
                log_scales[here] = base + np.log(total)
        return Forward(opened, single, ends, log_scales)


class Forward(NamedTuple):
    """The forward pass over all places between words, those of each sentence one after the other."""

    opened: np.ndarray  #: (n_places, n_all_states), divided by p(the words before)
    single: np.ndarray  #: the same in single precision
    ends: np.ndarray  #: (n_places,), divided by the same
    log_scales: np.ndarray  #: (n_places,) log p(the words before), of words scaled to a maximum of one
