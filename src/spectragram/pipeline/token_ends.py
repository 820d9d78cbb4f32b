"""Where tokens end: chains over the characters of chunks, whose labels have log-linear factors.

    p(y | x)  ~  prod_i exp score(i, y_i)  prod_i exp pair(y_i, y_{i+1})          y_i: the token goes on, or it ends

Scores are sums of weights of hashed features (:mod:`spectragram.inference.token_factors`) and the chain is that of
taggers (:mod:`spectragram.inference.factored_chain`) with one state per label.

Most characters are not worth a decision. White space ends a token, unless the treebank has tokens with spaces inside.
Between two letters no token ends in most languages: a pair of kinds of characters between which (almost) none ends in
the treebank is closed. So is what Unicode makes one sign of: marks, joined emoji, flags. So are numbers (40,000) and
addresses of the web and of mail, unless tokens end inside of them in the treebank: a small treebank has few of them or
none. (Training looks at them all the same, since they tell what full stops do.) On three held-out parts of each small
treebank this raises the mean from 99.537 to 99.549. What is left are the open characters; those of a chunk are a chain,
and with spaces inside tokens those of a paragraph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numba import njit

from spectragram.engine.progress import Report, silent
from spectragram.estimator import State
from spectragram.inference.factored_chain import Chain, factored_marginals
from spectragram.inference.token_factors import (
    label_pair_places,
    label_pair_scores,
    places_within,
    step_tokens,
    token_scores,
)
from spectragram.learning.factors import (
    fit_weights,
    parse_atoms,
    require_table,
    split_templates,
    start_weights,
    template_list,
)
from spectragram.pipeline.characters import (
    COLUMNS,
    N_UNITS,
    NO_GAP,
    PARAGRAPH_END,
    Text,
    character_columns,
    joined_characters,
    paragraph_bounds,
    read_text,
    unit_kinds,
)
from spectragram.pipeline.dropout import Dropout
from spectragram.pipeline.raw_text import Paragraph
from spectragram.schema import Array, Flag, Schema, weight_table

__all__ = ["TokenEnds", "learn_token_ends", "token_stops"]

TEMPLATES = """
    y0          y0 k0       y0 k+1      y0 k0 k+1 x0
    y0 l0       y0 l+1      y0 l-1 l0   y0 l0 l+1   y0 l+1 l+2  y0 l-1 l0 l+1           y0 l0 l+1 l+2
    y0 l-2 l-1 l0           y0 l+1 l+2 l+3          y0 l-1 l0 l+1 l+2       y0 l-2 l-1 l0 l+1
    y0 c0       y0 c0 c+1   y0 k0 k+1   y0 k-1 k0 k+1           y0 k-1 k0 k+1 k+2       y0 k-2 k-1 k0 k+1
    y0 l0 k+1   y0 k0 l+1   y0 l0 k-1 k+1
    y0 p0       y0 s0       y0 p0 s0    y0 a0       y0 r0       y0 a0 r0    y0 a0 l+1   y0 r0 l0    y0 a0 k+1 k+2
    y0 x0 k0 k+1            y0 x0 t0    y0 b0 b+1 x0            y0 p0 n0    y0 p0 s0 d0 y0 l0 d0    y0 a0 l+1 d0
    y0 p0 m0    y0 x0 l+1   y0 x0 l+1 d0            y0 x0 l0 l+1            y0 h0 l+1   y0 h0 k+1   y0 h0 l+1 d0
    y0 h0 l+1 l-1
    z0 l0       z0 l+1      z0 l+1 k+2
