"""k-gram models: deterministic automata whose states are the last k - 1 symbols.

    p(s | u) = (max(c(u s) - d, 0) + d n(u) p(s | u')) / c(u)

where c are counts, n(u) is the number of different continuations of u, u' is u without its oldest symbol, and d is a
discount (interpolated absolute discounting). They serve as baselines and as the back-off of other models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from spectragram.automata.contexts import PAST, ContextTree, find_gaps, frequent_contexts
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus
from spectragram.errors import InputError, ParameterError
from spectragram.estimator import prefixed, without_prefix
from spectragram.inference.prefix_tree import PrefixTree
from spectragram.schema import Array, Part, Schema, Text

__all__ = ["Ngrams", "learn_ngrams"]

DISCOUNT = 0.75
"""The usual value of absolute discounting (Ney, Essen & Kneser 1994). Not tuned here."""
UNSEEN = 0.1
"""Count added to every symbol in the empty context, for symbols of the alphabet that never occurred. Chosen by hand,
not tuned."""
MAX_CONTEXTS = 100_000
"""Rarer contexts are dropped. Chosen by hand to bound memory: the table has one row of n_symbols + 1 numbers each."""
MAX_DENSE = 2000
"""A model with more contexts is not turned into matrices. Chosen by hand: one matrix of this size takes 32 MB."""


@dataclass(frozen=True)
class Ngrams:
    """Distributions of the next symbol by context.

    Attributes
    ----------
    contexts : the pasts of at most k - 1 symbols
    table : shape (context nodes, n_symbols + 1), rows sum to 1; the last column is the end of the string
    """

    contexts: ContextTree
    table: np.ndarray

    @property
    def n_symbols(self) -> int:
        """Size of the alphabet."""
        return self.table.shape[1] - 1

    @property
    def n_states(self) -> int:
        """Number of contexts, which are the states of the automaton."""
        return len(self.table)

    def next_distributions(self, tree: PrefixTree) -> tuple[np.ndarray, int]:
        """Distribution of what follows each prefix, (n_nodes, n_symbols + 1); the number of repaired values is 0."""
        return self.table[self.contexts.locate_nodes(tree)], 0

    def to_wfa(self) -> WFA:
        """The same model as a weighted automaton: one state for each context, one move for each symbol."""
        n, k = len(self.table), self.n_symbols
        if n > MAX_DENSE:
            raise InputError(
                f"the k-grams in this model have {n} contexts, too many for the states of one automaton",
                remedy=f"train with a learner without k-grams (pivot+em, ...), or with at most {MAX_DENSE} contexts",
            )
        operators = np.zeros((k, n, n))
        paths = self._paths()
        for symbol in range(k):
            # Contexts are read away from the gap, so the new symbol comes first.
            following = [self._deepest([symbol, *path]) for path in paths]
            operators[symbol, np.arange(n), following] = self.table[:, symbol]
        initial = np.zeros(n)
        initial[self.contexts.marker_node] = 1.0
        return WFA(initial, operators, self.table[:, k])

    SCHEMA: ClassVar[Schema] = Schema(
        "K-grams",
        "Distributions of the next symbol by context.",
        values={"type": Text("what kind of part this is", choices=("ngrams",))},
        arrays={
            "table": Array(
                "f8", ("n_contexts", "n_symbols + 1"), "the next symbol; the end of the string is last", sums=True
            )
        },
        parts={"contexts": Part(ContextTree.SCHEMA, {"n_symbols": "n_symbols"}, values=None)},
        sizes={"n_contexts": 1},
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain values and arrays, as model files hold them."""
        return {"type": "ngrams"}, {"table": self.table, **prefixed("contexts", self.contexts.to_arrays())}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, np.ndarray], n_symbols: int) -> Ngrams:
        """Inverse of :meth:`to_state`; ``ValueError`` if the arrays do not fit together."""
        marked = len(arrays["table"]) > 1  # a unigram knows no begin
        contexts = ContextTree.from_arrays(without_prefix("contexts", arrays), n_symbols, PAST, marked=marked)
        if arrays["table"].shape != (len(contexts.parent), n_symbols + 1):
            raise ValueError("contexts and their distributions do not fit together")
        return cls(contexts, arrays["table"])

    def _paths(self) -> list[list[int]]:
        paths: list[list[int]] = [[]]
        for node in range(1, len(self.contexts.parent)):
            above = int(self.contexts.parent[node])
            symbol = int(np.flatnonzero(self.contexts.children[above] == node)[0])
            paths.append([*paths[above], symbol])
        return paths

    def _deepest(self, path: list[int]) -> int:
        node = 0
        for symbol in path:
            if self.contexts.children[node, symbol] < 0:
                break
            node = int(self.contexts.children[node, symbol])
        return node


def learn_ngrams(corpus: Corpus, order: int, *, discount: float = DISCOUNT, max_contexts: int = MAX_CONTEXTS) -> Ngrams:
    """Count and smooth a k-gram model, k = ``order``; only the ``max_contexts`` most frequent contexts are kept.

    With ``discount = 0`` contexts that were seen get relative frequencies, without smoothing.
    """
    if order < 1:
        raise ParameterError("order", order, remedy="give 1 (unigram) or more")
    k = len(corpus.vocabulary)
    gaps = find_gaps(corpus.tokens, corpus.offsets, k)
    elements = frequent_contexts(gaps, PAST, max_contexts, max_length=order - 1, markers=True) if order > 1 else [()]
    contexts = ContextTree.of(elements, k, PAST, marked=order > 1)
    at = contexts.locate(gaps)
    seen = np.bincount(at * (k + 1) + gaps.following, minlength=len(contexts.parent) * (k + 1))
    counts = contexts.ancestors().T @ seen.reshape(-1, k + 1).astype(np.float64)
    return Ngrams(contexts, _interpolated(counts, contexts.parent, discount))


def _interpolated(counts: np.ndarray, parent: np.ndarray, discount: float) -> np.ndarray:
    table = np.empty_like(counts)
    unseen = UNSEEN if discount > 0.0 else 0.0
    table[0] = (counts[0] + unseen) / (counts[0].sum() + unseen * counts.shape[1])
    totals = counts.sum(axis=1)
    kept = np.maximum(counts - discount, 0.0)
    freed = totals - kept.sum(axis=1)
    depth = np.zeros(len(parent), np.int64)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    for level in range(1, int(depth.max(initial=0)) + 1):
        nodes = np.flatnonzero(depth == level)
        backed_off = kept[nodes] + freed[nodes, None] * table[parent[nodes]]
        # A context that never occurred (the begin marker if there are no strings) takes its parent's row.
        table[nodes] = np.where(
            totals[nodes, None] > 0, backed_off / np.maximum(totals[nodes, None], 1.0), table[parent[nodes]]
        )
    return table
