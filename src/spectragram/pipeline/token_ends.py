"""Where tokens end: a chain over the characters of a text, whose labels have log-linear factors.

    p(y | x)  ~  prod_i exp score(i, y_i)  prod_i exp pair(y_i, y_{i+1})          y_i: the token goes on, or it ends

Scores are sums of weights of hashed features (:mod:`spectragram.inference.token_factors`) and the chain is that of
taggers (:mod:`spectragram.inference.factored_chain`) with one state per label. White space ends a token, unless the
treebank has tokens with spaces inside; then the chain decides that too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from spectragram.engine.progress import Report, silent
from spectragram.inference.factored_chain import Chain, Tokens, factored_marginals, label_sequences
from spectragram.inference.token_factors import (
    label_pair_places,
    label_pair_scores,
    step_tokens,
    token_places,
    token_scores,
)
from spectragram.learning.factors import fit_weights, parse_atoms, require_table, split_templates, start_weights
from spectragram.pipeline.characters import COLUMNS, NO_GAP, PARAGRAPH_END, Text, character_columns, read_text
from spectragram.pipeline.dropout import Dropout
from spectragram.pipeline.raw_text import Paragraph

__all__ = ["TokenEnds", "learn_token_ends", "token_stops"]

TEMPLATES = """
    y0 l0       y0 l+1      y0 l-1 l0   y0 l0 l+1   y0 l+1 l+2  y0 l-1 l0 l+1           y0 l0 l+1 l+2
    y0 l-2 l-1 l0           y0 l+1 l+2 l+3          y0 l-1 l0 l+1 l+2       y0 l-2 l-1 l0 l+1
    y0 c0       y0 c0 c+1   y0 k0 k+1   y0 k-1 k0 k+1           y0 k-1 k0 k+1 k+2       y0 k-2 k-1 k0 k+1
    y0 l0 k+1   y0 k0 l+1   y0 l0 k-1 k+1
    y0 p0       y0 s0       y0 p0 s0    y0 a0       y0 r0       y0 a0 r0    y0 a0 l+1   y0 r0 l0    y0 a0 k+1 k+2
    y0 x0 k0 k+1            y0 x0 t0    y0 b0 b+1 x0            y0 p0 n0    y0 p0 s0 d0 y0 l0 d0    y0 a0 l+1 d0
    y0 p0 m0
"""
"""All of them know what kinds of characters meet. Without that, the letters of a word say that it goes on, whatever
follows: a comma behind an unknown word then stays with the word."""
SPREAD = 16
"""Characters of other windows that a window sees on either side; templates look at most 3 far."""
WINDOW = 256
"""Characters in a window, the sequence that a chain goes through. Chosen by hand, not tuned."""
BATCH = 4
"""Windows in a batch: small, since small treebanks have only some hundred windows. Chosen by hand, not tuned."""
KEPT = 0.7
"""Share of the templates that an example sees in training. Chosen among 0.4, 0.7 and 1 on the dev parts of the small
treebanks; the means are within 0.03 points."""
N_LABELS, GOES_ON, ENDS = 2, 0, 1
RATE = 0.3
"""Step size of AdaGrad, as for taggers. Not tuned here."""
N_EPOCHS = 6
"""Passes over the training text. Chosen by hand, not tuned."""
WEIGHTS_PER_CHARACTER = 4
"""Places in the table for each character of the training data. Chosen by hand: most features repeat."""
FEWEST_BITS, MOST_BITS = 14, 20
"""Bounds on the size of the table: 64 kB and 4 MB."""

CHAIN = Chain(
    np.ones(N_LABELS),
    np.ones((N_LABELS, N_LABELS)),
    np.ones((N_LABELS, N_LABELS)),
    np.ones(N_LABELS),
    np.arange(N_LABELS + 1),
)
"""One state for each label and nothing that prefers one: the factors alone decide."""


@dataclass(frozen=True)
class TokenEnds:
    """Decides which characters are the last of a token.

    Attributes
    ----------
    templates : tuple of str
    weights : float32 array, shape (2^b,)
    spaces_inside : bool
        Whether a token may contain white space.
    """

    templates: tuple[str, ...]
    weights: np.ndarray
    spaces_inside: bool
    atoms: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_table(self.weights)
        object.__setattr__(self, "atoms", parse_atoms(self.templates, COLUMNS))

    def predict(self, text: Text) -> np.ndarray:
        """Whether a token ends with each character, bool (n,)."""
        n = len(text.codes)
        if n == 0:
            return np.zeros(0, np.bool_)
        starts = _window_starts(text)
        stops = np.append(starts[1:], n)
        first, last = _with_context(text, starts, stops)
        tokens = _tokens(text, _ranges(first, last), self.spaces_inside)
        offsets = np.append(0, np.cumsum(last - first))
        marginals = np.zeros((offsets[-1], N_LABELS))
        known = np.full(offsets[-1], -1)
        label_sequences(CHAIN, tokens, self.atoms, self.weights, offsets, 0, len(starts), known, marginals)
        own = _ranges(offsets[:-1] + starts - first, offsets[:-1] + stops - first)
        return marginals[own, ENDS] > 0.5

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays, for model files."""
        return {"spaces_inside": self.spaces_inside}, {"templates": list(self.templates), "weights": self.weights}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        return cls(tuple(arrays["templates"]), arrays["weights"], bool(values["spaces_inside"]))