"""
"""All of them know what kinds of characters meet. Without that, the letters of a word say that it goes on, whatever
follows: a comma behind an unknown word then stays with the word. The last line does not tell letters from digits: what
a hyphen does behind letters it may also do behind digits that the treebank never has before one. With it, the mean over
the small treebanks rises from 99.51 to 99.53 (three held-out parts, five seeds)."""
SMALLEST_EXAMPLE, LARGEST_EXAMPLE, MOST_EXAMPLES = 8, 64, 16384
"""Open characters in a training example, at least one chain of them, and the number of examples beyond which they
become larger. On three held-out parts of each small treebank, 8 characters are better than 16 and 64 (mean 99.74,
99.71 and 99.63): a step for few characters is a better step."""
BATCH = 1
"""Examples in a batch. Chosen among 1, 2 and 4 in the same way."""
KEPT = 0.85
"""Share of the templates that an example sees in training. Chosen among 0.5, 0.7, 0.85 and 1 in the same way, in two
rounds (99.69, 99.72 and 99.69 without 0.85; then 99.75 and 99.77 for 0.7 and 0.85)."""
RATE = 0.3
"""Step size of AdaGrad. Chosen among 0.1 and 0.3 in the same way (99.72 and 99.73)."""
N_MEMBERS = 4
"""Trainings whose weights are averaged, since few open characters are seen often: on three held-out parts of each
small treebank, means over three such averages and over their twelve members are 99.55 and 99.53."""
N_EPOCHS = 12
"""Passes over the training text. Chosen among 3, 6 and 12 in the same way (99.53, 99.63, 99.65 in the first round)."""
RARE = 1e-3
"""Kinds of characters between which a smaller share of tokens ends are closed. Chosen by hand: between letters it is
0.0001 at most in the treebanks with spaces between words that this was developed on."""
WEIGHTS_PER_CHARACTER = 64
"""Places in the table for each open character of the training data. Chosen by hand: about one for each feature."""
FEWEST_BITS, MOST_BITS = 14, 20
"""Bounds on the size of the table: 64 kB and 4 MB."""
N_LABELS, GOES_ON, ENDS = 2, 0, 1  # labels of characters
N_MEETINGS = 64  # values of column y
MEETINGS = COLUMNS.index("y")
WITHIN_WORDS = [(a * 4 + b) * 4 + NO_GAP for a in (1, 2) for b in (1, 2)]
"""Values of column y between letters (1) and digits (2) without a space."""

CHAIN = Chain(
    np.ones(N_LABELS),
    np.ones((N_LABELS, N_LABELS)),
    np.ones((N_LABELS, N_LABELS)),
    np.ones(N_LABELS),
    np.arange(N_LABELS + 1),
)
"""One state for each label and nothing that prefers one: the factors alone decide."""

Gradients = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Places of features (n, t), gradients of the scores of characters (n, 2) and of pairs of labels (2, 2)."""


class Open(NamedTuple):
    """The open characters of a text.

    columns (c, n) of all characters; at (m,): the open ones; bounds (m, 2): where the paragraph of each begins and
    ends; starts (k + 1,): where chains begin among the open characters, and m.
    """

    columns: np.ndarray
    at: np.ndarray
    bounds: np.ndarray
    starts: np.ndarray


