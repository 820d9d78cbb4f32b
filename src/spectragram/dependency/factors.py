"""Surface factors: what the words around an arc, and around the end of a half, say about it.

    P(y | x)  ~  SHAG(y) * prod_{arcs (i, j) of y} exp score(i, j) * prod_{halves (i, d, k) of y} exp score(i, d, k)

The automata see modifier sequences only; the factors see the sentence. Scores are sums of weights of hashed features
(:mod:`spectragram.inference.pair_factors`), fitted by :mod:`spectragram.dependency.factor_training`.

Templates are written ``here | there``: atoms of the head, then of the modifier (or of the last word of the half). An
atom is the letter of a row (:mod:`spectragram.dependency.encoding`) and an offset away from the head: at a modifier
``t+1`` is the tag beyond it and ``t-1`` the one before it; at a head ``t-1`` lies on its other side. A star adds the
distance, an equals sign the attributes in which the two words agree or differ. The last template of a family is
combined with the words between head and modifier. The templates were chosen by hand. Their text belongs to the model
and its file, so weights always meet the templates they were learned for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.dependency.encoding import LETTERS, Alphabet
from spectragram.dependency.gates import GRADES, Gates
from spectragram.dependency.siblings import SIBLING_TEMPLATES, Siblings
from spectragram.dependency.surface import WORD_LETTERS
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.pair_factors import Pairs, context_keys, pair_scores
from spectragram.learning.factors import empty_table, parse_atoms, require_table, split_templates
from spectragram.schema import ListOf, Part, Schema, Text, weight_table

__all__ = [
    "Factors",
    "Possible",
    "Templates",
    "arc_templates",
    "scores_of",
    "select_templates",
    "stop_templates",
    "usable_letters",
]

ARC_TEMPLATES = """
    t0 | *            | t0 *          t0 | t0           t0 | t0 *         t0 | o0 *       o0 | t0 *      o0 | o0 *
    t0 t+1 | t0 t-1   t0 t-1 | t0 t-1   t0 t+1 | t0 t+1   t0 t-1 | t0 t+1   t0 t+1 | t0 t-1 *  t0 t-1 | t0 t+1 *
    t0 t+1 | t0 *     t0 t-1 | t0 *   t0 | t0 t-1 *     t0 | t0 t+1 *
    t0 | t0 t+1 t+2   t0 t-1 t-2 | t0   t0 t+1 t+2 | t0   t0 | t0 t-1 t-2
    t0 t+1 t-1 | t0 t+1 t-1           c0 c+1 | c0 c-1   c0 c-1 | c0 c-1   c0 c+1 | c0 c+1     c0 c-1 | c0 c+1
    c0 c+1 c-1 | c0 c+1 c-1
    w0 | *            | w0 *          w0 | t0           w0 | t0 *         t0 | w0         t0 | w0 *      w0 | w0
    w0 | t0 t+1       w0 | t0 t-1     t0 t+1 | w0       t0 t-1 | w0       w0 | o0 *       o0 | w0 *
    m0 | t0 *         t0 | m0 *       m0 | m0           m0 | t0 k0        t0 k0 | m0      m0 | m0 *
    m0 | t0 m-1       t0 | t0 m-1 *   t0 | t0 m+1       t0 m-1 | t0       t0 m+1 | t0
    s0 | t0 *         t0 | s0 *
    t0 f0 | *         | t0 f0 *       t0 f0 | t0 *      t0 | t0 f0 *      t0 f0 | t0 f0
    t0 k0 | t0 k0 *   t0 | t0 =       t0 | t0 = *       t0 k0 | t0 k0 =   t0 | t0 k0 t+1 k+1      t0 | t0 k0 t-1 k-1
    t0 k0 | t0 k0 t+1   t0 k0 t+1 | t0 k0   t0 k0 t-1 | t0 k0   t0 k0 | t0 k0 t-1
    t0 b0 | t0 b0 *   b0 | b0 *       a0 | a0 *         e0 | e0           e0 | t0 *       t0 | e0 *      e0 | b0
    b0 | e0           e0 | w0         w0 | e0           t0 | t0 a-1 *     t0 a+1 | t0     t0 | t0 b+1
    t0 a0 a+1 | t0 a0 a-1             t0 a0 a-1 | t0 a0 a-1               t0 a0 a+1 | t0 a0 a+1
