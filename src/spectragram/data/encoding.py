"""Bytes to word ids: an open-addressing hash table over raw UTF-8, filled and searched by a compiled kernel.

Python's ``split`` and ``dict`` create an object for every token. Here a block of bytes is scanned once: a word is
hashed while the kernel looks for its end, then found in the table and replaced by its id. The only objects created
are the distinct words, once, at the end.

The table consists of plain arrays, so the kernel compiles once and releases the GIL:

    slots      uint64 (2^k,)           0 if free, else the upper half of a word's hash and its id + 1
    spellings  uint8  (capacity,)      the words' bytes, one after the other
    starts     int64  (n_words + 1,)   word i is spellings[starts[i]:starts[i + 1]]
    counts     int64  (n_words,)       how often each word was seen

The last two have room for 2^(k-1) words: the table is never more than half full.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numba import njit

__all__ = ["WordTable"]

SMALLEST_TABLE = 1 << 16
"""Slots of a new table. Room for the vocabulary of a small text in half a megabyte; larger ones double it."""

# The constants of the 64-bit FNV-1a hash (Fowler, Noll and Vo).
FNV_BASIS = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)
GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, the usual multiplier for spreading bits (Knuth, volume 3, section 6.4)."""
HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)


class WordTable:
    """Words with ids in the order of first appearance; ``encode`` adds new ones unless told not to."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        encoded = [word.encode("utf-8", "surrogatepass") for word in words]  # as model files keep them
        self.n_words = len(encoded)
        capacity = SMALLEST_TABLE // 2
        while capacity <= self.n_words:
            capacity *= 2
        self._spellings = np.frombuffer(bytearray(b"".join(encoded) or b"\0"), np.uint8)
        self._starts = np.zeros(capacity + 1, np.int64)
        np.cumsum([len(word) for word in encoded], out=self._starts[1 : self.n_words + 1])
        self._counts = np.zeros(capacity, np.int64)
        self._slots = np.zeros(2 * capacity, np.uint64)
        _fill_slots(self._slots, self._spellings, self._starts, self.n_words)

    @property
    def counts(self) -> np.ndarray:
        """How often each word was seen by :meth:`encode`, int64, shape (n_words,)."""
        return self._counts[: self.n_words]

    def words(self) -> list[str]:
        """The words, in order of their ids."""
        spellings = self._spellings.tobytes()
        ends = self._starts[: self.n_words + 1].tolist()
        return [spellings[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]

    def encode(self, block: bytes, unknown: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Ids of all words of ``block`` (int32), and for each line the number of words up to its end (int64).

        A new word enters the table, unless ``unknown`` is given: then it gets that id and is not counted.
        """
        array = np.frombuffer(block, np.uint8)
        tokens = np.empty(len(block) // 2 + 1, np.int32)
        line_ends = np.empty(block.count(b"\n") + 1, np.int64)
        position = n_tokens = n_lines = 0
        while True:
            position, self.n_words, n_tokens, n_lines = _encode(
                array,
                position,
                self._slots,
                self._spellings,
                self._starts,
                self._counts,
                self.n_words,
                unknown is None,
                -1 if unknown is None else unknown,
                tokens,
                n_tokens,
                line_ends,
                n_lines,
            )
            if position == len(block):
                break
            self._grow(len(block) - position)
        if not block.endswith(b"\n"):
            line_ends[n_lines] = n_tokens
            n_lines += 1
        return tokens[:n_tokens], line_ends[:n_lines]

    def _grow(self, n_bytes: int) -> None:
        """Make room for at least one more word of at most ``n_bytes`` bytes."""
        if self._starts[self.n_words] + n_bytes > len(self._spellings):
            self._spellings = _longer(self._spellings, 2 * len(self._spellings) + n_bytes)
        if self.n_words == len(self._counts):
            capacity = 2 * len(self._counts)
            self._starts = _longer(self._starts, capacity + 1)
            self._counts = _longer(self._counts, capacity)
            self._slots = np.zeros(2 * capacity, np.uint64)
            _fill_slots(self._slots, self._spellings, self._starts, self.n_words)


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    longer = np.zeros(size, array.dtype)
    longer[: len(array)] = array
    return longer


@njit(cache=True, nogil=True)
def _find(
    spelled: np.ndarray,
    start: int,
    stop: int,
    hashed: np.uint64,
    slots: np.ndarray,
    spellings: np.ndarray,
    starts: np.ndarray,
) -> int:
    """The slot that holds ``spelled[start:stop]``, or the free one where it belongs."""
    mask = slots.size - 1
    slot = int(hashed & LOW_HALF) & mask
    while slots[slot] != 0:
        if slots[slot] >> HALF == hashed >> HALF:
            word = int(slots[slot] & LOW_HALF) - 1
            begin = starts[word]
            length = starts[word + 1] - begin
            if length == stop - start:
                same = 0
                while same < length and spellings[begin + same] == spelled[start + same]:
                    same += 1
                if same == length:
                    return slot
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _mixed(hashed: np.uint64) -> np.uint64:
    """Spread the upper bits of an FNV hash, which are good, over the lower ones, which are less so."""
    hashed ^= hashed >> HALF
    hashed *= GOLDEN_RATIO
    return hashed ^ (hashed >> HALF)


@njit(cache=True, nogil=True)
def _fill_slots(slots: np.ndarray, spellings: np.ndarray, starts: np.ndarray, n_words: int) -> None:
    """Enter words 0 .. n_words - 1 into empty slots."""
    for word in range(n_words):
        hashed = FNV_BASIS
        for i in range(starts[word], starts[word + 1]):
            hashed = (hashed ^ np.uint64(spellings[i])) * FNV_PRIME
        hashed = _mixed(hashed)
        slot = _find(spellings, starts[word], starts[word + 1], hashed, slots, spellings, starts)
        slots[slot] = (hashed >> HALF) << HALF | np.uint64(word + 1)


@njit(cache=True, nogil=True)
def _encode(
    block: np.ndarray,
    i: int,
    slots: np.ndarray,
    spellings: np.ndarray,
    starts: np.ndarray,
    counts: np.ndarray,
    n_words: int,
    grow: bool,
    unknown: int,
    tokens: np.ndarray,
    n_tokens: int,
    line_ends: np.ndarray,
    n_lines: int,
) -> tuple[int, int, int, int]:
    """Encode ``block`` (n_bytes,) from byte ``i`` on; stop early, before a new word, if the table is full.

    Words are separated by ASCII white space: bytes 9 (tab) to 13 (return) and 32 (blank). Words go to ``tokens``,
    the number of words before each line end to ``line_ends``. Returns how far it came: (i, n_words, n_tokens, n_lines).
    """
    size = block.size
    while i < size:
        byte = block[i]
        if byte == 32 or 9 <= byte <= 13:
            if byte == 10:
                line_ends[n_lines] = n_tokens
                n_lines += 1
            i += 1
            continue
        end = i
        hashed = FNV_BASIS
        while not (byte == 32 or 9 <= byte <= 13):
            hashed = (hashed ^ np.uint64(byte)) * FNV_PRIME
            end += 1
            if end == size:
                break
            byte = block[end]
        hashed = _mixed(hashed)
        slot = _find(block, i, end, hashed, slots, spellings, starts)
        word = int(slots[slot] & LOW_HALF) - 1
        if word < 0 and grow:
            used = starts[n_words]
            if n_words == counts.size or used + end - i > spellings.size:
                break
            word = n_words
            n_words += 1
            for k in range(i, end):
                spellings[used + k - i] = block[k]
            starts[n_words] = used + end - i
            slots[slot] = (hashed >> HALF) << HALF | np.uint64(n_words)
        if word < 0:
            word = unknown
        else:
            counts[word] += 1
        tokens[n_tokens] = word
        n_tokens += 1
        i = end
    return i, n_words, n_tokens, n_lines
