"""Arrays and lists of strings of a model's state: dtype, shape, range, order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectragram.schema.sizes import Size, Sizes, Unbound, bind, evaluate

__all__ = ["Array", "Misfit", "Strings", "weight_table"]

LARGEST = 1e30
"""Greater weights than this do not occur, and products of a few of them would leave the range of floats."""
TOLERANCE = 1e-3
"""How far a sum of probabilities may be from 1: tables in single precision are summed over thousands of words."""

Rule = tuple[str, Callable[[np.ndarray], bool]]
"""What else must be true of an array, in words and as a test."""


class Misfit(ValueError):
    """A part of a state that is not what its schema says; the message names it."""


@dataclass(frozen=True)
class Array:
    """What an array may be.

    Attributes
    ----------
    dtype : str
        ``f8``, ``f4``, ``i8``, ``i4``, ``u1``, ``?``; several may be given with ``|`` between them.
    shape : tuple of sizes
        Numbers, names, or expressions such as ``2 * n_tags + 1``. The first array that has a name determines it.
    about : str
        What the array means, for the documentation.
    least, below, most : bounds of all entries
        The smallest, an upper bound that is excluded, and one that is included. Floats are finite and at most 1e30 in
        size in any case, unless ``any_float`` allows infinities and NaN.
    starts : size
        Entries begin with 0, never fall and end with this size: where parts of another array begin.
    increasing : bool
        Every entry is greater than the one before it.
    sums : bool
        The last axis holds probabilities: not negative, and with the sum 1.
    rule : what else must be true, in words and as a test
    """

    dtype: str
    shape: tuple[Size, ...]
    about: str = ""
    least: float | None = None
    below: Size | None = None
    most: float | None = None
    starts: Size | None = None
    increasing: bool = False
    sums: bool = False
    any_float: bool = False
    rule: Rule | None = None

    def check_shape(self, name: str, array: Any, sizes: Sizes) -> bool:
        """Refuse a wrong dtype or shape; False if the shape depends on sizes that are not known yet."""
        if not isinstance(array, np.ndarray):
            raise Misfit(f"'{name}' is a list of strings, not an array of {self.dtype}")
        if array.dtype not in [np.dtype(one) for one in self.dtype.split("|")]:
            raise Misfit(f"array '{name}' has dtype {array.dtype.str[1:]}, not {self.dtype.replace('|', ' or ')}")
        if array.ndim != len(self.shape):
            raise Misfit(f"array '{name}' has shape {array.shape}, not {self.shape_text}")
        try:
            fits = [bind(size, actual, sizes) for size, actual in zip(self.shape, array.shape, strict=True)]
        except Unbound:
            return False
        if not all(fits):
            wanted = tuple(evaluate(size, sizes) for size in self.shape)
            raise Misfit(f"array '{name}' has shape {array.shape}, not {self.shape_text} = {wanted}")
        return True

    @property
    def shape_text(self) -> str:
        """The shape as documentation writes it."""
        return "(" + ", ".join(map(str, self.shape)) + ("," if len(self.shape) == 1 else "") + ")"

    def check_content(self, name: str, array: np.ndarray, sizes: Sizes) -> None:
        """Refuse entries that are out of range or out of order."""
        if self.starts is not None:
            self._check_starts(name, array, evaluate(self.starts, sizes))
        if array.size == 0:
            return
        self._check_range(name, array, sizes)
        if self.increasing and (np.diff(array) <= 0).any():
            raise Misfit(f"array '{name}' is not in ascending order")
        if self.sums:
            if array.min() < 0:
                raise Misfit(f"array '{name}' holds a negative probability, {array.min():.6g}")
            if np.abs(array.sum(axis=-1, dtype=np.float64) - 1.0).max() > TOLERANCE:
                raise Misfit(f"array '{name}' holds probabilities that do not sum to 1")
        if self.rule is not None and not self.rule[1](array):
            raise Misfit(f"array '{name}' breaks a rule: {self.rule[0]}")

    def _check_starts(self, name: str, array: np.ndarray, end: int) -> None:
        if len(array) == 0 or array[0] != 0 or array[-1] != end or (np.diff(array) < 0).any():
            raise Misfit(f"array '{name}' does not rise from 0 to {self.starts} = {end}")

    def _check_range(self, name: str, array: np.ndarray, sizes: Sizes) -> None:
        low, high = array.min(), array.max()
        if array.dtype.kind == "f" and not self.any_float and not (low >= -LARGEST and high <= LARGEST):
            raise Misfit(f"array '{name}' holds {low if not low >= -LARGEST else high}, which is not a usable number")
        if self.least is not None and not low >= self.least:
            raise Misfit(f"array '{name}' holds {low}, which is below {self.least}")
        if self.below is not None and not high < (limit := evaluate(self.below, sizes)):
            raise Misfit(f"array '{name}' holds {high}, which is not below {self.below} = {limit}")
        if self.most is not None and not high <= self.most:
            raise Misfit(f"array '{name}' holds {high}, which is above {self.most}")

    def describe(self) -> str:
        """Range and order in words."""
        words = ["any float" if self.any_float else ""]
        words += [f"from {self.least:g}" if self.least is not None else ""]
        words += [f"below {self.below}" if self.below is not None else ""]
        words += [f"at most {self.most:g}" if self.most is not None else ""]
        words += [f"rising from 0 to {self.starts}" if self.starts is not None else ""]
        words += ["ascending" if self.increasing else "", "the last axis sums to 1" if self.sums else ""]
        words += [self.rule[0] if self.rule is not None else ""]
        return ", ".join(word for word in words if word)


@dataclass(frozen=True)
class Strings:
    """What a list of strings may be: its length, whether no string may occur twice, and a rule for all of them."""

    size: Size
    about: str = ""
    distinct: bool = False
    rule: tuple[str, Callable[[list[str]], bool]] | None = None

    def check_shape(self, name: str, strings: Any, sizes: Sizes) -> bool:
        """Refuse a wrong number; False if it depends on sizes that are not known yet."""
        if not isinstance(strings, list):
            raise Misfit(f"'{name}' is not a list of strings")
        try:
            fits = bind(self.size, len(strings), sizes)
        except Unbound:
            return False
        if not fits:
            raise Misfit(f"'{name}' has {len(strings)} strings, not {self.size} = {evaluate(self.size, sizes)}")
        return True

    @property
    def shape_text(self) -> str:
        """The length as documentation writes it."""
        return f"({self.size},)"

    @property
    def dtype(self) -> str:
        """What documentation calls the type."""
        return "strings"

    def check_content(self, name: str, strings: list[str], sizes: Sizes) -> None:
        """Refuse strings that occur twice or break the rule."""
        if self.distinct and len(set(strings)) != len(strings):
            raise Misfit(f"'{name}' holds a string twice")
        if self.rule is not None and not self.rule[1](strings):
            raise Misfit(f"'{name}' breaks a rule: {self.rule[0]}")

    def describe(self) -> str:
        """What else is true, in words."""
        words = ["distinct" if self.distinct else "", self.rule[0] if self.rule is not None else ""]
        return ", ".join(word for word in words if word)


def _is_power_of_two(table: np.ndarray) -> bool:
    return len(table) >= 2 and len(table) & (len(table) - 1) == 0


def weight_table(name: str = "n_weights", about: str = "weights of hashed features") -> Array:
    """A table of hashed weights: kernels find their places by masking bits."""
    return Array("f4", (name,), about, rule=("the length is a power of two", _is_power_of_two))
