"""Very long sentences are parsed in pieces: the time of a chart grows with the cube of the length.

No treebank has sentences of hundreds of words, but texts have: lists, tables, a line without a full stop. Cuts are made
behind punctuation where there is any, so that most pieces are clauses.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["pieces"]

SHORTEST = 0.5
"""Least share of the longest piece that a piece may have if it ends with punctuation. Chosen by hand."""
ENDS = (".!?。！？", ";:；：", ",、，")
"""Punctuation behind which to cut, the best places first."""


def pieces(words: Sequence[str], longest: int) -> list[tuple[int, int]]:
    """Where to cut a sentence into pieces of at most ``longest`` words: start and end of each.

    >>> pieces("a b c , d e f g".split(), 5)
    [(0, 4), (4, 8)]
    >>> pieces("a b c d".split(), 4)
    [(0, 4)]
    """
    found, start = [], 0
    while len(words) - start > longest:
        earliest = start + max(1, int(SHORTEST * longest))
        places = range(start + longest, earliest - 1, -1)
        end = next((end for marks in ENDS for end in places if _is_mark(words[end - 1], marks)), start + longest)
        found.append((start, end))
        start = end
    return [*found, (start, len(words))]


def _is_mark(word: str, marks: str) -> bool:
    return len(word) == 1 and word in marks