@dataclass(frozen=True)
class TokenEnds:
    """Decides which characters are the last of a token.

    Attributes
    ----------
    templates : tuple of str
    weights : float32 array, shape (2^b,)
    spaces_inside : bool
        Whether a token may contain white space.
    is_open : bool array, shape (N_MEETINGS,)
        Whether a token may end where kinds of characters meet (column y of :mod:`spectragram.pipeline.characters`).
        No two kinds have the first numbers; there it is whether a token may end inside each kind of unit
        (:func:`spectragram.pipeline.characters.unit_kinds`).
    """

    templates: tuple[str, ...]
    weights: np.ndarray
    spaces_inside: bool
    is_open: np.ndarray
    atoms: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_table(self.weights)
        if self.is_open.shape != (N_MEETINGS,):
            raise ValueError(f"open meetings of shape {self.is_open.shape}")
        object.__setattr__(self, "atoms", parse_atoms(self.templates, COLUMNS))

    def predict(self, text: Text) -> np.ndarray:
        """Whether a token ends with each character, bool (n,)."""
        ends = self._must_end(text)
        found = self._open(text)
        if len(found.at):
            places = places_within(found.columns, found.at, found.bounds, self.atoms, len(self.weights))
            scores = token_scores(places, np.ones((len(places), N_LABELS), np.bool_), self.weights)
            pairs = np.exp(label_pair_scores(N_LABELS, self.weights))
            ends[found.at] = _chain_marginals(CHAIN, scores, found.starts, pairs)[0][:, ENDS] > 0.5
        return ends

    def _must_end(self, text: Text) -> np.ndarray:
        return text.gaps == PARAGRAPH_END if self.spaces_inside else text.gaps != NO_GAP

    def _open(self, text: Text, longest: int | None = None) -> Open:
        """The open characters; for training, those in units too, and chains of more than ``longest`` are cut."""
        columns = character_columns(text)
        must_end = self._must_end(text)
        is_open = self.is_open[columns[MEETINGS]] & ~joined_characters(text)
        if longest is None:
            is_open &= self.is_open[unit_kinds(text)]
        at = np.flatnonzero(~must_end & is_open)
        chain = np.cumsum(must_end)[at]
        starts = np.flatnonzero(np.diff(chain, prepend=-1))
        if longest is not None:
            starts = np.union1d(starts, np.arange(0, len(at), longest))
        return Open(columns, at, paragraph_bounds(text)[at], np.append(starts, len(at)))

    SCHEMA: ClassVar[Schema] = Schema(
        "Ends of tokens",
        "Decides which characters end a token.",
        values={"spaces_inside": Flag("whether tokens may hold spaces")},
        arrays={
            "templates": template_list(COLUMNS),
            "weights": weight_table(),
            "is_open": Array("?", (N_MEETINGS,), "which pairs of kinds of characters need a decision"),
        },
    )

    def to_state(self) -> State:
        """Plain values and arrays, for model files."""
        arrays = {"templates": list(self.templates), "weights": self.weights, "is_open": self.is_open}
        return {"spaces_inside": self.spaces_inside}, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        spaces_inside = bool(values["spaces_inside"])
        return cls(tuple(arrays["templates"]), arrays["weights"], spaces_inside, arrays["is_open"])


