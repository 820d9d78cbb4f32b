"""Classes of rare words by their spelling: capitals, digits, dashes, suffix, script, position in the sentence.

A word seen too rarely to have statistics of its own shares those of its class. Each scheme gives a word several
classes, finest first, so that a class never seen in training backs off to a coarser one:

    scheme     level          example: "Rehiring" in the middle of a sentence
    english    signature      UNK-CAP-ing
               no suffix      UNK-CAP
               kind           CAPITAL
               all            UNK
    neutral    shape+suffix   Xxx|LATIN|ing, then |ng, then |g   (one level for each of ``suffix_lengths``)
               shape          Xxx|LATIN
               kind           CAPITAL
               all            UNK

The English scheme follows the unknown-word classes of the Berkeley parser (Petrov & Klein 2007). The neutral one
knows no language: it uses Unicode's categories and script names only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Iterable, Sequence
from functools import cache, lru_cache, partial
from itertools import groupby

from spectragram.errors import InputError

__all__ = ["VERSION", "english_signature", "neutral_signature", "run_shape", "signatures"]

VERSION = 1
"""Version of the word classes. Models store it: their weights belong to these classes and mean nothing under others.

Increase it whenever the classes of any word change.
"""

SCHEMES = ("english", "neutral")
EVERYTHING = "UNK"
"""The class of all rare words, the last resort of back-off."""

ENGLISH_SUFFIXES = (
    *("able", "ment", "ness", "less"),
    *("ing", "ion", "est", "ity", "ive", "ous", "ful", "ate", "ize", "ism", "ist"),
    *("ed", "er", "ly", "al", "ic", "an", "or"),
    "y",
)
"""Longest first; the plural -s has its own rule. Those of the Berkeley parser, with some more; chosen by hand."""
SHAPE_MARKS = frozenset("-.,'/&%$:@#_")
"""Marks that a shape keeps; all others become ``*``. Chosen by hand, not tuned."""

MAX_SHAPE = 8
"""Length at which a shape is cut, so that long words of many parts share classes. Chosen by hand, not tuned."""

MAX_RUNS = 10
"""Characters of a shape of runs that count. Chosen by hand, not tuned."""


def run_shape(word: str) -> str:
    """Capitals as X, small letters as x, digits as d, each run once.

    Features hold its checksums: raise :data:`spectragram.inference.hashed.VERSION` after a change.

    >>> run_shape("Mid-1990s")
    'Xx-dx'
    """
    marks = ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)
    return "".join(mark for mark, _ in groupby(marks))[:MAX_RUNS]


def english_signature(word: str, *, initial: bool = False, known_lower: bool = False) -> tuple[str, ...]:
    """The classes of an English word, finest first.

    ``initial``: the word begins a sentence, so its capital says little. ``known_lower``: its lower-case form is a known
    word, so the capital says even less.

    >>> english_signature("Rehiring"), english_signature("mid-1990s")[0]
    (('UNK-CAP-ing', 'UNK-CAP', 'CAPITAL', 'UNK'), 'UNK-LC-NUM-DASH-s')
    """
    case = _english_case(word, initial, known_lower)
    has_digit = any(character.isdigit() for character in word)
    looks = "UNK" + case + ("-NUM" if has_digit else "") + ("-DASH" if "-" in word else "")
    kind = _kind(case.startswith(("-CAP", "-ALLC", "-INITC")), case != "", has_digit)
    return looks + _english_suffix(word.lower()), looks, kind, EVERYTHING


def _english_case(word: str, initial: bool, known_lower: bool) -> str:
    n_capitals = sum(character.isupper() for character in word)
    has_lower = any(character.islower() for character in word)
    if n_capitals == 0:
        has_letter = any(character.isalpha() for character in word)
        return "-LC" if has_lower else "-NOCASE" if has_letter else ""
    if not word[0].isupper():
        return "-MIXC"
    if initial and n_capitals == 1:
        return "-INITC-KNOWNLC" if known_lower else "-INITC"
    return "-CAP" if has_lower or n_capitals == 1 else "-ALLC"


def _english_suffix(word: str) -> str:
    if not word[-1:].isalpha():
        return ""
    if len(word) >= 3 and word.endswith("s"):
        return "" if word[-2] in "siu" else "-s"
    if len(word) >= 5:
        return next((f"-{suffix}" for suffix in ENGLISH_SUFFIXES if word.endswith(suffix)), "")
    return ""


def neutral_signature(
    word: str,
    *,
    initial: bool = False,
    known_lower: bool = False,
    suffix_lengths: Sequence[int] = (3, 2, 1),
) -> tuple[str, ...]:
    """The classes of a word of any language, finest first.

    The shape writes capitals as X, small letters as x, letters without case as o and digits as d, at most two in a row.
    ``^`` marks a capital at the beginning of a sentence; ``~`` says that the lower-case form is known, too. Suffixes
    are in lower case with digits as 0; a suffix that is the whole word starts with ``^``.

    >>> neutral_signature("Дома", initial=True)
    ('^Xxx|CYRILLIC|ома', '^Xxx|CYRILLIC|ма', '^Xxx|CYRILLIC|а', '^Xxx|CYRILLIC', 'CAPITAL', 'UNK')
    """
    marks = "".join(map(_mark, word))
    shape = "".join(mark * min(2, len(list(run))) for mark, run in groupby(marks))[:MAX_SHAPE]
    kind = _kind(shape.startswith("X"), not set("Xxo").isdisjoint(shape), "d" in shape)
    if initial and kind == "CAPITAL":
        shape = ("^~" if known_lower else "^") + shape
    script = next((name for name in map(_script, word) if name), "")
    looks = f"{shape}|{script}"
    plain = "^" + "".join("0" if character.isdecimal() else character for character in word.lower())
    suffixes = (plain[-length:] for length in suffix_lengths)
    return *(f"{looks}|{suffix}" for suffix in suffixes), looks, kind, EVERYTHING


@lru_cache(maxsize=1 << 16)
def _mark(character: str) -> str:
    """The symbol of a character in a shape; empty for marks that combine with the letter before."""
    category = unicodedata.category(character)
    if category[0] == "L":
        return {"Lu": "X", "Lt": "X", "Ll": "x"}.get(category, "o")
    if category[0] == "M":
        return ""
    if category[0] == "N":
        return "d"
    return character if character in SHAPE_MARKS else "*"


@lru_cache(maxsize=1 << 16)
def _script(character: str) -> str:
    """The script of a letter: the first word of its Unicode name (LATIN, CJK, ...); empty for other characters."""
    return unicodedata.name(character, "").partition(" ")[0] if character.isalpha() else ""


def _kind(has_capital: bool, has_letter: bool, has_digit: bool) -> str:
    """The coarsest class but one. It is a function of the next finer class, so back-off is a tree."""
    if has_capital:
        return "CAPITAL"
    return "WORD" if has_letter else "NUMBER" if has_digit else "MARK"


def signatures(
    words: Iterable[str],
    *,
    initial: Iterable[bool] | None = None,
    known: Container[str] = (),
    scheme: str = "neutral",
    suffix_lengths: Sequence[int] = (3, 2, 1),
) -> list[tuple[str, ...]]:
    """The classes of many words; each distinct word is looked at once.

    ``initial`` says which of them begin a sentence (by default none); ``known`` contains the words that have
    statistics of their own. ``suffix_lengths`` belongs to the neutral scheme, longest first.
    """
    if scheme not in SCHEMES:
        raise InputError(f"no signature scheme {scheme!r}", remedy=f"choose among {', '.join(SCHEMES)}")
    signature = english_signature
    if scheme == "neutral":
        signature = partial(neutral_signature, suffix_lengths=suffix_lengths)

    @cache
    def of(word: str, begins: bool) -> tuple[str, ...]:
        return signature(word, initial=begins, known_lower=begins and word.lower() in known)

    if initial is None:
        return [of(word, False) for word in words]
    return [of(word, bool(begins)) for word, begins in zip(words, initial, strict=True)]
