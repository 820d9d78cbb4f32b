"""Relations (DEPREL) of the words of a finished tree: a log-linear choice for each arc.

    P(label | i, j, x) ~ exp sum_t w[feature_t(i, j), label]

The choice is among the labels that training has for modifiers tagged as j on that side of such a head (its coarse tag).
Features are hashed like those of arcs (:mod:`spectragram.dependency.factors`). The root word gets the label that root
words usually have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.dependency.encoding import Alphabet, Encoded
from spectragram.dependency.factors import Templates
from spectragram.engine.progress import Report, silent
from spectragram.estimator import State
from spectragram.inference.hashed import label_scores, step_labels
from spectragram.inference.pair_factors import arc_keys
from spectragram.learning.factors import RATE, choice_gradient, empty_table, fit_weights, require_table, start_weights

__all__ = ["Labels", "learn_labels"]


@dataclass(frozen=True)
class Labels:
    """Names of labels, the label of root words, and weights.

    Attributes
    ----------
    names : tuple of str
    root : str
    candidates : bool array, shape (2, n_coarse, n_tags, n_labels)
        The labels considered for a direction, the head's coarse tag and the modifier's tag.
    templates : Templates
    weights : float32 array, shape (2^b,)
    """

    names: tuple[str, ...]
    root: str
    candidates: np.ndarray
    templates: Templates
    weights: np.ndarray

    def __post_init__(self) -> None:
        require_table(self.weights)
        shape = self.candidates.shape
        if len(shape) != 4 or shape[3] != len(self.names) or self.candidates.dtype != np.bool_:
            raise ValueError(f"candidates of shape {shape} for {len(self.names)} labels")

    def predict(self, columns: np.ndarray, heads: np.ndarray) -> list[str]:
        """The label of every word of a sentence with columns (3, n) and heads (n,)."""
        keys = arc_keys(self.templates.pairs(columns), heads)
        best = label_scores(keys, self.allowed(columns, heads), self.weights).argmax(axis=1)
        return [self.names[label] if head else self.root for label, head in zip(best, heads, strict=True)]

    def allowed(self, columns: np.ndarray, heads: np.ndarray) -> np.ndarray:
        """Candidates of every word of a sentence, (n, l) bool; none for the root word."""
        direction = (np.arange(len(heads)) >= heads).astype(np.int64)
        return self.candidates[direction, columns[1][heads - 1], columns[0]] & (heads > 0)[:, None]

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values = {"root": self.root, "templates": list(self.templates.listed)}
        return values, {"names": list(self.names), "candidates": self.candidates, "weights": self.weights}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        templates = Templates(tuple(values["templates"]), 1)
        return cls(tuple(arrays["names"]), values["root"], arrays["candidates"], templates, arrays["weights"])


def learn_labels(
    sentences: Sequence[Sentence],
    alphabet: Alphabet,
    encoded: Encoded,
    heads: np.ndarray,
    templates: Templates,
    *,
    n_epochs: int,
    rng: np.random.Generator,
    report: Report = silent,
) -> Labels:
    """Learn from the DEPREL column of the sentences; heads (n_tokens,) as in CoNLL-U."""
    given = [label for sentence in sentences for label in sentence.deprels]
    root = Counter(label for label, head in zip(given, heads, strict=True) if head == 0).most_common(1)[0][0]
    names = tuple(sorted({label for label, head in zip(given, heads, strict=True) if head})) or (root,)
    number = {name: i for i, name in enumerate(names)}
    # Root words may have a label that no other word has; it is never looked at.
    gold = np.array([number.get(label, 0) for label in given])
    candidates = _find_candidates(encoded, heads, gold, (2, len(alphabet.coarse), len(alphabet.tags), len(names)))
    # A single label needs no weights: the smallest table there is.
    table = empty_table(len(heads)) if len(names) > 1 else np.zeros(2, np.float32)
    labels = Labels(names, root, candidates, templates, table)
    if len(names) == 1:
        return labels
    weights = start_weights(table)

    def gradient(sentence: int) -> tuple[np.ndarray, np.ndarray]:
        span = slice(*encoded.offsets[sentence : sentence + 2])
        columns, mine = encoded.columns(sentence), heads[span]
        keys = arc_keys(templates.pairs(columns), mine)
        return keys, choice_gradient(label_scores(keys, labels.allowed(columns, mine), weights.table), gold[span])

    def step(found: tuple[np.ndarray, np.ndarray], now: int) -> None:
        step_labels(*found, weights, RATE, now)

    fitted = fit_weights(
        gradient, step, [weights], np.arange(len(encoded)), n_epochs=n_epochs, batch_size=1, rng=rng, report=report
    )
    return replace(labels, weights=fitted.tables[0])


def _find_candidates(encoded: Encoded, heads: np.ndarray, labels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The labels seen in training for each combination; where there are none those of the tag, or else all labels.

    So every arc has a candidate, whatever tags it has.
    """
    begins = np.repeat(encoded.offsets[:-1], np.diff(encoded.offsets))
    words = np.flatnonzero(heads > 0)
    above = (begins + heads - 1)[words]
    candidates = np.zeros(shape, np.bool_)
    candidates[(words > above).astype(np.int64), encoded.coarse[above], encoded.tags[words], labels[words]] = True
    of_tag = np.asarray(candidates.any(axis=(0, 1)))
    of_tag[~of_tag.any(axis=1)] = True
    return np.where(candidates.any(axis=3, keepdims=True), candidates, of_tag)
