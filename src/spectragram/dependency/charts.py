"""The chart of a sentence: marginals of its arcs, and the trees that are best by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectragram.dependency.constraints import ArcMask, arc_places
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.siblings import Siblings
from spectragram.inference.headed import ArcList, best_heads, clear_heads, inside_outside, sibling_inside_outside
from spectragram.inference.headed_kbest import k_best_heads

__all__ = ["Chart", "average", "run_chart"]

FLOOR = 1e-30
"""Smaller marginals, negative ones included, count as this when trees are chosen by the sum of logarithms.

A guard against the logarithm of zero; any tiny value does.
"""
ROUNDING = 1e-9
"""Marginals above minus this are zero up to rounding, not negative."""
SMALLEST = 1e-300
"""A guard against division by zero; any tiny value does."""


@dataclass(frozen=True)
class Chart:
    """Result of inside-outside on a sentence: sign and logarithm of Z, marginals (n,), (2, n, n), (2, n, n)."""

    sign: float
    log_z: float
    roots: np.ndarray
    arcs: np.ndarray
    stops: np.ndarray

    @cached_property
    def n_negative(self) -> int:
        """Number of negative marginals of roots and arcs."""
        if self.roots.min() >= -ROUNDING and self.arcs.min() >= -ROUNDING:
            return 0
        return int((self.roots < -ROUNDING).sum() + (self.arcs < -ROUNDING).sum())

    def log_marginals(self, mask: ArcMask | None = None, least: float = FLOOR) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the marginals of roots (n,) and arcs (2, n, n), -inf for what a mask rules out.

        What is below ``least``, or not a number, counts as that.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(np.fmax(self.roots, least)), np.log(np.fmax(self.arcs, least))
        return logs if mask is None else mask.scores(*logs)

    def best_heads(self, mask: ArcMask | None = None) -> np.ndarray:
        """The minimum-risk tree: the highest sum of log-marginals (equation 2), (n,) int32."""
        if self.sign > 0 and not self.n_negative:
            # Nearly always the most probable heads are a tree.
            heads = clear_heads(self.roots, self.arcs)
            if heads[0] >= 0:
                return heads
        return self.k_best_heads(1, mask)[0]

    def k_best_heads(self, k: int, mask: ArcMask | None = None) -> np.ndarray:
        """At most ``k`` trees with the highest sums of log-marginals, (at most k, n) int32.

        Arcs of probability zero, most of them where there are gates, need not be looked at. If some marginals are
        negative, or those above zero make no tree because others were too small for a number, zeros count as tiny.
        """
        for least in (FLOOR,) if self.sign <= 0 or self.n_negative else (0.0, FLOOR):
            logs = self.log_marginals(mask, least)
            trees = best_heads(*logs)[None] if k == 1 else k_best_heads(*logs, k)[0]
            if len(trees) and trees[0, 0] >= 0:
                return trees
        raise AssertionError("a mask that leaves no tree is refused before")

    def head_distributions(self) -> np.ndarray:
        """P(head) of each word, (n, n + 1), column 0 for the root; negative marginals are set to zero."""
        n = len(self.roots)
        found = np.zeros((n, n + 1))
        found[:, 0] = self.roots
        words, heads, places = arc_places(n)
        found[words, heads] = self.arcs.reshape(-1)[places]
        found = np.maximum(found, 0.0)
        return found / np.maximum(found.sum(axis=1, keepdims=True), SMALLEST)


def average(charts: Sequence[Chart]) -> Chart:
    """Mean marginals of several models, and the mean of log Z."""
    if len(charts) == 1:
        return charts[0]
    return Chart(
        1.0,
        float(np.mean([chart.log_z for chart in charts])),
        np.mean([chart.roots for chart in charts], axis=0),
        np.mean([chart.arcs for chart in charts], axis=0),
        np.mean([chart.stops for chart in charts], axis=0),
    )


def run_chart(
    grammar: Grammar,
    columns: np.ndarray,
    arc_scores: np.ndarray,
    stop_scores: np.ndarray,
    mask: ArcMask | None = None,
    siblings: tuple[ArcList, Siblings] | None = None,
) -> Chart:
    """Inside-outside on a sentence with columns (n_rows, n) and log-factors (2, n, n), over the trees of a mask.

    With ``siblings`` only the listed arcs are possible.
    """
    tags = columns[0]
    root = np.log(grammar.root[tags])
    if mask is not None:
        root, arc_scores = mask.scores(root, arc_scores)
    given = tags, root, grammar.initial, grammar.operators, grammar.final, arc_scores, stop_scores
    if siblings is None:
        return Chart(*inside_outside(*given))
    listed, factors = siblings
    return Chart(*sibling_inside_outside(*given, listed, *factors.scores(columns, listed))[:5])
