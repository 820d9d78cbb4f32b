"""How a language model is learned from a stream of word ids: the learners by name.

em          EM for hidden classes from a random start
pivot       hidden classes by the anchor decomposition (Cohen & Collins 2014, section 8)
pivot+em    EM started from pivot
kn          interpolated modified Kneser-Ney n-grams
mixed       n-grams, classes of the last word and classes of the word before it, mixed on held-out text
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from spectragram.engine.progress import Report, silent
from spectragram.learning.mixtures import bucket_weights
from spectragram.lm.em import ClassModel, em, random_start
from spectragram.lm.kneser_ney import KneserNey
from spectragram.lm.mixture import N_BUCKETS, PSEUDO_COUNTS
from spectragram.lm.model import Model, contexts_of
from spectragram.lm.ngrams import count_ngrams
from spectragram.lm.pivot import pivot

__all__ = ["LEARNERS", "Learner", "Scored"]

LEARNERS = ("mixed", "em", "pivot", "pivot+em", "kn")


@dataclass(frozen=True)
class Scored:
    """Words of a text that count, with their contexts: what perplexity is computed on."""

    contexts: np.ndarray
    words: np.ndarray

    @classmethod
    def from_stream(cls, stream: np.ndarray, ignore: int | None = None) -> Scored:
        """Every word of a stream but those with id ``ignore`` (they still serve as contexts)."""
        keep = np.ones(len(stream), bool) if ignore is None else stream != ignore
        return cls(contexts_of(stream)[keep], stream[keep])

    def log_loss(self, prob: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
        """Mean of -log p(word | context)."""
        return float(-np.log(np.maximum(prob(self.contexts, self.words), 1e-300)).mean())


def _class_loss(held_out: Scored, distance: int, model: ClassModel) -> float:
    return held_out.log_loss(lambda contexts, words: model.prob(contexts[:, -distance], words))


@dataclass
class Learner:
    """One learner with its settings; ``iterations`` fills with the number of EM steps taken per distance."""

    name: str
    n_states: int
    n_words: int
    unknown: int
    order: int = 3
    prior: float = 10.0
    max_iter: int = 30
    start_shape: float = 50.0
    seed: int = 0
    n_jobs: int = 1
    report: Report = silent
    iterations: dict[int, int] = field(default_factory=dict)

    def fit(self, stream: np.ndarray, held_out: Scored | None) -> Model:
        """Learn from ``stream``; ``held_out`` text decides when EM stops and how models mix.

        Without it, the last twentieth of the stream plays that part first; then everything is learned anew from
        the whole stream with the numbers of iterations and the weights found.
        """
        if held_out is not None or not self._needs_held_out():
            return self._fit(stream, held_out, None)
        cut = len(stream) - max(len(stream) // 20, 1)
        rehearsal = self._fit(stream[:cut], Scored.from_stream(stream[cut:], self.unknown), None)
        final = replace(self, iterations={})._fit(stream, None, dict(self.iterations))
        return replace(final, weights=rehearsal.weights)

    def _needs_held_out(self) -> bool:
        return self.name == "mixed" or (self.name.endswith("em") and self.max_iter > 0)

    def _fit(self, stream: np.ndarray, held_out: Scored | None, iterations: dict[int, int] | None) -> Model:
        if self.name == "kn":
            return Model.alone(ngrams=self._ngrams(stream))
        if self.name != "mixed":
            return Model.alone(classes=self._classes(stream, 1, self.name, held_out, iterations))
        ngrams = self._ngrams(stream)
        classes = {d: self._classes(stream, d, "pivot+em", held_out, iterations) for d in (1, 2)}
        mixed = Model(ngrams, classes, np.zeros((0, 3)))
        if held_out is None:
            return mixed
        probs = mixed.each_prob(held_out.contexts, held_out.words)
        weights = bucket_weights(probs, mixed.buckets(held_out.contexts), N_BUCKETS, PSEUDO_COUNTS)
        return replace(mixed, weights=weights)

    def _ngrams(self, stream: np.ndarray) -> KneserNey:
        return KneserNey.fit(stream, self.n_words, self.order, n_jobs=self.n_jobs)

    def _classes(
        self, stream: np.ndarray, distance: int, name: str, held_out: Scored | None, iterations: dict[int, int] | None
    ) -> ClassModel:
        """Hidden classes of the word ``distance`` positions back."""
        counts = count_ngrams(stream, 2, self.n_words, n_jobs=self.n_jobs, gap=distance - 1)
        rng = np.random.default_rng([self.seed, distance])
        if name == "em":
            start = random_start(self.n_words, self.n_states, rng, self.start_shape)
        else:
            start = pivot(
                counts,
                self.n_states,
                prior=self.prior,
                rng=rng,
                n_jobs=self.n_jobs,
            )
        if name == "pivot":
            return start

        model, self.iterations[distance], _ = em(
            counts,
            start,
            max_iter=self.max_iter if iterations is None else iterations[distance],
            loss=None if held_out is None else partial(_class_loss, held_out, distance),
            prior=self.prior,
            n_jobs=self.n_jobs,
            report=self.report,
        )
        return model
