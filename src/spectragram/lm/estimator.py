"""The estimator: class language models, Kneser-Ney n-grams, and their mixture."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np

from spectragram.data.corpus import Vocabulary
from spectragram.data.inputs import Strings
from spectragram.engine import single_threaded_blas
from spectragram.engine.progress import progress
from spectragram.errors import InputError, ParameterError
from spectragram.estimator import Estimator, Predictions, fitting
from spectragram.lm.learners import Iterations, learn, training_corpus
from spectragram.lm.model import Model
from spectragram.lm.settings import settings_of
from spectragram.metrics import per_second, perplexity

__all__ = ["LanguageModel"]


class LanguageModel(Estimator):
    """Predict the next word through hidden classes, p(w2 | w1) = sum_h r(h | w1) s(w2 | h), and n-grams.

    Parameters
    ----------
    n_states : int, optional
        Hidden classes m; by default 128, or one for every eight words if that is less.
    learner : {"mixed", "em", "pivot", "pivot+em", "kn"}
        ``mixed`` (the default) combines Kneser-Ney n-grams with hidden classes of the last word and of the word
        before it; ``em``, ``pivot`` and ``pivot+em`` are the class model of the paper alone; ``kn`` is
        interpolated modified Kneser-Ney alone.
    preset : {"fast", "default", "best"}
        Chooses ``n_states`` and ``max_iter`` where they are not given. With ``best``, learner ``mixed`` has class
        models of four sizes, an eighth to twice ``n_states``. It means nothing to ``kn``.
    order : {1, 2, 3}
        Length of the longest n-gram of the Kneser-Ney model.
    prior : float
        Strength, in words, of a prior that draws the classes of rare histories towards the overall mix. 0 is the
        paper's EM.
    start_shape : float
        Shape of the Dirichlet distribution from which ``em`` draws its start. Large values start nearly even and end
        better (perplexity on the Brown corpus is 9 % lower at 50 than at 3); at 3 EM is as good as the paper's.
    max_iter : int, optional
        EM iterations at most; held-out text stops earlier.
    min_count : int
        Words seen less often become the unknown word. 2 is the paper's setting.
    boundaries : bool
        Treat each line as a separate sentence: ``</s>`` stands between lines and is predicted too. Otherwise the text
        is one stream, as in the paper.
    random_state : int
        Seed of the random start.
    n_jobs : int
        Processor cores to use, -1 for all; the result does not depend on it.
    verbose : bool
        Show progress on a terminal.

    Examples
    --------
    >>> text = ["the dog barks", "the cat sleeps", "a dog sleeps"] * 10
    >>> model = LanguageModel(learner="kn", order=2).fit(text)
    >>> model.surprisal(["the dog sleeps"])[0].round(1).tolist()
    [2.5, 1.1, 1.1]
    >>> model.predict(["the dog"])[0]
    ['dog', 'dog', 'sleeps']
    """

    kind = "lm"
    model_type = Model
    model_: Model

    def __init__(
        self,
        n_states: int | None = None,
        learner: str = "mixed",
        *,
        preset: str = "default",
        order: int = 3,
        prior: float = 10.0,
        start_shape: float = 50.0,
        max_iter: int | None = None,
        min_count: int = 2,
        boundaries: bool = False,
        random_state: int = 0,
        n_jobs: int = -1,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.preset = preset
        self.order = order
        self.prior = prior
        self.start_shape = start_shape
        self.max_iter = max_iter
        self.min_count = min_count
        self.boundaries = boundaries
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fitting
    def fit(self, X: Strings, y: object = None, *, dev: Strings | None = None) -> Self:
        """Learn from text.

        Parameters
        ----------
        X : path, Corpus or iterable of sentences
            Text with one sentence a line, or sentences as strings or lists of words.
        y : ignored
        dev : like X, optional
            Held-out text that decides when EM stops and how models are mixed. Without it a twentieth of the text is
            held out for that first; then everything is learned again from all of it.
        """
        settings = settings_of(self)
        corpus = training_corpus(X, settings)
        # Threads of BLAS only get in each other's way here: the products are small, and EM has threads of its own.
        with single_threaded_blas(), progress("EM", enabled=self.verbose) as report:
            self.model_, iterations = learn(corpus, dev, settings, report)
        self.summary_ = {
            "learner": settings.learner,
            "states": sum(classes.n_states for classes in self.model_.mixture.classes),
            "sentences": len(corpus),
            "tokens": corpus.n_tokens,
            "types": len(corpus.vocabulary),
            **({"iterations": _by_distance(iterations)} if iterations else {}),
        }
        return self

    @property
    def vocabulary_(self) -> Vocabulary:
        """The words that the model predicts, the unknown word (and ``</s>`` with boundaries) among them."""
        self._require_fitted()
        return self.model_.vocabulary

    @property
    def n_iter_(self) -> dict[int, int]:
        """EM iterations by the distance of the context word (1 is the last word), summed over class models."""
        self._require_fitted()
        return {int(distance): n for distance, n in self.summary_.get("iterations", {}).items()}

    def predict(self, X: Strings) -> Predictions[list[str]]:
        """The most probable next word after every prefix of each sentence, so n + 1 words for n words.

        It is the one with the highest probability in :meth:`next`: it may be ``<unk>``, which stands for all rare
        words, and with boundaries ``</s>``.
        """
        self._require_fitted()
        return Predictions(self.model_.predict(X))

    def next(self, X: Strings) -> np.ndarray:
        """Distribution of the word after each sentence, shape (n_sentences, n_words), in the vocabulary's order."""
        self._require_fitted()
        return self.model_.next(X)

    def log_prob(self, X: Strings) -> np.ndarray:
        """Natural log-probability of each sentence on its own, shape (n_sentences,).

        Unknown words are scored as the unknown word. With boundaries the end of the sentence is scored too.
        """
        self._require_fitted()
        return np.array([float(values.sum()) for values in self.model_.log_probs(X)])

    def prefix_log_prob(self, X: Strings) -> list[np.ndarray]:
        """Log-probability that a text begins with each prefix of a sentence, n + 1 values for n words.

        Entry i belongs to the first i words, so entry 0 is 0. With boundaries the end of the sentence is left out.
        """
        self._require_fitted()
        ends = 1 if self.model_.boundaries else 0
        return [np.concatenate([[0.0], np.cumsum(values[: len(values) - ends])]) for values in self.model_.log_probs(X)]

    def surprisal(self, X: Strings) -> list[np.ndarray]:
        """Surprisal in bits of every word, each sentence on its own; with boundaries its end is the last."""
        self._require_fitted()
        return [-values / np.log(2.0) for values in self.model_.log_probs(X)]

    def sample(self, n: int, *, random_state: int = 0, max_length: int = 100) -> list[list[str]]:
        """Draw ``n`` texts of at most ``max_length`` words, word by word from the distributions of :meth:`next`.

        With boundaries a text is a sentence and ends where ``</s>`` is drawn. Otherwise it has ``max_length`` words.
        Rare words come out as ``<unk>``.
        """
        self._require_fitted()
        if n < 0 or max_length < 0:
            name, value = ("n", n) if n < 0 else ("max_length", max_length)
            raise ParameterError(name, value, remedy="give a whole number of at least 0")
        return self.model_.sample(n, np.random.default_rng(random_state), max_length)

    def perplexity(self, X: Strings, *, unknown: str = "ignore") -> float:
        """Perplexity per word of a text, read as in training (one stream, or sentences with ``boundaries``).

        ``unknown="ignore"`` does not score words outside the vocabulary, as in the paper (they still serve as
        contexts); ``"score"`` scores them as the unknown word.
        """
        return float(self.evaluate(X, unknown=unknown)["perplexity"])

    def evaluate(self, X: Strings, *, unknown: str = "ignore") -> dict[str, Any]:
        """Perplexity of a text and the numbers behind it.

        ``perplexity``, ``words`` scored (ends of sentences included), ``tokens`` of the text, how many of them are
        ``unknown``, their ``unknown_treatment``, and ``words_per_second``.
        """
        self._require_fitted()
        self._choose("unknown", unknown, ("ignore", "score"))
        events, n_tokens, n_unknown = self.model_.events(X, ignore_unknown=unknown == "ignore")
        if len(events.words) == 0:
            raise InputError(
                "the text contains no word of the model's vocabulary", remedy="check its language and its tokens"
            )
        started = time.perf_counter()
        log_probs = self.model_.log(events)
        speed = per_second(len(events.words), time.perf_counter() - started)
        return {
            "perplexity": perplexity(log_probs),
            "words": len(events.words),
            "tokens": n_tokens,
            "unknown": n_unknown,
            "unknown_treatment": unknown,
            "words_per_second": speed,
        }

    def score(self, X: Strings, y: object = None) -> float:
        """Mean log-probability per known word (higher is better), for scikit-learn's model selection."""
        return -float(np.log(self.perplexity(X)))


def _by_distance(iterations: Iterations) -> dict[str, int]:
    """EM iterations by the distance of the context word, as a model file holds them."""
    distances = sorted({distance for distance, _ in iterations})
    return {str(d): sum(n for (distance, _), n in iterations.items() if distance == d) for d in distances}