def _ranges(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The numbers first[0] .. last[0] - 1, first[1] .. last[1] - 1 and so on, one behind the other."""
    sizes = last - first
    ends = np.cumsum(sizes)
    return np.arange(ends[-1]) + np.repeat(first - ends + sizes, sizes)


def _window_starts(text: Text) -> np.ndarray:
    """Where windows begin: with each paragraph, and about every WINDOW characters, behind white space if possible."""
    n = len(text.gaps)
    paragraph_ends = np.flatnonzero(text.gaps == PARAGRAPH_END) + 1
    gaps = np.flatnonzero(text.gaps != NO_GAP) + 1
    starts = [0]
    for end in paragraph_ends.tolist():
        while end - starts[-1] > 2 * WINDOW:
            reach = starts[-1] + WINDOW
            cut = int(gaps[np.searchsorted(gaps, reach)])
            starts.append(cut if cut < reach + WINDOW else reach)
        if end < n:
            starts.append(end)
    return np.array(starts)


def _with_context(text: Text, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Windows widened by SPREAD characters to both sides, within their paragraphs."""
    ends = np.flatnonzero(text.gaps == PARAGRAPH_END) + 1
    paragraph = np.searchsorted(ends, starts, side="right")
    begin = np.append(0, ends)[paragraph]
    return np.maximum(starts - SPREAD, begin), np.minimum(stops + SPREAD, ends[paragraph])


def _tokens(text: Text, types: np.ndarray, spaces_inside: bool) -> Tokens:
    """What the chain sees of the characters ``types``: row 0 may go on or end, row 1 must end."""
    must_end = text.gaps == PARAGRAPH_END if spaces_inside else text.gaps != NO_GAP
    possible = np.array([[True, True], [False, True]])
    return Tokens(types, character_columns(text), must_end[types].astype(np.int64), np.ones((2, N_LABELS)), possible)


def token_stops(examples: Sequence[Paragraph], text: Text) -> np.ndarray:
    """The numbers of the characters behind each token of paragraphs, which have been read as ``text``: int64 (n,)."""
    shifts = np.cumsum([0, *(len(paragraph.text) for paragraph in examples[:-1])])
    last = [paragraph.spans[:, 1] - 1 + at for paragraph, at in zip(examples, shifts, strict=True)]
    return np.searchsorted(text.places, np.concatenate(last)) + 1


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
    gold = np.zeros(len(text.codes), np.int64)
    gold[token_stops(examples, text) - 1] = ENDS
    spaces_inside = any(len(token.form.split()) > 1 for paragraph in examples for token in paragraph.tokens)
    bits = int(np.clip(np.ceil(np.log2(WEIGHTS_PER_CHARACTER * len(gold))), FEWEST_BITS, MOST_BITS))
    empty = TokenEnds(split_templates(TEMPLATES), np.zeros(1 << bits, np.float32), spaces_inside)
    starts = _window_starts(text)
    first, stop = _with_context(text, starts, np.append(starts[1:], len(gold)))
    tokens = _tokens(text, np.arange(len(gold)), spaces_inside)
    weights = start_weights(empty.weights)
    pair_places = label_pair_places(N_LABELS, len(weights.table))
    every = np.eye(N_LABELS)
    dropout = Dropout(KEPT, len(starts), int(rng.integers(1 << 31)))

    def gradient(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        own = slice(first[number], stop[number])
        rows, right = tokens.rows[own], gold[own]
        places = token_places(tokens.columns, tokens.types[own], empty.atoms, len(weights.table))
        places = dropout.choose(number, places)
        scores = token_scores(places, tokens.possible[rows], weights.table) / KEPT
        pairs = np.exp(label_pair_scores(N_LABELS, weights.table))
        marginals, expected, log_sum = factored_marginals(CHAIN, tokens.vectors, rows, scores, pairs)
        if log_sum == -np.inf:
            return None
        seen = np.zeros_like(expected)
        np.add.at(seen, (right[:-1], right[1:]), 1.0)
        return places, every[right] - marginals, seen - expected

    def step(found: tuple[np.ndarray, np.ndarray, np.ndarray], now: int) -> None:
        places, of_characters, of_pairs = found
        step_tokens(places, of_characters, weights, RATE, now)
        step_tokens(pair_places, of_pairs, weights, RATE, now)

    fitted = fit_weights(
        gradient,
        step,
        [weights],
        np.arange(len(starts)),
        n_epochs=n_epochs,
        batch_size=BATCH,
        rng=rng,
        n_jobs=n_jobs,
        report=report,
    )
    return TokenEnds(empty.templates, fitted.tables[0], spaces_inside)
