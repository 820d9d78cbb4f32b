"""The methods of estimators that are distributions over sentences through tags: parsers and taggers."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from spectragram.data.corpus import END, UNKNOWN
from spectragram.data.inputs import WordLists
from spectragram.engine import Executor, current_executor
from spectragram.engine.sharding import Read, answers_of, in_parts
from spectragram.learning.measures import LOG_2, Measures
from spectragram.learning.prefix_mixture import Asked, PrefixMixture, together

__all__ = ["SentenceMethods"]

Ask = Callable[[PrefixMixture, list[str], Sequence[Asked]], Any]
"""What a mixture makes of the words of a sentence and of what its parts say about it."""

BATCHES_PER_SHARD = 16
"""Groups of sentences that are read together, some eight each, that a worker gets at a time. Chosen by hand: tenths of
a second of work."""

_KEPT: dict[int, PrefixMixture] = {}
"""The mixtures of models that are in use, by the identity of the model; predicting never writes into an estimator."""


class SentenceMethods:
    """Probabilities of sentences, of their prefixes and of the next word.

    An estimator that inherits them has ``n_jobs``, ``executor``, ``model_`` and two methods of its own.
    """

    n_jobs: Any  # threads; estimators say what None means
    executor: Executor | None

    def _build_mixture(self) -> PrefixMixture:
        """The trained model as a mixture; raises InputError if it is not a distribution."""
        raise NotImplementedError

    def _sentences(self, X: WordLists) -> list[list[str]]:
        """The words of each sentence, as the model spells them."""
        raise NotImplementedError

    def log_prob(self, X: WordLists) -> np.ndarray:
        """Natural log-probability of each sentence and its end, (n_sentences,).

        Trees or tag sequences are summed over, and the members of an ensemble are mixed. Unknown words are spelled
        out, so all sentences together have the probability one.
        """
        return np.array([logs[-1] for logs in self._log_probs(X)], np.float64)

    def prefix_log_prob(self, X: WordLists) -> list[np.ndarray]:
        """For each sentence of n words an array (n + 1,): log p(a sentence begins with its first i words), i = 0 .. n.

        As in :meth:`log_prob`.
        """
        return [logs[:-1] for logs in self._log_probs(X)]

    def surprisal(self, X: WordLists) -> list[np.ndarray]:
        """For each sentence of n words an array (n + 1,): bits for each word, then for the end of the sentence.

        They add up to -log2 p(sentence), see :meth:`log_prob`.
        """
        return [-np.diff(logs) / LOG_2 for logs in self._log_probs(X)]

    def next(self, X: WordLists) -> np.ndarray:
        """Distribution of what follows each sentence, (n_sentences, n_outcomes), columns as in :attr:`outcomes_`."""
        found = self._answers(X, _next)
        return np.array(found).reshape(-1, len(self.outcomes_))

    @property
    def outcomes_(self) -> list[str]:
        """What :meth:`next` has columns for: the words of training, all others as ``<unk>``, the end ``</s>``."""
        return [*self._mixture().chances.inside.words, UNKNOWN, END]

    @property
    def known_words_(self) -> frozenset[str]:
        """The words that have a probability of their own; all others are spelled out."""
        return frozenset(self._mixture().chances.initial.words)

    def measure(self, X: WordLists, *, entropy_reduction: bool = True) -> list[Measures]:
        """Everything about every word: surprisal and its parts, tag, entropy of the next word, entropy reduction.

        Without ``entropy_reduction``, which only parsers have, a parser takes a third of the time.
        """
        return self._answers(X, PrefixMixture.measure, entropy=entropy_reduction)

    def _log_probs(self, X: WordLists) -> list[np.ndarray]:
        return self._answers(X, _log_probs)

    def _answers(self, X: WordLists, answer: Ask, *, entropy: bool = False) -> list[Any]:
        """The answer for each sentence, here or by the workers of an executor.

        Sentences of similar length are read together, and their last bits depend on that; so a worker gets the very
        sentences that would be read together here.
        """
        mixture, sentences = self._mixture(), self._sentences(X)
        if current_executor(self.executor) is None:
            return mixture.map(sentences, partial(answer, mixture), n_jobs=self.n_jobs, entropy=entropy)
        batches = together(sentences)
        parts = in_parts(([sentences[i] for i in batch] for batch in batches), BATCHES_PER_SHARD)
        solve = partial(_solve, answer=answer, entropy=entropy)
        answers = [one for part in answers_of(self, solve, parts) for one in part]
        found = dict(zip((i for batch in batches for i in batch), answers, strict=True))
        return [found[i] for i in range(len(sentences))]

    def _mixture(self) -> PrefixMixture:
        # It follows from the model alone, so threads that build it at once build the same.
        model = getattr(self, "model_", None)
        kept = _KEPT.get(id(model))
        if kept is None:
            kept = self._build_mixture()
            if _KEPT.setdefault(id(model), kept) is kept:
                weakref.finalize(model, _KEPT.pop, id(model), None)
        return kept


def _log_probs(mixture: PrefixMixture, words: list[str], asked: Sequence[Asked]) -> np.ndarray:
    return mixture.log_probs(asked)


def _next(mixture: PrefixMixture, words: list[str], asked: Sequence[Asked]) -> np.ndarray:
    return mixture.fold(mixture.next_words(asked, [len(words)])[0])


def _solve(batches: Read, estimator: SentenceMethods, answer: Ask, entropy: bool) -> list[Any]:
    mixture = estimator._mixture()
    return [one for batch in batches for one in mixture.solve(batch, partial(answer, mixture), entropy=entropy)]
