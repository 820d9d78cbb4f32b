"""Relations (DEPREL) of the words of a finished tree: a log-linear choice for each arc.

    P(label | i, j, x) ~ exp sum_t w[feature_t(i, j), label]

over the labels that training has for modifiers tagged as j on that side of such a head (its coarse tag).
Features are hashed as those of the arcs (:mod:`spectragram.dependency.factors`). The root word gets the label that
root words have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.dependency.encoding import Encoded
from spectragram.dependency.factors import RATE, Templates, averaged, require_table, start_weights
from spectragram.engine.progress import Report, silent
from spectragram.inference.arc_labels import label_scores, step_labels

__all__ = ["Labels", "learn_labels"]


@dataclass(frozen=True)
class Labels:
    """Names of labels, that of root words, and weights (2^b,) float32.

    candidates (2, c, k, l) bool: labels considered for a direction, the head's coarse tag and the modifier's tag.
    """

    names: tuple[str, ...]
    root: str
    candidates: np.ndarray
    templates: Templates
    weights: np.ndarray

    def __post_init__(self) -> None:
        require_table(self.weights)
        if self.candidates.ndim != 4 or self.candidates.shape[3] != len(self.names):
            raise ValueError(f"candidates of shape {self.candidates.shape} for {len(self.names)} labels")

    def predict(self, columns: np.ndarray, heads: np.ndarray) -> list[str]:
        """The label of every word of a sentence with columns (3, n) and heads (n,)."""
        scores = label_scores(self.templates.pairs(columns), heads, self.allowed(columns, heads), self.weights)
        best = scores.argmax(axis=1)
        return [self.names[label] if head else self.root for label, head in zip(best, heads, strict=True)]

    def allowed(self, columns: np.ndarray, heads: np.ndarray) -> np.ndarray:
        """Candidates of every word of a sentence, (n, l) bool."""
        direction = (np.arange(len(heads)) >= heads).astype(np.int64)
        return self.candidates[direction, columns[1][heads - 1], columns[0]]


def _find_candidates(encoded: Encoded, heads: np.ndarray, labels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """What training has for each combination; the labels of the tag, or all, where it has none."""
    begins = np.repeat(encoded.offsets[:-1], np.diff(encoded.offsets))
    words = np.flatnonzero(heads > 0)
    above = (begins + heads - 1)[words]
    candidates = np.zeros(shape, np.bool_)
    candidates[(words > above).astype(np.int64), encoded.coarse[above], encoded.tags[words], labels[words]] = True
    of_tag = np.asarray(candidates.any(axis=(0, 1)))
    of_tag[~of_tag.any(axis=1)] = True
    return np.where(candidates.any(axis=3, keepdims=True), candidates, of_tag)


def learn_labels(
    sentences: Sequence[Sentence],
    encoded: Encoded,
    heads: np.ndarray,
    templates: Templates,
    *,
    n_coarse: int,
    n_symbols: int,
    n_epochs: int,
    bits: int,
    rng: np.random.Generator,
    report: Report = silent,
) -> Labels:
    """Learn from the DEPREL column of the sentences; heads (n_tokens,) as in CoNLL-U."""
    given = [label for sentence in sentences for label in sentence.deprels]
    root = Counter(label for label, head in zip(given, heads, strict=True) if head == 0).most_common(1)[0][0]
    names = tuple(sorted({label for label, head in zip(given, heads, strict=True) if head})) or (root,)
    number = {name: i for i, name in enumerate(names)}
    gold = np.array([number.get(label, 0) for label in given])
    candidates = _find_candidates(encoded, heads, gold, (2, n_coarse, n_symbols, len(names)))
    # A single label needs no weights.
    labels = Labels(names, root, candidates, templates, np.zeros(1 << bits if len(names) > 1 else 2, np.float32))
    if len(names) == 1:
        return labels
    weights = start_weights(labels.weights)
    now = 0
    for _ in range(n_epochs):
        for sentence in rng.permutation(len(encoded)):
            now += 1
            span = slice(*encoded.offsets[sentence : sentence + 2])
            columns, mine = encoded.columns(sentence), heads[span]
            pairs = templates.pairs(columns)
            gradient = -_softmax(label_scores(pairs, mine, labels.allowed(columns, mine), weights.table))
            gradient[np.arange(len(mine)), gold[span]] += 1.0
            step_labels(pairs, mine, gradient, weights, RATE, now)
        report()
    return Labels(names, root, candidates, templates, averaged(weights, now))


def _softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities of rows of scores; rows of -inf only (root words, which take no step) become uniform."""
    finite = np.where(np.isfinite(scores).any(axis=1, keepdims=True), scores, 0.0)
    shares = np.exp(finite - finite.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
