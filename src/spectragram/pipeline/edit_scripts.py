"""Edit scripts: how a lemma is made from a word, as a rule that serves many words.

    word     lemma    script               take the word in lower case, cut 3 letters at its end and append "y"
    tries    try      lower 0 "" 3 "y"
    geht     gehen    lower 0 "" 1 "en"
    Paris    Paris    title 0 "" 0 ""

What word and lemma have in common is their longest common substring; what is before and behind it is replaced
(Chrupala 2006). A lemma that shares no letter with its word is its own script.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

__all__ = ["Script", "apply_script", "parse_script", "script_of"]

SEPARATOR = "\x1f"
"""Between the fields of a script in model files; the control character "unit separator", which occurs in no word."""
CASES = ("lower", "title", "upper", "keep")


class Script(NamedTuple):
    """How to make a lemma: put the word into a case, cut letters at both ends, and put others in their place.

    ``case`` is ``lower``, ``title`` (the lemma's first letter is a capital), ``upper``, or ``keep`` (edit the word as
    it is); or ``whole``, and ``suffix`` is the lemma.
    """

    case: str
    cut_before: int = 0
    prefix: str = ""
    cut_behind: int = 0
    suffix: str = ""

    def __str__(self) -> str:
        return SEPARATOR.join(map(str, self))


def parse_script(text: str) -> Script:
    """The script whose ``str`` is ``text``; ``ValueError`` if there is none."""
    case, before, prefix, behind, suffix = text.split(SEPARATOR)
    return Script(case, int(before), prefix, int(behind), suffix)


def script_of(word: str, lemma: str) -> Script:
    """The script that makes ``lemma`` from ``word``.

    >>> script_of("Tries", "try")
    Script(case='lower', cut_before=0, prefix='', cut_behind=3, suffix='y')
    """
    for case in CASES:
        if _in_case(lemma, case) == lemma:
            break
    base = word if case == "keep" else word.lower()
    target = lemma if case == "keep" else lemma.lower()
    start, at, length = _common(base, target)
    if length == 0:
        return Script("whole", suffix=lemma)
    script = Script(case, start, target[:at], len(base) - start - length, target[at + length :])
    return script if apply_script(script, word) == lemma else Script("whole", suffix=lemma)


def apply_script(script: Script, word: str) -> str | None:
    """The lemma that a script makes from a word; None if the word is too short for it.

    >>> apply_script(script_of("tries", "try"), "Flies")
    'fly'
    """
    case, before, prefix, behind, suffix = script
    if case == "whole":
        return suffix
    base = word if case == "keep" else word.lower()
    if before + behind >= len(base):
        return None
    return _in_case(prefix + base[before : len(base) - behind] + suffix, case)


def _in_case(text: str, case: str) -> str:
    if case == "lower":
        return text.lower()
    if case == "title":
        return text[:1].upper() + text[1:].lower()
    return text.upper() if case == "upper" else text


@lru_cache(maxsize=1 << 16)
def _common(first: str, second: str) -> tuple[int, int, int]:
    """Where the longest common substring begins in both, and its length; the leftmost one of several."""
    best = (0, 0, 0)
    ends = [0] * (len(second) + 1)
    for i, letter in enumerate(first, 1):
        before = 0
        for j, other in enumerate(second, 1):
            before, ends[j] = ends[j], before + 1 if letter == other else 0
            if ends[j] > best[2]:
                best = (i - ends[j], j - ends[j], ends[j])
    return best
