"""The estimator: probability distributions over strings, learned, used and inspected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from spectragram.automata.em import PRIOR
from spectragram.automata.extraction import Search, basis_of, extract, typical_strings
from spectragram.automata.hankel import BasisChoice
from spectragram.automata.held_out import known_only, require_known, require_strings
from spectragram.automata.learners import learn
from spectragram.automata.model import Model, Weighted
from spectragram.automata.oracles import NextOracle, oracle_of
from spectragram.automata.prediction import Predicted, draw_strings, evaluate_strings, map_shards
from spectragram.automata.repair import repaired
from spectragram.automata.report import Extraction, report_on
from spectragram.automata.settings import settings_of
from spectragram.automata.wfa import WFA, Statistic
from spectragram.automata.workbench import Workbench
from spectragram.data.corpus import END, Corpus, Vocabulary
from spectragram.data.inputs import Strings, as_strings, is_path
from spectragram.data.pautomac import read_pautomac_solution
from spectragram.data.symbols import Symbol, plain_symbol
from spectragram.engine.progress import progress
from spectragram.errors import InputError
from spectragram.estimator import RUN_TIME, Estimator, Predictions, fitting
from spectragram.files import Source

__all__ = ["Automaton"]


class Automaton(Workbench, Estimator):
    """A probability distribution over strings of symbols, as a weighted automaton.

    Strings are sequences of symbols such as ``["the", "dog"]`` or ``[0, 1, 1]``; a symbol is any hashable value. A
    ``str`` among them has spaces between its symbols: ``"the dog"`` is the same string. For a sequence of characters
    write ``list("abba")``. Instead of strings every method accepts the path of a text file (one string a line) or of a
    PAutomaC file. Symbols other than strings are saved in model files as :mod:`spectragram.data.symbols` says.

    Parameters
    ----------
    n_states : int, optional
        Number of hidden states. By default several numbers are tried on held-out strings.
    learner : str
        ``auto`` (the default) starts candidates from state merging and from pivots of spectral estimates, improves them
        by EM and mixes them by held-out strings. Others: ``spectral``, ``pivot``, ``merge``, ``em``, ``spectral+em``,
        ``pivot+em``, ``merge+em``, ``hmm``, and the baselines ``unigram``, ``bigram``, ``ngram``.
    basis : int, float, {"sigma", "sigma-lambda"} or dict
        Prefixes and suffixes of the Hankel block, for ``spectral`` and ``pivot``: the most frequent substrings (an int
        is their number, a float a multiple of the size of the alphabet), single symbols (and the empty string), or your
        own, as in ``{"prefixes": [["a"], ["a", "b"]], "suffixes": [["b"]]}``.
    statistic : {"marked", "string", "prefix", "substring"}
        What the Hankel block counts; see :mod:`spectragram.automata.hankel`.
    prior : float
        Strength of EM's MAP prior: how many events it counts as in each state.
    max_iter : int, optional
        Most EM iterations for each candidate that reaches the mixture; 100 in all presets. Held-out strings usually
        stop EM earlier.
    order : int
        k of the learner ``ngram``.
    preset : {"default", "fast", "best"}
        How hard ``auto`` and the EM learners search; it sets nothing for the other learners.
    random_state, n_jobs, verbose
        Seed; number of threads (-1: all cores), which does not change the model; progress on a terminal.

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
    model_: Model
    extraction_: Extraction

    def __init__(
        self,
        n_states: int | None = None,
        learner: str = "auto",
        *,
        basis: BasisChoice = 2000,
        statistic: str = "marked",
        prior: float = PRIOR,
        max_iter: int | None = None,
        order: int = 4,
        preset: str = "default",
        random_state: int = 0,
        n_jobs: int | None = -1,
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

    @classmethod
    def from_wfa(cls, wfa: WFA, alphabet: Sequence[Symbol] | None = None) -> Self:
        """The model of a weighted automaton, which was built, computed or read from a file.

        ``alphabet`` names the symbols of the operators in order; by default they are the numbers 0, 1, ...
        """
        vocabulary = Vocabulary(list(range(wfa.n_symbols) if alphabet is None else map(plain_symbol, alphabet)))
        if len(vocabulary) != wfa.n_symbols:
            raise InputError(
                f"{len(vocabulary)} symbols for an automaton over {wfa.n_symbols}", remedy="name each symbol once"
            )
        model = Model((Weighted.of_function(wfa),), np.ones(1), vocabulary, 0.0, np.zeros(0))
        return cls(wfa.n_states)._given(model, {"learner": "given"})

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        alphabet: Sequence[Symbol],
        *,
        n_states: int | None = None,
        oracle: str = "value",
        batched: bool = False,
        statistic: Statistic = "string",
        basis: int | Mapping[str, Any] | None = None,
        strings: Strings | None = None,
        weighting: str = "relative",
        tolerance: float = 1e-8,
        max_queries: int = 100_000,
        min_length: int = 2,
        compared: int = 200,
        random_state: int = 0,
    ) -> Self:
        """Learn the automaton of any function on strings (a network, a language model, a simulator) by calling it.

        ``extraction_`` of the result reports its size, the number of queries, the singular values and how well it
        agrees with the function. Values are given by :meth:`value`; probabilities need a function whose sum over all
        strings converges, or a next oracle.

        Parameters
        ----------
        function : callable
            Takes a tuple of symbols and returns a finite number; of a next oracle, k + 1 probabilities: of every symbol
            of the alphabet, in order, and of the end.
        alphabet : sequence of hashable symbols
        n_states : int, optional
            Most states of the automaton; by default it has as many as the function needs. If that is not enough for a
            next oracle, averages over recent pasts are mixed in (:mod:`spectragram.automata.repair`).
        oracle : {"value", "next"}
            What the function gives.
        batched : bool
            Whether the function takes a list of tuples and returns as many numbers, or rows of numbers.
        statistic : {"string", "prefix", "substring"}
            What a value is: the weight of a string, of all strings with that prefix, or the expected number of
            occurrences of a substring. A next oracle needs none.
        basis : int or dict, optional
            By default prefixes and suffixes are found by growing them where they add to the rank and where random
            strings show errors. A number: that many of the most frequent ones in ``strings``, or in strings drawn from
            a next oracle. A dictionary: your own ``prefixes`` and ``suffixes``.
        strings : strings, optional
            Typical strings, for the basis and for the report.
        weighting : {"relative", "absolute"}
            Whether rows and columns of the Hankel block are scaled to the same length, so that improbable strings count
            as much as probable ones.
        tolerance : float
            Singular values below this share of the largest are treated as noise. The default is for functions that are
            exact up to rounding.
        max_queries : int
            If this many queries are not enough, a RankError is raised, or with ``n_states`` an approximation is made of
            those that were.
        min_length : int
            All prefixes and suffixes up to this length are looked at first, as long as there are at most 64 of them.
        compared : int
            How many random strings, and how many from a next oracle, the report compares; 0 if queries are expensive.
        random_state : int
            Seed of the strings that are drawn.
        """
        for name, value, choices in (
            ("oracle", oracle, ("value", "next")),
            ("statistic", statistic, get_args(Statistic)),
            ("weighting", weighting, ("relative", "absolute")),
        ):
            cls._choose(name, value, choices)
        model = cls(n_states, random_state=random_state)
        settings_of(model)
        vocabulary = Vocabulary(list(map(plain_symbol, alphabet)))
        asked = oracle_of(function, vocabulary.words, oracle, batched=batched, max_queries=max_queries)
        given = [] if strings is None else [tuple(x.tolist()) for x in known_only(as_strings(strings, vocabulary))]
        search = Search(n_states, tolerance, min_length, weighting == "relative", random_state)
        drawn = [] if n_states is basis is None else typical_strings(asked, random_state)
        found = extract(asked, len(vocabulary), search, basis_of(basis, given or drawn, vocabulary))
        part = Weighted.of_function(found.wfa, "prefix" if oracle == "next" else statistic)
        if isinstance(asked, NextOracle) and drawn and not found.is_exact:
            part = repaired(part, asked, drawn)
        learned = Model((part,), np.ones(1), vocabulary, 0.0, found.singular_values)
        model.extraction_ = report_on(learned, asked, found, given, compared, random_state)
        return model._given(learned, {"learner": "function", "queries": model.extraction_.n_queries})

    def _given(self, model: Model, facts: dict[str, Any]) -> Self:
        """This estimator with a model that was not learned from strings."""
        self.model_ = model
        states = {"states": sum(part.n_states for part in model.parts), "types": model.n_symbols}
        self.summary_ = {"learner": facts["learner"], **states, **facts}
        self.fitted_params_ = {name: value for name, value in self.get_params().items() if name not in RUN_TIME}
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
        """Natural log-probability of each string, shape (n_strings,), for strings of any length.

        A symbol outside the alphabet costs ``log(unknown_rate_)``; the automaton then moves as for "some symbol".
        """
        found, _ = self._mapped(X, Predicted.log_probs)
        return np.concatenate(found) if found else np.zeros(0)

    def prefix_log_prob(self, X: Strings) -> Predictions[np.ndarray]:
        """Natural log-probability that a string begins with each prefix of each of X.

        One array for each string of T symbols, of shape (T + 1,): entry i is for its first i symbols, so entry 0 is
        0.0. The end of the string is in :meth:`log_prob` only.
        """
        found, diagnostics = self._mapped(X, Predicted.prefixes)
        return Predictions((values for shard in found for values in shard), diagnostics)

    def surprisal(self, X: Strings) -> Predictions[np.ndarray]:
        """Minus the binary logarithm of the probability of every symbol given those before it, in bits.

        One array for each string of T symbols, of shape (T + 1,); the last entry is for the end of the string.
        """
        found, diagnostics = self._mapped(X, Predicted.surprisals)
        return Predictions((bits for shard in found for bits in shard), diagnostics)

    def next(self, X: Strings) -> np.ndarray:
        """Distribution of what follows each of X, shape (n_strings, n_symbols + 1); the last column is the end."""
        found, _ = self._mapped(X, Predicted.next_distributions)
        return np.concatenate(found) if found else np.zeros((0, len(self.vocabulary_) + 1))

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
        found, n_negative = map_shards(self._trained, self._encoded(X), reduce, n_jobs=self.n_jobs)
        return found, {"negative": n_negative}
