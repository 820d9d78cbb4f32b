"""Surface factors: what the words around an arc, and around the end of a half, say about it.

    P(y | x)  ~  SHAG(y) * prod_{arcs (i, j) of y} exp score(i, j) * prod_{halves (i, d, k) of y} exp score(i, d, k)

The automata see modifier sequences only; the factors see the sentence. Scores are sums of weights of hashed features
(:mod:`spectragram.inference.pair_factors`), fitted by conditional likelihood with the automata held fixed: the gradient
is gold minus expected, read off the marginals of the chart that parses. AdaGrad in small batches, weights averaged.

Templates are written ``here | there``: atoms of the head, then of the modifier (or the last word of the half). An atom
is a column (t tag, c coarse tag, w word) and an offset away from the head: at a modifier ``t+1`` is the tag beyond it
and ``t-1`` the one before it; at a head ``t-1`` lies on its other side. A star adds the distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.dependency.encoding import Encoded
from spectragram.dependency.features import gold_pairs
from spectragram.dependency.grammar import Grammar
from spectragram.engine import map_threads, resolve_jobs
from spectragram.engine.progress import Report, silent
from spectragram.inference.headed import inside_outside
from spectragram.inference.pair_factors import Pairs, Weights, context_keys, pair_scores, step_pairs

__all__ = [
    "Factors",
    "Templates",
    "averaged",
    "learn_factors",
    "require_table",
    "start_weights",
]

ARC_TEMPLATES = """
    t0 | *            | t0 *          t0 | t0           t0 | t0 *         t0 | c0 *       c0 | t0 *      c0 | c0 *
    t0 t+1 | t0 t-1   t0 t-1 | t0 t-1   t0 t+1 | t0 t+1   t0 t-1 | t0 t+1   t0 t+1 | t0 t-1 *  t0 t-1 | t0 t+1 *
    t0 t+1 | t0 *     t0 t-1 | t0 *   t0 | t0 t-1 *     t0 | t0 t+1 *
    t0 | t0 t+1 t+2   t0 t-1 t-2 | t0   t0 t+1 t+2 | t0   t0 | t0 t-1 t-2
"""
ARC_WORD_TEMPLATES = """
    w0 | *            | w0 *          w0 | t0           w0 | t0 *         t0 | w0         t0 | w0 *      w0 | w0
    w0 | t0 t+1       w0 | t0 t-1     t0 t+1 | w0       t0 t-1 | w0       w0 | c0 *       c0 | w0 *
"""
ARC_BETWEEN = "t0 | t0"
STOP_TEMPLATES = """
    t0 | *            t0 | t+1        t0 | t+1 *        t0 | t0 t+1       | t0 t+1 *      t0 | t0 t+1 *
    t0 | t+1 t+2      t0 | t+1 t+2 *  t0 t-1 | *        t0 t-1 | t+1 *    c0 | t0 t+1 t+2
    t0 t-1 t-2 | *    t0 t-1 | t0 t+1
"""
STOP_WORD_TEMPLATES = """
    w0 | *            w0 | t+1        w0 | t+1 *        t0 | w+1 *        | w0 t+1        w0 | w+1       w0 t-1 | *
