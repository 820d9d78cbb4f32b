"""Schemas: the values, arrays and parts of a model's state, and the check that goes through all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spectragram.schema.arrays import Array, Misfit, Strings
from spectragram.schema.sizes import Size, Sizes, Unbound, bind, evaluate
from spectragram.schema.values import Value

__all__ = ["OneOf", "Part", "Parts", "Schema"]

Leaf = Array | Strings
AMONG = "."
"""Name for values of a part that stand among those of its owner."""


@dataclass(frozen=True)
class Part:
    """A part with a state of its own, whose arrays have names that begin with the part's name and a dot.

    Attributes
    ----------
    schema : Schema or OneOf
    share : mapping
        Sizes that the part and its owner have in common: the part's name to the owner's.
    values : str or None
        Where the owner's values hold those of the part; the part's name unless something else is said. ``"a.b"``: in
        the entry b of the value a, which the owner declares; ``"."``: among the owner's own; None: the part has none.
    optional : bool
        The part may be missing: its values are null or not there, and so are its arrays.
    """

    schema: Schema | OneOf
    share: Mapping[str, str] = field(default_factory=dict)
    values: str | None = ""
    optional: bool = False

    def instances(
        self, name: str, values: Mapping[str, Any], arrays: Mapping[str, Any], sizes: Sizes
    ) -> Iterator[tuple[str, Any]]:
        """The prefix and the values of the part; nothing if it is missing."""
        key = self.values_key(name)
        own = values if key == AMONG else {} if key is None else _entry(values, key)
        if key is None and self.optional and not any(array.startswith(f"{name}.") for array in arrays):
            own = None
        if own is None and not self.optional:
            raise Misfit(f"value '{key}' is missing")
        if own is not None:
            yield name, own

    def values_key(self, name: str) -> str | None:
        """The owner's value that is this part's own, if there is one."""
        return name if self.values == "" else self.values


@dataclass(frozen=True)
class Parts:
    """Parts of one kind, numbered from 0: ``member0.``, ``member1.`` and so on.

    Attributes
    ----------
    schema, share
        As for :class:`Part`.
    count : size
        How many there are.
    values : str or None
        The owner's value that is a list with the values of each; None if they have none.
    """

    schema: Schema | OneOf
    count: Size
    share: Mapping[str, str] = field(default_factory=dict)
    values: str | None = None

    def instances(
        self, name: str, values: Mapping[str, Any], arrays: Mapping[str, Any], sizes: Sizes
    ) -> Iterator[tuple[str, Any]]:
        """The prefix and the values of each part."""
        listed = values.get(self.values) if self.values is not None else None
        if self.values is not None and not isinstance(listed, list):
            raise Misfit(f"value '{self.values}' is not a list")
        if listed is not None and not bind(self.count, len(listed), sizes):
            raise Misfit(f"value '{self.values}' has {len(listed)} entries, not {evaluate(self.count, sizes)}")
        for number in range(evaluate(self.count, sizes)):
            yield f"{name}{number}", {} if listed is None else listed[number]

    def values_key(self, name: str) -> str | None:
        """The owner's value that holds those of the parts, if there is one."""
        return self.values


@dataclass(frozen=True)
class OneOf:
    """One of several schemas; ``choose`` says which, by its name, for given values and arrays."""

    schemas: Mapping[str, Schema]
    choose: Callable[[Mapping[str, Any], Mapping[str, Any]], object]

    def check(self, values: Any, arrays: Mapping[str, Any], sizes: Sizes, at: str = "") -> None:
        """See :meth:`Schema.check`."""
        found = self.choose(values if isinstance(values, dict) else {}, arrays)
        if not isinstance(found, str) or found not in self.schemas:
            raise Misfit(f"'{at}' is of type {str(found)[:40]!r}, not one of {', '.join(self.schemas)}")
        self.schemas[found].check(values, arrays, sizes, at)


