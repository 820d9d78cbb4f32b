"""Factors of neighbouring modifiers: what two of them, next to each other below one head, say about each other.

    P(y | x)  ~  SHAG(y) * prod arcs * prod ends of halves * prod_{k, j next to each other below i} exp score(i, k, j)

Automata know which tags follow each other; these factors know words as well, and what the first and the last modifier
are. They are scored for arcs only that a chart without them finds probable.

Templates are written ``head | modifier | next modifier``, with the atoms of :mod:`spectragram.dependency.factors`. A
star adds the distance of the modifiers, an equals sign the attributes in which they agree or differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.dependency.encoding import LETTERS
from spectragram.dependency.gates import GRADES, SHORTEST
from spectragram.estimator import State
from spectragram.inference.headed import ArcList, list_arcs
from spectragram.inference.pair_factors import context_keys
from spectragram.inference.sibling_factors import Triples, triple_scores
from spectragram.learning.factors import empty_table, parse_atoms, require_table
from spectragram.schema import ListOf, Schema, Text, weight_table

__all__ = ["SIBLING_TEMPLATES", "Siblings", "probable_arcs"]

SIBLING_TEMPLATES = """
    | t0 | t0       | t0 | t0 *       t0 | t0 | t0       t0 | t0 | t0 *      o0 | t0 | t0     t0 | o0 | o0
    t0 | t0 t+1 | t0 t-1     t0 | t0 t-1 | t0 t+1        t0 t+1 | t0 | t0    t0 t-1 | t0 | t0
    w0 | t0 | t0    t0 | w0 | t0      t0 | t0 | w0       | w0 | t0           | t0 | w0        | w0 | w0     t0 | w0 | w0
    w0 | w0 | t0    w0 | t0 | w0
    m0 | t0 | t0    t0 | m0 | t0      t0 | t0 | m0       | m0 | m0           m0 | m0 | t0     m0 | t0 | m0
    | t0 f0 | t0 f0     t0 | t0 | t0 =       t0 k0 | t0 k0 | t0 k0           | t0 k0 | t0 k0 =
    t0 | b0 | b0    | e0 | e0         t0 | e0 | t0       t0 | t0 | e0
"""
LEAST = 1e-3
"""Arcs less probable than this under the chart without siblings stay out. In training 1e-5 makes no difference."""


@dataclass(frozen=True)
class Siblings:
    """Templates and their weights, (2^b,) float32."""

    listed: tuple[str, ...]
    weights: np.ndarray
    atoms: tuple[np.ndarray, ...] = field(init=False, repr=False, compare=False)
    graded: np.ndarray = field(init=False, repr=False, compare=False)
    agreeing: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_table(self.weights)
        sides = [template.replace("*", "").replace("=", "").split("|") for template in self.listed]
        if not sides or any(len(three) != 3 for three in sides):
            raise ValueError(f"templates need three sides: {self.listed}")
        object.__setattr__(self, "atoms", tuple(parse_atoms(side, LETTERS) for side in zip(*sides, strict=True)))
        object.__setattr__(self, "graded", np.array(["*" in template for template in self.listed]))
        object.__setattr__(self, "agreeing", np.array(["=" in template for template in self.listed]))

    @classmethod
    def empty(cls, templates: tuple[str, ...], n_tokens: int) -> Self:
        """All weights zero, with room for ``n_tokens``."""
        return cls(templates, empty_table(n_tokens))

    def with_weights(self, weights: np.ndarray) -> Siblings:
        """The same templates with other weights."""
        return replace(self, weights=weights)

    def triples(self, columns: np.ndarray) -> Triples:
        """What the templates see in a sentence with columns (n_rows, n)."""
        grades = np.searchsorted(GRADES, np.arange(columns.shape[1]), side="right").astype(np.int64)
        attributes = np.ascontiguousarray(columns[len(LETTERS) :].T)
        heads, inner, outer = (context_keys(columns, atoms) for atoms in self.atoms)
        return Triples(heads, inner, outer, grades, self.graded, attributes, self.agreeing)

    def scores(self, columns: np.ndarray, listed: ArcList) -> tuple[np.ndarray, np.ndarray]:
        """Log-factors of neighbouring and of last modifiers, in the order of the list."""
        return triple_scores(self.triples(columns), listed, self.weights)

    SCHEMA: ClassVar[Schema] = Schema(
        "Factors of siblings",
        "Weights of what neighbouring modifiers of a head say about each other.",
        values={"templates": ListOf(Text(), "what is seen of a head and two modifiers", least=1)},
        arrays={"weights": weight_table("n_sibling_weights", "weights of neighbouring modifiers")},
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        return {"templates": list(self.listed)}, {"weights": self.weights}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        return cls(tuple(values["templates"]), arrays["weights"])


def probable_arcs(arc_marginals: np.ndarray) -> ArcList:
    """The arcs that a chart (2, n, n) finds probable; in a short sentence all that it has."""
    least = LEAST if arc_marginals.shape[1] >= SHORTEST else 0.0
    return list_arcs(np.abs(arc_marginals) > least)
