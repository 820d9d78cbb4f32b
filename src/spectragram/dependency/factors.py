"""Surface factors: what the words around an arc, and around the end of a half, say about it.

    P(y | x)  ~  SHAG(y) * prod_{arcs (i, j) of y} exp score(i, j) * prod_{halves (i, d, k) of y} exp score(i, d, k)

The automata see modifier sequences only; the factors see the sentence. Scores are sums of weights of hashed features
(:mod:`spectragram.inference.pair_factors`), fitted by conditional likelihood with the automata held fixed
(:mod:`spectragram.learning.factors`): the gradient is gold minus expected, and expectations are the marginals of the
chart that parses.

Templates are written ``here | there``: atoms of the head, then of the modifier (or of the last word of the half). An
atom is the letter of a row (:mod:`spectragram.dependency.encoding`) and an offset away from the head: at a modifier
``t+1`` is the tag beyond it and ``t-1`` the one before it; at a head ``t-1`` lies on its other side. A star adds the
distance, an equals sign the attributes in which the two words agree or differ. The last template of a family is
combined with the words between head and modifier. The templates were chosen by hand. Their text belongs to the model
and its file, so weights always meet the templates they were learned for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from spectragram.dependency.encoding import LETTERS, Alphabet, Encoded
from spectragram.dependency.features import gold_pairs
from spectragram.dependency.gates import GRADES, Gates
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.surface import WORD_LETTERS
from spectragram.engine.progress import Report, silent
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.headed import inside_outside
from spectragram.inference.pair_factors import Pairs, context_keys, pair_scores, step_pairs
from spectragram.learning.factors import (
    empty_table,
    fit_weights,
    parse_atoms,
    require_table,
    split_templates,
    start_weights,
)
from spectragram.schema import ListOf, Part, Schema, Text, weight_table

if TYPE_CHECKING:
    from spectragram.dependency.constraints import ArcMask

__all__ = [
    "GRADES",
    "Factors",
    "Templates",
    "arc_templates",
    "learn_factors",
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
RATE = 0.05
"""Step size of AdaGrad. Tried on the held-out parts of seven small treebanks, mean LAS: 0.3 instead of 0.1 loses 1.0
with three epochs; 0.05 with six epochs instead of 0.1 with three gains 0.2."""

PairGradients = tuple[tuple[Pairs, np.ndarray], tuple[Pairs, np.ndarray]]
"""Pairs and the gradients of their scores, (2, n, n), of arcs and of ends of halves."""

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

    Where there are gates, what they keep out is impossible.
    """

    arc_templates: Templates
    stop_templates: Templates
    arc_weights: np.ndarray
    stop_weights: np.ndarray
    gates: Gates | None = None

    def __post_init__(self) -> None:
        require_table(self.arc_weights)
        require_table(self.stop_weights)

    @classmethod
    def empty(cls, letters: str, n_tokens: int, gates: Gates | None = None) -> Self:
        """All weights zero, with room for ``n_tokens``; templates look at the rows with these letters."""
        tables = empty_table(n_tokens), empty_table(n_tokens)
        return cls(arc_templates(letters), stop_templates(letters), *tables, gates)

    def scores(self, columns: np.ndarray, arcs: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Log-factors of arcs and of ends of halves in a sentence with columns (n_rows, n), both (2, n, n).

        Only the given ``arcs``, (2, n, n) bool, are possible; the others have -inf. If none are given, gates choose.
        """
        pairs = self.pairs(columns)
        if arcs is None and self.gates is not None:
            return scores_of(pairs, (self.arc_weights, self.stop_weights), self.gates.open(columns[0]))
        return scores_of(pairs, (self.arc_weights, self.stop_weights), (arcs, None))

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

    Where there are gates, what they keep out is impossible.
    """

    arc_templates: Templates
    stop_templates: Templates
    arc_weights: np.ndarray
    stop_weights: np.ndarray
    gates: Gates | None = None

    def __post_init__(self) -> None:
        require_table(self.arc_weights)
        require_table(self.stop_weights)

    @classmethod
    def empty(cls, letters: str, n_tokens: int, gates: Gates | None = None) -> Self:
        """All weights zero, with room for ``n_tokens``; templates look at the rows with these letters."""
        tables = empty_table(n_tokens), empty_table(n_tokens)
        return cls(arc_templates(letters), stop_templates(letters), *tables, gates)

    def scores(self, columns: np.ndarray, arcs: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Log-factors of arcs and of ends of halves in a sentence with columns (n_rows, n), both (2, n, n).

        Only the given ``arcs``, (2, n, n) bool, are possible; the others have -inf. If none are given, gates choose.
        """
        pairs = self.pairs(columns)
        if arcs is None and self.gates is not None:
            return scores_of(pairs, (self.arc_weights, self.stop_weights), self.gates.open(columns[0]))
        possible = np.ones((2, columns.shape[1], columns.shape[1]), np.bool_)
        return scores_of(pairs, (self.arc_weights, self.stop_weights), (possible if arcs is None else arcs, possible))

    def pairs(self, columns: np.ndarray) -> tuple[Pairs, Pairs]:
        """What templates see of arcs and of ends of halves."""
        return self.arc_templates.pairs(columns), self.stop_templates.pairs(columns)

    def with_weights(self, arc_weights: np.ndarray, stop_weights: np.ndarray) -> Factors:
        """The same templates with other weights."""
        return replace(self, arc_weights=arc_weights, stop_weights=stop_weights)

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
        parts={"gates": Part(Gates.SCHEMA, values=None, optional=True)},
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values = {"arc_templates": list(self.arc_templates.listed), "stop_templates": list(self.stop_templates.listed)}
        arrays = {"arc_weights": self.arc_weights, "stop_weights": self.stop_weights}
        return values, arrays | ({} if self.gates is None else prefixed("gates", self.gates.to_arrays()))

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        arcs, stops = Templates(tuple(values["arc_templates"]), 1), Templates(tuple(values["stop_templates"]), 0)
        gates = without_prefix("gates", arrays)
        found = arrays["arc_weights"], arrays["stop_weights"]
        return cls(arcs, stops, *found, Gates.from_arrays(gates) if gates else None)


def scores_of(
    pairs: tuple[Pairs, Pairs],
    tables: tuple[np.ndarray, np.ndarray],
    possible: tuple[np.ndarray | None, np.ndarray | None],
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of arcs and of ends of halves, -inf where they are not possible; None if all of them are."""
    return pair_scores(pairs[0], tables[0], possible[0]), pair_scores(pairs[1], tables[1], possible[1])


def learn_factors(
    factors: Factors,
    grammar: Grammar,
    encoded: Encoded,
    heads: np.ndarray,
    masks: Sequence[ArcMask | None] = (),
    *,
    n_epochs: int,
    rng: np.random.Generator,
    weights_of: np.ndarray | None = None,
    resample: bool = False,
    judge: Callable[[Factors], float] | None = None,
    n_jobs: int = 1,
    report: Report = silent,
) -> tuple[Factors, int]:
    """Fit the weights of arc and STOP factors to trees; also returns the number of epochs they were trained for.

    Parameters
    ----------
    factors
        Templates, and the weights to start from.
    heads : int64 array, shape (n_tokens,)
        As in CoNLL-U.
    masks : sequence of ArcMask or None
        What is known about sentences whose heads are not: there the gradient is expected under the mask minus expected,
        and their ``heads`` are not looked at. None for trees; empty if all sentences are trees.
    n_epochs : int
        Passes over the trees; with a ``judge`` (score on held-out data, higher is better) at most.
    weights_of : float array, shape (n_sentences,), optional
        What the gradients of each sentence are multiplied by.
    resample : bool
        Fit on a bootstrap sample of the trees, so that the members of an ensemble differ.
    """
    n = len(encoded)
    sample = rng.integers(n, size=n) if resample else np.arange(n)
    arcs, stops = start_weights(factors.arc_weights), start_weights(factors.stop_weights)

    def gradient(number: int) -> PairGradients | None:
        columns, gold = encoded.columns(number), heads[slice(*encoded.offsets[number : number + 2])]
        pairs, tags = factors.pairs(columns), columns[0]
        mask = masks[number] if len(masks) else None
        possible: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
        if mask is None:
            gold_arcs, gold_stops = gold_pairs(gold)
            if factors.gates is not None:
                open_arcs, open_stops = factors.gates.open(tags)
                possible = open_arcs | (gold_arcs > 0), open_stops | (gold_stops > 0)
        scores = scores_of(pairs, (arcs.table, stops.table), possible)
        root = np.log(grammar.root[tags])
        automata = grammar.initial, grammar.operators, grammar.final
        sign, _, _, arc_marginals, stop_marginals = inside_outside(tags, root, *automata, *scores)
        if sign <= 0:
            return None
        if mask is not None:
            root, arc_scores = mask.scores(root, scores[0])
            sign, _, _, gold_arcs, gold_stops = inside_outside(tags, root, *automata, arc_scores, scores[1])
            if sign <= 0:
                return None
        weight = 1.0 if weights_of is None else float(weights_of[number])
        return (pairs[0], weight * (gold_arcs - arc_marginals)), (pairs[1], weight * (gold_stops - stop_marginals))

    def step(found: PairGradients, now: int) -> None:
        for (pairs, difference), weights in zip(found, (arcs, stops), strict=True):
            step_pairs(pairs, difference, weights, RATE, now)

    fitted = fit_weights(
        gradient,
        step,
        (arcs, stops),
        sample,
        n_epochs=n_epochs,
        rng=rng,
        judge=None if judge is None else lambda tables: judge(factors.with_weights(*tables)),
        n_jobs=n_jobs,
        report=report,
    )
    return factors.with_weights(*fitted.tables), fitted.epoch
