"""One binarised grammar at work: prune coarse to fine, then ask its models about what is left.

    sentence -> coarse PCFG over the whole chart -> forest -> few states -> thinner forest -> all states -> posteriors

Every sentence gets an answer. When the pruned forest holds no parse, pruning is lifted; when there is no parse at all,
the sentence is cut into the fewest pieces that have one (glued). Both are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from spectragram.constituency.brackets import LabelSet
from spectragram.constituency.model import Model
from spectragram.data.binarization import base_label, is_intermediate
from spectragram.data.productions import Productions
from spectragram.inference.chart_coarse import coarse_inside, fewest_pieces
from spectragram.inference.chart_decode import add_label_posteriors
from spectragram.inference.chart_forest import Posteriors, forest_posteriors
from spectragram.inference.chart_prune import coarse_forest
from spectragram.inference.chart_rules import Forest, Rules, Weights, make_rules, make_weights
from spectragram.inference.chart_thin import thin_forest

__all__ = ["BinaryGrammar", "Status", "Thresholds"]

MAX_CHART_BYTES = 400_000_000
"""A sentence whose coarse chart would be larger is cut into pieces."""
UNPRUNED_WORDS = 40
"""Sentences up to this length are tried without any pruning; longer ones with next to none."""
LIKELY_TAGS = 1e-5
"""Tags this much less likely than a word's best are left out of the chart."""


class Status(IntEnum):
    """How a sentence was parsed: within the pruned chart, without pruning, or glued from pieces."""

    PRUNED = 0
    UNPRUNED = 1
    GLUED = 2


class Thresholds(NamedTuple):
    """Least posteriors to keep, after the coarse and after the middle pass."""

    coarse: float = 3e-5
    middle: float = 1e-4


