"""The estimator: probability distributions over strings, learned, used and looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from spectragram.automata.blackbox import learn_function, oracle_of, predictor_of
from spectragram.automata.dfa import DFA, approximate_dfa
from spectragram.automata.learners import learn
from spectragram.automata.model import Mixture
from spectragram.automata.sampling import draw_strings
from spectragram.automata.scoring import Predicted, evaluate_strings, map_shards, predict_tree, unknown_cost
from spectragram.automata.settings import settings_of, with_given_basis
from spectragram.automata.state import mixture_from_state, mixture_to_state
from spectragram.automata.strings import (
    Strings,
    held_out_strings,
    known_only,
    require_known,
    require_strings,
    unseen_rate,
)
from spectragram.automata.wfa import WFA, Statistic
from spectragram.data.corpus import Corpus
from spectragram.data.vocabulary import END, Vocabulary
from spectragram.engine.progress import progress
from spectragram.estimator import Estimator, State, prefixed, whole_or_nothing, without_prefix
from spectragram.inference.prefix_tree import grow_prefix_tree

__all__ = ["Automaton"]


class Automaton(Estimator):
    """A distribution over strings of symbols, as a weighted automaton.

    Strings are sequences of symbols, ``["the", "dog"]``. A text in their place, ``"abba"``, is the sequence of its
    characters; to learn words split texts first.

    Parameters
    ----------
    n_states : int or "auto"
        Hidden states; ``"auto"`` tries several numbers on held-out strings.
    learner : str
        ``auto`` (the default): candidates from state merging and from pivots of spectral estimates, improved by EM
        and mixed by held-out strings. Others: ``spectral``, ``pivot``, ``merge``, ``em``, ``spectral+em``,
        ``pivot+em``, ``merge+em``, ``hmm``, and the baselines ``unigram``, ``bigram``, ``ngram``.
    basis : int, float, {"sigma", "sigma-lambda"} or dict
        Prefixes and suffixes of the Hankel block, for ``spectral`` and ``pivot``: the most frequent substrings (an
        int; a float is a multiple of the alphabet's size), single symbols (and the empty string), or your own:
        ``{"prefixes": [["a"], ["a", "b"]], "suffixes": [["b"]]}``.
    statistic : {"marked", "string", "prefix", "substring"}
        What the Hankel block counts; see :mod:`spectragram.automata.hankel`.
    prior : float
        Strength of EM's MAP prior, in events per state.
    max_iter : int, optional
        At most so many EM iterations for each survivor, 100 by default; held-out strings stop earlier.
    order : int
        k of the learner ``ngram``.
    preset : {"default", "fast", "best"}
        How hard ``auto`` and the EM learners look.
    random_state, n_jobs, verbose
        Seed; threads to use (-1 all cores; the model does not depend on it); progress on a terminal.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The alphabet.
    model_ : Mixture
        What predicts: automata (and k-grams) with weights.
    spectrum_ : array
        Singular values, for ``spectral`` and ``pivot``.
    n_negative_ : int
        Negative scores set to zero and states reset by the last prediction; always 0 for probabilistic learners.

    Examples
    --------
    >>> model = Automaton(learner="bigram").fit([["a", "b"], ["a", "b", "b"]] * 20)
    >>> model.predict_next([["a"]]).round(2).tolist()
    [[0.01, 0.99, 0.01]]
    """

    kind = "automaton"

    def __init__(
        self,
        n_states: int | str = "auto",
        learner: str = "auto",
        *,
        basis: str | int | float | dict[str, Any] = 2000,
        statistic: str = "marked",
        prior: float = 0.3,
        max_iter: int | None = None,
        order: int = 4,
        preset: str = "default",
        random_state: int = 0,
        n_jobs: int = 1,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.basis = basis
        self.statistic = statistic
        self.prior = prior
        self.max_iter = max_iter
        self.order = order
        self.preset = preset
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: Strings, y: None = None, *, dev: Strings | None = None) -> Self:
        """Learn from strings: a :class:`Corpus`, or sequences of symbols.

        ``dev`` are strings that decide sizes, weights and when EM stops; without them a tenth of X is held out for
        that first, and learned from in the end.
        """
        started = time.perf_counter()
        settings = settings_of(self)
        corpus = X if isinstance(X, Corpus) else Corpus.from_sequences(X)
        require_strings(corpus)
        self.vocabulary_ = corpus.vocabulary
        settings = with_given_basis(settings, self.basis, self.vocabulary_)
        judges = None if dev is None else held_out_strings(dev, self.vocabulary_)
        with progress("automata", enabled=self.verbose) as report:
            learned = learn(corpus, settings, judges, report)
        self.model_, self.spectrum_, self.n_negative_ = learned.mixture, learned.spectrum, 0
        self.unknown_rate_ = unseen_rate(corpus)
        self.summary_ = {
            "learner": self.learner,
            "states": sum(int(fact["states"]) for fact in learned.facts),
            "models": len(learned.facts),
            "sentences": len(corpus),
            "tokens": corpus.n_tokens,
            "types": len(self.vocabulary_),
            "parts": learned.facts,
            "seconds": round(time.perf_counter() - started, 2),
        }
        return self

    @whole_or_nothing
    def fit_function(
        self,
        function: Callable[[tuple[str, ...]], float],
        alphabet: Sequence[str],
        *,
        statistic: Statistic = "string",
        tolerance: float = 1e-8,
        max_calls: int = 100_000,
        min_length: int = 2,
    ) -> Self:
        """Learn the automaton of any function on strings (a language model, a simulator) by asking it.

        ``n_states`` limits the automaton's size; "auto" means as many as the function needs. Values are given by
        :meth:`value`; probabilities need a function whose sum over all strings converges.

        Parameters
        ----------
        function, alphabet : callable, sequence of str
            Called with tuples of symbols of the alphabet, returns finite numbers.
        statistic : str
            What it returns: the weight of a ``string``, of all strings with that ``prefix``, or of occurrences
            (``substring``).
        tolerance : float
            Share of the largest singular value below which others are noise.
        max_calls : int
            A RankError is raised when so many questions were not enough.
        min_length : int
            All prefixes and suffixes up to this length are looked at, however little they show.
        """
        started = time.perf_counter()
        limit = settings_of(self).n_states
        self._choose("statistic", statistic, get_args(Statistic))
        self.vocabulary_ = Vocabulary(list(alphabet))
        words = self.vocabulary_.words
        oracle = oracle_of(function, words, max_calls)
        learned = learn_function(oracle, len(words), n_states=limit, tolerance=tolerance, min_length=min_length)
        self.model_ = Mixture((predictor_of(learned, statistic),), np.ones(1))
        self.spectrum_, self.n_negative_, self.unknown_rate_ = np.zeros(0), 0, 0.0
        self.summary_ = {
            "learner": "function",
            "states": learned.n_states,
            "types": len(words),
            "calls": len(oracle.answers),
            "seconds": round(time.perf_counter() - started, 2),
        }
        return self

    def log_prob(self, X: Strings) -> np.ndarray:
        """Natural log-probability of each string, shape (n_strings,), for strings of any length.

        A symbol outside the alphabet costs ``log(unknown_rate_)`` and leaves the state to "some symbol".
        """
        return self._scored(X, Predicted.as_strings)

    def prefix_log_prob(self, X: Strings) -> np.ndarray:
        """Natural log-probability that a string begins so, for each of X, shape (n_strings,)."""
        return self._scored(X, Predicted.as_prefixes)

    def predict_next(self, X: Strings) -> np.ndarray:
        """Distribution of what follows each of X, shape (n_strings, n_symbols + 1); the last column is the end."""
        rows = self._mapped(self._encoded(X), Predicted.next_distributions)
        return np.concatenate(rows) if rows else np.zeros((0, len(self.vocabulary_) + 1))

    def predict(self, X: Strings) -> list[list[str]]:
        """The most probable next symbol after every prefix of each string; ``</s>`` where that is its end.

        A string of t symbols gets t + 1 predictions: before each symbol and after the last.
        """
        paths = self._mapped(self._encoded(X), Predicted.best_paths)
        names = np.array([*self.vocabulary_.words, END], object)
        return [names[path].tolist() for shard in paths for path in shard]

    def value(self, X: Strings) -> np.ndarray:
        """The value of each string under :attr:`wfa_`, negative ones included, shape (n_strings,)."""
        corpus = self._encoded(X)
        require_known(corpus)
        return self.wfa_.values(string.tolist() for string in corpus)

    def sample(self, n: int, *, random_state: int | None = None, max_length: int = 100_000) -> list[list[str]]:
        """Draw strings; symbols are drawn one after the other from :meth:`predict_next`'s distributions."""
        self._require_fitted()
        rng = np.random.default_rng(self.random_state if random_state is None else random_state)
        drawn = draw_strings(lambda tree: predict_tree(self.model_, tree).distributions, n, rng, max_length)
        return [self.vocabulary_.decode(string) for string in drawn]

    def evaluate(self, X: Strings, *, solution: ArrayLike | None = None) -> dict[str, Any]:
        """``wer``, ``perplexity_symbol``, ``perplexity_string``, ``strings``, ``unknown`` symbols, ``negative`` scores.

        ``wer`` is :func:`~spectragram.metrics.next_symbol_error` of :meth:`predict`. With the true probabilities of
        the strings as ``solution`` (n_strings,) also :func:`~spectragram.metrics.pautomac_scores`.
        """
        corpus = self._encoded(X)
        scores = evaluate_strings(self.model_, corpus, self.unknown_rate_, solution=solution, n_jobs=self.n_jobs)
        self.n_negative_ = scores["negative"]
        return scores

    def score(self, X: Strings, y: None = None) -> float:
        """Mean log-probability per string (higher is better), for scikit-learn's model selection."""
        return float(self.log_prob(X).mean())

    @property
    def wfa_(self) -> WFA:
        """The automata of all parts as one: their direct sum, each with its weight.

        For probabilistic learners that is the whole model. Of ``spectral`` it is the estimated automaton alone, without
        back-off and resets and with negative values: :meth:`value`, :meth:`change_statistic` and exports then differ
        from :meth:`log_prob`.
        """
        self._require_fitted()
        return self.model_.to_wfa()

    def change_statistic(self, target: Statistic) -> WFA:
        """The automaton of string probabilities, prefix probabilities or expected substring counts (Lemma 3.1)."""
        return self.wfa_.change_statistic("string", target)

    def to_dfa(self, X: Strings, n_states: int = 10, *, n_prefixes: int = 1000, tolerance: float = 0.3) -> DFA:
        """A deterministic approximation on the frequent prefixes of X (section 7.3 of the paper).

        See :func:`~spectragram.automata.dfa.approximate_dfa`; ``tolerance=0`` merges as strictly as the paper.
        """
        corpus = known_only(self._encoded(X))
        require_strings(corpus)
        tree = grow_prefix_tree(corpus.tokens, corpus.offsets)
        states, k = self.model_.states(tree), len(self.vocabulary_)
        return approximate_dfa(tree, states, k, n_states, n_prefixes=n_prefixes, tolerance=tolerance)

    def _encoded(self, X: Strings) -> Corpus:
        self._require_fitted()
        return Corpus.over(X, self.vocabulary_)

    def _mapped(self, corpus: Corpus, reduce: Callable[[Predicted], Any]) -> list[Any]:
        found, self.n_negative_ = map_shards(self.model_, corpus, reduce, n_jobs=self.n_jobs)
        return found

    def _scored(self, X: Strings, reduce: Callable[[Predicted], np.ndarray]) -> np.ndarray:
        corpus = self._encoded(X)
        found = self._mapped(corpus, reduce)
        return (np.concatenate(found) if found else np.zeros(0)) + unknown_cost(corpus, self.unknown_rate_)

    def _get_state(self) -> State:
        values, arrays = mixture_to_state(self.model_)
        vocabulary, words = self.vocabulary_.to_state()
        values |= {"vocabulary": vocabulary, "unknown_rate": self.unknown_rate_}
        return values, arrays | prefixed("vocabulary", words) | {"spectrum": self.spectrum_}

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.vocabulary_ = Vocabulary.from_state(values["vocabulary"], without_prefix("vocabulary", arrays))
        self.unknown_rate_ = float(values["unknown_rate"])
        self.spectrum_ = arrays["spectrum"]
        self.model_ = mixture_from_state(values, arrays, len(self.vocabulary_))
        self.n_negative_ = 0
