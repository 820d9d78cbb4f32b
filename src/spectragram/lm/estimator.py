"""The estimator: class language models, Kneser-Ney n-grams, and their mixture."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from spectragram.data.corpus import Corpus
from spectragram.data.inputs import as_corpus
from spectragram.data.vocabulary import END, UNKNOWN, Vocabulary
from spectragram.engine import resolve_jobs
from spectragram.engine.progress import Report, progress
from spectragram.errors import InputError
from spectragram.estimator import Estimator, State, prefixed, whole_or_nothing, without_prefix
from spectragram.lm.learners import LEARNERS, Learner, Scored
from spectragram.lm.model import Model
from spectragram.lm.ngrams import NgramCounts
from spectragram.metrics import per_second, perplexity

__all__ = ["LanguageModel"]

Text = Corpus | Iterable[Sequence[str]]
DEFAULT_STATES = 128
WORDS_PER_STATE = 8


class LanguageModel(Estimator):
    """Predict the next word through hidden classes: p(w2 | w1) = sum_h r(h | w1) s(w2 | h), and past that.

    Parameters
    ----------
    n_states : int, optional
        Hidden classes m; by default 128, or one for eight words if that is less.
    learner : {"mixed", "em", "pivot", "pivot+em", "kn"}
        ``mixed`` (the default) combines Kneser-Ney n-grams with hidden classes of the last word and of the word
        before it; ``em``, ``pivot`` and ``pivot+em`` are the class model of the paper alone; ``kn`` is
        interpolated modified Kneser-Ney alone.
    order : {1, 2, 3}
        Longest n-gram of the Kneser-Ney model.
    prior : float
        Strength, in words, of the pull of rare histories' classes towards the overall mix. 0 is the paper's EM.
    start_shape : float
        ``em``: shape of the Dirichlet distribution of its random start. Large values begin nearly even and end
        better (perplexity 9 % lower at 50 than at 3 on the Brown corpus); at 3 EM is as good as the paper's.
    max_iter : int
        At most so many EM iterations; held-out text stops earlier.
    min_count : int
        Words seen less often become the unknown word. 2 is the paper's setting.
    boundaries : bool
        False: the text is one stream, as in the paper. True: ``</s>`` stands between lines and is predicted too.
    random_state, n_jobs, verbose
        Seed of the random start; threads and processes to use (-1 all cores); progress on a terminal.

    Attributes
    ----------
    vocabulary_ : Vocabulary
    model_ : Model
    n_iter_ : dict
        EM iterations per distance of the context word (1 the last word, 2 the one before).

    Examples
    --------
    >>> text = [["the", "dog", "barks"], ["the", "cat", "sleeps"], ["a", "dog", "sleeps"]] * 10
    >>> model = LanguageModel(learner="kn", order=2).fit(text)
    >>> model.surprisal([["the", "dog", "sleeps"]])[0].round(1).tolist()
    [2.5, 1.1, 1.1]
    """

    kind = "lm"

    def __init__(
        self,
        n_states: int | None = None,
        learner: str = "mixed",
        *,
        order: int = 3,
        prior: float = 10.0,
        start_shape: float = 50.0,
        max_iter: int = 30,
        min_count: int = 2,
        boundaries: bool = False,
        random_state: int = 0,
        n_jobs: int = 1,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.order = order
        self.prior = prior
        self.start_shape = start_shape
        self.max_iter = max_iter
        self.min_count = min_count
        self.boundaries = boundaries
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: Text, y: None = None, *, dev: Text | None = None) -> Self:
        """Learn from text: a :class:`Corpus`, or sequences of words.

        ``dev`` is held-out text that decides when EM stops and how models mix; without it a twentieth of the text
        is set aside for that first.
        """
        started = time.perf_counter()
        self._check_parameters()
        corpus = self._training_corpus(X)
        self.vocabulary_ = corpus.vocabulary
        stream = self._stream(corpus)
        held_out = None if dev is None else self._held_out(dev)
        with progress("EM", enabled=self.verbose) as report:
            learner = self._learner(report)
            self.model_ = learner.fit(stream, held_out).compact()
        self.n_iter_ = learner.iterations
        self.summary_ = {
            "learner": self.learner,
            "states": sum(classes.emissions.shape[1] for classes in self.model_.classes.values()),
            "sentences": len(corpus),
            "tokens": corpus.n_tokens,
            "types": len(self.vocabulary_),
            **({"iterations": {str(d): n for d, n in self.n_iter_.items()}} if self.n_iter_ else {}),
            "seconds": round(time.perf_counter() - started, 2),
        }
        return self

    def log_prob(self, X: Text) -> np.ndarray:
        """Natural log-probability of each sequence on its own, shape (n_sequences,); unknown words are scored."""
        return np.array([float(values.sum()) for values in self._token_log_probs(X)])

    def surprisal(self, X: Text) -> list[np.ndarray]:
        """Surprisal in bits of every word, each sequence on its own; with ``boundaries`` its end is the last."""
        return [-values / np.log(2.0) for values in self._token_log_probs(X)]

    def perplexity(self, X: Text, *, unknown: str = "ignore") -> float:
        """Perplexity per word of a text (one stream unless ``boundaries``).

        ``unknown="ignore"`` does not score words outside the vocabulary, as the paper does (they still serve as
        contexts); ``"score"`` scores them as the unknown word.
        """
        return self.evaluate(X, unknown=unknown)["perplexity"]

    def evaluate(self, X: Text, *, unknown: str = "ignore") -> dict[str, Any]:
        """Perplexity with the numbers behind it.

        ``perplexity``, ``words`` scored, ``unknown`` words met and how they were treated, ``words_per_second``.
        """
        self._require_fitted()
        self._choose("unknown", unknown, ("ignore", "score"))
        stream = self._stream(self._encoded(X))
        n_unknown = int((stream == self.vocabulary_.unknown_id).sum())
        scored = Scored.from_stream(stream, self.vocabulary_.unknown_id if unknown == "ignore" else None)
        if len(scored.words) == 0:
            raise InputError("the text holds no word of the model's vocabulary", remedy="check language and tokens")
        started = time.perf_counter()
        log_probs = self._log(scored)
        speed = per_second(len(scored.words), time.perf_counter() - started)
        return {
            "perplexity": perplexity(log_probs),
            "words": len(scored.words),
            "unknown": n_unknown,
            "unknown_treatment": unknown,
            "words_per_second": speed,
        }

    def score(self, X: Text, y: None = None) -> float:
        """Mean log-probability per known word (higher is better), for scikit-learn's model selection."""
        return -float(np.log(self.perplexity(X)))

    def predict_next(self, X: Text) -> np.ndarray:
        """Distribution of the word after each of X, shape (n_sequences, n_words), in the vocabulary's order."""
        self._require_fitted()
        n_words = len(self.vocabulary_)
        result = []
        for sequence in self._encoded(X):
            last = sequence[-2:]
            padded = np.concatenate([np.full(2 - len(last), -1, np.int32), last])
            result.append(self.model_.prob(np.repeat(padded[np.newaxis], n_words, axis=0), np.arange(n_words)))
        return np.array(result).reshape(-1, n_words)

    def listed_ngrams(self) -> dict[int, NgramCounts]:
        """The n-grams an ARPA file lists, per order above one: those of the Kneser-Ney model.

        A pure class model keeps no n-grams; it lists, for every word, its ten most probable successors.
        """
        self._require_fitted()
        if self.model_.ngrams is not None:
            return {level.counts.order: level.counts for level in self.model_.ngrams.levels[1:]}
        n_words, top = len(self.vocabulary_), min(10, len(self.vocabulary_))
        classes = self.model_.classes[1]
        keys = [
            np.sort(np.argsort(-(classes.emissions @ row), kind="stable")[:top]) + n_words * i
            for i, row in enumerate(classes.histories)
        ]
        listed = np.concatenate(keys)
        return {2: NgramCounts(listed, np.ones(len(listed), np.int64), n_words, 2)}

    # -- from text to streams of ids ------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._choose("learner", self.learner, LEARNERS)
        if self.order not in (1, 2, 3):
            raise InputError(f"order={self.order!r}", remedy="choose 1, 2 or 3")
        self._check_number("start_shape", above=True)
        self._check_number("prior")
        self._check_whole("n_states")
        self._check_whole("max_iter", 0, or_else=())
        self._check_whole("min_count", or_else=())

    def _training_corpus(self, X: Text) -> Corpus:
        """Encoded with a vocabulary that has the unknown word, and the boundary where it is used."""
        corpus = as_corpus(X)
        if corpus.n_tokens < 3:
            raise InputError(f"a text of {corpus.n_tokens} words", remedy="give at least a few sentences")
        full = corpus.vocabulary
        counts = np.bincount(corpus.tokens, minlength=len(full))
        counted = Counter({word: int(n) for word, n in zip(full.words, counts, strict=True) if n})
        kept = Vocabulary.from_counts(counted, min_count=self.min_count, unknown=full.unknown or UNKNOWN)
        if kept.unknown is None:  # nothing was rare: still, other texts will hold words this one does not
            kept = Vocabulary([*kept.words, UNKNOWN], np.append(kept.counts, 0), UNKNOWN)
        if self.boundaries and END not in kept:
            kept = Vocabulary([*kept.words, END], np.append(kept.counts, len(corpus)), kept.unknown)
        if self.learner != "kn" and (self.n_states or 1) >= len(kept):
            raise InputError(
                f"n_states={self.n_states or 1} for {len(kept)} words seen at least {self.min_count} times",
                remedy=f"give n_states < {len(kept)}, more text, or a lower min_count",
            )
        return Corpus(kept.encode(full.words)[corpus.tokens], corpus.offsets, kept)

    def _encoded(self, X: Text) -> Corpus:
        return as_corpus(X, self.vocabulary_, keep_empty=True)

    def _stream(self, corpus: Corpus) -> np.ndarray:
        """All sequences as one stream, with the boundary after each where it is used, (n,) int32."""
        if not self.boundaries:
            return np.asarray(corpus.tokens, np.int32)
        return np.insert(corpus.tokens, corpus.offsets[1:], self.vocabulary_.index[END]).astype(np.int32)

    def _log(self, scored: Scored) -> np.ndarray:
        # A pure class model gives words it never saw probability zero: minus infinity, said plainly.
        with np.errstate(divide="ignore"):
            return np.log(self.model_.prob(scored.contexts, scored.words))

    def _held_out(self, dev: Text) -> Scored:
        held_out = Scored.from_stream(self._stream(self._encoded(dev)), self.vocabulary_.unknown_id)
        if len(held_out.words) == 0:
            raise InputError("the held-out text holds no known word", remedy="give text like the training text")
        return held_out

    def _learner(self, report: Report) -> Learner:
        return Learner(
            name=self.learner,
            n_states=self.n_states or max(1, min(DEFAULT_STATES, len(self.vocabulary_) // WORDS_PER_STATE)),
            n_words=len(self.vocabulary_),
            unknown=self.vocabulary_.unknown_id,
            order=self.order,
            prior=self.prior,
            start_shape=self.start_shape,
            max_iter=self.max_iter,
            seed=self.random_state,
            n_jobs=resolve_jobs(self.n_jobs),
            report=report,
        )

    def _token_log_probs(self, X: Text) -> list[np.ndarray]:
        self._require_fitted()
        corpus = self._encoded(X)
        result = []
        for sequence in corpus:
            stream = self._stream(Corpus(sequence, np.array([0, len(sequence)]), self.vocabulary_))
            result.append(self._log(Scored.from_stream(stream)))
        return result

    # -- model files ----------------------------------------------------------------------------------------------

    def _get_state(self) -> State:
        values, arrays = self.model_.get_state()
        iterations = {str(d): n for d, n in self.n_iter_.items()}
        vocabulary, words = self.vocabulary_.to_state()
        arrays |= prefixed("vocabulary", words)
        return {"vocabulary": vocabulary, "model": values, "n_iter": iterations}, arrays

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.vocabulary_ = Vocabulary.from_state(values["vocabulary"], without_prefix("vocabulary", arrays))
        self.n_iter_ = {int(d): int(n) for d, n in values["n_iter"].items()}
        self.model_ = Model.from_state(values["model"], arrays, len(self.vocabulary_))
