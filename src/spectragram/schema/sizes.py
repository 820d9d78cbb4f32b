"""Named sizes: ``n_words`` is whatever the first array with that axis has, and all others must agree.

Expressions are sums of products of powers of names and whole numbers: ``2 * n_tags + 1``, ``n_words ** 3``.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

__all__ = ["Size", "Sizes", "Unbound", "bind", "evaluate"]

Size = int | str
"""A number, or an expression of named sizes."""
Sizes = dict[str, int]


class Unbound(LookupError):
    """A size that nothing has determined yet."""


def evaluate(size: Size, sizes: Mapping[str, int]) -> int:
    """The value of an expression.

    >>> evaluate("2 * n_tags + 1", {"n_tags": 5})
    11
    """
    if isinstance(size, int):
        return size
    return sum(prod(_power(factor, sizes) for factor in term.split(" * ")) for term in size.split(" + "))


def _power(text: str, sizes: Mapping[str, int]) -> int:
    base, *exponent = (_atom(part, sizes) for part in text.split(" ** "))
    return base ** exponent[0] if exponent else base


def _atom(text: str, sizes: Mapping[str, int]) -> int:
    if text.lstrip("-").isdigit():
        return int(text)
    if text not in sizes:
        raise Unbound(text)
    return sizes[text]


def bind(size: Size, actual: int, sizes: Sizes) -> bool:
    """Whether an axis has the right size; an unknown name, alone or plus a number, gets the value that fits.

    >>> known = {}
    >>> bind("n_labels + 1", 4, known), known, bind("n_labels", 4, known)
    (True, {'n_labels': 3}, False)
    """
    name, *added = str(size).split(" + ")
    if name.isidentifier() and name not in sizes and len(added) < 2 and all(part.isdigit() for part in added):
        found = actual - sum(map(int, added))
        if found < 0:
            return False
        sizes[name] = found
        return True
    return evaluate(size, sizes) == actual