@dataclass(frozen=True)
class Schema:
    """What the state of a model, or of a part of one, may be.

    Attributes
    ----------
    name : str
        For the documentation.
    about : str
        What it is.
    values : mapping
        Plain values by name, without those of parts. All must be there except those in ``optional``.
    arrays : mapping
        Arrays and lists of strings by name. A name may hold ``{k}``, which stands for 1, 2, ... up to ``each``; the
        same text is replaced in the array's sizes.
    parts : mapping
        Parts by name; the number of :class:`Parts` is appended to it.
    sizes : mapping
        The smallest value of named sizes; others may be 0.
    each : size
        How many arrays a name with ``{k}`` stands for.
    rule : function
        Says what else is wrong with values and arrays, or returns None. It is called when all the rest is right.
    """

    name: str
    about: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    arrays: Mapping[str, Leaf] = field(default_factory=dict)
    parts: Mapping[str, Part | Parts] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    each: Size = 0
    rule: Callable[[Mapping[str, Any], Mapping[str, Any], Sizes], str | None] | None = None

    def check(self, values: Any, arrays: Mapping[str, Any], sizes: Sizes | None = None, at: str = "") -> None:
        """Raise :class:`Misfit` unless ``values`` and ``arrays`` fit the schema and each other.

        ``sizes`` are known already, and those that are found are added; ``at`` is the prefix of names in messages.
        """
        sizes = {} if sizes is None else sizes
        try:
            self._check_values(values, sizes, at)
            leaves = self._leaves(sizes)
            self._check_names(values, arrays, leaves, sizes, at)
            later = [name for name, leaf in leaves.items() if not leaf.check_shape(at + name, arrays[name], sizes)]
            self._check_parts(values, arrays, sizes, at)
            for name in later:
                if not leaves[name].check_shape(at + name, arrays[name], sizes):
                    raise Misfit(f"nothing determines the shape of '{at}{name}'")
            self._check_sizes(sizes, at)
            for name, leaf in leaves.items():
                leaf.check_content(at + name, arrays[name], sizes)
        except Unbound as trouble:
            raise Misfit(f"nothing determines {trouble} in '{at or self.name}'") from None
        problem = None if self.rule is None else self.rule(values, arrays, sizes)
        if problem is not None:
            raise Misfit(f"{at + ': ' if at else ''}{problem}")

    def _check_values(self, values: Any, sizes: Sizes, at: str) -> None:
        if not isinstance(values, Mapping):
            raise Misfit(f"the values of '{at or self.name}' are not an object")
        for name, value in self.values.items():
            if name in values:
                value.check(at + name, values[name], sizes)
            elif name not in self.optional:
                raise Misfit(f"value '{at}{name}' is missing")

    def known_values(self) -> set[str]:
        """Names of all values, with those of parts that stand among them."""
        known = set(self.values)
        for name, part in self.parts.items():
            key = part.values_key(name)
            if key == AMONG:
                known |= part.schema.known_values() if isinstance(part.schema, Schema) else set()
            elif key is not None:
                known.add(key.split(".")[0])
        return known

    def _leaves(self, sizes: Sizes) -> dict[str, Leaf]:
        """The schema's own arrays, with ``{k}`` filled in."""
        found: dict[str, Leaf] = {}
        for name, leaf in self.arrays.items():
            if "{k}" not in name:
                found[name] = leaf
                continue
            for k in range(1, evaluate(self.each, sizes) + 1):
                found[name.replace("{k}", str(k))] = _numbered(leaf, k)
        return found

    def _check_names(
        self, values: Mapping[str, Any], arrays: Mapping[str, Any], leaves: Mapping[str, Leaf], sizes: Sizes, at: str
    ) -> None:
        for name in leaves:
            if name not in arrays:
                raise Misfit(f"array '{at}{name}' is missing")
        prefixes = {
            prefix for name, part in self.parts.items() for prefix, _ in part.instances(name, values, arrays, sizes)
        }
        for name in arrays:
            if name not in leaves and name.split(".", 1)[0] not in prefixes:
                raise Misfit(f"array '{(at + name)[:80]}' is unknown to this version")
        for name in sorted(values.keys() - self.known_values()):
            raise Misfit(f"value '{(at + name)[:80]}' is unknown to this version")

    def _check_parts(self, values: Mapping[str, Any], arrays: Mapping[str, Any], sizes: Sizes, at: str) -> None:
        for name, part in self.parts.items():
            for prefix, own in part.instances(name, values, arrays, sizes):
                dot = f"{prefix}."
                of_part = {key[len(dot) :]: array for key, array in arrays.items() if key.startswith(dot)}
                inner = {mine: sizes[theirs] for mine, theirs in part.share.items() if theirs in sizes}
                if part.values_key(name) == AMONG and isinstance(part.schema, Schema):
                    own = {key: own[key] for key in part.schema.known_values() if key in own}
                part.schema.check(own, of_part, inner, at + dot)
                for mine, theirs in part.share.items():
                    if mine in inner and not bind(theirs, inner[mine], sizes):
                        raise Misfit(f"'{at}{prefix}' has {mine} = {inner[mine]}, not {sizes[theirs]}")

    def _check_sizes(self, sizes: Sizes, at: str) -> None:
        for name, least in self.sizes.items():
            if sizes.get(name, least) < least:
                raise Misfit(f"'{at or self.name}' has {name} = {sizes[name]}, fewer than {least}")


def _entry(values: Any, path: str) -> Any:
    """The entry of nested objects at ``a.b``; None where there is none."""
    for key in path.split("."):
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def _numbered(leaf: Leaf, k: int) -> Leaf:
    """The same array with ``{k}`` in its sizes replaced by a number."""

    def put(size: Size | None) -> Any:
        return size.replace("{k}", str(k)) if isinstance(size, str) else size

    if isinstance(leaf, Strings):
        return replace(leaf, size=put(leaf.size))
    return replace(leaf, shape=tuple(map(put, leaf.shape)), below=put(leaf.below), starts=put(leaf.starts))