@dataclass(frozen=True)
class BinaryGrammar:
    """Productions of one binarisation with a coarse PCFG, a model with few states and those with many."""

    productions: Productions
    coarse: Model
    middle: Model
    models: list[Model]
    labels: LabelSet
    thresholds: Thresholds = field(default_factory=Thresholds)
    rules: Rules = field(init=False)
    weights: Weights = field(init=False)
    label_maps: tuple[np.ndarray, np.ndarray, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        productions, operators = self.productions, self.coarse.operators
        rules = make_rules(productions.binary, productions.unary[:, :2], productions.n_symbols)
        weights = make_weights(rules, operators.binary, operators.unary, operators.kept, operators.root)
        object.__setattr__(self, "rules", rules)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "label_maps", self._label_maps())

    def _label_maps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which label each symbol shows (-1: none), and which labels a unary rule shows."""
        productions, index = self.productions, self.labels.phrase_index
        shown = np.full(productions.n_symbols, -1, np.int32)
        for a in range(productions.n_tags, productions.n_symbols):
            if not is_intermediate(productions.labels[a]):
                shown[a] = index[base_label(productions.labels[a])]
        chains = [
            [shown[upper], *(index[base_label(label)] for label in productions.chains[chain])]
            for upper, _, chain in productions.unary
        ]
        start = np.concatenate([[0], np.cumsum([len(chain) for chain in chains])]).astype(np.int32)
        return shown, start, np.array([label for chain in chains for label in chain], np.int32)

    @property
    def max_words(self) -> int:
        """Longest sentence whose coarse chart fits into memory."""
        bytes_a_cell = self.productions.n_symbols * (3 * 8 + 2)
        return max(2, int(np.sqrt(2 * MAX_CHART_BYTES / bytes_a_cell)))

    def prune(self, words: Sequence[str], first: bool = True, any_root: bool = False) -> tuple[Forest | None, Status]:
        """The thinned forest of a sentence (or of a piece of one, with any symbol at its root); None: no parse."""
        if len(words) > self.max_words:
            return None, Status.GLUED
        lexical = self._coarse_lexical(words, first)
        weights = self.weights._replace(root=np.ones_like(self.weights.root)) if any_root else self.weights
        forest = coarse_forest(self.rules, weights, lexical, self.thresholds.coarse)
        if forest is None:
            return None, Status.GLUED
        status = Status.PRUNED
        posteriors = self.posteriors(self.middle, forest, words, first, any_root)
        if posteriors.sign <= 0.0:
            threshold = 0.0 if len(words) <= UNPRUNED_WORDS else 1e-12
            unpruned = coarse_forest(self.rules, weights, lexical, threshold)
            if unpruned is None:
                return None, Status.GLUED
            forest, status = unpruned, Status.UNPRUNED
            posteriors = self.posteriors(self.middle, forest, words, first, any_root)
            if posteriors.sign <= 0.0:
                return None, Status.GLUED
        return thin_forest(forest, posteriors, self.thresholds.middle), status

    def posteriors(
        self, model: Model, forest: Forest, words: Sequence[str], first: bool = True, any_root: bool = False
    ) -> Posteriors:
        """Inside-outside of a model over a forest of these words."""
        operators = model.operators
        if any_root:
            operators = operators._replace(root=np.ones_like(operators.root))
        return forest_posteriors(self.rules, forest, operators, lexical_vectors(model, forest, words, first))

    def pieces(self, words: Sequence[str]) -> list[tuple[int, int]]:
        """The fewest parts of a sentence that have a parse each."""
        limit = self.max_words
        if len(words) > limit:
            return [(i, min(i + limit, len(words))) for i in range(0, len(words), limit)]
        inside = coarse_inside(self.rules, self.weights, *self._coarse_lexical(words, True))
        return [(int(i), int(j)) for i, j in fewest_pieces(len(words), inside)]

    def add_posteriors(
        self, forest: Forest, posteriors: Posteriors, weight: float, spans: np.ndarray, tags: np.ndarray
    ) -> None:
        """Add weighed posteriors of labels over spans, and of tags, to ``spans`` and ``tags``."""
        # Values of a signed model are no probabilities: their size is what is left to go by (Cohen et al. 2012).
        # How many are negative, Posteriors.n_negative tells.
        items, links = np.abs(posteriors.items), np.abs(posteriors.links)
        add_label_posteriors(forest, items, links, *self.label_maps, weight, spans)
        at = np.flatnonzero((forest.items[:, 1] == 0) & (forest.items[:, 0] < self.productions.n_tags))
        words = forest.spans[forest.items[at, 2], 0]
        np.add.at(tags, (words, forest.items[at, 0]), weight * items[at])

    def _coarse_lexical(self, words: Sequence[str], first: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        starts, tags, values = [0], [], []
        for i, word in enumerate(words):
            possible, vectors = self.coarse.lexicon.vectors(word, first and i == 0)
            likely = vectors[:, 0] > LIKELY_TAGS * vectors[:, 0].max()
            tags.append(possible[likely])
            values.append(vectors[likely, 0])
            starts.append(starts[-1] + len(tags[-1]))
        return np.array(starts, np.int32), np.concatenate(tags).astype(np.int32), np.concatenate(values)


def lexical_vectors(model: Model, forest: Forest, words: Sequence[str], first: bool = True) -> np.ndarray:
    """The vectors of the bottom items over single words, one after the other, as the kernels want them."""
    n_states, lexicon = model.operators.n_states, model.lexicon
    table = np.zeros((len(words), *lexicon.mean.shape))
    for i, word in enumerate(words):
        tags, vectors = lexicon.vectors(word, first and i == 0)
        table[i, tags] = vectors
    lengths = forest.spans[:, 1] - forest.spans[:, 0]
    items = forest.items[: forest.first_item[np.searchsorted(lengths, 2)]]
    items = items[items[:, 1] == 0]
    values = table[forest.spans[items[:, 2], 0], items[:, 0]]
    return values[np.arange(values.shape[1]) < n_states[items[:, 0]][:, None]]
