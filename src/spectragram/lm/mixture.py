"""A next-word distribution over word ids: n-grams, hidden classes, or several of them mixed.

    p(w | context) = sum_k lambda_k(bucket(context)) p_k(w | context)

The bucket counts, in powers of two, how often the last word and the last two words were seen as contexts in training.
Weights are fitted to held-out text by EM (the likelihood is concave, so there is one optimum). A few pseudo-counts draw
the weights of each bucket towards the overall weights, so that a bucket with little evidence is not trusted too much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from spectragram.estimator import State, prefixed, without_prefix
from spectragram.learning.counts import pack
from spectragram.learning.mixtures import bucket_weights
from spectragram.lm.em import ClassModel
from spectragram.lm.kneser_ney import KneserNey, Level

__all__ = ["CONTEXT", "Events", "Mixture"]

CONTEXT = 2
"""Words of context that any of the models looks at."""

PAIR_BUCKETS, WORD_BUCKETS = 7, 6
"""Buckets by counts of the last two words, which double from one to the next (63 and more share one), and of the
last word, which quadruple (1023 and more share one). Chosen by hand, not tuned."""

N_BUCKETS = PAIR_BUCKETS * WORD_BUCKETS

PSEUDO_COUNTS = 20.0
"""Strength of the overall weights in each bucket, in words of held-out text. Chosen by hand, not tuned."""

SMALLEST = 1e-18
"""Smallest entry of a class table in single precision that is not zero: the product of two still is not."""

SMALLEST_PROB = 1e-300
"""A guard against the logarithm of zero; any tiny value does."""


@dataclass(frozen=True)
class Events:
    """Words of a text and the words before them.

    Attributes
    ----------
    contexts : int array, shape (n, CONTEXT)
        Ids of the words before each word, the nearest last; -1 where there is none.
    words : int array, shape (n,)
    """

    contexts: np.ndarray
    words: np.ndarray

    @classmethod
    def from_stream(cls, stream: np.ndarray, *, before: int = -1, ignore: int | None = None) -> Events:
        """Every word of a stream of ids except those with id ``ignore``, which still serve as contexts.

        ``before`` is the word before the first one, -1 for none.
        """
        padded = np.concatenate([np.array([-1, before], stream.dtype), stream])
        contexts = np.stack([padded[: len(stream)], padded[1 : len(stream) + 1]], axis=1)
        keep = np.ones(len(stream), bool) if ignore is None else stream != ignore
        return cls(contexts[keep], stream[keep])

    def log_loss(self, prob: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
        """Mean of -log p(word | context), given a function of contexts and words."""
        return float(-np.log(np.maximum(prob(self.contexts, self.words), SMALLEST_PROB)).mean())


@dataclass(frozen=True)
class Mixture:
    """N-grams and class models, mixed.

    Attributes
    ----------
    ngrams : KneserNey or None
    classes : tuple of ClassModel
    distances : tuple of int
        How far back each class model looks: 1 for the last word, 2 for the one before.
    weights : float array, shape (N_BUCKETS, number of models)
        N-grams first, then class models.
    """

    ngrams: KneserNey | None
    classes: tuple[ClassModel, ...]
    distances: tuple[int, ...]
    weights: np.ndarray

    @classmethod
    def of(cls, ngrams: KneserNey | None, classes: Mapping[int, Sequence[ClassModel]] | None = None) -> Self:
        """N-grams and class models by distance, all with the same weight."""
        models = [(model, distance) for distance, found in sorted((classes or {}).items()) for model in found]
        n_models = len(models) + (ngrams is not None)
        weights = np.full((N_BUCKETS, n_models), 1.0 / n_models)
        return cls(ngrams, tuple(m for m, _ in models), tuple(d for _, d in models), weights)

    def fit_weights(self, held_out: Events) -> Mixture:
        """The same models with weights that make held-out text most probable."""
        probs = self._each_prob(held_out.contexts, held_out.words)
        weights = bucket_weights(probs, self._buckets(held_out.contexts), N_BUCKETS, PSEUDO_COUNTS)
        return replace(self, weights=weights)

    def prob(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """p(word | context) of words (n,) after contexts (n, CONTEXT), shape (n,)."""
        probs = self._each_prob(contexts, words)
        if probs.shape[1] == 1:
            return probs[:, 0]
        return np.einsum("ij,ij->i", probs, self.weights[self._buckets(contexts)])

    def next(self, context: np.ndarray) -> np.ndarray:
        """p(. | context) of all words after one context (CONTEXT,), shape (n_words,)."""
        parts = [] if self.ngrams is None else [self.ngrams.next(context)]
        parts += [model.next(int(context[-d])) for d, model in zip(self.distances, self.classes, strict=True)]
        if len(parts) == 1:
            return parts[0]
        weights = self.weights[self._buckets(context[np.newaxis])[0]]
        return sum((weight * part for weight, part in zip(weights, parts, strict=True)), np.zeros(len(parts[0])))

    def _each_prob(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Probabilities under each of the models, shape (n, number of models)."""
        columns = [] if self.ngrams is None else [self.ngrams.prob(contexts, words)]
        columns += [model.prob(contexts[:, -d], words) for d, model in zip(self.distances, self.classes, strict=True)]
        return np.stack(columns, axis=1)

    def _buckets(self, contexts: np.ndarray) -> np.ndarray:
        """Row of ``weights`` that each context uses, shape (n,); 0 for orders that a model lacks."""
        bucket = np.zeros(len(contexts), np.int64)
        if self.ngrams is None or self.ngrams.order == 1:
            return bucket
        seen = _times_seen(self.ngrams.levels[1], contexts[:, -1].astype(np.int64))
        bucket += PAIR_BUCKETS * np.minimum(np.log2(1 + seen).astype(np.int64) // 2, WORD_BUCKETS - 1)
        if self.ngrams.order > 2:
            known = (contexts >= 0).all(axis=1)
            packed = np.where(known, pack([contexts[:, -2], contexts[:, -1]], self.ngrams.n_words), -1)
            seen = _times_seen(self.ngrams.levels[2], packed)
            bucket += np.minimum(np.log2(1 + seen).astype(np.int64), PAIR_BUCKETS - 1)
        return bucket

    def compact(self) -> Mixture:
        """The same models with class tables in single precision: half the memory, seven digits."""

        def single(table: np.ndarray) -> np.ndarray:
            # EM without a prior drives entries below what single precision holds.
            return np.where(table > 0.0, np.maximum(table, SMALLEST), 0.0).astype(np.float32)

        tables = ((model.histories, model.emissions, model.mix) for model in self.classes)
        return replace(self, classes=tuple(ClassModel(*map(single, model)) for model in tables))

    def to_state(self) -> State:
        """Plain values and arrays for a model file."""
        values: dict[str, Any] = {"ngrams": None, "distances": list(self.distances)}
        arrays: dict[str, Any] = {"weights": self.weights}
        if self.ngrams is not None:
            values["ngrams"], more = self.ngrams.to_state()
            arrays |= prefixed("ngrams", more)
        for number, model in enumerate(self.classes):
            arrays |= prefixed(f"classes{number}", vars(model))
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any], n_words: int) -> Self:
        """Inverse of :meth:`to_state`; raises ``ValueError`` for shapes that do not fit the vocabulary."""
        ngrams = None
        if values["ngrams"] is not None:
            ngrams = KneserNey.from_state(values["ngrams"], without_prefix("ngrams", arrays))
            if ngrams.n_words != n_words or not 1 <= ngrams.order <= CONTEXT + 1:
                raise ValueError(f"n-grams of length {ngrams.order} over {ngrams.n_words} words")
        distances = tuple(values["distances"])
        if not set(distances) <= set(range(1, CONTEXT + 1)):
            raise ValueError(f"classes of words at distances {distances}")
        classes = tuple(ClassModel(**without_prefix(f"classes{i}", arrays)) for i in range(len(distances)))
        for model in classes:
            if {model.histories.shape, model.emissions.shape} != {(n_words, len(model.mix))}:
                raise ValueError(f"class tables of shape {model.histories.shape} for {n_words} words")
        weights = arrays["weights"]
        if weights.shape != (N_BUCKETS, len(classes) + (ngrams is not None)) or not weights.size:
            raise ValueError(f"mixture weights of shape {weights.shape}")
        return cls(ngrams, classes, distances, weights)


def _times_seen(level: Level, context: np.ndarray) -> np.ndarray:
    """How often packed contexts (n,) were seen in training, shape (n,)."""
    if len(level.contexts) == 0:
        return np.zeros(len(context), np.int64)
    place = np.minimum(np.searchsorted(level.contexts, context), len(level.contexts) - 1)
    return np.where(level.contexts[place] == context, level.totals[place], 0)
