"""A next-word distribution over word ids: n-grams, hidden classes, or several of them mixed.

    p(w | context) = sum_k lambda_k(bucket(context)) p_k(w | context)

The bucket counts, in powers of two, how often the last word and the last two words were seen as contexts in training.
Weights are fitted to held-out text by EM (the likelihood is concave, so there is one optimum). A few pseudo-counts draw
the weights of each bucket towards the overall weights, so that a bucket with little evidence is not trusted too much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.estimator import State, prefixed, without_prefix
from spectragram.learning.back_off import BackOff
from spectragram.learning.kneser_ney import KneserNey
from spectragram.learning.mixtures import bucket_weights
from spectragram.lm.em import ClassModel
from spectragram.schema import Array, ListOf, Part, Parts, Schema, Whole

__all__ = ["CONTEXT", "Events", "Mixture"]

CONTEXT = 2
"""Words of context that class models and the weights look at; longer n-grams look at more."""

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
    contexts : int array, shape (n, width)
        Ids of the words before each word, the nearest last; -1 where there is none.
    words : int array, shape (n,)
    """

    contexts: np.ndarray
    words: np.ndarray

    @classmethod
    def from_stream(
        cls, stream: np.ndarray, *, before: int = -1, ignore: int | None = None, width: int = CONTEXT
    ) -> Events:
        """Every word of a stream of ids except those with id ``ignore``, which still serve as contexts.

        ``before`` is the word before the first one, -1 for none; ``width`` is the number of words in a context.
        """
        padded = np.concatenate([np.full(width - 1, -1, stream.dtype), np.array([before], stream.dtype), stream])
        contexts = np.lib.stride_tricks.sliding_window_view(padded, width)[: len(stream)]
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
    ngrams : KneserNey, BackOff or None
    classes : tuple of ClassModel
    distances : tuple of int
        How far back each class model looks: 1 for the last word, 2 for the one before.
    weights : float array, shape (N_BUCKETS, number of models)
        N-grams first, then class models.
    """

    ngrams: BackOff | None
    classes: tuple[ClassModel, ...]
    distances: tuple[int, ...]
    weights: np.ndarray

    @classmethod
    def of(cls, ngrams: BackOff | None, classes: Mapping[int, Sequence[ClassModel]] | None = None) -> Self:
        """N-grams and class models by distance, all with the same weight."""
        models = [(model, distance) for distance, found in sorted((classes or {}).items()) for model in found]
        n_models = len(models) + (ngrams is not None)
        weights = np.full((N_BUCKETS, n_models), 1.0 / n_models)
        return cls(ngrams, tuple(m for m, _ in models), tuple(d for _, d in models), weights)

    @property
    def width(self) -> int:
        """Words of context that the models look at."""
        return CONTEXT if self.ngrams is None else max(CONTEXT, self.ngrams.order - 1)

    def fit_weights(self, held_out: Events) -> Mixture:
        """The same models with weights that make held-out text most probable."""
        probs = self._each_prob(held_out.contexts, held_out.words)
        weights = bucket_weights(probs, self._buckets(held_out.contexts), N_BUCKETS, PSEUDO_COUNTS)
        return replace(self, weights=weights)

    def prob(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """p(word | context) of words (n,) after contexts (n, width), shape (n,)."""
        probs = self._each_prob(contexts, words)
        if probs.shape[1] == 1:
            return probs[:, 0]
        return np.einsum("ij,ij->i", probs, self.weights[self._buckets(contexts)])

    def next(self, context: np.ndarray) -> np.ndarray:
        """p(. | context) of all words after one context (width,), shape (n_words,)."""
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
        if not isinstance(self.ngrams, KneserNey) or self.ngrams.order == 1:
            return bucket
        seen = self.ngrams.times_seen(contexts[:, -1:])
        bucket += PAIR_BUCKETS * np.minimum(np.log2(1 + seen).astype(np.int64) // 2, WORD_BUCKETS - 1)
        if self.ngrams.order > 2:
            seen = self.ngrams.times_seen(contexts[:, -2:])
            bucket += np.minimum(np.log2(1 + seen).astype(np.int64), PAIR_BUCKETS - 1)
        return bucket

    def compact(self) -> Mixture:
        """The same models with class tables in single precision: half the memory, seven digits."""

        def single(table: np.ndarray) -> np.ndarray:
            # EM without a prior drives entries below what single precision holds.
            return np.where(table > 0.0, np.maximum(table, SMALLEST), 0.0).astype(np.float32)

        tables = ((model.histories, model.emissions, model.mix) for model in self.classes)
        return replace(self, classes=tuple(ClassModel(*map(single, model)) for model in tables))

    SCHEMA: ClassVar[Schema] = Schema(
        "Mixture",
        "N-grams and class models, and their weights.",
        values={
            "distances": ListOf(
                Whole(least=1, below=CONTEXT + 1), "how far back each class model looks", size="n_classes"
            )
        },
        arrays={"weights": Array("f8", (N_BUCKETS, "n_models"), "weights by frequency of the context", sums=True)},
        parts={
            "ngrams": Part(KneserNey.SCHEMA, {"n_words": "n_words"}, optional=True),
            "back_off": Part(BackOff.SCHEMA, {"n_words": "n_words"}, optional=True),
            "classes": Parts(ClassModel.SCHEMA, "n_classes", {"n_words": "n_words"}),
        },
        sizes={"n_models": 1},
        rule=lambda values, arrays, sizes: (
            None
            if sizes["n_models"] == sizes["n_classes"] + _n_ngram_models(values)
            else "array 'weights' does not fit the number of models"
        ),
    )

    def to_state(self) -> State:
        """Plain values and arrays for a model file."""
        values: dict[str, Any] = {"ngrams": None, "distances": list(self.distances)}
        arrays: dict[str, Any] = {"weights": self.weights}
        if self.ngrams is not None:
            name = "ngrams" if isinstance(self.ngrams, KneserNey) else "back_off"
            values[name], more = self.ngrams.to_state()
            arrays |= prefixed(name, more)
        for number, model in enumerate(self.classes):
            arrays |= prefixed(f"classes{number}", vars(model))
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any], n_words: int) -> Self:
        """Inverse of :meth:`to_state`; raises ``ValueError`` for shapes that do not fit the vocabulary."""
        ngrams: BackOff | None = None
        if values["ngrams"] is not None:
            ngrams = KneserNey.from_state(values["ngrams"], without_prefix("ngrams", arrays))
        elif values.get("back_off") is not None:
            ngrams = BackOff.from_state(values["back_off"], without_prefix("back_off", arrays))
        if ngrams is not None and ngrams.n_words != n_words:
            raise ValueError(f"n-grams over {ngrams.n_words} words")
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


def _n_ngram_models(values: Mapping[str, Any]) -> int:
    return sum(values.get(name) is not None for name in ("ngrams", "back_off"))
