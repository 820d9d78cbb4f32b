"""What the model of sentence ends sees of tokens, as numbers.

Columns of a token:

    w  form             l  in lower case    s  shape            b c d  last 2, 3, 4 letters   p  first 2 letters
    e  last character   g  category of the first character      n  length up to 7             f  whether a space follows
    v  kind of the last character, or which punctuation mark it is, and whether a space follows
    q  outside of quotes, inside, a quote that opens, one that closes
    u  part of speech, as far as the form tells (:mod:`spectragram.pipeline.word_classes`)

A quotation mark often does not tell whether it opens or closes: ``"`` may do both, and languages disagree about ``“``.
One with a space on one side only leans on what it belongs to. Any other closes the quotation that is open, if that
began not far away, and opens one otherwise.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.pipeline.characters import CATEGORIES, LAST_DIGIT, NO_GAP, NUMBER_BITS, PARAGRAPH_END, Text, extend_key

__all__ = ["COLUMNS", "KEY_COLUMNS", "open_marks", "token_columns"]

COLUMNS = "wlsbcpegnfdvqu"
KEY_COLUMNS = np.array([COLUMNS.index(letter) for letter in "lcb"])
"""Form and endings, by which parts of speech are looked up."""
QUOTES = COLUMNS.index("q")
OUTSIDE, INSIDE, OPENS, CLOSES = 0, 1, 2, 3
"""Values of column q."""
LONGEST_QUOTE = 100
"""Tokens behind an opening quote beyond which it is forgotten: its partner is missing. Chosen by hand, not tuned."""
STRAIGHT_QUOTE, LOW_QUOTE = ord('"'), ord("„")
FIRST_QUOTE, LAST_QUOTE = CATEGORIES.index("Pi"), CATEGORIES.index("Pf")


@njit(cache=True, nogil=True)
def token_columns(text: Text, stops: np.ndarray) -> np.ndarray:
    """The columns of tokens that end before the characters ``stops`` (n,): int64 (n_columns, n)."""
    _, codes, lower, kinds, gaps = text
    columns = np.zeros((14, len(stops)), np.int64)
    begin = 0
    for t in range(len(stops)):
        end = stops[t]
        exact, small, shape = np.uint64(7), np.uint64(7), np.uint64(7)
        last_mark = np.int64(-1)
        for i in range(begin, end):
            exact, small = extend_key(exact, codes[i]), extend_key(small, lower[i])
            mark = np.int64(kinds[i]) if kinds[i] <= LAST_DIGIT else codes[i] + 64
            if mark != last_mark:
                shape = extend_key(shape, mark)
            last_mark = mark
            if i == begin + 1:
                columns[5, t] = np.int64(small & NUMBER_BITS)
        last_two, last_three, last_four = np.uint64(7), np.uint64(7), np.uint64(7)
        for i in range(max(begin, end - 4), end):
            last_four = extend_key(last_four, lower[i])
            if i >= end - 3:
                last_three = extend_key(last_three, lower[i])
            if i >= end - 2:
                last_two = extend_key(last_two, lower[i])
        columns[10, t] = np.int64(last_four & NUMBER_BITS)
        kind = np.int64(kinds[end - 1])
        columns[11, t] = (kind if kind <= LAST_DIGIT else codes[end - 1] + 16) * 2 + np.int64(gaps[end - 1] != 0)
        columns[0, t] = np.int64(exact & NUMBER_BITS)
        columns[1, t] = np.int64(small & NUMBER_BITS)
        columns[2, t] = np.int64(shape & NUMBER_BITS)
        columns[3, t] = np.int64(last_two & NUMBER_BITS)
        columns[4, t] = np.int64(last_three & NUMBER_BITS)
        columns[6, t] = lower[end - 1]
        columns[7, t] = np.int64(kinds[begin])
        columns[8, t] = min(end - begin, 7)
        columns[9, t] = np.int64(gaps[end - 1] != 0)
        begin = end
    _quote_states(text, stops, columns[12])
    return columns


@njit(cache=True, nogil=True)
def _quote_states(text: Text, stops: np.ndarray, found: np.ndarray) -> None:
    """Write column q of the tokens that end before the characters ``stops`` (n,) into ``found`` (n,)."""
    _, codes, _, kinds, gaps = text
    inside, since, begin = False, 0, 0
    for t in range(len(stops)):
        end = stops[t]
        since += 1
        inside = inside and since <= LONGEST_QUOTE and gaps[begin - 1] != PARAGRAPH_END
        is_quote = codes[begin] in (STRAIGHT_QUOTE, LOW_QUOTE) or kinds[begin] in (FIRST_QUOTE, LAST_QUOTE)
        if is_quote and end == begin + 1:
            before, behind = begin == 0 or gaps[begin - 1] != NO_GAP, gaps[begin] != NO_GAP
            inside = before if before != behind else not inside
            since = 0
            found[t] = OPENS if inside else CLOSES
        else:
            found[t] = INSIDE if inside else OUTSIDE
        begin = end


def open_marks(text: Text, stops: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Brackets open, and number of quotes, before each token and behind the last one.

    Quotes are counted, not matched: which of them opens depends on the language. An apostrophe inside a token is none.
    """
    quotes = columns[QUOTES] >= OPENS
    starts = np.append(0, stops[:-1])
    kinds = text.kinds[starts]
    opens = (kinds == CATEGORIES.index("Ps")).astype(np.int64) - (kinds == CATEGORIES.index("Pe"))
    nested, mirrored = np.cumsum(np.where((stops - starts == 1) & ~quotes, opens, 0)), np.cumsum(quotes)
    return np.append(0, nested), np.append(0, mirrored)
