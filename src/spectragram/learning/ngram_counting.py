"""Counting n-grams by the words they begin with: stretches of the vocabulary that need nothing of one another.

A stretch gets the windows of ``order`` words that begin with one of its words. They are sorted, by one stable counting
sort for each place, the last place first, and one pass over them then meets every n-gram in its order. The n-grams of
stretches that follow one another follow one another, too, so nothing is merged, and how the vocabulary is cut does not
show. Only the stretches that are being counted are in memory as windows, and what was counted may go to disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
from numba import njit

from spectragram.engine import Allocate, current_executor, file_arrays, map_threads, release, stream_shards

__all__ = ["Branches", "count_branches", "filed", "joined"]

WINDOWS = 1 << 18
"""Windows of a stretch, about: 5 MB at order 5. The fastest of four sizes from 65 thousand to 4 million (5 million
words): they stay in the cache while they are sorted."""


@dataclass(frozen=True)
class Branches:
    """The n-grams that begin with the words of one stretch, by length and in their order.

    bounds    (order + 1,)     n-grams of length k are bounds[k - 1] to bounds[k] - 1, at length 1 all words
    words     (n_nodes,)       the last word of each
    children  (n_contexts,)    how many are one word longer
    counts    (n_nodes,)       how often each occurs
    """

    bounds: np.ndarray
    words: np.ndarray
    children: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class _Stretch:
    """Windows (n, order) that begin with the words ``first`` to ``stop`` - 1, and how many words of each count."""

    first: int
    stop: int
    n_words: int
    windows: np.ndarray
    depths: np.ndarray

    @property
    def title(self) -> str:
        """What errors call it."""
        return f"n-grams that begin with words {self.first + 1} to {self.stop}"


def count_branches(tokens: np.ndarray, n_words: int, order: int, start: int, n_jobs: int) -> Iterator[Branches]:
    """The n-grams of a stream of ids (n_tokens,), stretch by stretch of the vocabulary.

    An n-gram may begin or end with the id ``start``, but does not go on after it.
    """
    tokens = np.ascontiguousarray(tokens, np.int32)
    depths = _depths(tokens, order, start)
    positions, starts = _by_first_word(tokens, n_words)
    cuts = _cuts(starts)
    stretches = (
        _Stretch(first, stop, n_words, *_windows(tokens, depths, order, positions[starts[first] : starts[stop]]))
        for first, stop in pairwise(cuts)
    )
    executor = current_executor()
    if executor is not None and len(cuts) > 2:
        yield from stream_shards(_count, stretches, executor)
        return
    while some := list(islice(stretches, n_jobs)):
        yield from map_threads(_count, some, n_jobs)


def filed(parts: Iterable[Branches]) -> list[Branches]:
    """The same stretches with their arrays in temporary files, to which they are written as they arrive."""
    bounds: list[np.ndarray] = []

    def arrays() -> Iterator[tuple[np.ndarray, ...]]:
        for part in parts:
            bounds.append(part.bounds)
            yield part.words, part.counts, part.children

    words, counts, children = file_arrays(arrays())
    found = []
    node = context = 0
    for own in bounds:
        nodes, contexts = slice(node, node + own[-1]), slice(context, context + own[-2])
        found.append(Branches(own, words[nodes], children[contexts], counts[nodes]))
        node, context = nodes.stop, contexts.stop
    return found


def joined(parts: list[Branches], allocate: Allocate = np.zeros) -> tuple[np.ndarray, ...]:
    """Bounds, words, starts of children and counts of stretches that follow one another; ``parts`` is emptied."""
    levels = np.array([np.diff(part.bounds) for part in parts])
    bounds = np.concatenate([[0], np.cumsum(levels.sum(axis=0))])
    words, counts = (allocate(bounds[-1], np.int32) for _ in range(2))
    starts = allocate(bounds[-2] + 1, np.int32)
    starts[0] = bounds[1]
    free = bounds[:-1].copy()
    while parts:
        part = parts.pop(0)
        for k, (first, stop) in enumerate(pairwise(part.bounds.tolist())):
            place = slice(free[k], free[k] + stop - first)
            words[place], counts[place] = part.words[first:stop], part.counts[first:stop]
            if k < len(free) - 1:
                starts[place.start + 1 : place.stop + 1] = part.children[first:stop]
            free[k] = place.stop
        release(part.words, part.counts, part.children, words, counts, starts)
    np.cumsum(starts, out=starts, dtype=np.int32)
    return bounds, words, starts, counts


def _cuts(starts: np.ndarray) -> list[int]:
    """Where stretches of the vocabulary begin that have about as many windows each, and its end."""
    n_words, n_windows = len(starts) - 1, int(starts[-1])
    n = max(1, n_windows // WINDOWS)
    inner = np.searchsorted(starts[1:], np.arange(1, n) * n_windows / n) + 1
    return np.unique(np.clip([0, *inner, n_words], 0, n_words)).tolist()


def _count(stretch: _Stretch) -> Branches:
    windows, depths, order = stretch.windows, stretch.depths, stretch.windows.shape[1]
    ranked = _sort_windows(windows, depths, stretch.n_words)
    sizes = _count_nodes(windows, depths, ranked)
    bounds = np.concatenate([[0, stretch.stop - stretch.first], sizes[2:]]).cumsum()
    return Branches(bounds, *_fill(windows, depths, ranked, bounds, stretch.first, order))


@njit(cache=True, nogil=True)
def _depths(tokens: np.ndarray, order: int, start: int) -> np.ndarray:
    """Length of the longest n-gram that begins at each position, uint8 (n_tokens,)."""
    depths = np.empty(len(tokens), np.uint8)
    room = 0
    for i in range(len(tokens) - 1, -1, -1):
        room = min(room + 1, order)
        depths[i] = room
        if tokens[i] == start:
            room = 1  # what comes before ends here
    return depths


@njit(cache=True, nogil=True)
def _by_first_word(tokens: np.ndarray, n_words: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of a text by their word, int32 (n_tokens,), and where those of each word begin, (n_words + 1,)."""
    starts = np.zeros(n_words + 1, np.int64)
    for i in range(len(tokens)):
        starts[tokens[i] + 1] += 1
    starts = np.cumsum(starts)
    positions = np.empty(len(tokens), np.int32)
    free = starts.copy()
    for i in range(len(tokens)):
        positions[free[tokens[i]]] = i
        free[tokens[i]] += 1
    return positions, starts


