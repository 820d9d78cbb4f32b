"""Where sentences end: a semi-Markov model over tokens, whose cuts have log-linear factors.

The score of a sentence end behind a token is the sum of the weights of hashed features of the tokens around it
(:mod:`spectragram.inference.token_factors`); sentences have weights of their own for their length and for quotes and
brackets that they leave open (:mod:`spectragram.inference.segments`). The model is trained by conditional likelihood
and decoded for the best expected F1 of whole sentences. Letters in templates are columns of tokens
(:mod:`spectragram.pipeline.token_columns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numba import njit

from spectragram.engine.progress import Report, silent
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.segments import (
    N_KINDS,
    Shape,
    best_segments,
    count_kinds,
    find_candidates,
    length_buckets,
    segment_marginals,
)
from spectragram.inference.token_factors import step_tokens, token_places, token_scores
from spectragram.learning.factors import (
    fit_weights,
    parse_atoms,
    require_table,
    split_templates,
    start_weights,
    template_list,
)
from spectragram.pipeline.characters import PARAGRAPH_END, Text, read_text
from spectragram.pipeline.dropout import Dropout, freeze_rare
from spectragram.pipeline.raw_text import Paragraph
from spectragram.pipeline.token_columns import COLUMNS, KEY_COLUMNS, open_marks, token_columns
from spectragram.pipeline.token_ends import token_stops
from spectragram.pipeline.word_classes import WordClasses, learn_word_classes
from spectragram.schema import Array, Part, Schema, weight_table

__all__ = ["SentenceEnds", "learn_sentence_ends"]

TEMPLATES = """
    l0    l+1   l-1   l+2   l-2   l0 l+1      l-1 l0      l+1 l+2     l-1 l0 l+1  l0 l+1 l+2  l-2 l-1 l0
    w0    w+1   w0 w+1      c0    c+1   c-1   b0 b+1      c0 c+1      c0 l+1      l0 c+1      p+1
    s0    s+1   s0 s+1      s-1 s0      s-1 s0 s+1  s0 s+1 s+2  s-2 s-1 s0  s+1 s+2     s-1 s0 s+1 s+2
    l0 s+1      l0 s-1      l0 s-1 s+1  l0 f0 s+1   l0 l-1 s+1  l0 l+1 s+1  l0 s-1 l+1
    e0 f0       e0 f0 g+1   e-1 e0 f0 g+1           e0 e+1      e0 n-1 g+1  f-1 e0 f0 g+1           e-1 e0 e+1 g+2
    g+1   g0 g+1
    u0    u+1   u0 u+1      u-1 u0      u-1 u0 u+1  u0 u+1 u+2  u-2 u-1 u0  u-1 u0 u+1 u+2          u-2 u-1 u0 u+1 u+2
    l0 u+1      u0 l+1      l0 u+1 u+2  u-1 u0 l+1  l0 u-1 u+1
    v0 b-1      v0 c-1      v0 d-1      v0 c-1 c+1  v0 d-1 l+1  v0 l-1 g+1  v0 b-1 s+1  v0 c-1 s+1  v0 l+1      v0 l+2
    v0 l-2      v0 p+1      v0 w+1      v0 u-1      v0 u+1      v0 u-1 u+1  v0 n-1 s+1  v0 u-2 u-1  v0 u+1 u+2
    v0 s+1 s+2  v0 s-1      v0 s-1 s+1
    q0 q+1      q0 q+1 l-1  q0 q+1 s+1  q-1 q0 q+1  v0 q0 q+1   v0 q0 s+1   v0 q0 v-1   v0 q0 l+1
    v0 q0 v-1 s+1           v0 q0 q+1 s+2
