"""Log-linear models of labels that are made of parts: from labelled tokens to weights, from weights to marginals.

The model is that of :mod:`spectragram.inference.part_chain`. Candidates and their base scores come from a back-off tree
(:mod:`spectragram.learning.likely_labels`):

    base(i, a) = eta log P(a | word of i)

On the training data P is that of a tree that has not counted the token; otherwise every word would seem to be known,
and the weights would not learn what to do about unknown ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.corpus import even_parts
from spectragram.engine import map_threads
from spectragram.engine.progress import Report, silent
from spectragram.inference.part_chain import Candidates, Parts, Surface, chain_marginals
from spectragram.inference.part_chain_steps import train_epoch
from spectragram.learning.factors import (
    averaged,
    empty_table,
    parse_atoms,
    require_table,
    start_weights,
    template_list,
)
from spectragram.learning.likely_labels import LikelyLabels, labels_of_nodes, labels_without_one
from spectragram.learning.word_cells import Cells
from spectragram.learning.words import BackOffTree
from spectragram.schema import Array, Number, Schema, Text, weight_table

__all__ = ["MOST_CANDIDATES", "PartModel", "learn_parts", "make_parts", "parts_over"]

MOST_CANDIDATES = 24
"""Labels that a token may have at most, a bound on time. On the dev parts of five small treebanks with many features 50
of them, at least 1e-5 as probable as the best, gained 0.05 UFeats."""
LEAST_PROBABLE = 1e-4
"""How probable a candidate must be, compared with the best one; 1e-3 was worse on eight small treebanks."""
TABLE_SCALE = 4
"""Tables are this much larger than those of labels without parts. Chosen on the dev parts of eight small treebanks:
0.1 UPOS and UFeats better than 1."""
N_SHARDS = 8
"""Parts in which sequences are labelled; any number of at least that of cores would do."""


def parts_over(letters: str) -> Schema:
    """The schema of a :class:`PartModel` whose templates look at columns with these letters."""
    schema = PartModel.SCHEMA
    values = {**schema.values, "letters": Text("a letter for each column that templates see", choices=(letters,))}
    return replace(schema, values=values, arrays={**schema.arrays, "templates": template_list(letters)})


def make_parts(parts: Sequence[Sequence[str]], linked: Sequence[Sequence[str]]) -> Parts:
    """Labels by the names of their parts, and of the parts that see their neighbours, as arrays.

    Parts that exactly the same labels have would always have the same weights, so only the first of them is kept.
    """
    return Parts(*_numbered(parts), *_numbered(linked))


def _numbered(names: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    labels_of: dict[str, list[int]] = {}
    for label, listed in enumerate(names):
        for name in dict.fromkeys(listed):
            labels_of.setdefault(name, []).append(label)
    distinct = dict.fromkeys(tuple(labels) for labels in labels_of.values())
    parts: list[list[int]] = [[] for _ in names]
    for part, labels in enumerate(distinct):
        for label in labels:
            parts[label].append(part)
    starts = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    return starts, np.array([part for listed in parts for part in listed], np.int64)


@dataclass(frozen=True)
class PartModel:
    """A trained model.

    Attributes
    ----------
    tree : BackOffTree
        Of words; its labels are those of the model.
    prior : float64 array, shape (n_labels,)
    parts : Parts
    templates : tuple of str
    letters : str
        A letter for each column that templates see.
    weights : float32 array, shape (2^b,)
    links : float32 array, shape (n_linked, n_linked)
    power : float
        eta.
    """

    tree: BackOffTree
    prior: np.ndarray
    parts: Parts
    templates: tuple[str, ...]
    letters: str
    weights: np.ndarray
    links: np.ndarray
    power: float
    atoms: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_table(self.weights)
        n_linked = int(self.parts.linked.max(initial=-1)) + 1
        fits = (
            len(self.parts.starts) == len(self.parts.linked_starts) == len(self.prior) + 1
            and self.parts.starts[-1] == len(self.parts.parts) > 0
            and self.parts.linked_starts[-1] == len(self.parts.linked)
            and self.links.shape == (n_linked, n_linked)
            and self.tree.cell_labels.max(initial=-1) < len(self.prior)
        )
        if not fits:
            raise ValueError("the parts of labels do not fit together")
        object.__setattr__(self, "atoms", parse_atoms(self.templates, self.letters))

    def likely(self, nodes: np.ndarray, *, most: int = MOST_CANDIDATES, least: float = LEAST_PROBABLE) -> LikelyLabels:
        """The candidates of nodes (n,) of the tree, most probable first."""
        return labels_of_nodes(self.tree, self.prior, nodes, most=most, least=least)

    def marginals(
        self,
        columns: np.ndarray,
        types: np.ndarray,
        offsets: np.ndarray,
        rows: np.ndarray,
        likely: LikelyLabels,
        n_jobs: int | None = 1,
    ) -> np.ndarray:
        """P(a_i = a | x) of the candidates of every token, (n_tokens, w), w the longest list of candidates.

        columns (c, n_types) int64 and types (n_tokens,): what templates see; offsets (n_sequences + 1,); rows
        (n_tokens,): which list of candidates each token has.
        """
        surface = Surface(columns, np.asarray(types, np.int64), self.atoms, offsets)
        candidates = _candidates(rows, likely, self.power)
        found = np.zeros((len(types), int(np.diff(likely.starts).max(initial=1))))

        def solve(part: tuple[int, int]) -> None:
            chain_marginals(surface, candidates, self.parts, self.weights, self.links, *part, found)

        map_threads(solve, even_parts(offsets, N_SHARDS), n_jobs)
        return found

    SCHEMA: ClassVar[Schema] = Schema(
        "Labels made of parts",
        "A log-linear model of labels that are made of parts, beside a back-off tree.",
        values={
            "letters": Text("a letter for each column that templates see"),
            "power": Number("exponent of the back-off estimates", most=100.0),
        },
        arrays={
            **BackOffTree.SCHEMA.arrays,
            "prior": Array("f8", ("n_labels",), "how frequent each label is", sums=True),
            "starts": Array("i8", ("n_labels + 1",), "where the parts of each label begin", starts="n_listed"),
            "parts": Array("i8", ("n_listed",), "the parts of all labels", least=0, below="n_listed"),
            "linked_starts": Array("i8", ("n_labels + 1",), "the same for parts that see neighbours", starts="n_pairs"),
            "linked": Array("i8", ("n_pairs",), "parts that see their neighbours", least=0, below="n_linked"),
            "weights": weight_table(),
            "links": Array("f4", ("n_linked", "n_linked"), "weights of neighbouring parts"),
            "templates": template_list(),
        },
        sizes={**BackOffTree.SCHEMA.sizes, "n_listed": 1},
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays, as model files hold them."""
        arrays = self.tree.to_state()[1] | self.parts._asdict()
        arrays |= {"prior": self.prior, "weights": self.weights, "links": self.links}
        return {"letters": self.letters, "power": self.power}, arrays | {"templates": list(self.templates)}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; ``ValueError`` or ``KeyError`` for what does not fit together."""
        return cls(
            BackOffTree.from_state({}, arrays),
            arrays["prior"],
            Parts(*(arrays[name] for name in Parts._fields)),
            tuple(arrays["templates"]),
            str(values["letters"]),
            arrays["weights"],
            arrays["links"],
            float(values["power"]),
        )


def _candidates(rows: np.ndarray, likely: LikelyLabels, power: float) -> Candidates:
    base = power * np.log(np.maximum(likely.probabilities, np.finfo(float).tiny))
    return Candidates(np.asarray(rows, np.int64), likely.starts, likely.labels, base)


def learn_parts(
    cells: Cells,
    prior: np.ndarray,
    parts: Parts,
    columns: np.ndarray,
    types: np.ndarray,
    offsets: np.ndarray,
    *,
    templates: tuple[str, ...],
    letters: str,
    power: float,
    rate: float,
    reweigh: Callable[[LikelyLabels], LikelyLabels] | None = None,
    n_epochs: int,
    rng: np.random.Generator,
    report: Report = silent,
) -> PartModel:
    """Fit the weights to the labels that ``cells`` were counted on.

    Parameters
    ----------
    cells : Cells
        Of a tree that was grown on the tokens, in their order.
    prior : array, shape (n_labels,)
    parts : Parts
        Of the labels.
    columns : int64 array, shape (c, n_types)
    types : int array, shape (n_tokens,)
    offsets : int array, shape (n_sequences + 1,)
    templates, letters
        What the weights look at, see :func:`spectragram.learning.factors.parse_atoms`.
    power : float
        eta.
    rate : float
        Step size of AdaGrad.
    reweigh
        Changes the probabilities of the candidates of each pair of ``cells``, before they become base scores.
    n_epochs : int
        Passes over the sequences. ``report`` is called after each.
    """
    n_linked = int(parts.linked.max(initial=-1)) + 1
    table = empty_table(TABLE_SCALE * len(types)) if len(prior) > 1 else np.zeros(2, np.float32)
    weights, links = start_weights(table), start_weights(np.zeros((n_linked, n_linked), np.float32))
    likely = labels_without_one(cells, prior, most=MOST_CANDIDATES, least=LEAST_PROBABLE)
    likely = likely if reweigh is None else reweigh(likely)
    candidates = _candidates(cells.pair_of, likely, power)
    right = likely.labels == np.repeat(cells.labels[cells.finest_of_pair], np.diff(likely.starts))
    gold = (np.flatnonzero(right) - likely.starts[:-1])[cells.pair_of]
    surface = Surface(columns, np.asarray(types, np.int64), parse_atoms(templates, letters), offsets)
    now, n_sequences = 0, len(offsets) - 1
    for _ in range(n_epochs if len(prior) > 1 else 0):
        order = rng.permutation(n_sequences)
        train_epoch(order, surface, candidates, parts, gold, weights, links, rate, now)
        now += n_sequences
        report()
    return PartModel(cells.tree, prior, parts, templates, letters, averaged(weights, now), averaged(links, now), power)