@njit(cache=True, nogil=True)
def _windows(
    tokens: np.ndarray, depths: np.ndarray, order: int, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The words from each of some positions on, int32 (n, order), and how many of them are an n-gram, uint8 (n,)."""
    windows = np.zeros((len(positions), order), np.int32)
    lengths = np.empty(len(positions), np.uint8)
    for r in range(len(positions)):
        i = positions[r]
        lengths[r] = depths[i]
        for j in range(depths[i]):
            windows[r, j] = tokens[i + j]
    return windows, lengths


@njit(cache=True, nogil=True)
def _sort_windows(windows: np.ndarray, depths: np.ndarray, n_words: int) -> np.ndarray:
    """Windows in the order of their n-grams, shorter ones first, int32 (n,)."""
    n = len(windows)
    ranked = np.arange(n).astype(np.int32)
    other = np.empty(n, np.int32)
    place_of = np.empty(n_words + 2, np.int64)
    for j in range(windows.shape[1] - 1, -1, -1):
        place_of[:] = 0
        for i in range(n):
            place_of[(windows[i, j] + 1 if j < depths[i] else 0) + 1] += 1
        for w in range(n_words + 1):
            place_of[w + 1] += place_of[w]
        for r in range(n):
            i = ranked[r]
            key = windows[i, j] + 1 if j < depths[i] else 0
            other[place_of[key]] = i
            place_of[key] += 1
        ranked, other = other, ranked
    return ranked


@njit(cache=True, nogil=True)
def _in_common(windows: np.ndarray, depths: np.ndarray, a: int, b: int) -> int:
    """How many words the n-grams of two windows have in common."""
    most = min(depths[a], depths[b])
    same = 0
    while same < most and windows[a, same] == windows[b, same]:
        same += 1
    return same


@njit(cache=True, nogil=True)
def _count_nodes(windows: np.ndarray, depths: np.ndarray, ranked: np.ndarray) -> np.ndarray:
    """Number of different n-grams by length, (order + 1,)."""
    sizes = np.zeros(windows.shape[1] + 1, np.int64)
    for r in range(len(ranked)):
        i = ranked[r]
        same = _in_common(windows, depths, ranked[r - 1], i) if r > 0 else 0
        sizes[same + 1 : depths[i] + 1] += 1
    return sizes


@njit(cache=True, nogil=True)
def _fill(
    windows: np.ndarray, depths: np.ndarray, ranked: np.ndarray, bounds: np.ndarray, first: int, order: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words, numbers of children and counts of all nodes."""
    words = np.empty(bounds[-1], np.int32)
    counts = np.zeros(bounds[-1], np.int32)
    children = np.zeros(bounds[order - 1], np.int32)
    for w in range(bounds[1]):
        words[w] = first + w
    free, path = bounds[:-1].copy(), np.empty(order, np.int64)
    for r in range(len(ranked)):
        i = ranked[r]
        same = _in_common(windows, depths, ranked[r - 1], i) if r > 0 else 0
        path[0] = windows[i, 0] - first
        for k in range(max(same, 1), depths[i]):
            path[k] = free[k]
            free[k] += 1
            words[path[k]] = windows[i, k]
            children[path[k - 1]] += 1
        for k in range(depths[i]):
            counts[path[k]] += 1
    return words, children, counts
