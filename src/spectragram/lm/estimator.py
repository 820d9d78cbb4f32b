"""The estimator: class language models, Kneser-Ney n-grams, and their mixture."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Self

import numpy as np

from spectragram.data.corpus import Vocabulary
from spectragram.data.inputs import Strings, as_word_lists, is_path
from spectragram.engine import Executor, current_executor, map_shards, single_threaded_blas, working_on
from spectragram.engine.progress import progress
from spectragram.engine.sharding import by_shards
from spectragram.errors import InputError, ParameterError
from spectragram.estimator import Estimator, Predictions, fitting
from spectragram.files import Source
from spectragram.learning.measures import LOG_2, Measures
from spectragram.lm.arpa_reading import read_arpa
from spectragram.lm.learners import Iterations, learn, training_corpus
from spectragram.lm.mixture import Events
from spectragram.lm.model import Model
from spectragram.lm.settings import settings_of
from spectragram.lm.unfinished import Unfinished
from spectragram.metrics import per_second, perplexity

__all__ = ["LanguageModel"]

EVENTS_PER_SHARD = 200_000
"""Words that are scored at a time with an executor: tenths of a second of work. Chosen by hand."""


def _lines(model: LanguageModel, X: Strings, **_: Any) -> list[list[str]]:
    return as_word_lists(X, keep_empty=True)


class LanguageModel(Estimator):
    """Predict the next word through hidden classes, p(w2 | w1) = sum_h r(h | w1) s(w2 | h), and n-grams.

    Parameters
    ----------
    n_states : int, optional
        Hidden classes m; by default 128, or one for every eight words if that is less.
    learner : {"mixed", "em", "pivot", "pivot+em", "kn"}, optional
        ``mixed`` (the default) combines Kneser-Ney n-grams with hidden classes of the last word and of the word
        before it; ``em``, ``pivot`` and ``pivot+em`` are the class model of the paper alone; ``kn`` is
        interpolated modified Kneser-Ney alone.
    recipe : {"ours", "paper"}
        What parameters stand at if they are left out (None): our values, or those of section 8 of Cohen & Collins 2014
        as written (:data:`~spectragram.lm.settings.RECIPES`). Below, our values are given first, the paper's second.
    preset : {"fast", "default", "best"}
        Chooses ``n_states`` and ``max_iter`` where they are not given. With ``best``, learner ``mixed`` has class
        models of four sizes, an eighth to twice ``n_states``. It means nothing to ``kn``.
    order : int
        Length of the longest n-gram of the Kneser-Ney model, at most 6.
    modified : bool, optional
        True, False. Kneser-Ney with three discounts in each order, or with one.
    prior : float, optional
        10, 0. Strength, in words, of a prior that draws the classes of rare histories towards the overall mix.
    start_shape : float, optional
        50, 1. Shape of the Dirichlet distribution from which ``em`` draws its start. Large values start nearly even and
        end better (perplexity on the Brown corpus is 9 % lower at 50 than at 3); at 3 EM is as good as the paper's.
    kappa, max_contexts, candidates, membership_tolerance, smoothing, history_steps, history_tolerance : optional
        ``pivot``: see :class:`~spectragram.lm.pivot.Anchoring`. 5, 1000, 10, 1e-5, 5, 3, 0; in the paper 0, 0 (all), 0
        (all), 1e-14, 0, 200, 1e-6.
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
    executor : optional
        A ``distributed.Client`` or anything with ``submit`` whose workers count n-grams, take E-steps and score text.
    memory : str or int, optional
        A bound on memory such as ``"4GB"``: n-grams and pairs of words that may not fit go to temporary files; text and
        class tables that cannot fit are refused before they are read or learned.
    verbose : bool
        Show progress.

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
        learner: str | None = None,
        *,
        recipe: str = "ours",
        preset: str = "default",
        order: int = 3,
        modified: bool | None = None,
        prior: float | None = None,
        start_shape: float | None = None,
        kappa: float | None = None,
        max_contexts: int | None = None,
        candidates: int | None = None,
        membership_tolerance: float | None = None,
        smoothing: float | None = None,
        history_steps: int | None = None,
        history_tolerance: float | None = None,
        max_iter: int | None = None,
        min_count: int = 2,
        boundaries: bool = False,
        random_state: int = 0,
        n_jobs: int = -1,
        memory: str | int | None = None,
        executor: Executor | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.recipe = recipe
        self.preset = preset
        self.order = order
        self.modified = modified
        self.prior = prior
        self.start_shape = start_shape
        self.kappa = kappa
        self.max_contexts = max_contexts
        self.candidates = candidates
        self.membership_tolerance = membership_tolerance
        self.smoothing = smoothing
        self.history_steps = history_steps
        self.history_tolerance = history_tolerance
        self.max_iter = max_iter
        self.min_count = min_count
        self.boundaries = boundaries
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory = memory
        self.executor = executor
        self.verbose = verbose

    @fitting
    def fit(
        self, X: Strings, y: object = None, *, dev: Strings | None = None, checkpoint: Source | None = None
    ) -> Self:
        """Learn from text.

        Parameters
        ----------
        X : path, Corpus or iterable of sentences
            Text with one sentence a line, or sentences as strings or lists of words.
        y : ignored
        dev : like X, optional
            Held-out text that decides when EM stops and how models are mixed. Without it a twentieth of the text is
            held out for that first; then everything is learned again from all of it.
        checkpoint : path, optional
            File that keeps every class model that is learned. The same call goes on from there if training was
            interrupted. It is deleted in the end.
        """
        settings = settings_of(self)
        if is_path(X) and Path(X).is_file():
            settings.require_memory_to_read(Path(X).stat().st_size)
        with progress("reading", enabled=self.verbose):
            corpus = training_corpus(X, settings)
        unfinished = Unfinished(checkpoint, corpus, settings)
        # Threads of BLAS only get in each other's way here: the products are small, and EM has threads of its own.
        with single_threaded_blas(), progress("training", enabled=self.verbose) as report:
            self.model_, iterations = learn(corpus, dev, settings, report, unfinished)
        unfinished.remove()
        self.summary_ = {
            "learner": settings.learner,
            "states": sum(classes.n_states for classes in self.model_.mixture.classes),
            "sentences": len(corpus),
            "tokens": corpus.n_tokens,
            "types": len(corpus.vocabulary),
            **({"iterations": _by_distance(iterations)} if iterations else {}),
        }
        return self

    @classmethod
    def from_arpa(cls, path: Source) -> Self:
        """The n-gram model of an ARPA file (plain or gzipped) of any toolkit.

        It separates sentences (``boundaries``) if the file predicts ``</s>``. Words have no counts.
        """
        return cls(learner="kn")._read_arpa(path)

    @fitting
    def _read_arpa(self, path: Source) -> Self:
        self.model_ = read_arpa(path)
        assert self.model_.mixture.ngrams is not None
        tree = self.model_.mixture.ngrams.tree
        self.order, self.boundaries = tree.order, self.model_.boundaries
        self.summary_ = {"learner": "arpa", "types": tree.n_words, "n_grams": len(tree.words)}
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

    @by_shards(_lines)
    def predict(self, X: Strings) -> Predictions[list[str]]:
        """The most probable next word after every prefix of each sentence, so n + 1 words for n words.

        It is the one with the highest probability in :meth:`next`: it may be ``<unk>``, which stands for all rare
        words, and with boundaries ``</s>``.
        """
        self._require_fitted()
        return Predictions(self.model_.predict(X))

    @by_shards(_lines)
    def next(self, X: Strings) -> np.ndarray:
        """Distribution of the word after each sentence, shape (n_sentences, n_words), in the vocabulary's order."""
        self._require_fitted()
        return self.model_.next(X)

    @by_shards(_lines)
    def log_prob(self, X: Strings) -> np.ndarray:
        """Natural log-probability of each sentence on its own, shape (n_sentences,).

        Words outside the vocabulary are spelled out: the unknown word times their spelling. The word ``<unk>`` itself
        stands for all of them. With boundaries the end of the sentence is scored too.
        """
        self._require_fitted()
        return np.array([float(values.sum()) for values in self.model_.log_probs(X)])

    @by_shards(_lines)
    def prefix_log_prob(self, X: Strings) -> list[np.ndarray]:
        """Log-probability that a text begins with each prefix of a sentence, n + 1 values for n words.

        Entry i belongs to the first i words, so entry 0 is 0. With boundaries the end of the sentence is left out.
        """
        self._require_fitted()
        ends = 1 if self.model_.boundaries else 0
        return [np.concatenate([[0.0], np.cumsum(values[: len(values) - ends])]) for values in self.model_.log_probs(X)]

    @by_shards(_lines)
    def surprisal(self, X: Strings) -> list[np.ndarray]:
        """Surprisal in bits of every word, each sentence on its own; with boundaries its end is the last.

        They add up to -log2 of :meth:`log_prob`.
        """
        self._require_fitted()
        # Class tables in single precision do not sum to exactly one, so a certain word may seem to be more than that.
        return [np.maximum(-values / LOG_2, 0.0) for values in self.model_.log_probs(X)]

    @property
    def outcomes_(self) -> list[str]:
        """What :meth:`next` has columns for: the vocabulary, with ``<unk>`` and, with boundaries, ``</s>``."""
        return list(self.vocabulary_.words)

    @property
    def known_words_(self) -> frozenset[str]:
        """The words that have a probability of their own; all others are spelled out."""
        return self.model_.known_words

    @by_shards(_lines)
    def measure(self, X: Strings, *, entropy_reduction: bool = True) -> list[Measures]:
        """Surprisal of every word and entropy of the next one.

        ``entropy_reduction`` is there for models with derivations; this one has none.
        """
        self._require_fitted()
        lines = as_word_lists(X, keep_empty=True)
        own = self.known_words_
        known = [np.array([word in own for word in words], bool) for words in lines]
        found = zip(lines, known, self.surprisal(lines), self.model_.entropies(lines), strict=True)
        return [Measures(words, flags, None, bits, None, entropy) for words, flags, bits, entropy in found]

    def sample(self, n: int, *, random_state: int = 0, max_length: int = 100) -> list[list[str]]:
        """Draw ``n`` texts of at most ``max_length`` words, word by word from the distributions of :meth:`next`.

        With boundaries a text is a sentence and ends where ``</s>`` is drawn. Otherwise it has ``max_length`` words.
        Where ``<unk>`` is drawn, so is a spelling.
        """
        self._require_fitted()
        if n < 0 or max_length < 0:
            name, value = ("n", n) if n < 0 else ("max_length", max_length)
            raise ParameterError(name, value, remedy="give a whole number of at least 0")
        return self.model_.sample(n, np.random.default_rng(random_state), max_length)

    def perplexity(self, X: Strings, *, unknown: str = "ignore") -> float:
        """Perplexity per word of a text, read as in training (one stream, or sentences with ``boundaries``).

        ``unknown="ignore"`` does not score words outside the vocabulary, as in the paper (they still serve as
        contexts); ``"score"`` scores them as the unknown word, ``"spell"`` as the unknown word and their spelling,
        which makes models of different vocabularies comparable.
        """
        return float(self.evaluate(X, unknown=unknown)["perplexity"])

    def evaluate(self, X: Strings, *, unknown: str = "ignore") -> dict[str, Any]:
        """Perplexity of a text and the numbers behind it.

        ``perplexity``, ``words`` scored (ends of sentences included), ``tokens`` of the text, how many of them are
        ``unknown``, their ``unknown_treatment``, and ``words_per_second``.
        """
        self._require_fitted()
        self._choose("unknown", unknown, ("ignore", "score", "spell"))
        lines = as_word_lists(X) if unknown == "spell" else []
        X = lines or X
        events, n_tokens, n_unknown = self.model_.events(X, ignore_unknown=unknown == "ignore")
        if len(events.words) == 0:
            raise InputError(
                "the text contains no word of the model's vocabulary", remedy="check its language and its tokens"
            )
        started = time.perf_counter()
        log_probs = self._log(events)
        speed = per_second(len(events.words), time.perf_counter() - started)
        if unknown == "spell":
            spelled = [word for words in lines for word in words if word not in self.vocabulary_]
            log_probs = np.append(log_probs[:-1], log_probs[-1] + self.model_.unknown_words.log_probs(spelled).sum())
        return {
            "perplexity": perplexity(log_probs),
            "words": len(events.words),
            "tokens": n_tokens,
            "unknown": n_unknown,
            "unknown_treatment": unknown,
            "words_per_second": speed,
        }

    def _log(self, events: Events) -> np.ndarray:
        if current_executor(self.executor) is None:
            return self.model_.log(events)
        starts = range(0, len(events.words), EVENTS_PER_SHARD)
        parts = [slice(start, start + EVENTS_PER_SHARD) for start in starts]
        shards = [Events(events.contexts[part], events.words[part]) for part in parts]
        with working_on(self.executor):
            return np.concatenate(map_shards(_log_of, shards, self.model_))

    def score(self, X: Strings, y: object = None) -> float:
        """Mean log-probability per known word (higher is better), for scikit-learn's model selection."""
        return -float(np.log(self.perplexity(X)))


def _log_of(events: Events, model: Model) -> np.ndarray:
    return model.log(events)


def _by_distance(iterations: Iterations) -> dict[str, int]:
    """EM iterations by the distance of the context word, as a model file holds them."""
    distances = sorted({distance for distance, _ in iterations})
    return {str(d): sum(n for (distance, _), n in iterations.items() if distance == d) for d in distances}
