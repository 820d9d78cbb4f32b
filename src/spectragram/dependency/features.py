"""The parts of trees: modifier sequences for the automata, arcs and ends of halves for the factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from spectragram.dependency.encoding import Encoded
from spectragram.inference.headed import LEFT, RIGHT
from spectragram.schema import Array, Schema

__all__ = ["ModifierSequences", "gold_pairs", "modifier_sequences"]


@dataclass(frozen=True)
class ModifierSequences:
    """All modifier sequences of a treebank, grouped by direction and head symbol.

    Attributes
    ----------
    tokens : int64 array
        Tags of modifiers, from the head outwards.
    offsets : int64 array, shape (2 * n_words + 1,)
    blocks : int64 array, shape (2 * n_symbols + 1,)
        Sequences ``blocks[d * n_symbols + h]`` to the next belong to direction d and head h.
    roots : float64 array, shape (n_symbols,)
        How often each symbol heads a sentence.
    """

    SCHEMA: ClassVar[Schema] = Schema(
        "Modifier sequences",
        "The modifiers of every word of the training data, which pictures of automata need.",
        arrays={
            "tokens": Array("i8", ("n_tokens",), "tags of modifiers", least=0, below="n_tags"),
            "offsets": Array("i8", ("n_sequences + 1",), "where sequences begin", starts="n_tokens"),
            "blocks": Array(
                "i8", ("2 * n_tags + 1",), "where the sequences of each side and head begin", starts="n_sequences"
            ),
            "roots": Array("f8", ("n_tags",), "how often each tag heads a sentence", least=0),
        },
    )

    tokens: np.ndarray
    offsets: np.ndarray
    blocks: np.ndarray
    roots: np.ndarray

    @property
    def n_symbols(self) -> int:
        """Number of tags, the unknown one included."""
        return len(self.roots)

    def of(self, direction: int, head: int) -> tuple[np.ndarray, np.ndarray]:
        """Tokens and offsets of the sequences of one head and direction."""
        place = direction * self.n_symbols + head
        offsets = self.offsets[self.blocks[place] : self.blocks[place + 1] + 1]
        return self.tokens[offsets[0] : offsets[-1]], offsets - offsets[0]


def modifier_sequences(encoded: Encoded, heads: np.ndarray, n_symbols: int) -> ModifierSequences:
    """Decompose trees into the modifier sequences of every word (section 6.2)."""
    n_words = len(encoded.tags)
    begins = np.repeat(encoded.offsets[:-1], np.diff(encoded.offsets))
    modifiers = np.flatnonzero(heads > 0)
    head = (begins + heads - 1)[modifiers]
    direction = (modifiers > head).astype(np.int64)
    # One sequence for each word and direction, in the order of direction, symbol, word.
    rank = np.empty((2, n_words), np.int64)
    by_symbol = np.argsort(encoded.tags, kind="stable")
    rank[LEFT, by_symbol] = np.arange(n_words)
    rank[RIGHT] = rank[LEFT] + n_words
    sequence = rank[direction, head]
    order = np.lexsort((np.abs(modifiers - head), sequence))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(sequence, minlength=2 * n_words))])
    sizes = np.tile(np.bincount(encoded.tags, minlength=n_symbols), 2)
    return ModifierSequences(
        encoded.tags[modifiers[order]],
        offsets,
        np.concatenate([[0], np.cumsum(sizes)]),
        np.bincount(encoded.tags[heads == 0], minlength=n_symbols).astype(np.float64),
    )


@njit(cache=True, nogil=True)
def gold_pairs(heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 at the arcs of a tree and at the ends of its halves; heads (n,) as in CoNLL-U -> (2, n, n), (2, n, n).

    Indexed by direction, word and distance, as in :mod:`spectragram.inference.headed`.
    """
    n = len(heads)
    arcs, stops = np.zeros((2, n, n)), np.zeros((2, n, n))
    ends = np.zeros((2, n), np.int64)
    for word in range(n):
        above = heads[word] - 1
        if above >= 0:
            arcs[int(word > above), above, abs(word - above)] = 1.0
        while above >= 0:
            side = int(word > above)
            ends[side, above] = max(ends[side, above], abs(word - above))
            above = heads[above] - 1
    for d in range(2):
        for word in range(n):
            stops[d, word, ends[d, word]] = 1.0
    return arcs, stops
