"""Counting pairs of words at a distance, in bounded memory and in any order of the parts.

A table of pairs is two arrays: sorted keys ``first * n_words + second``, and counts. It is canonical (the same
text gives the same arrays whatever the cuts) and tables add up by one linear merge. Text arrives in blocks; keys
are collected, sorted and reduced a few million at a time, and the reduced runs are merged when they have about
the same length, so that each pair is touched a logarithmic number of times.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit

__all__ = ["PairCounter", "PairTable", "StreamPairs"]

KEYS_PER_RUN = 1 << 22


@dataclass(frozen=True)
class PairTable:
    """Sorted keys ``first * n_words + second``, each once, and how often each occurred (both int64)."""

    keys: np.ndarray
    counts: np.ndarray

    @classmethod
    def of_keys(cls, keys: np.ndarray) -> PairTable:
        """Count the keys of an array in any order."""
        keys = np.sort(keys)
        first = np.flatnonzero(np.concatenate([[len(keys) > 0], keys[1:] != keys[:-1]])[: len(keys)])
        return cls(keys[first], np.diff(np.append(first, len(keys))).astype(np.int64))

    @classmethod
    def of_weighted_keys(cls, keys: np.ndarray, counts: np.ndarray) -> PairTable:
        """Add up the counts of equal keys, in any order."""
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.concatenate([[len(keys) > 0], keys[1:] != keys[:-1]])[: len(keys)])
        return cls(keys[first], np.add.reduceat(counts[order], first) if len(first) else counts[:0])

    def __add__(self, other: PairTable) -> PairTable:
        if not len(other.keys):
            return self
        keys = np.empty(len(self.keys) + len(other.keys), np.int64)
        counts = np.empty(len(keys), np.int64)
        n = _merge_sorted(self.keys, self.counts, other.keys, other.counts, keys, counts)
        return PairTable(keys[:n].copy(), counts[:n].copy())


@njit(cache=True, nogil=True)
def _merge_sorted(keys_a, counts_a, keys_b, counts_b, keys, counts):  # type: ignore[no-untyped-def]
    i = j = n = 0
    while i < keys_a.size or j < keys_b.size:
        if j == keys_b.size or (i < keys_a.size and keys_a[i] < keys_b[j]):
            keys[n], counts[n] = keys_a[i], counts_a[i]
            i += 1
        elif i == keys_a.size or keys_b[j] < keys_a[i]:
            keys[n], counts[n] = keys_b[j], counts_b[j]
            j += 1
        else:
            keys[n], counts[n] = keys_a[i], counts_a[i] + counts_b[j]
            i += 1
            j += 1
        n += 1
    return n


@dataclass(frozen=True)
class StreamPairs:
    """Pairs of one stretch of text, and its first and last words, which pair with the stretches around it.

    ``tables[d - 1]`` holds pairs at distance d. Where lines are apart, ``head`` and ``tail`` are empty.
    """

    n_words: int
    tables: tuple[PairTable, ...]
    head: np.ndarray
    tail: np.ndarray

    def __add__(self, other: StreamPairs) -> StreamPairs:
        window = len(self.tables)
        tables = []
        for distance, (mine, others) in enumerate(zip(self.tables, other.tables, strict=True), 1):
            # Pairs that span the seam: d apart, one end in each stretch.
            before, after = self.tail[-distance:], other.head[:distance]
            seam = np.concatenate([before, after])
            n = max(0, min(len(before), len(seam) - distance))
            across = PairTable.of_keys(seam[:n] * self.n_words + seam[distance : distance + n])
            tables.append(mine + others + across)
        head = np.concatenate([self.head, other.head])[:window]
        tail = np.concatenate([self.tail, other.tail])[-window:]
        return StreamPairs(self.n_words, tuple(tables), head, tail)


@dataclass
class PairCounter:
    """Counts pairs at distances 1 .. ``window`` in blocks of whole lines that follow one another.

    ``apart`` keeps lines apart; otherwise the text is one stream and pairs cross the ends of lines.
    """

    n_words: int
    window: int = 1
    boundaries: bool = False
    _keys: list[list[np.ndarray]] = field(init=False)
    _runs: list[list[PairTable]] = field(init=False)
    _waiting: int = field(init=False, default=0)
    _head: np.ndarray = field(init=False, default_factory=lambda: np.empty(0, np.int64))
    _tail: np.ndarray = field(init=False, default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        self._keys = [[] for _ in range(self.window)]
        self._runs = [[] for _ in range(self.window)]

    def add(self, tokens: np.ndarray, offsets: np.ndarray) -> None:
        """Count a block: int array of word ids, and where its lines begin (and the last one ends)."""
        ids = np.concatenate([self._tail, tokens.astype(np.int64)])
        line = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) if self.boundaries else None
        for distance in range(1, self.window + 1):
            # A pair is new when its second word is.
            first = max(0, len(self._tail) - distance)
            keys = ids[first:-distance] * self.n_words + ids[first + distance :]
            if line is not None:
                keys = keys[line[distance:] == line[:-distance]]
            self._keys[distance - 1].append(keys)
        if not self.boundaries:
            self._head = np.concatenate([self._head, tokens[: self.window]])[: self.window].astype(np.int64)
            self._tail = ids[-self.window :]
        self._waiting += len(tokens)
        if self._waiting >= KEYS_PER_RUN:
            self._reduce()

    def _reduce(self) -> None:
        for keys, runs in zip(self._keys, self._runs, strict=True):
            runs.append(PairTable.of_keys(np.concatenate([np.empty(0, np.int64), *keys])))
            keys.clear()
            while len(runs) > 1 and len(runs[-2].keys) < 2 * len(runs[-1].keys):
                last = runs.pop()
                runs[-1] = runs[-1] + last
        self._waiting = 0

    def result(self) -> StreamPairs:
        """All that was added."""
        self._reduce()
        tables = []
        for runs in self._runs:
            while len(runs) > 1:
                last = runs.pop()
                runs[-1] = runs[-1] + last
            tables.append(runs[0])
        return StreamPairs(self.n_words, tuple(tables), self._head, self._tail)