"""
SPREAD = 8
"""Tokens outside of a window that its features may see; templates look at most 2 far."""
WINDOW = 4096
"""Tokens that the model looks at together in prediction; longer paragraphs are cut at sentence ends it has found."""
MARGIN = 512
"""Tokens at the end of a window whose sentence ends are decided again, together with what follows."""
TRAINING_WINDOW = 64
"""Tokens in a training example, at least two sentences. With BATCH, chosen among 32, 64 and 128 tokens (batches of 1, 2
and 4) by the mean over the small treebanks, three held-out parts of each: 84.2, 84.1 and 83.4."""
BATCH = 2
"""Examples in a batch."""
RATE = 0.1
"""Step size of AdaGrad. Chosen among 0.05 and 0.1 in the same way (83.9 and 84.1)."""
KEPT = 0.5
"""Share of the templates that an example sees in training. Chosen among 0.3 and 0.5 in the same way (83.9 and 84.1);
without dropout, sentences lost a point in an earlier trial."""
FEWEST = 2
"""Occurrences of a feature that gets a weight. In an earlier trial 1 was worse by a tenth of a point, 3 not better."""
N_EPOCHS = 10
"""Passes over the training text. Chosen among 5 and 10 in the same way (83.9 and 84.1)."""
N_MEMBERS = 4
"""Trainings whose weights are averaged. On thirteen held-out thirds of five small treebanks the mean does not change
(78.0 for single trainings, 78.1 for averages of three), but the score hangs less on the seed: the median of its
standard deviations falls from 0.8 to 0.2."""
PRICE = 0.1
"""Price of a sentence in decoding. Chosen among 0, 0.1, 0.2 and 0.3 in the same way (83.4, 84.1, 84.1 and 83.9)."""
LONGEST = 300
"""Most tokens of a sentence: what is longer is split. Chosen by hand, not tuned."""
WEIGHTS_PER_TOKEN = 16
"""Places in the table for each token of the training data. Chosen by hand."""
FEWEST_BITS, MOST_BITS = 14, 20
"""Bounds on the size of the table: 64 kB and 4 MB."""


@dataclass(frozen=True)
class SentenceEnds:
    """Decides which tokens are the last of a sentence.

    Attributes
    ----------
    templates : tuple of str
    weights : float32 array, shape (2^b,)
    kinds : float32 array, shape (N_KINDS,)
        Weights of kinds of sentences.
    word_classes : WordClasses
    """

    templates: tuple[str, ...]
    weights: np.ndarray
    kinds: np.ndarray
    word_classes: WordClasses
    atoms: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_table(self.weights)
        if self.kinds.shape != (N_KINDS,):
            raise ValueError(f"weights of kinds of sentences of shape {self.kinds.shape}")
        object.__setattr__(self, "atoms", parse_atoms(self.templates, COLUMNS))

    def predict(self, text: Text, stops: np.ndarray, *, price: float = PRICE) -> np.ndarray:
        """Whether a sentence ends with each token; the tokens end before the characters ``stops`` (n,): bool (n,)."""
        ends = np.zeros(len(stops), np.bool_)
        if len(stops) == 0:
            return ends
        columns = token_columns(text, stops)
        columns[-1] = self.word_classes.find(columns[KEY_COLUMNS])
        nested, mirrored = open_marks(text, stops, columns)
        verbs = np.append(0, np.cumsum(self.word_classes.is_verb[columns[-1]]))
        buckets = length_buckets(LONGEST)
        begin = 0
        for end in (np.flatnonzero(text.gaps[stops - 1] == PARAGRAPH_END) + 1).tolist():
            scores = self._scores(columns, begin, end)
            at = begin
            while at < end:
                stop = min(at + WINDOW, end)
                cuts = scores[at - begin : stop - begin]
                shape = Shape(buckets, nested[at : stop + 1], mirrored[at : stop + 1], verbs[at : stop + 1])
                candidates = find_candidates(cuts, np.zeros(len(cuts), np.bool_), LONGEST)
                found, _ = best_segments(cuts, candidates, shape, self.kinds, price)
                if stop < end:
                    kept = int(np.flatnonzero(found[: len(found) - MARGIN])[-1]) + 1
                    found, stop = found[:kept], at + kept
                ends[at:stop] = found
                at = stop
            begin = end
        return ends

    def _scores(self, columns: np.ndarray, begin: int, end: int) -> np.ndarray:
        """Scores of sentence ends behind the tokens begin .. end - 1 of one paragraph, (end - begin,)."""
        return _cut_scores(columns, begin, end, self.atoms, self.weights)

    SCHEMA: ClassVar[Schema] = Schema(
        "Ends of sentences",
        "Decides which tokens end a sentence.",
        arrays={
            "templates": template_list(COLUMNS),
            "weights": weight_table(),
            "kinds": Array("f4", (N_KINDS,), "weights of kinds of sentences"),
        },
        parts={"classes": Part(WordClasses.SCHEMA, values=None)},
    )

    def to_state(self) -> State:
        """Plain values and arrays, for model files."""
        _, classes = self.word_classes.to_state()
        own = {"templates": list(self.templates), "weights": self.weights, "kinds": self.kinds}
        return {}, own | prefixed("classes", classes)

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        classes = WordClasses.from_state({}, without_prefix("classes", arrays))
        return cls(tuple(arrays["templates"]), arrays["weights"], arrays["kinds"], classes)


@njit(cache=True, nogil=True)
def _cut_scores(columns: np.ndarray, begin: int, end: int, atoms: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Scores of cuts in one paragraph, in blocks so that a long one takes little memory."""
    scores = np.empty(end - begin)
    block = 2048
    for at in range(begin, end, block):
        stop = min(at + block, end)
        first, last = max(at - SPREAD, begin), min(stop + SPREAD, end)
        places = token_places(columns, np.arange(first, last), atoms, len(table))
        found = token_scores(places, np.ones((last - first, 1), np.bool_), table)
        for i in range(at, stop):
            scores[i - begin] = found[i - first, 0]
    return scores


class TrainingText(NamedTuple):
    """Tokens whose sentences are known, as training reads them.

    columns (c, n) of tokens; ends (n,) bool; windows as in :func:`_training_windows`; shape of all tokens; longest: the
    most tokens of a sentence.
    """

    columns: np.ndarray
    ends: np.ndarray
    windows: list[tuple[int, int, int, int]]
    shape: Shape
    longest: int


