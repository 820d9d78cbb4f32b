"""Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999), any order.

    p_k(w | h) = max(c(h w) - D(c(h w)), 0) / c(h)  +  gamma(h) p_{k-1}(w | h')

The highest order uses counts, the lower ones continuation counts (how many different words precede), and the lowest
backs off to 1/V. Each order has three discounts D, for counts of 1, 2 and 3 or more; h' is h without its first word. A
context that was never seen passes all its mass down. The probabilities sum to one for every context.

Where sentences are separate, nothing precedes the first word of one, so n-grams that begin there keep their counts at
every length, as in other toolkits.

    paper      here                   shape
    c(h w)     KneserNey.counts       (n_nodes,)        of all lengths, in the order of the tree
    gamma(h)   BackOff.gammas         (n_contexts,)
    D_1..D_3+  KneserNey.discounts    (order, 3)
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numba import njit

from spectragram.engine import allocator_of
from spectragram.learning.back_off import BackOff
from spectragram.learning.ngram_tree import LONGEST, TREE_ARRAYS, NgramTree, tree_problem
from spectragram.schema import Array, Flag, OneOf, Schema, Whole

__all__ = ["KneserNey"]

LONGEST_PACKED = 3
"""Length of the longest n-grams in files of earlier versions, which packed each into one integer."""


class KneserNey(BackOff):
    """An n-gram model over word ids 0 .. V-1, estimated from counts.

    Attributes
    ----------
    counts : int32 array, shape (n_nodes,)
        Of the longest n-grams how often they occurred, of the others how many different words precede them.
    discounts : float64 array, shape (order, 3)
    modified : bool
        Whether each order has three discounts or one.
    """

    def __init__(self, tree: NgramTree, counts: np.ndarray, modified: bool = True) -> None:
        bounds, allocate = tree.bounds, allocator_of(counts)
        self.counts = counts
        self.modified = modified
        self.discounts = np.array([estimate_discounts(counts[a:b], modified) for a, b in pairwise(bounds.tolist())])
        own, gammas = allocate(len(counts), np.float32), allocate(tree.n_contexts, np.float32)
        _weigh(counts, tree.starts, bounds, self.discounts, own, gammas)
        super().__init__(tree, self._estimate_unigrams(counts[: bounds[1]]), own, gammas)

    def _estimate_unigrams(self, counts: np.ndarray) -> np.ndarray:
        taken = np.where(counts > 0, self.discounts[0][np.minimum(counts, 3) - 1], 0.0)
        total = counts.sum(dtype=np.int64)
        if total == 0:
            return np.full(len(counts), 1.0 / len(counts))
        return np.asarray((counts - taken) / total + taken.sum() / total / len(counts))

    @classmethod
    def fit(
        cls,
        tokens: np.ndarray,
        n_words: int,
        order: int = 3,
        *,
        modified: bool = True,
        start: int = -1,
        memory: int | None = None,
        n_jobs: int = 1,
    ) -> Self:
        """Count a stream of word ids (n_tokens,) and estimate all orders.

        ``modified`` has three discounts in each order; otherwise there is one, n_1 / (n_1 + 2 n_2), as in Kneser and
        Ney (1995). The id ``start`` stands between sentences, before the first and after the last; n-grams do not go
        on after it. -1: the text is one stream. N-grams that might take more than ``memory`` bytes go to temporary
        files; a text of which not even the positions fit is refused. N-grams are counted by the current executor or on
        ``n_jobs`` threads.
        """
        tree, counts = NgramTree.count(tokens, n_words, order, start, memory, n_jobs)
        return cls(tree, _continuation_counts(tree, counts, start), modified)

    def times_seen(self, contexts: np.ndarray) -> np.ndarray:
        """How often contexts (n, 1) or (n, 2) were seen in training, int64 (n,)."""
        nodes = self.tree.find(contexts)
        first = int(self.tree.bounds[1])
        starts = self.tree.starts[np.maximum(nodes, 0)] - first, self.tree.starts[np.maximum(nodes, 0) + 1] - first
        return np.where(nodes >= 0, self._sums[starts[1]] - self._sums[starts[0]], 0)

    @cached_property
    def _sums(self) -> np.ndarray:
        """Counts of n-grams of length two and three, summed up from the first on."""
        first, stop = self.tree.bounds[1], self.tree.bounds[min(3, self.order)]
        sums = allocator_of(self.counts)(stop - first + 1, np.int64)
        np.cumsum(self.counts[first:stop], out=sums[1:])
        return sums

    _VALUES: ClassVar[dict[str, Any]] = {
        "order": Whole("length of the longest", least=1, below=LONGEST + 1, size="order"),
        "n_words": Whole("size of the vocabulary", least=1, size="n_words"),
        "modified": Flag("whether there are three discounts in each order; there are if it is missing"),
    }
    _PACKED: ClassVar[Schema] = Schema(
        "Packed n-grams",
        "Counts of n-grams in files of earlier versions.",
        values={**_VALUES, "order": Whole("length of the longest", least=1, below=LONGEST_PACKED + 1, size="order")},
        optional=("modified",),
        arrays={
            "keys{k}": Array(
                "i8", ("n_grams{k}",), "n-grams of length k, packed as digits to the base n_words",
                least=0, below="n_words ** {k}", increasing=True,
            ),
            "counts{k}": Array("i4", ("n_grams{k}",), "how often each occurred, or what precedes it", least=1),
        },
        each="order",
    )  # fmt: skip
    _TREE: ClassVar[Schema] = Schema(
        "N-grams",
        "Counts of n-grams, from which Kneser-Ney smoothing follows.",
        values=_VALUES,
        optional=("modified",),
        arrays={
            **TREE_ARRAYS,
            "counts": Array("i4", ("n_nodes",), "how often each occurred, or what precedes it", least=0),
        },
        rule=lambda values, arrays, sizes: tree_problem(sizes["n_words"], arrays),
    )
    SCHEMA: ClassVar[OneOf] = OneOf(  # type: ignore[assignment]
        {"tree": _TREE, "packed": _PACKED}, lambda values, arrays: "tree" if "bounds" in arrays else "packed"
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays for a model file; the smoothing follows from the counts."""
        values = {"order": self.order, "n_words": self.n_words}
        arrays = self.tree.to_arrays() | {"counts": self.counts}
        return values if self.modified else values | {"modified": False}, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; raises ``ValueError`` for arrays that are not counts of n-grams."""
        n_words, modified = int(values["n_words"]), bool(values.get("modified", True))
        if "bounds" not in arrays:
            return cls(*_unpacked(arrays, n_words, int(values["order"])), modified)
        return cls(NgramTree.from_arrays(n_words, arrays), arrays["counts"], modified)


def estimate_discounts(counts: np.ndarray, modified: bool = True) -> np.ndarray:
    """D_1, D_2, D_3+ from the numbers of n-grams seen one to four times; three times D_1 if not ``modified``.

    In a corpus too small or too regular for the estimate (no n-gram has some count, or D would leave [0, k]), D is
    k / 2 for that count, so that every context keeps some mass and passes some on.
    """
    n = [float(np.count_nonzero(counts == k)) for k in (1, 2, 3, 4)]
    y = n[0] / max(n[0] + 2 * n[1], 1.0)
    if not modified:
        return np.full(3, y if 0 < y < 1 else 0.5)
    discounts = np.array([0.5, 1.0, 1.5])
    for k in (1, 2, 3):
        if n[k - 1] > 0 and n[k] > 0:
            estimate = k - (k + 1) * y * n[k] / n[k - 1]
            if 0 < estimate < k:
                discounts[k - 1] = estimate
    return discounts


def _continuation_counts(tree: NgramTree, occurrences: np.ndarray, start: int) -> np.ndarray:
    """How many different words precede each n-gram; of the longest, and of those after ``start``, how often they occur.

    N-grams that only the beginning of the text has, where nothing precedes, have 0.
    """
    counts = allocator_of(occurrences)(len(occurrences), np.int32)
    counts[tree.n_contexts :] = occurrences[tree.n_contexts :]
    suffixes = tree.suffixes()
    begun = tree.below(start) if start >= 0 else []
    for length in range(tree.order, 1, -1):
        if begun and length < tree.order:
            first, stop = begun[length - 1]
            counts[first:stop] = occurrences[first:stop]
        _count_predecessors(counts, suffixes, tree.bounds[length - 1], tree.bounds[length])
    return counts


@njit(cache=True, nogil=True)
def _count_predecessors(counts: np.ndarray, suffixes: np.ndarray, first: int, stop: int) -> None:
    """Each n-gram that has a count is one more predecessor of what is left without its first word."""
    for node in range(first, stop):
        if counts[node] > 0:
            counts[suffixes[node]] += 1


def _unpacked(arrays: dict[str, Any], n_words: int, order: int) -> tuple[NgramTree, np.ndarray]:
    """Tree and counts of a file of an earlier version; prefixes that were not listed have the count 0."""
    keys = [np.arange(n_words), *(arrays[f"keys{k}"] for k in range(2, order + 1))]
    for k in range(order, 2, -1):
        keys[k - 2] = np.union1d(keys[k - 2], keys[k - 1] // n_words)
    columns = [
        np.stack([key // n_words**i % n_words for i in range(k - 1, -1, -1)], 1) for k, key in enumerate(keys, 1)
    ]
    tree = NgramTree.from_columns(columns[1:], n_words)
    counts = np.zeros(len(tree.words), np.int32)
    for k, key in enumerate(keys, 1):
        counts[tree.bounds[k - 1] + np.searchsorted(key, arrays[f"keys{k}"])] = arrays[f"counts{k}"]
    return tree, counts


@njit(cache=True, nogil=True)
def _weigh(
    counts: np.ndarray,
    starts: np.ndarray,
    bounds: np.ndarray,
    discounts: np.ndarray,
    own: np.ndarray,
    gammas: np.ndarray,
) -> None:
    """Write what each n-gram adds, (c - D) / c(h), and what each context passes down; 1 for contexts of nothing."""
    for k in range(1, len(bounds) - 1):
        for h in range(bounds[k - 1], bounds[k]):
            total, taken = 0, 0.0
            for node in range(starts[h], starts[h + 1]):
                total += counts[node]
            gammas[h] = 1.0
            if total == 0:
                continue
            for node in range(starts[h], starts[h + 1]):
                if counts[node] > 0:
                    discount = discounts[k, min(counts[node], 3) - 1]
                    own[node] = (counts[node] - discount) / total
                    taken += discount
            gammas[h] = taken / total
