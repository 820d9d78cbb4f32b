"""What factors see of the characters of a text, as numbers.

White space is not a position of its own: each other character knows what follows it (another one, white space, or the
end of the paragraph). A run of characters without white space is a chunk.

    c  character        l  in lower case    k  Unicode category, all three with what follows
    x  place in the chunk (characters before and behind it, up to 7)
    p  the chunk up to this character       s  the chunk behind it
    a  the run of letters, or of digits, that ends here           r  the run that begins behind
    t  shape of the chunk                   n  the next chunk     m  the chunk before     d  how the next chunk begins
    b  block of 128 code points
    y  kinds of this character and the next one (letter, digit, other)
    h  number of letters, without marks, or of digits in the run that ends here: 1, 2, 3, or more
    z  the same as y with letters and digits in one

Everything but c is blind to case. Other columns would give features other places: raise
:data:`spectragram.inference.hashed.VERSION` after a change.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.hashed import MIX

__all__ = [
    "CATEGORIES",
    "COLUMNS",
    "GAP",
    "LAST_DIGIT",
    "NO_GAP",
    "NUMBER_BITS",
    "N_UNITS",
    "PARAGRAPH_END",
    "Text",
    "character_columns",
    "extend_key",
    "joined_characters",
    "paragraph_bounds",
    "read_text",
    "unit_kinds",
]

COLUMNS = "clkxpsartnmdbyhz"
"""A letter for each column."""
NO_GAP, GAP, PARAGRAPH_END = 0, 1, 2
"""What follows a character."""
CATEGORIES = re.findall(r"..", "--LuLtLlLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoCcCfCsCoCnZsZlZp")
"""White space, whatever its category, and the categories of Unicode in an order in which groups are ranges."""
FIRST_CONNECTOR, LAST_DASH = 12, 13
SPACE, UPPER, TITLE, LAST_LETTER, LAST_MARK, FIRST_DIGIT, LAST_DIGIT = 0, 1, 2, 5, 8, 9, 11
FORMAT = CATEGORIES.index("Cf")
ZERO_WIDTH_JOINER, FIRST_COLOUR, LAST_COLOUR = 0x200D, 0x1F3FB, 0x1F3FF
FIRST_TAG, LAST_TAG = 0xE0020, 0xE007F  # letters that nobody sees, behind the flag of a region
SOFT_HYPHEN, ZERO_WIDTH_NON_JOINER, WORD_JOINER = 0xAD, 0x200C, 0x2060  # inside of words
FIRST_REGION, LAST_REGION = 0x1F1E6, 0x1F1FF  # letters, pairs of which are flags
NOT_IN_UNIT, IN_NUMBER, IN_ADDRESS, AT_FORMAT, N_UNITS = 0, 1, 2, 3, 4
SLASH, FULL_STOP, COMMA, COLON, AT_SIGN, SMALL_W = (ord(sign) for sign in "/.,:@w")
ARABIC_POINT, ARABIC_COMMA = 0x66B, 0x66C  # between digits
TABLE_SIZE = 0x20000
"""Code points whose category is looked up; the planes above hold rare Chinese characters and private use."""
LONGEST_PLACE = 7
"""Characters before or behind that a place distinguishes. Chosen by hand, not tuned."""
NUMBER_BITS = np.uint64(0x3FFFFFFFFFFFFFFF)
"""Columns are not negative, and kernels add small numbers to them."""


class Text(NamedTuple):
    """The characters of one or several paragraphs, without white space.

    places (n,) int64: where each character is in the text; codes (n,) int64 code points; lower (n,) int64 the same in
    lower case; kinds (n,) uint8 categories; gaps (n,) uint8: what follows.
    """

    places: np.ndarray
    codes: np.ndarray
    lower: np.ndarray
    kinds: np.ndarray
    gaps: np.ndarray


@lru_cache(maxsize=1)
def _tables() -> tuple[np.ndarray, np.ndarray]:
    """Category and lower case of code points."""
    number_of = {name: number for number, name in enumerate(CATEGORIES)}
    kinds, lower = np.empty(TABLE_SIZE, np.uint8), np.arange(TABLE_SIZE)
    for code in range(TABLE_SIZE):
        character = chr(code)
        kinds[code] = SPACE if character.isspace() else number_of[unicodedata.category(character)]
        small = character.lower()
        if len(small) == 1:
            lower[code] = ord(small)
    return kinds, lower


def read_text(paragraphs: list[str]) -> Text:
    """The characters of paragraphs; places count through all of them as if they followed each other directly.

    >>> read_text(["A b"]).gaps.tolist()
    [1, 2]
    """
    codes = np.frombuffer("".join(paragraphs).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    kind_of, lower_of = _tables()
    within = np.minimum(codes, TABLE_SIZE - 1)
    kinds = np.where(codes < TABLE_SIZE, kind_of[within], CATEGORIES.index("Lo")).astype(np.uint8)
    places = np.flatnonzero(kinds != SPACE)
    gaps = np.full(len(places), NO_GAP, np.uint8)
    if len(places):
        gaps[:-1][np.diff(places) > 1] = GAP
        owner = np.searchsorted(np.cumsum([len(paragraph) for paragraph in paragraphs]), places, side="right")
        gaps[:-1][np.diff(owner) > 0] = PARAGRAPH_END
        gaps[-1] = PARAGRAPH_END
    own = codes[places]
    return Text(places, own, np.where(own < TABLE_SIZE, lower_of[within[places]], own), kinds[places], gaps)


def paragraph_bounds(text: Text) -> np.ndarray:
    """The first character of the paragraph of each character, and the one behind its last: int64 (n, 2)."""
    ends = np.flatnonzero(text.gaps == PARAGRAPH_END) + 1
    sizes = np.diff(ends, prepend=0)
    return np.stack([np.repeat(ends - sizes, sizes), np.repeat(ends, sizes)], axis=1)


@njit(cache=True, nogil=True)
def joined_characters(text: Text) -> np.ndarray:
    """Whether each character is one sign with the character behind it, bool (n,): nothing may come between them.

    This holds of a letter and its marks, an emoji and its colour, what a zero-width joiner joins, two halves of a flag.
    """
    _, codes, _, kinds, gaps = text
    joined = np.zeros(len(codes), np.bool_)
    is_half = False  # of a flag
    for i in range(len(codes) - 1):
        code, behind = codes[i], codes[i + 1]
        is_half = FIRST_REGION <= code <= LAST_REGION and not is_half
        if gaps[i] == NO_GAP:
            extends = LAST_LETTER < kinds[i + 1] <= LAST_MARK or FIRST_COLOUR <= behind <= LAST_COLOUR
            extends = extends or FIRST_TAG <= behind <= LAST_TAG
            flag = is_half and FIRST_REGION <= behind <= LAST_REGION
            joined[i] = extends or flag or ZERO_WIDTH_JOINER in (code, behind)
        is_half = is_half and joined[i]
    return joined


@njit(cache=True, nogil=True)
def unit_kinds(text: Text) -> np.ndarray:
    """Which kind of unit holds each character and the one behind it, int64 (n,): a number, an address, or none.

    A number here is digits with a point or a comma between them. Addresses are those of the web, which hold ``://`` or
    begin with ``www.``, and those of mail; the punctuation behind them is not part of them. A character that nobody
    sees, such as a soft hyphen or a mark of direction, is in a unit with its neighbour (:func:`_touches_format`).
    """
    _, codes, lower, kinds, gaps = text
    n = len(codes)
    units = np.full(n, NOT_IN_UNIT, np.int64)
    begin = 0
    while begin < n:
        end = begin
        while gaps[end] == NO_GAP:
            end += 1
        for i in range(begin + 1, end):  # neither the first nor the last of the chunk
            code = codes[i]
            between_digits = kinds[i - 1] == FIRST_DIGIT and kinds[i + 1] == FIRST_DIGIT and units[i] == NOT_IN_UNIT
            if between_digits and code in (FULL_STOP, COMMA, ARABIC_POINT, ARABIC_COMMA):
                first, last = i - 1, i + 1
                while first > begin and kinds[first - 1] == FIRST_DIGIT:
                    first -= 1
                while last < end and kinds[last + 1] == FIRST_DIGIT:
                    last += 1
                units[first:last] = IN_NUMBER
            if code == COLON and i + 2 <= end and codes[i + 1] == SLASH and codes[i + 2] == SLASH:
                first = i
                while first > begin and kinds[first - 1] <= LAST_LETTER:
                    first -= 1
                if first < i:
                    units[first : _address_end(codes, kinds, i, end)] = IN_ADDRESS
            elif code == FULL_STOP and i >= begin + 3 and lower[i - 3] == lower[i - 2] == lower[i - 1] == SMALL_W:
                if i == begin + 3 or not _is_word(kinds[i - 4]):
                    units[i - 3 : _address_end(codes, kinds, i, end)] = IN_ADDRESS
            elif code == AT_SIGN and _is_word(kinds[i - 1]) and _is_word(kinds[i + 1]):
                first = i
                while first > begin and _is_mail(codes[first - 1], kinds[first - 1]):
                    first -= 1
                while not _is_word(kinds[first]):
                    first += 1
                last = i + 1
                while last < end and _is_mail(codes[last + 1], kinds[last + 1]):
                    last += 1
                units[first : _address_end(codes, kinds, i, last)] = IN_ADDRESS
        for i in range(begin, end):
            if units[i] == NOT_IN_UNIT and _touches_format(codes, kinds, begin, i):
                units[i] = AT_FORMAT
        begin = end + 1
    return units


@njit(cache=True, nogil=True)
def _touches_format(codes: np.ndarray, kinds: np.ndarray, begin: int, i: int) -> bool:
    """Whether a character of the chunk from ``begin`` and the next one should be one token since one is invisible.

    That holds in front of any invisible character, behind those at the beginning, and behind those inside of words.
    """
    if kinds[i + 1] == FORMAT or codes[i] in (SOFT_HYPHEN, ZERO_WIDTH_NON_JOINER, WORD_JOINER):
        return True
    while i >= begin and kinds[i] == FORMAT:
        i -= 1
    return i < begin


@njit(cache=True, nogil=True)
def _address_end(codes: np.ndarray, kinds: np.ndarray, first: int, last: int) -> int:
    """The last character from ``first`` to ``last`` that is a letter, a digit or a slash; ``first`` if none is."""
    while last > first and not (_is_word(kinds[last]) or codes[last] == SLASH):
        last -= 1
    return last


@njit(cache=True, nogil=True, inline="always")
def _is_word(kind: int) -> bool:
    return SPACE < kind <= LAST_DIGIT


@njit(cache=True, nogil=True, inline="always")
def _is_mail(code: int, kind: int) -> bool:
    """Whether a character may be part of a mail address: letters, digits, full stops, hyphens and underscores."""
    return _is_word(kind) or code == FULL_STOP or FIRST_CONNECTOR <= kind <= LAST_DASH


@njit(cache=True, nogil=True, inline="always")
def extend_key(key: np.uint64, value: np.int64) -> np.uint64:
    """The hash of a string with one more character, from that of the string."""
    key = (key ^ np.uint64(value)) * MIX
    return key ^ (key >> np.uint64(29))


@njit(cache=True, nogil=True, inline="always")
def _group(kind: int) -> int:
    """Letters with their marks are one group, digits another; other categories stand for themselves."""
    return 1 if kind <= LAST_MARK else 2 if FIRST_DIGIT <= kind <= LAST_DIGIT else kind + 3


@njit(cache=True, nogil=True)
def character_columns(text: Text) -> np.ndarray:
    """The columns of all characters, int64 (n_columns, n)."""
    _, codes, lower, kinds, gaps = text
    n = len(codes)
    columns = np.zeros((16, n), np.int64)
    before, begin = np.int64(0), np.int64(0)  # with a type: _chunk_columns would be compiled for a plain 0, too
    while begin < n:
        end = begin
        while gaps[end] == NO_GAP:
            end += 1
        end += 1
        _chunk_columns(codes, lower, kinds, gaps, begin, end, columns)
        whole = columns[4, end - 1]
        columns[10, begin:end] = before
        if begin > 0 and gaps[begin - 1] == GAP:
            back = begin - 1
            upper = kinds[begin] == UPPER or kinds[begin] == TITLE
            opening = (
                np.int64(kinds[begin]) * 32 + (kinds[begin + 1] if end > begin + 1 else 0) + (1024 if upper else 0)
            )
            while True:
                columns[9, back] = whole
                columns[11, back] = opening + 1
                back -= 1
                if back < 0 or gaps[back] != NO_GAP:
                    break
        before = whole if gaps[end - 1] == GAP else np.int64(0)
        begin = end
    return columns


@njit(cache=True, nogil=True)
def _chunk_columns(
    codes: np.ndarray,
    lower: np.ndarray,
    kinds: np.ndarray,
    gaps: np.ndarray,
    begin: int | np.int64,
    end: int | np.int64,
    columns: np.ndarray,
) -> None:
    """Fill in the columns of the characters begin .. end - 1 of one chunk that do not depend on other chunks."""
    left, run, shape = np.uint64(7), np.uint64(7), np.uint64(7)
    last_group, last_mark, length = -1, np.int64(-1), 0
    for i in range(begin, end):
        gap = np.int64(gaps[i])
        columns[0, i] = codes[i] * 4 + gap
        columns[1, i] = lower[i] * 4 + gap
        columns[2, i] = np.int64(kinds[i]) * 4 + gap
        columns[3, i] = min(i - begin, LONGEST_PLACE) * 8 + min(end - 1 - i, LONGEST_PLACE)
        left = extend_key(left, lower[i])
        columns[4, i] = np.int64(left & NUMBER_BITS)
        group = _group(kinds[i])
        run = extend_key(run if group == last_group else np.uint64(7), lower[i])
        columns[6, i] = np.int64(run & NUMBER_BITS)
        length = (length if group == last_group else 0) + (kinds[i] <= LAST_LETTER or kinds[i] > LAST_MARK)
        columns[14, i] = min(length, 4)
        mark = np.int64(kinds[i]) if group <= 2 else codes[i] + 64
        if mark != last_mark:
            shape = extend_key(shape, mark)
        last_group, last_mark = group, mark
        columns[12, i] = codes[i] >> 7
        after = _group(kinds[i + 1]) if gap != PARAGRAPH_END else 0
        columns[13, i] = (min(group, 3) * 4 + min(after, 3)) * 4 + gap
        columns[15, i] = (min(max(group, 2), 3) * 4 + (min(max(after, 2), 3) if after > 0 else 0)) * 4 + gap
    right, run = np.uint64(9), np.uint64(9)
    last_group = -1
    for i in range(end - 1, begin - 1, -1):
        columns[5, i] = np.int64(right & NUMBER_BITS)
        columns[7, i] = np.int64(run & NUMBER_BITS)
        columns[8, i] = np.int64(shape & NUMBER_BITS)
        right = extend_key(right, lower[i])
        group = _group(kinds[i])
        run = extend_key(run if group == last_group else np.uint64(9), lower[i])
        last_group = group
