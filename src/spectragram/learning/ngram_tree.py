"""The n-grams of a text as a tree in flat arrays: any length, any vocabulary, a few bytes for each n-gram.

A node is an n-gram and its children are those that are one word longer. Nodes are numbered by length and then in the
order of their words, so the children of a node stand together and are found by binary search.

    bounds   (order + 1,)       nodes of length k are bounds[k - 1] to bounds[k] - 1; every word is a node of length 1
    words    (n_nodes,)         the last word of each
    starts   (n_contexts + 1,)  children of node h, which is shorter than ``order``, are starts[h] to starts[h + 1] - 1

It is built from stretches of the vocabulary: the n-grams that begin with a word of one stretch, here or by a worker
(:mod:`spectragram.learning.ngram_counting`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numba import njit

from spectragram.engine import allocator, allocator_of, require_memory, scratch_array
from spectragram.errors import InputError
from spectragram.learning.ngram_counting import Branches, count_branches, filed, joined
from spectragram.schema import Array

__all__ = ["LONGEST", "TREE_ARRAYS", "NgramTree", "find_child", "tree_problem"]

LONGEST = 6
"""Length of the longest n-grams, as in other toolkits; longer ones are hardly ever seen twice."""

MOST_NODES = 2**31 - 2
"""Nodes and positions of a text are numbered in 32 bits."""

POSITION_BYTES, NODE_BYTES = 9, 20
"""Memory of a position of the text (its id, its place among those of its word, the length of its n-gram), and of an
n-gram while it is weighed (last word, children, two counts, suffix or weight)."""

TREE_ARRAYS = {
    "bounds": Array("i8", ("order + 1",), "where the n-grams of each length begin", least=0),
    "words": Array("i4", ("n_nodes",), "the last word of each n-gram", least=0, below="n_words"),
    "starts": Array("i4", ("n_contexts + 1",), "where the n-grams begin that are one word longer", least=0),
}
"""What model files hold of a tree."""


@dataclass(frozen=True)
class NgramTree:
    """N-grams of length 1 to ``order`` over ids 0 .. n_words - 1; the module says what the arrays hold."""

    n_words: int
    bounds: np.ndarray
    words: np.ndarray
    starts: np.ndarray

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return len(self.bounds) - 1

    @property
    def n_contexts(self) -> int:
        """Number of nodes that are shorter than ``order``."""
        return int(self.bounds[-2])

    @classmethod
    def count(
        cls, tokens: np.ndarray, n_words: int, order: int, start: int = -1, memory: int | None = None, n_jobs: int = 1
    ) -> tuple[Self, np.ndarray]:
        """The n-grams of a stream of ids (n_tokens,), and how often each occurs, int32 (n_nodes,).

        The id ``start`` separates sentences: an n-gram may begin or end with it, but does not go on after it. N-grams
        that might take more than ``memory`` bytes go to temporary files; positions of the text, and without a bound
        n-grams, that do not fit are refused. Stretches of the vocabulary are counted by the current executor or on
        ``n_jobs`` threads.
        """
        what, remedy = f"counting n-grams of length {order}", "use shorter n-grams or less text, or allow more memory"
        require_memory(POSITION_BYTES * len(tokens), what, remedy, memory)
        if len(tokens) * order > MOST_NODES:
            raise InputError(
                f"a text of {len(tokens)} words is too long for n-grams of length {order}",
                remedy="give less text or use shorter n-grams",
            )
        allocate = allocator((POSITION_BYTES + NODE_BYTES * order) * len(tokens), memory)
        parts = count_branches(tokens, n_words, order, start, n_jobs)
        kept: list[Branches] = []
        if allocate is scratch_array:
            kept = filed(parts)
        else:
            n_nodes = 0
            for part in parts:
                kept.append(part)
                n_nodes += len(part.words)
                require_memory(POSITION_BYTES * len(tokens) + NODE_BYTES * n_nodes, what, remedy, memory)
        bounds, words, starts, counts = joined(kept, allocate)
        return cls(n_words, bounds, words, starts), counts

    @classmethod
    def from_columns(cls, levels: list[np.ndarray], n_words: int) -> Self:
        """A tree of sorted n-grams: ``levels[k - 2]`` has shape (n_k, k); every prefix is among the shorter ones."""
        bounds = np.cumsum([0, n_words, *map(len, levels)]).astype(np.int64)
        words = np.concatenate([np.arange(n_words), *(level[:, -1] for level in levels)]).astype(np.int32)
        starts = np.full(bounds[-2] + 1, bounds[-1], np.int32)
        tree = cls(n_words, bounds, words, starts)
        for k, level in enumerate(levels, 2):
            parents = tree.find(level[:, :-1])
            if len(level) and (parents.min() < 0 or (np.diff(parents) < 0).any()):
                raise ValueError(f"n-grams of length {k} are not sorted or lack a prefix")
            first = np.searchsorted(parents, np.arange(bounds[k - 2], bounds[k - 1] + 1))
            starts[bounds[k - 2] : bounds[k - 1] + 1] = bounds[k - 1] + first
        return tree

    def find(self, ngrams: np.ndarray) -> np.ndarray:
        """Nodes of n-grams of one length, shape (n, length), as int64 (n,); -1 for those that are not there."""
        columns = np.ascontiguousarray(ngrams, np.int64)
        if columns.shape[1] == 0:
            raise ValueError("n-grams without words")
        return _find(columns, self.words, self.starts)

    def level(self, length: int) -> np.ndarray:
        """All n-grams of a length in their order, int32, shape (n, length)."""
        first, stop = self.bounds[length - 1], self.bounds[length]
        columns = np.empty((stop - first, length), np.int32)
        columns[:, -1] = self.words[first:stop]
        nodes = np.arange(first, stop)
        for place in range(length - 2, -1, -1):
            nodes = np.searchsorted(self.starts[: self.bounds[place + 1] + 1], nodes, side="right") - 1
            columns[:, place] = self.words[nodes]
        return columns

    def suffixes(self) -> np.ndarray:
        """The node of each n-gram without its first word, int32 (n_nodes,); -1 where there is none."""
        suffixes = allocator_of(self.words)(len(self.words), np.int32)
        _find_suffixes(self.bounds, self.words, self.starts, suffixes)
        return suffixes

    def below(self, word: int) -> list[tuple[int, int]]:
        """The ranges of nodes whose n-grams begin with a word, for each length from 1 on."""
        ranges = [(word, word + 1)]
        for _ in range(1, self.order):
            first, stop = ranges[-1]
            ranges.append((int(self.starts[first]), int(self.starts[stop])))
        return ranges

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The arrays of a model file."""
        return {"bounds": self.bounds, "words": self.words, "starts": self.starts}

    @classmethod
    def from_arrays(cls, n_words: int, arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_arrays`; raises ``ValueError`` for arrays that are not a tree."""
        problem = tree_problem(n_words, arrays)
        if problem is not None:
            raise ValueError(problem)
        return cls(n_words, arrays["bounds"], arrays["words"], arrays["starts"])


def tree_problem(n_words: int, arrays: Any) -> str | None:
    """What keeps arrays of a model file from being a tree of n-grams; None if nothing does."""
    bounds, words, starts = arrays["bounds"], arrays["words"], arrays["starts"]
    if len(bounds) < 2 or bounds[0] != 0 or bounds[1] != n_words or bounds[-1] != len(words):
        return "array 'bounds' does not go from the words to the last n-gram"
    if (np.diff(bounds) < 0).any() or len(starts) != bounds[-2] + 1:
        return "arrays 'bounds' and 'starts' do not fit each other"
    if (starts[bounds[:-1]] != bounds[1:]).any() or (np.diff(starts) < 0).any():
        return "array 'starts' does not rise from one length to the next"
    if (words[:n_words] != np.arange(n_words)).any():
        return "array 'words' does not begin with every word"
    rises = np.diff(words) > 0
    rises[starts[(starts > 0) & (starts < len(words))] - 1] = True
    return None if rises.all() else "array 'words' is not in ascending order"


@njit(cache=True, nogil=True)
def find_child(words: np.ndarray, first: int, stop: int, word: int) -> int:
    """The place of ``word`` in words[first:stop], which ascend; -1 if it is not there."""
    end = stop
    while first < stop:
        middle = (first + stop) >> 1
        if words[middle] < word:
            first = middle + 1
        else:
            stop = middle
    return first if first < end and words[first] == word else -1


@njit(cache=True, nogil=True)
def _find(ngrams: np.ndarray, words: np.ndarray, starts: np.ndarray) -> np.ndarray:
    nodes = np.empty(len(ngrams), np.int64)
    for i in range(len(ngrams)):
        node = ngrams[i, 0]
        for place in range(1, ngrams.shape[1]):
            if node < 0 or ngrams[i, place] < 0:
                node = -1
                break
            node = find_child(words, starts[node], starts[node + 1], ngrams[i, place])
        nodes[i] = node
    return nodes


@njit(cache=True, nogil=True)
def _find_suffixes(bounds: np.ndarray, words: np.ndarray, starts: np.ndarray, suffixes: np.ndarray) -> None:
    suffixes[: bounds[1]] = -1
    for parent in range(bounds[-2]):
        shorter = suffixes[parent]
        for node in range(starts[parent], starts[parent + 1]):
            if parent < bounds[1]:
                suffixes[node] = words[node]
            elif shorter >= 0:
                suffixes[node] = find_child(words, starts[shorter], starts[shorter + 1], words[node])
            else:
                suffixes[node] = -1
