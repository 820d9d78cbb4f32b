"""Symbols of any hashable kind: how they are ordered, spelled, and stored without running code.

Words are strings everywhere else in the library. The symbols of an automaton may also be integers, tuples and other
hashable values. A file of text spells each of them (``1``, ``('a', 2)``). A model file holds each as JSON, in which an
object with one key names what JSON itself cannot tell apart:

    str, int, float, bool, None    as they are
    tuple, frozenset               {"tuple": [...]}, {"frozenset": [...]}
    bytes                          {"bytes": "00ff"}

Other hashable values can be learned from and predicted, but not saved: only a pickle could hold them, and loading a
pickle runs code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from spectragram.errors import InputError

__all__ = ["Symbol", "ordered", "plain_symbol", "spell", "symbol_from_json", "symbol_to_json"]

Symbol = Hashable


def plain_symbol(symbol: Any) -> Symbol:
    """The symbol, where numpy's scalars become Python's; refuses what cannot be hashed.

    >>> plain_symbol(np.int64(3))
    3
    """
    if isinstance(symbol, np.generic):
        symbol = symbol.item()
    try:
        hash(symbol)
    except TypeError:
        raise InputError(
            f"a symbol of type {type(symbol).__name__} ({symbol!r:.40})",
            remedy="give hashable symbols: strings, integers, tuples, ...",
        ) from None
    if symbol == "" or symbol != symbol:
        raise InputError(f"the symbol {symbol!r}", remedy="give symbols that are equal to themselves and not empty")
    return symbol  # type: ignore[no-any-return]


def spell(symbol: Symbol) -> str:
    """The text of a symbol in files of strings, in pictures and in the formats of other tools.

    >>> spell("a"), spell(1), spell(("a", 2))
    ('a', '1', "('a', 2)")
    """
    return symbol if isinstance(symbol, str) else str(symbol)


def ordered(symbols: Iterable[Symbol]) -> list[Any]:
    """Symbols in their own order; those without one by the names of their types, then by their text.

    >>> ordered([10, 9]), ordered(["b", 1, "a"])
    ([9, 10], [1, 'a', 'b'])
    """
    found: list[Any] = list(symbols)
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=lambda symbol: (type(symbol).__name__, repr(symbol)))


def symbol_to_json(symbol: Symbol) -> Any:
    """The symbol as JSON holds it.

    >>> symbol_to_json((1, "a"))
    {'tuple': [1, 'a']}
    """
    if symbol is None or isinstance(symbol, str | bool | int):
        return symbol
    if isinstance(symbol, float) and math.isfinite(symbol):
        return symbol
    if type(symbol) is tuple:
        return {"tuple": [symbol_to_json(part) for part in symbol]}
    if type(symbol) is frozenset:
        return {"frozenset": sorted((symbol_to_json(part) for part in symbol), key=json.dumps)}
    if isinstance(symbol, bytes):
        return {"bytes": symbol.hex()}
    raise InputError(
        f"a symbol of type {type(symbol).__name__} ({symbol!r:.40}) cannot be saved",
        remedy="use strings, numbers, bytes, or tuples of them as symbols",
    )


def symbol_from_json(content: Any) -> Symbol:
    """Inverse of :func:`symbol_to_json`; ``ValueError`` for anything else."""
    if content is None or isinstance(content, str | bool | int | float):
        return content
    if isinstance(content, dict) and len(content) == 1:
        ((name, value),) = content.items()
        if name == "bytes" and isinstance(value, str):
            return bytes.fromhex(value)
        if name in ("tuple", "frozenset") and isinstance(value, list):
            parts = map(symbol_from_json, value)
            return tuple(parts) if name == "tuple" else frozenset(parts)
    raise ValueError(f"{str(content)[:40]!r} is not a symbol")
