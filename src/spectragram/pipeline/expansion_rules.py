"""How the words of a multiword token come from its letters: cut and patched.

    Bush's -> Bush 's     back "'s"     the stem, then what was cut off
    dilo -> di lo         back "lo"     dto.
    kanalum -> kanal um   back "um"     the stem (with letters taken off or put on), then words of the rule

A rule applies to each form that begins and ends with the letters that it cuts off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Rule", "find_rule", "recase"]


@dataclass(frozen=True, order=True)
class Rule:
    """How to make words of a form in lower case.

    The form loses ``front`` and ``back``; what is left, with ``before`` and ``behind`` put on, is the stem. ``words``
    are the words, among them one ``None``, which is the stem.
    """

    front: str
    back: str
    before: str
    behind: str
    words: tuple[str | None, ...]

    def applies(self, form: str) -> bool:
        """Whether something is left of a form in lower case."""
        return len(form) > len(self.front) + len(self.back) and form.startswith(self.front) and form.endswith(self.back)

    def apply(self, form: str) -> tuple[str, ...]:
        """The words of a form; its letter case is kept where its letters are.

        >>> Rule("", "'s", "", "", (None, "'s")).apply("Bush's")
        ('Bush', "'s")
        """
        return recase(form, tuple(self.stem(form) if word is None else word for word in self.words))

    def stem(self, form: str) -> str:
        """What the rule leaves of a form."""
        return self.before + form[len(self.front) : len(form) - len(self.back)] + self.behind


def recase(form: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Words with the letter case of the token: capitals throughout, or a capital at the beginning.

    >>> recase("Do", ("de", "o"))
    ('De', 'o')
    >>> recase("DON'T", ("do", "n't"))
    ('DO', "N'T")
    """
    letters = [c for c in form if c.isalpha()]
    if len(letters) > 1 and form.upper() == form and form.lower() != form:
        return tuple(word.upper() for word in words)
    if form[:1].isupper():
        return words[0][:1].upper() + words[0][1:], *words[1:]
    return words


def find_rule(form: str, words: Sequence[str]) -> Rule | None:
    """The rule that makes ``words`` of ``form``, both in lower case: the one that keeps most of the form.

    >>> find_rule("kanalum", ["kanal", "um"])
    Rule(front='', back='um', before='', behind='', words=(None, 'um'))
    """
    best: tuple[int, Rule] | None = None
    for number, word in enumerate(words):
        at, in_word, size = _longest_common(form, word)
        if size == 0 or (best is not None and size <= best[0]):
            continue
        rest = tuple(None if k == number else other for k, other in enumerate(words))
        rule = Rule(form[:at], form[at + size :], word[:in_word], word[in_word + size :], rest)
        best = size, rule
    return None if best is None else best[1]


def _longest_common(a: str, b: str) -> tuple[int, int, int]:
    """Where the longest common part of two strings begins in each, and its length."""
    best = (0, 0, 0)
    lengths = [0] * (len(b) + 1)
    for i, x in enumerate(a):
        row = [0] * (len(b) + 1)
        for j, y in enumerate(b):
            if x == y:
                row[j + 1] = lengths[j] + 1
                if row[j + 1] > best[2]:
                    best = i + 1 - row[j + 1], j + 1 - row[j + 1], row[j + 1]
        lengths = row
    return best
