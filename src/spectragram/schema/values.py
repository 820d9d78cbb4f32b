"""Plain values of a model's state: what JSON may hold in each place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from spectragram.schema.arrays import Misfit
from spectragram.schema.sizes import Size, Sizes, bind, evaluate

__all__ = ["Flag", "Json", "ListOf", "Maybe", "Number", "Record", "Row", "Table", "Text", "Value", "Whole"]

LARGEST = 2**53
"""Beyond it, JSON readers disagree about whole numbers."""


class Value(Protocol):
    """A kind of plain value."""

    @property
    def about(self) -> str:
        """What the value means."""

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise :class:`Misfit` unless ``value`` may stand under ``name``; may determine sizes."""

    def describe(self) -> str:
        """Type and range in words."""


def _refuse(name: str, value: object, value_type: Value) -> Misfit:
    return Misfit(f"value '{name}' is {str(value)[:40]!r}, not {value_type.describe()}")


@dataclass(frozen=True)
class Flag:
    """True or false."""

    about: str = ""

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """See :class:`Value`."""
        if not isinstance(value, bool):
            raise _refuse(name, value, self)

    def describe(self) -> str:
        """See :class:`Value`."""
        return "true or false"


@dataclass(frozen=True)
class Whole:
    """A whole number from ``least`` on, below ``below``; ``size`` is the name of a size that it determines."""

    about: str = ""
    least: int = 0
    below: Size = LARGEST
    size: str | None = None

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """See :class:`Value`."""
        if type(value) is not int or not self.least <= value < evaluate(self.below, sizes):
            raise _refuse(name, value, self)
        if self.size is not None and not bind(self.size, value, sizes):
            raise Misfit(f"value '{name}' is {value}, but {self.size} is {evaluate(self.size, sizes)}")

    def describe(self) -> str:
        """See :class:`Value`."""
        bound = "" if self.below == LARGEST else f", below {self.below}"
        return f"a whole number from {self.least} on{bound}"


@dataclass(frozen=True)
class Number:
    """A finite number from ``least`` to ``most``."""

    about: str = ""
    least: float = 0.0
    most: float = 1e30

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """See :class:`Value`."""
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or not self.least <= value <= self.most:
            raise _refuse(name, value, self)

    def describe(self) -> str:
        """See :class:`Value`."""
        return f"a number from {self.least:g} to {self.most:g}"


@dataclass(frozen=True)
class Text:
    """A string; one of ``choices``, if there are any."""

    about: str = ""
    choices: tuple[str, ...] = ()

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """See :class:`Value`."""
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise _refuse(name, value, self)

    def describe(self) -> str:
        """See :class:`Value`."""
        return " or ".join(f"`{choice}`" for choice in self.choices) if self.choices else "a string"


@dataclass(frozen=True)
class Maybe:
    """Another value, or null."""

    of: Value

    @property
    def about(self) -> str:
        """See :class:`Value`."""
        return self.of.about

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """See :class:`Value`."""
        if value is not None:
            self.of.check(name, value, sizes)

    def describe(self) -> str:
        """See :class:`Value`."""
        return f"{self.of.describe()}, or null"


@dataclass(frozen=True)
class ListOf:
    """A list of values of one kind; ``size`` names its length."""

    of: Value
    about: str = ""
    size: Size | None = None
    least: int = 0

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """See :class:`Value`."""
        if not isinstance(value, list) or len(value) < self.least:
            raise _refuse(name, value, self)
        if self.size is not None and not bind(self.size, len(value), sizes):
            raise Misfit(f"value '{name}' has {len(value)} entries, not {self.size} = {evaluate(self.size, sizes)}")
        for number, entry in enumerate(value):
            self.of.check(f"{name}[{number}]", entry, sizes)

    def describe(self) -> str:
        """See :class:`Value`."""
        least = f"at least {self.least}: " if self.least else ""
        return f"a list ({least}{self.of.describe()})" if self.size is None else f"{self.size} x {self.of.describe()}"


@dataclass(frozen=True)
class Record:
    """An object with named entries; those that may be missing are in ``optional``."""

    entries: Mapping[str, Value]
    about: str = ""
    optional: tuple[str, ...] = ()

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """See :class:`Value`."""
        if not isinstance(value, dict):
            raise _refuse(name, value, self)
        for key in value:
            if key not in self.entries:
                raise Misfit(f"value '{name}' has an entry {key[:40]!r} that this version does not know")
        for key, entry in self.entries.items():
            if key in value:
                entry.check(f"{name}.{key}", value[key], sizes)
            elif key not in self.optional:
                raise Misfit(f"value '{name}' lacks '{key}'")

    def describe(self) -> str:
        """See :class:`Value`."""
        return "an object: " + ", ".join(f"`{name}` ({entry.describe()})" for name, entry in self.entries.items())


@dataclass(frozen=True)
class Table:
    """An object from any strings to values of one kind."""

    of: Value
    about: str = ""

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """See :class:`Value`."""
        if not isinstance(value, dict):
            raise _refuse(name, value, self)
        for key, entry in value.items():
            self.of.check(f"{name}.{key[:40]}", entry, sizes)

    def describe(self) -> str:
        """See :class:`Value`."""
        return f"an object from strings to: {self.of.describe()}"


@dataclass(frozen=True)
class Row:
    """A list with one value of its own kind for each place."""

    entries: tuple[Value, ...]
    about: str = ""

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """See :class:`Value`."""
        if not isinstance(value, list) or len(value) != len(self.entries):
            raise _refuse(name, value, self)
        for number, (entry, item) in enumerate(zip(self.entries, value, strict=True)):
            entry.check(f"{name}[{number}]", item, sizes)

    def describe(self) -> str:
        """See :class:`Value`."""
        return "[" + ", ".join(entry.describe() for entry in self.entries) + "]"


@dataclass(frozen=True)
class Json:
    """An object of any plain values, which nothing is computed from: parameters and summaries, kept to be shown."""

    about: str = ""

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """See :class:`Value`."""
        if not isinstance(value, dict):
            raise _refuse(name, value, self)

    def describe(self) -> str:
        """See :class:`Value`."""
        return "an object"
