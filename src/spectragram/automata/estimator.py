"""The estimator: probability distributions over strings, learned, used and inspected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from spectragram.automata.hankel import BasisChoice
from spectragram.automata.held_out import require_known, require_strings
from spectragram.automata.learners import learn
from spectragram.automata.model import Model
from spectragram.automata.prediction import Predicted, draw_strings, evaluate_strings, map_shards
from spectragram.automata.settings import settings_of
from spectragram.automata.sources import FromElsewhere
from spectragram.automata.workbench import Workbench
from spectragram.data.corpus import END, UNKNOWN, Corpus, Vocabulary
from spectragram.data.inputs import Strings, as_strings, as_word_lists, is_path, listed
from spectragram.data.pautomac import read_pautomac_solution
from spectragram.data.symbols import Symbol, spell
from spectragram.engine import Executor, working_on
from spectragram.engine.progress import progress
from spectragram.estimator import Estimator, Predictions, fitting
from spectragram.files import Source
from spectragram.learning.measures import LOG_2, Measures
from spectragram.schema import ListOf, Number, Record, Text, Value, Whole

__all__ = ["Automaton"]


class Automaton(FromElsewhere, Workbench, Estimator):
    """A probability distribution over strings of symbols, as a weighted automaton.

    Strings are sequences of symbols such as ``["the", "dog"]`` or ``[0, 1, 1]``; a symbol is any hashable value. A
    ``str`` among them has spaces between its symbols: ``"the dog"`` is the same string. For a sequence of characters
    write ``list("abba")``. Instead of strings every method accepts the path of a text file (one string a line) or of a
    PAutomaC file. Symbols other than strings are saved in model files as :mod:`spectragram.data.symbols` says.

    Parameters
    ----------
    n_states : int, optional
        Number of hidden states. By default several numbers are tried on held-out strings.
    learner : str, optional
        ``auto`` (the default) starts candidates from state merging and from pivots of spectral estimates, improves them
        by EM and mixes them by held-out strings. Others: ``spectral``, ``pivot``, ``merge``, ``em``, ``spectral+em``,
        ``pivot+em``, ``merge+em``, ``hmm``, and the baselines ``unigram``, ``bigram``, ``ngram``.
    recipe : {"ours", "paper"}
        What every parameter below stands at if it is left out (None): our values, or those of Balle et al. 2014 as
        written (:data:`~spectragram.automata.settings.RECIPES`); our values are given first, the paper's second.
    basis : int, float, {"sigma", "sigma-lambda"} or dict, optional
        2000, "sigma". Prefixes and suffixes of the Hankel block, for ``spectral`` and ``pivot``: the most frequent
        substrings (an int is their number, a float a multiple of the size of the alphabet), single symbols (and the
        empty string), or your own, as in ``{"prefixes": [["a"], ["a", "b"]], "suffixes": [["b"]]}``.
    statistic : {"marked", "string", "prefix", "substring"}, optional
        "marked", "substring". What the Hankel block counts; see :mod:`spectragram.automata.hankel`.
    max_length : int, optional
        8, 4. Longest substring in a basis of frequent ones.
    scaling : {"cca", "none"}, optional
        Whether rows and columns of the block are divided by the square roots of their counts plus ``kappa`` before it
        is decomposed.
    kappa : float, optional
        5, and 0 without effect.
    smallest : float, optional
        0.01, 0. Singular values below this share of the largest are dropped.
    context_share, backoff_share : float or "auto", optional
        "auto", 0. For ``spectral``: how much of every state comes from the last few symbols, and how much of every
        prediction from trigrams; ``auto`` lets held-out strings choose.
    reset : bool, optional
        True, False. For ``spectral``: replace states whose weights cancel by those of the last few symbols.
    prior : float, optional
        0.3, 0. Strength of EM's MAP prior: how many events it counts as in each state.
    max_iter : int, optional
        Most EM iterations for each candidate that reaches the mixture; 100 in all presets and in the paper.
    tolerance : float, optional
        1e-5, 0. EM stops if the log-likelihood of a string gains less.
    over_relaxed : bool, optional
        True, False. Whether EM lengthens its steps as long as the likelihood rises.
    early_stopping : bool, optional
        True, False. Whether held-out strings stop EM and choose among several starts; otherwise EM runs from one start
        on all strings.
    discount : float, optional
        0.75, 0. Absolute discounting of k-grams; 0 does not smooth.
    order : int
        k of the learner ``ngram``.
    preset : {"default", "fast", "best"}
        How hard ``auto`` and the EM learners search; it sets nothing for the other learners.
    random_state, n_jobs, executor, verbose
        Seed; number of threads (-1: all cores); a ``distributed.Client`` or anything with ``submit`` whose workers run
        E-steps and predict; progress on a terminal. Only the seed changes the model.

    Attributes
    ----------
    model_ : Model
        All that was learned: automata and k-grams with their weights, and the alphabet.
    vocabulary_ : Vocabulary
        The alphabet.
    spectrum_ : array
        Singular values of the Hankel block, for ``spectral`` and ``pivot``; empty for other learners.
    unknown_rate_ : float
        Probability of a symbol outside the alphabet.
    extraction_ : Extraction
        Of :meth:`from_function`: how the automaton was extracted. It is not saved.

    Examples
    --------
    >>> model = Automaton(learner="bigram").fit(["a b", "a b b"] * 20)
    >>> model.next([["a"]]).round(2).tolist()
    [[0.01, 0.99, 0.01]]
    >>> model.predict(["a b"])
    [['a', 'b', '</s>']]
    """

    kind = "automaton"
    model_type = Model
    summary_values: ClassVar[Mapping[str, Value]] = {
        "parts": ListOf(
            Record(
                {
                    "part": Text(),
                    "states": Whole(),
                    "weight": Number(),
                    "iterations": Whole(),
                    "context_share": Number(),
                    "backoff_share": Number(),
                },
                optional=("iterations", "context_share", "backoff_share"),
            )
        )
    }
    model_: Model

    def __init__(
        self,
        n_states: int | None = None,
        learner: str | None = None,
        *,
        recipe: str = "ours",
        basis: BasisChoice | None = None,
        statistic: str | None = None,
        max_length: int | None = None,
        scaling: str | None = None,
        kappa: float | None = None,
        smallest: float | None = None,
        context_share: float | str | None = None,
        backoff_share: float | str | None = None,
        reset: bool | None = None,
        prior: float | None = None,
        max_iter: int | None = None,
        tolerance: float | None = None,
        over_relaxed: bool | None = None,
        early_stopping: bool | None = None,
        discount: float | None = None,
        order: int = 4,
        preset: str = "default",
        random_state: int = 0,
        n_jobs: int | None = -1,
        executor: Executor | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.recipe = recipe
        self.basis = basis
        self.statistic = statistic
        self.max_length = max_length
        self.scaling = scaling
        self.kappa = kappa
        self.smallest = smallest
        self.context_share = context_share
        self.backoff_share = backoff_share
        self.reset = reset
        self.prior = prior
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.over_relaxed = over_relaxed
        self.early_stopping = early_stopping
        self.discount = discount
        self.order = order
        self.preset = preset
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.verbose = verbose

    @fitting
    def fit(self, X: Strings, y: None = None, *, dev: Strings | None = None) -> Self:
        """Learn from strings.

        Parameters
        ----------
        X : path, Corpus or iterable of strings
        y : ignored
        dev : path, Corpus or iterable of strings, optional
            Strings that decide sizes, weights and when EM stops. Without them a tenth of X is held out for that, and
            the model is finished on all of X.
        """
        settings = settings_of(self)
        corpus = as_strings(X)
        require_strings(corpus)
        require_known(corpus)
        judges = None if dev is None else as_strings(dev, corpus.vocabulary)
        with progress("automata", enabled=self.verbose) as report:
            self.model_, parts = learn(corpus, settings, judges, report)
        self.summary_ = {
            "learner": settings.learner,
            "states": sum(int(part["states"]) for part in parts),
            "models": len(parts),
            "sentences": len(corpus),
            "tokens": corpus.n_tokens,
            "types": len(corpus.vocabulary),
            "parts": parts,
        }
        return self

    def predict(self, X: Strings) -> Predictions[list[Any]]:
        """The most probable next symbol after every prefix of each string; ``</s>`` stands for the end.

        A string of T symbols gets T + 1 predictions: one before each symbol and one after the last. The diagnostics
        count ``negative`` estimates that were repaired.
        """
        found, diagnostics = self._mapped(X, Predicted.best_events)
        names = [*self.vocabulary_.words, END]
        return Predictions(([names[i] for i in best.tolist()] for shard in found for best in shard), diagnostics)

    def log_prob(self, X: Strings) -> np.ndarray:
        """Natural log-probability of each string and its end, shape (n_strings,), for strings of any length.

        A symbol outside the alphabet costs ``log(unknown_rate_)``; the automaton then moves as for "some symbol". If
        training saw some symbols only once, there may be others, as among words: then known symbols have the rest of
        the mass, and others are spelled out.
        """
        return np.array([steps.sum() for steps in self._steps(X)[0]])

    def prefix_log_prob(self, X: Strings) -> Predictions[np.ndarray]:
        """Natural log-probability that a string begins with each prefix of each of X.

        One array for each string of T symbols, of shape (T + 1,): entry i is for its first i symbols, so entry 0 is
        0.0. The end of the string is in :meth:`log_prob` only.
        """
        found, diagnostics = self._steps(X)
        return Predictions((np.concatenate([[0.0], np.cumsum(steps[:-1])]) for steps in found), diagnostics)

    def surprisal(self, X: Strings) -> Predictions[np.ndarray]:
        """Minus the binary logarithm of the probability of every symbol given those before it, in bits.

        One array for each string of T symbols, of shape (T + 1,); the last entry is for the end of the string.
        """
        found, diagnostics = self._steps(X)
        return Predictions((np.maximum(-steps / LOG_2, 0.0) for steps in found), diagnostics)

    def next(self, X: Strings) -> np.ndarray:
        """Distribution of what follows each of X, shape (n_strings, n_outcomes), see :attr:`outcomes_`."""
        found, _ = self._mapped(X, Predicted.next_distributions)
        return np.concatenate(found) if found else np.zeros((0, len(self.outcomes_)))

    @property
    def outcomes_(self) -> list[Any]:
        """What :meth:`next` has columns for: the alphabet and the end ``</s>``.

        If there is room for symbols outside the alphabet, ``<unk>`` stands for them before the end.
        """
        return [*self.vocabulary_.words, *([UNKNOWN] if self._trained.open else []), END]

    @property
    def known_words_(self) -> frozenset[str]:
        """The words that have a probability of their own; all others are spelled out."""
        return frozenset(self.vocabulary_.spelled.words)

    def measure(self, X: Strings, *, entropy_reduction: bool = True) -> list[Measures]:
        """Surprisal of every symbol and entropy of the next one.

        ``entropy_reduction`` is there for models with derivations; this one has none.
        """
        lines = as_word_lists(X, keep_empty=True)
        entropies = [bits for shard in self._mapped(lines, Predicted.entropies)[0] for bits in shard]
        known = [np.array([word in self.vocabulary_.spelled for word in words], bool) for words in lines]
        found = zip(lines, known, self.surprisal(lines), entropies, strict=True)
        return [Measures(words, flags, None, bits, None, entropy) for words, flags, bits, entropy in found]

    def _steps(self, X: Strings) -> tuple[list[np.ndarray], dict[str, int]]:
        """The log-probabilities of all events of each string, with other symbols spelled."""
        data = X if isinstance(X, Corpus) or is_path(X) else listed(X, "strings")
        corpus = self._encoded(data)
        with working_on(self.executor):
            found, n_negative = map_shards(self._trained, corpus, Predicted.steps, n_jobs=self.n_jobs)
        steps = [values for shard in found for values in shard]
        if self._trained.open and (corpus.tokens < 0).any():
            lines = list(as_strings(data).decoded())
            for string, values in enumerate(steps):
                for place in np.flatnonzero(corpus[string] < 0):
                    spelling = [spell(lines[string][place])]
                    values[place] += self._trained.unknown_words.log_probs(spelling)[0, 0]
        return steps, {"negative": n_negative}

    def sample(
        self, n: int, *, prefix: Sequence[Symbol] = (), random_state: int = 0, max_length: int = 100_000
    ) -> list[list[Any]]:
        """Draw ``n`` strings that begin with ``prefix``; they are cut after ``max_length`` symbols."""
        corpus = self._encoded([list(prefix)])
        require_known(corpus)
        rng = np.random.default_rng(random_state)
        drawn = draw_strings(self._trained, n, rng, max_length, corpus[0].tolist())
        return [self.vocabulary_.decode(string) for string in drawn]

    def evaluate(self, X: Strings, *, solution: Source | ArrayLike | None = None) -> dict[str, Any]:
        """Scores on strings.

        Parameters
        ----------
        X : path, Corpus or iterable of strings
        solution : path or array of shape (n_strings,), optional
            The true probabilities of the strings, or a solution file of PAutomaC.

        Returns
        -------
        dict
            ``wer`` (:func:`~spectragram.metrics.next_symbol_error` of :meth:`predict`), ``perplexity_symbol``,
            ``perplexity_string``, ``strings``, the number of ``unknown`` symbols and of ``negative`` estimates; with a
            solution also :func:`~spectragram.metrics.pautomac_scores`.
        """
        corpus = self._encoded(X)
        true: Any = read_pautomac_solution(solution) if is_path(solution) else solution
        with working_on(self.executor):
            return evaluate_strings(self._trained, corpus, solution=true, n_jobs=self.n_jobs)

    def score(self, X: Strings, y: None = None) -> float:
        """Mean log-probability of a string (higher is better), for scikit-learn's model selection."""
        return float(self.log_prob(X).mean())

    @property
    def vocabulary_(self) -> Vocabulary:
        """The alphabet."""
        return self._trained.vocabulary

    @property
    def spectrum_(self) -> np.ndarray:
        """Singular values of the Hankel block, for ``spectral`` and ``pivot``; empty for other learners."""
        return self._trained.spectrum

    @property
    def unknown_rate_(self) -> float:
        """Probability of a symbol outside the alphabet."""
        return self._trained.unknown_rate

    @property
    def _trained(self) -> Model:
        self._require_fitted()
        return self.model_

    def _encoded(self, X: Strings) -> Corpus:
        return as_strings(X, self.vocabulary_)

    def _mapped(self, X: Strings, reduce: Callable[[Predicted], Any]) -> tuple[list[Any], dict[str, int]]:
        """What ``reduce`` makes of each shard, in order, and the diagnostics."""
        with working_on(self.executor):
            found, n_negative = map_shards(self._trained, self._encoded(X), reduce, n_jobs=self.n_jobs)
        return found, {"negative": n_negative}
