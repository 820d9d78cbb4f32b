"""What a trained parser learned about heads: their frequent modifiers, and an automaton made deterministic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spectragram.automata.approximation import TOLERANCE, CountedDFA, approximate_dfa
from spectragram.errors import ParameterError
from spectragram.inference.headed import LEFT, RIGHT
from spectragram.inference.prefix_tree import grow_prefix_tree

if TYPE_CHECKING:
    from spectragram.dependency.estimator import DependencyParser

__all__ = ["HeadDFA", "frequent_modifiers", "head_dfa"]

DIRECTIONS = {"left": LEFT, "right": RIGHT}
FREQUENT_PREFIXES = 100
"""Prefixes that take part in the approximation: rare ones force mergers until one state is left.

Chosen by hand, not tuned.
"""
SMALLEST = 1e-300
"""A guard against division by zero; any tiny value does."""
SHOWN_SYMBOLS = 6
"""Symbols of a move that are listed; a line of the table stays short."""


@dataclass(frozen=True)
class HeadDFA:
    """The automaton of one head and direction as a deterministic one (section 7.3); its symbols are tags."""

    dfa: CountedDFA

    def rows(self, most: int = 4) -> list[list[object]]:
        """Rows (state, probability of STOP, symbols, next state, count), the ``most`` frequent moves of each state."""
        rows: list[list[object]] = []
        for state in range(self.dfa.n_states):
            counts = self.dfa.counts[state]
            stop = counts[-1] / max(counts.sum(), SMALLEST)
            targets: dict[int, list[int]] = {}
            for symbol in np.argsort(-counts[:-1], kind="stable"):
                if self.dfa.target[state, symbol] >= 0:
                    targets.setdefault(int(self.dfa.target[state, symbol]), []).append(int(symbol))
            for target, symbols in list(targets.items())[:most] or [(-1, [])]:
                shown = " ".join(self.dfa.symbols[symbol] for symbol in symbols[:SHOWN_SYMBOLS])
                shown += " ..." if len(symbols) > SHOWN_SYMBOLS else ""
                times = int(counts[symbols].sum()) if symbols else 0
                rows.append([state, float(stop), shown or "-", target if target >= 0 else "-", times])
        return rows


def head_dfa(
    parser: DependencyParser,
    head: str,
    direction: str,
    n_states: int = 10,
    *,
    n_prefixes: int = FREQUENT_PREFIXES,
    tolerance: float = TOLERANCE,
    linkage: str = "upgma",
) -> HeadDFA:
    """Cluster the forward vectors of a head's frequent modifier sequences into at most ``n_states`` states.

    ``tolerance=0, linkage="gaac"`` is the paper's construction; see
    :func:`~spectragram.automata.approximation.approximate_dfa`.
    """
    if direction not in DIRECTIONS:
        raise ParameterError("direction", direction, "is unknown", remedy="choose left or right")
    tags = parser.tags_
    if head not in tags:
        raise ParameterError("head", head, "is not a tag of this model", remedy=f"choose among {' '.join(tags[1:])}")
    symbol, side = tags.index(head), DIRECTIONS[direction]
    tree = grow_prefix_tree(*parser.sequences_.of(side, symbol))
    wfa = parser.grammar_.automaton(symbol, side)
    states = np.zeros((len(tree), wfa.n_states))
    states[0] = wfa.initial
    for node in range(1, len(tree)):
        states[node] = states[tree.parent[node]] @ wfa.operators[tree.symbol[node]]
        # Only the direction of a vector counts.
        states[node] /= max(float(np.abs(states[node]).sum()), SMALLEST)
    dfa = approximate_dfa(tree, states, tags, n_states, n_prefixes=n_prefixes, tolerance=tolerance, linkage=linkage)
    return HeadDFA(dfa)


def frequent_modifiers(parser: DependencyParser, n_heads: int = 10, n_modifiers: int = 5) -> list[list[object]]:
    """Rows (head, direction, P(no modifier), most frequent first modifiers) for the most frequent tags."""
    rows: list[list[object]] = []
    for symbol in range(1, min(n_heads + 1, len(parser.tags_))):
        for name, side in DIRECTIONS.items():
            wfa = parser.grammar_.automaton(symbol, side)
            none = float(wfa.initial @ wfa.final)
            tokens, offsets = parser.sequences_.of(side, symbol)
            first = np.bincount(tokens[offsets[:-1][np.diff(offsets) > 0]], minlength=len(parser.tags_))
            likely = [s for s in np.argsort(-first, kind="stable")[:n_modifiers] if first[s]]
            rows.append([parser.tags_[symbol], name, none, " ".join(parser.tags_[s] for s in likely) or "-"])
    return rows