"""
ARC_BETWEEN = "t0 | t0"
STOP_TEMPLATES = """
    t0 | *            t0 | t+1        t0 | t+1 *        t0 | t0 t+1       | t0 t+1 *      t0 | t0 t+1 *
    t0 | t+1 t+2      t0 | t+1 t+2 *  t0 t-1 | *        t0 t-1 | t+1 *    o0 | t0 t+1 t+2
    t0 t-1 t-2 | *    t0 t-1 | t0 t+1
    w0 | *            w0 | t+1        w0 | t+1 *        t0 | w+1 *        | w0 t+1        w0 | w+1       w0 t-1 | *
    m0 | *            m0 | t+1        t0 | m+1 *        m0 | t+1 k+1
    t0 f0 | *         t0 k0 | t+1 k+1 *   t0 k0 | t0 k0 t+1 k+1   t0 f0 | t+1 f+1
    e0 | *            e0 | t+1        b0 | t+1 *        t0 | e+1          t0 | b+1 *      b0 | b+1       e0 | b+1
"""
STOP_BETWEEN = "t0 | t+1"
Possible = tuple[np.ndarray | None, np.ndarray | None]
"""Arcs and ends of halves that are possible, (2, n, n) bool each; None if all of them are."""


@dataclass(frozen=True)
class Templates:
    """A family of templates.

    Attributes
    ----------
    listed : tuple of str
        Their text in the notation above; the last one is combined with the words between.
    first : int
        The smallest distance between the two words, 0 or 1.
    here, there : int64 arrays, shape (n_templates, n_atoms, 2)
        Column and offset of each atom, -1 where there is none.
    graded, agreeing : bool arrays, shape (n_templates,)
        Whether a template looks at the distance, and at agreement.
    """

    listed: tuple[str, ...]
    first: int
    here: np.ndarray = field(init=False, repr=False, compare=False)
    there: np.ndarray = field(init=False, repr=False, compare=False)
    graded: np.ndarray = field(init=False, repr=False, compare=False)
    agreeing: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sides = [template.replace("*", "").replace("=", "").split("|") for template in self.listed]
        if not sides or any(len(pair) != 2 for pair in sides):
            raise ValueError(f"templates need two sides: {self.listed}")
        object.__setattr__(self, "here", parse_atoms([here for here, _ in sides], LETTERS))
        object.__setattr__(self, "there", parse_atoms([there for _, there in sides], LETTERS))
        object.__setattr__(self, "graded", np.array(["*" in template for template in self.listed]))
        object.__setattr__(self, "agreeing", np.array(["=" in template for template in self.listed]))

    def pairs(self, columns: np.ndarray) -> Pairs:
        """What the templates see in a sentence with columns (n_rows, n)."""
        here, there = context_keys(columns, self.here), context_keys(columns, self.there)
        grades = np.searchsorted(GRADES, np.arange(columns.shape[1]), side="right").astype(np.int64)
        attributes = np.ascontiguousarray(columns[len(LETTERS) :].T)
        return Pairs(here, there, grades, self.graded, attributes, self.agreeing, columns[1], self.first)


def usable_letters(alphabet: Alphabet, *, words: bool) -> str:
    """The rows that hold anything and may be looked at; without ``words`` none that depends on the word itself."""
    letters = "t" + alphabet.surface.letters + ("=" if alphabet.surface.attributes else "")
    if alphabet.column == "xpos":
        letters += "c"  # otherwise it is the tag again
    return letters if words else "".join(letter for letter in letters if letter not in WORD_LETTERS)


def select_templates(text: str, letters: str) -> tuple[str, ...]:
    """The templates of a text that look at nothing but these rows.

    >>> select_templates("t0 | t0  t0 | w0 *  t0 | t0 =", "tw")
    ('t0 | t0', 't0 | w0 *')
    """
    named = set(LETTERS) | {"="}
    return tuple(one for one in split_templates(text) if not (set(one) & named) - set(letters))


def arc_templates(letters: str) -> Templates:
    """The templates of arcs that look at these rows."""
    return Templates((*select_templates(ARC_TEMPLATES, letters), ARC_BETWEEN), 1)


def stop_templates(letters: str) -> Templates:
    """The templates of ends of halves that look at these rows."""
    return Templates((*select_templates(STOP_TEMPLATES, letters), STOP_BETWEEN), 0)


@dataclass(frozen=True)
class Factors:
    """Templates of arcs and of ends of halves, and their weights, (2^b,) float32 each.

    Where there are gates, what they keep out is impossible. Siblings are scored for the arcs that a chart without them
    finds probable.
    """

    arc_templates: Templates
    stop_templates: Templates
    arc_weights: np.ndarray
    stop_weights: np.ndarray
    gates: Gates | None = None
    siblings: Siblings | None = None

    def __post_init__(self) -> None:
        require_table(self.arc_weights)
        require_table(self.stop_weights)

    @classmethod
    def empty(cls, letters: str, n_tokens: int, gates: Gates | None = None) -> Self:
        """All weights zero, with room for ``n_tokens``; templates look at the rows with these letters.

        Without words there are no siblings: automata know tags that follow each other.
        """
        tables = empty_table(n_tokens), empty_table(n_tokens)
        siblings = None
        if set(letters) & set(WORD_LETTERS):
            siblings = Siblings.empty(select_templates(SIBLING_TEMPLATES, letters), n_tokens)
        return cls(arc_templates(letters), stop_templates(letters), *tables, gates, siblings)

    def scores(
        self, sentences: Sequence[np.ndarray], arcs: Sequence[np.ndarray | None]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Log-factors of arcs and of ends of halves in sentences with columns (n_rows, n), both (2, n, n).

        Only the given ``arcs``, (2, n, n) bool, are possible; the others have -inf. If none are given, gates choose.
        """
        possible: list[Possible] = [(given, None) for given in arcs]
        if self.gates is not None:
            free = [i for i, given in enumerate(arcs) if given is None]
            for i, opened in zip(free, self.gates.open([sentences[i][0] for i in free]), strict=True):
                possible[i] = opened
        # All arcs before all ends: one table at a time stays in the cache of the processor.
        of_arcs, of_stops = (
            [
                pair_scores(templates.pairs(columns), weights, wanted[which])
                for columns, wanted in zip(sentences, possible, strict=True)
            ]
            for which, (templates, weights) in enumerate(
                ((self.arc_templates, self.arc_weights), (self.stop_templates, self.stop_weights))
            )
        )
        return list(zip(of_arcs, of_stops, strict=True))

    def pairs(self, columns: np.ndarray) -> tuple[Pairs, Pairs]:
        """What templates see of arcs and of ends of halves."""
        return self.arc_templates.pairs(columns), self.stop_templates.pairs(columns)

    def with_weights(
        self, arc_weights: np.ndarray, stop_weights: np.ndarray, sibling_weights: np.ndarray | None = None
    ) -> Factors:
        """The same templates with other weights."""
        siblings = self.siblings
        if siblings is not None and sibling_weights is not None:
            siblings = siblings.with_weights(sibling_weights)
        return replace(self, arc_weights=arc_weights, stop_weights=stop_weights, siblings=siblings)

    SCHEMA: ClassVar[Schema] = Schema(
        "Factors of arcs",
        "Weights of what the words around an arc, and around the end of a half, say about it.",
        values={
            "arc_templates": ListOf(Text(), "what is seen of arcs", least=1),
            "stop_templates": ListOf(Text(), "what is seen of ends of halves", least=1),
        },
        arrays={
            "arc_weights": weight_table("n_arc_weights", "weights of arcs"),
            "stop_weights": weight_table("n_stop_weights", "weights of ends of halves"),
        },
        parts={
            "gates": Part(Gates.SCHEMA, values=None, optional=True),
            "siblings": Part(Siblings.SCHEMA, optional=True),
        },
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values: dict[str, Any] = {
            "arc_templates": list(self.arc_templates.listed),
            "stop_templates": list(self.stop_templates.listed),
            "siblings": None,
        }
        arrays = {"arc_weights": self.arc_weights, "stop_weights": self.stop_weights}
        if self.gates is not None:
            arrays |= prefixed("gates", self.gates.to_arrays())
        if self.siblings is not None:
            values["siblings"], of_siblings = self.siblings.to_state()
            arrays |= prefixed("siblings", of_siblings)
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; older files have neither gates nor siblings."""
        arcs, stops = Templates(tuple(values["arc_templates"]), 1), Templates(tuple(values["stop_templates"]), 0)
        found, gates = (arrays["arc_weights"], arrays["stop_weights"]), without_prefix("gates", arrays)
        siblings = None
        if values.get("siblings") is not None:
            siblings = Siblings.from_state(values["siblings"], without_prefix("siblings", arrays))
        return cls(arcs, stops, *found, Gates.from_arrays(gates) if gates else None, siblings)


def scores_of(
    pairs: tuple[Pairs, Pairs], tables: tuple[np.ndarray, np.ndarray], possible: Possible
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of arcs and of ends of halves, -inf where they are not possible."""
    return pair_scores(pairs[0], tables[0], possible[0]), pair_scores(pairs[1], tables[1], possible[1])
