"""Analyses of words: UPOS, XPOS and FEATS together, as one label that is made of parts.

    NOUN  NNS  Number=Plur      parts:  upos NOUN,  xpos NNS,  feats Number=Plur,  Number=Plur,  the whole

Only analyses that training has seen can be found, which is how impossible combinations are avoided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.inference.part_chain import Parts
from spectragram.learning.part_choices import make_parts
from spectragram.schema import Schema, Strings

__all__ = ["COLUMNS", "Analyses", "Analysis"]

COLUMNS = ("upos", "xpos", "feats")
Analysis = tuple[str, str, str]
"""UPOS, XPOS and FEATS of a word."""

MOST_LINKED_XPOS = 150
"""With at most so many values, XPOS sees its neighbours. Chosen by hand, not tuned: the pairs of more of them are rare,
and they repeat what features say."""


@dataclass(frozen=True)
class Analyses:
    """The analyses that training has seen.

    Attributes
    ----------
    listed : tuple of analyses
    """

    listed: tuple[Analysis, ...]

    @cached_property
    def numbers(self) -> dict[Analysis, int]:
        """The number of each analysis."""
        return {analysis: number for number, analysis in enumerate(self.listed)}

    @cached_property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The distinct values of each column, sorted."""
        return tuple(tuple(sorted(set(values))) for values in zip(*self.listed, strict=True))

    @cached_property
    def values(self) -> np.ndarray:
        """The value of each column in each analysis, as a place in ``names``: int64 (3, n_analyses)."""
        index = [{name: i for i, name in enumerate(names)} for names in self.names]
        return np.array([[of[a[c]] for a in self.listed] for c, of in enumerate(index)], np.int64)

    def encode(self, column: int, names: Sequence[str]) -> np.ndarray:
        """Values of a column as places in ``names``, -1 for those that training has not seen: int64 (n,)."""
        index = {name: i for i, name in enumerate(self.names[column])}
        return np.array([index.get(name, -1) for name in names], np.int64)

    def parts(self) -> Parts:
        """What the analyses are made of."""
        few = len(self.names[COLUMNS.index("xpos")]) <= MOST_LINKED_XPOS
        parts, linked = [], []
        for upos, xpos, feats in self.listed:
            features = feats.split("|")
            parts.append([f"upos {upos}", f"xpos {xpos}", f"feats {feats}", *features, f"{upos} {xpos} {feats}"])
            linked.append([f"upos {upos}", *features, *([f"xpos {xpos}"] if few else [])])
        return make_parts(parts, linked)

    SCHEMA: ClassVar[Schema] = Schema(
        "Analyses",
        "The combinations of tags and features that training has seen.",
        arrays={name: Strings("n_labels", f"{name.upper()} of each analysis") for name in COLUMNS},
        sizes={"n_labels": 1},
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values (none) and lists of strings, as model files hold them."""
        return {}, {name: list(values) for name, values in zip(COLUMNS, zip(*self.listed, strict=True), strict=True)}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        return cls(tuple(zip(*(arrays[name] for name in COLUMNS), strict=True)))