@njit(cache=True, nogil=True)
def _chain_marginals(
    chain: Chain, scores: np.ndarray, starts: np.ndarray, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Marginals of several chains that lie one behind the other: of labels (n, l), and sums over pairs (l, l)."""
    marginals, expected = np.empty_like(scores), np.zeros_like(pairs)
    vectors, rows = np.ones((1, scores.shape[1])), np.zeros(len(scores), np.int64)
    for u in range(len(starts) - 1):
        own = slice(starts[u], starts[u + 1])
        found, seen, _ = factored_marginals(chain, vectors, rows[own], scores[own], pairs)
        for i in range(len(found)):
            for label in range(found.shape[1]):
                marginals[starts[u] + i, label] = found[i, label]
        expected += seen
    return marginals, expected


def token_stops(examples: Sequence[Paragraph], text: Text) -> np.ndarray:
    """The numbers of the characters behind each token of paragraphs, which have been read as ``text``: int64 (n,)."""
    shifts = np.cumsum([0, *(len(paragraph.text) for paragraph in examples[:-1])])
    last = [paragraph.spans[:, 1] - 1 + at for paragraph, at in zip(examples, shifts, strict=True)]
    return np.searchsorted(text.places, np.concatenate(last)) + 1


def _open_meetings(text: Text, gold: np.ndarray) -> np.ndarray:
    """Whether enough tokens end where each pair of kinds of characters meets, (N_MEETINGS,) bool.

    What the treebank does not have is closed between letters and digits, since nothing would say where to split
    ``10``, and open elsewhere. The first numbers are kinds of units. Those that the treebank does not have are closed.
    """
    meetings = character_columns(text)[MEETINGS]
    seen = np.bincount(meetings, minlength=N_MEETINGS)
    ends = np.bincount(meetings, weights=gold, minlength=N_MEETINGS)
    is_open = ends >= RARE * seen
    is_open[WITHIN_WORDS] &= seen[WITHIN_WORDS] > 0
    units = unit_kinds(text)
    seen, ends = np.bincount(units, minlength=N_UNITS), np.bincount(units, weights=gold, minlength=N_UNITS)
    is_open[1:N_UNITS] = ((ends > 0) & (ends >= RARE * seen))[1:]
    return is_open


def learn_token_ends(
    examples: Sequence[Paragraph],
    *,
    rng: np.random.Generator,
    n_epochs: int = N_EPOCHS,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> TokenEnds:
    """Learn from paragraphs whose tokens are known."""
    text = read_text([paragraph.text for paragraph in examples])
    ends = np.zeros(len(text.codes), np.int64)
    ends[token_stops(examples, text) - 1] = ENDS
    spaces_inside = any(len(token.form.split()) > 1 for paragraph in examples for token in paragraph.tokens)
    is_open = _open_meetings(text, ends)
    empty = TokenEnds(split_templates(TEMPLATES), np.zeros(2, np.float32), spaces_inside, is_open)
    found = empty._open(text, longest=2 * LARGEST_EXAMPLE)
    n_members = N_MEMBERS if len(found.at) else 1
    tables = [
        _fit(empty, found, ends[found.at], rng=rng, n_epochs=n_epochs, n_jobs=n_jobs, report=report)
        for _ in range(n_members)
    ]
    weights = np.stack(tables).mean(axis=0).astype(np.float16).astype(np.float32)  # as model files hold them
    return TokenEnds(empty.templates, weights, spaces_inside, is_open)


def _fit(
    empty: TokenEnds,
    found: Open,
    gold: np.ndarray,
    *,
    rng: np.random.Generator,
    n_epochs: int,
    n_jobs: int | None,
    report: Report,
) -> np.ndarray:
    """Weights fitted to the labels ``gold`` (m,) of open characters, (2^b,) float32."""
    bits = int(np.clip(np.ceil(np.log2(WEIGHTS_PER_CHARACTER * max(len(gold), 1))), FEWEST_BITS, MOST_BITS))
    weights = start_weights(np.zeros(1 << bits, np.float32))
    pair_places = label_pair_places(N_LABELS, len(weights.table))
    borders = _example_borders(found.starts)
    dropout = Dropout(KEPT, len(borders) - 1, int(rng.integers(1 << 31)))
    every = np.eye(N_LABELS)

    def gradient(number: int) -> Gradients:
        first, last = borders[number], borders[number + 1]
        starts = found.starts[first : last + 1]
        own = slice(starts[0], starts[-1])
        right = gold[own]
        places = places_within(found.columns, found.at[own], found.bounds[own], empty.atoms, len(weights.table))
        places = dropout.choose(number, places)
        scores = token_scores(places, np.ones((len(places), N_LABELS), np.bool_), weights.table) / KEPT
        pairs = np.exp(label_pair_scores(N_LABELS, weights.table))
        marginals, expected = _chain_marginals(CHAIN, scores, starts - starts[0], pairs)
        follows = np.ones(len(right), np.bool_)
        follows[starts[:-1] - starts[0]] = False
        seen = np.zeros_like(expected)
        np.add.at(seen, (right[:-1][follows[1:]], right[1:][follows[1:]]), 1.0)
        return places, every[right] - marginals, seen - expected

    def step(gradients: Gradients, now: int) -> None:
        places, of_characters, of_pairs = gradients
        step_tokens(places, of_characters, weights, RATE, now)
        step_tokens(pair_places, of_pairs, weights, RATE, now)

    fitted = fit_weights(
        gradient,
        step,
        [weights],
        np.arange(len(borders) - 1),
        n_epochs=n_epochs if len(gold) else 0,
        batch_size=BATCH,
        rng=rng,
        n_jobs=n_jobs,
        report=report,
    )
    return fitted.tables[0]


def _example_borders(starts: np.ndarray) -> np.ndarray:
    """Runs of chains that are examples: the number of the first chain of each, and the number of chains."""
    size = int(np.clip(starts[-1] // MOST_EXAMPLES, SMALLEST_EXAMPLE, LARGEST_EXAMPLE))
    first = np.flatnonzero(np.diff(starts[:-1] // size, prepend=-1))
    return np.append(first, len(starts) - 1)