"""
STOP_BETWEEN = "t0 | t+1"

COLUMNS = "tcw"
GRADES = np.array([1, 2, 3, 4, 5, 6, 8, 11, 16, 31])
"""Distances at which a new grade begins."""
RATE = 0.1
DAMPING = 1.0
"""Squared gradient that every feature starts with: those met once or twice take small steps."""
BATCH = 16


@dataclass(frozen=True)
class Templates:
    """Templates of one family as arrays; the last one pairs with the words between.

    here, there (t, a, 2) int64: column and offset of each atom, -1 where there is none; graded (t,) bool.
    """

    here: np.ndarray
    there: np.ndarray
    graded: np.ndarray
    first: int

    @classmethod
    def parse(cls, text: str, between: str, first: int) -> Templates:
        """Read the notation above: templates are two or more spaces, or a line end, apart."""
        listed = [part.strip() for line in text.splitlines() for part in line.split("  ") if part.strip()]
        listed.append(between)
        sides = [entry.replace("*", "").split("|") for entry in listed]
        n_atoms = max(len(side.split()) for entry in sides for side in entry)
        arrays = np.full((2, len(sides), n_atoms, 2), -1, np.int64)
        for t, entry in enumerate(sides):
            for side, atoms in enumerate(entry):
                for a, atom in enumerate(atoms.split()):
                    arrays[side, t, a] = COLUMNS.index(atom[0]), int(atom[1:])
        return cls(arrays[0], arrays[1], np.array(["*" in entry for entry in listed]), first)

    @classmethod
    def for_labels(cls, *, words: bool) -> Templates:
        """Those of the arcs of a finished tree, for their labels; with one more in place of the words between."""
        return cls.parse(ARC_TEMPLATES + (ARC_WORD_TEMPLATES if words else ""), "t0 | t0 t-1 t+1", 1)

    def pairs(self, columns: np.ndarray) -> Pairs:
        """What the templates see in a sentence with columns (3, n)."""
        here, there = context_keys(columns, self.here), context_keys(columns, self.there)
        grades = np.searchsorted(GRADES, np.arange(columns.shape[1]), side="right").astype(np.int64)
        return Pairs(here, there, grades, self.graded, columns[1], self.first)


@dataclass(frozen=True)
class Factors:
    """Templates of arcs and of ends of halves, and their weights, (2^b,) float32 each."""

    arc_templates: Templates
    stop_templates: Templates
    arc_weights: np.ndarray
    stop_weights: np.ndarray

    def __post_init__(self) -> None:
        require_table(self.arc_weights)
        require_table(self.stop_weights)

    @classmethod
    def empty(cls, *, words: bool, bits: int) -> Factors:
        """All weights zero; without ``words`` the factors see tags only."""
        arcs = ARC_TEMPLATES + (ARC_WORD_TEMPLATES if words else "")
        stops = STOP_TEMPLATES + (STOP_WORD_TEMPLATES if words else "")
        tables = np.zeros((2, 1 << bits), np.float32)
        return cls(Templates.parse(arcs, ARC_BETWEEN, 1), Templates.parse(stops, STOP_BETWEEN, 0), *tables)


def learn_factors(
    factors: Factors,
    grammar: Grammar,
    encoded: Encoded,
    heads: np.ndarray,
    *,
    n_epochs: int,
    rng: np.random.Generator,
    resample: bool = False,
    n_jobs: int = 1,
    report: Report = silent,
) -> Factors:
    """Fit the weights of arc and STOP factors on trees (heads (n_tokens,), as in CoNLL-U).

    With ``resample`` on a bootstrap sample of the trees, so that the members of an ensemble differ.
    """
    n = len(encoded)
    sample = rng.integers(n, size=n) if resample else np.arange(n)
    arcs, stops = start_weights(factors.arc_weights), start_weights(factors.stop_weights)
    now = 0

    def gradients(sentences: np.ndarray) -> list[tuple[Pairs, Pairs, np.ndarray, np.ndarray]]:
        found = []
        for number in sentences:
            span = slice(*encoded.offsets[number : number + 2])
            columns = encoded.columns(number)
            arc_pairs, stop_pairs = factors.arc_templates.pairs(columns), factors.stop_templates.pairs(columns)
            scores = pair_scores(arc_pairs, arcs.table), pair_scores(stop_pairs, stops.table)
            tags = columns[0]
            sign, _, _, arc_marginals, stop_marginals = inside_outside(
                tags, np.log(grammar.root[tags]), grammar.initial, grammar.operators, grammar.final, *scores
            )
            if sign > 0:
                gold_arcs, gold_stops = gold_pairs(heads[span])
                found.append((arc_pairs, stop_pairs, gold_arcs - arc_marginals, gold_stops - stop_marginals))
        return found

    jobs = resolve_jobs(n_jobs)
    for _ in range(n_epochs):
        order = sample[rng.permutation(n)]
        for batch in np.array_split(order, max(1, round(len(order) / BATCH))):
            now += 1
            # All gradients of a batch are taken at the same weights, so threads do not show in the result.
            parts = map_threads(gradients, np.array_split(batch, min(2 * jobs, len(batch)) if jobs > 1 else 1), jobs)
            for arc_pairs, stop_pairs, arc_gradient, stop_gradient in (one for part in parts for one in part):
                step_pairs(arc_pairs, arc_gradient, arcs, RATE, now)
                step_pairs(stop_pairs, stop_gradient, stops, RATE, now)
        report()
    return Factors(factors.arc_templates, factors.stop_templates, averaged(arcs, now), averaged(stops, now))


def require_table(weights: np.ndarray) -> None:
    """Kernels look into tables without further checks: refuse any that is not float32 and a power of two long."""
    n = weights.size
    if weights.ndim != 1 or weights.dtype != np.float32 or n < 2 or n & (n - 1):
        raise ValueError(f"a table of weights of shape {weights.shape} and type {weights.dtype}")


def start_weights(table: np.ndarray) -> Weights:
    """Weights at the beginning of training, from a table that stays as it is."""
    return Weights(table.copy(), np.full_like(table, DAMPING), np.zeros_like(table))


def averaged(weights: Weights, now: int) -> np.ndarray:
    """The average of the table over all steps so far."""
    return weights.table - weights.summed / np.float32(max(now, 1))