def learn_sentence_ends(
    examples: Sequence[Paragraph],
    *,
    rng: np.random.Generator,
    n_epochs: int = N_EPOCHS,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> SentenceEnds:
    """Learn from paragraphs whose tokens and sentences are known."""
    text = read_text([paragraph.text for paragraph in examples])
    stops, ends = token_stops(examples, text), np.concatenate([paragraph.ends for paragraph in examples])
    columns = token_columns(text, stops)
    word_classes = learn_word_classes(
        columns[KEY_COLUMNS], [token.upos for paragraph in examples for token in paragraph.tokens]
    )
    columns[-1] = word_classes.find(columns[KEY_COLUMNS])
    verbs = np.append(0, np.cumsum(word_classes.is_verb[columns[-1]]))
    bits = int(np.clip(np.ceil(np.log2(WEIGHTS_PER_TOKEN * len(stops))), FEWEST_BITS, MOST_BITS))
    empty = SentenceEnds(
        split_templates(TEMPLATES), np.zeros(1 << bits, np.float32), np.zeros(N_KINDS, np.float32), word_classes
    )
    longest = max(LONGEST, int(np.diff(np.append(-1, np.flatnonzero(ends))).max()))
    windows = _training_windows(ends, text.gaps[stops - 1] == PARAGRAPH_END)
    shape = Shape(length_buckets(longest), *open_marks(text, stops, columns), verbs)
    known = TrainingText(columns, ends, windows, shape, longest)
    members = [_fit(empty, known, rng=rng, n_epochs=n_epochs, n_jobs=n_jobs, report=report) for _ in range(N_MEMBERS)]
    weights, kinds = (  # rounded as model files hold them
        np.stack(tables).mean(axis=0).astype(np.float16).astype(np.float32) for tables in zip(*members, strict=True)
    )
    return SentenceEnds(empty.templates, weights, kinds, word_classes)


def _fit(
    empty: SentenceEnds,
    known: TrainingText,
    *,
    rng: np.random.Generator,
    n_epochs: int,
    n_jobs: int | None,
    report: Report,
) -> list[np.ndarray]:
    """Weights of features and of kinds of sentences, as one training finds them."""
    weights, kinds = start_weights(empty.weights), start_weights(empty.kinds)
    kind_places = np.arange(N_KINDS)[:, None]
    dropout = Dropout(KEPT, len(known.windows), int(rng.integers(1 << 31)))
    freeze_rare(weights, known.columns, empty.atoms, FEWEST)

    def gradient(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        begin, end, first, behind = known.windows[number]
        places = token_places(known.columns, np.arange(first, behind), empty.atoms, len(weights.table))
        places = dropout.choose(number, places[begin - first : end - first])
        cuts = token_scores(places, np.ones((end - begin, 1), np.bool_), weights.table)[:, 0] / KEPT
        gold = known.ends[begin:end]
        shape = Shape(known.shape[0], *(each[begin : end + 1] for each in known.shape[1:]))
        at = find_candidates(cuts, gold, known.longest)
        marginals, expected, _ = segment_marginals(cuts, at, shape, kinds.table)
        seen = count_kinds(np.append(0, np.flatnonzero(gold) + 1), shape)
        return places, (gold - marginals)[:, None], (seen - expected)[:, None]

    def step(found: tuple[np.ndarray, np.ndarray, np.ndarray], now: int) -> None:
        places, of_cuts, of_kinds = found
        step_tokens(places, of_cuts, weights, RATE, now)
        step_tokens(kind_places, of_kinds, kinds, RATE, now)

    return fit_weights(
        gradient,
        step,
        [weights, kinds],
        np.arange(len(known.windows)),
        n_epochs=n_epochs,
        batch_size=BATCH,
        rng=rng,
        n_jobs=n_jobs,
        report=report,
    ).tables


def _training_windows(ends: np.ndarray, paragraph_ends: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Runs of whole sentences, each with the wider run of tokens that its features see.

    The end of a run is given to the model, which learns nothing from it; so the last sentence of each run is the first
    of the next one, unless the paragraph ends.
    """
    windows = []
    paragraph = 0
    for stop in (np.flatnonzero(paragraph_ends) + 1).tolist():
        borders = [paragraph, *(paragraph + np.flatnonzero(ends[paragraph:stop]) + 1).tolist()]
        first = 0
        while first < len(borders) - 1:
            last = first + 1
            while last < len(borders) - 1 and (last == first + 1 or borders[last] - borders[first] < TRAINING_WINDOW):
                last += 1
            begin, end = borders[first], borders[last]
            windows.append((begin, end, max(begin - SPREAD, paragraph), min(end + SPREAD, stop)))
            first = last if last == len(borders) - 1 else last - 1
        paragraph = stop
    return windows
