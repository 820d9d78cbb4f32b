"""A next-word distribution over word ids: n-grams, hidden classes, or a mixture of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from spectragram.lm.em import ClassModel
from spectragram.lm.kneser_ney import KneserNey
from spectragram.lm.mixture import N_BUCKETS, context_buckets

__all__ = ["Model", "contexts_of"]

CONTEXT = 2
"""Words of context that any of the models looks at."""


def contexts_of(stream: np.ndarray) -> np.ndarray:
    """The two words before each word of a stream, (n,) -> (n, 2); -1 where there is none."""
    padded = np.concatenate([np.full(CONTEXT, -1, stream.dtype), stream])
    return np.stack([padded[: len(stream)], padded[1 : len(stream) + 1]], axis=1)


SMALLEST = 1e-18
"""Of an entry of the class tables that is not zero."""


@dataclass(frozen=True)
class Model:
    """``ngrams`` and class models by the distance of the word they look back to, mixed by ``weights``.

    ``weights`` has shape (N_BUCKETS, number of models), n-grams first, then classes by distance.
    """

    ngrams: KneserNey | None
    classes: dict[int, ClassModel]
    weights: np.ndarray

    @classmethod
    def alone(cls, ngrams: KneserNey | None = None, classes: ClassModel | None = None) -> Self:
        """A single model with weight one."""
        return cls(ngrams, {} if classes is None else {1: classes}, np.ones((N_BUCKETS, 1)))

    def each_prob(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Probabilities under each of the models, (n, 2), (n,) -> (n, number of models)."""
        columns = [] if self.ngrams is None else [self.ngrams.prob(contexts, words)]
        columns += [model.prob(contexts[:, -d], words) for d, model in sorted(self.classes.items())]
        return np.stack(columns, axis=1)

    def buckets(self, contexts: np.ndarray) -> np.ndarray:
        """Which row of ``weights`` each context uses, (n,)."""
        if self.ngrams is None:
            return np.zeros(len(contexts), np.int64)
        return context_buckets(self.ngrams, contexts[:, CONTEXT + 1 - self.ngrams.order :])

    def prob(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """p(word | context), shape (n,)."""
        probs = self.each_prob(contexts, words)
        if probs.shape[1] == 1:
            return probs[:, 0]
        return np.einsum("ij,ij->i", probs, self.weights[self.buckets(contexts)])

    def compact(self) -> Model:
        """The same model with class tables in single precision: half the memory, seven digits."""

        def single(table: np.ndarray) -> np.ndarray:
            # EM without a prior drives entries below what single precision holds; their products stay above zero.
            return np.where(table > 0.0, np.maximum(table, SMALLEST), 0.0).astype(np.float32)

        classes = {
            d: ClassModel(single(model.histories), single(model.emissions), single(model.mix))
            for d, model in self.classes.items()
        }
        return replace(self, classes=classes)

    def get_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain values and arrays for a model file."""
        values: dict[str, Any] = {"ngrams": None, "distances": sorted(self.classes)}
        arrays = {"weights": self.weights}
        if self.ngrams is not None:
            values["ngrams"], more = self.ngrams.get_state()
            arrays |= more
        for d, model in self.classes.items():
            arrays |= {f"class{d}.{name}": value for name, value in vars(model).items()}
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, np.ndarray], n_words: int) -> Self:
        """Inverse of :meth:`get_state`; shapes that do not fit the vocabulary are refused."""
        ngrams = None if values["ngrams"] is None else KneserNey.from_state(values["ngrams"], arrays)
        classes = {}
        for d in values["distances"]:
            model = ClassModel(*(arrays[f"class{d}.{name}"] for name in ("histories", "emissions", "mix")))
            if {model.histories.shape, model.emissions.shape} != {(n_words, len(model.mix))} or d not in (1, 2):
                raise ValueError(f"class tables of shape {model.histories.shape} for {n_words} words")
            classes[int(d)] = model
        weights = arrays["weights"]
        if weights.shape != (N_BUCKETS, len(classes) + (ngrams is not None)) or not weights.size:
            raise ValueError(f"mixture weights of shape {weights.shape}")
        if ngrams is not None and (ngrams.n_words != n_words or ngrams.order > CONTEXT + 1):
            raise ValueError(f"n-grams of order {ngrams.order} over {ngrams.n_words} words")
        return cls(ngrams, classes, weights)
