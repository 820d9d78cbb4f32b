"""The estimator: probability distributions over strings, learned, used and looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from spectragram.automata.blackbox import Oracle, learn_function, predictor_of
from spectragram.automata.dfa import DFA, approximate_dfa
from spectragram.automata.hankel import STATISTICS, Basis
from spectragram.automata.learners import LEARNERS, Settings, learn
from spectragram.automata.model import Mixture, Weighted
from spectragram.automata.ngram import Ngrams
from spectragram.automata.sampling import draw_strings
from spectragram.automata.search import EFFORTS
from spectragram.automata.state import mixture_from_state, mixture_to_state
from spectragram.automata.strings import count_unknown, require_strings, take, unseen_rate
from spectragram.automata.wfa import WFA, Statistic
from spectragram.data.corpus import Corpus
from spectragram.data.vocabulary import Vocabulary
from spectragram.engine import resolve_jobs
from spectragram.errors import InputError, RankError
from spectragram.estimator import Estimator, State
from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_tree
from spectragram.metrics import string_scores
from spectragram.progress import progress

__all__ = ["Automaton"]

Strings = Corpus | Iterable[Sequence[str]]
STOP = "</s>"
"""What a prediction of the end of the string is called."""
SHARD_TOKENS = 200_000


class Automaton(Estimator):
    """A distribution over strings of symbols, as a weighted automaton.

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
    max_iter : int
        At most so many EM iterations for each survivor; held-out strings stop earlier.
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
    n_repaired_ : int
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
        max_iter: int = 100,
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

    # -- learning ---------------------------------------------------------------------------------------------------

    def fit(self, X: Strings, y: None = None, *, dev: Strings | None = None) -> Self:
        """Learn from strings: a :class:`Corpus`, or sequences of symbols.

        ``dev`` are strings that decide sizes, weights and when EM stops; without them a tenth of X is held out for
        that first, and learned from in the end.
        """
        started = time.perf_counter()
        settings = self._settings()
        corpus = X if isinstance(X, Corpus) else Corpus.from_sequences(X)
        require_strings(corpus)
        self.vocabulary_ = corpus.vocabulary
        if isinstance(self.basis, dict):
            settings = replace(settings, basis=self._given_basis(self.basis))
        judges = None if dev is None else self._known_only(self._encoded(dev))
        with progress("learning", enabled=self.verbose) as advance:
            learned = learn(corpus, settings, judges, report=advance)
        self.model_, self.spectrum_, self.n_repaired_ = learned.mixture, learned.spectrum, 0
        self.unknown_rate_ = unseen_rate(corpus)
        self.summary_ = {
            "learner": self.learner,
            "states": sum(int(fact["states"]) for fact in learned.facts),
            "symbols": len(self.vocabulary_),
            "strings": len(corpus),
            "tokens": corpus.n_tokens,
            "parts": learned.facts,
            "seconds": round(time.perf_counter() - started, 2),
        }
        return self

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
        function : callable
            Called with a tuple of symbols, returns a finite number.
        alphabet : sequence of str
            The symbols.
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
        settings = self._settings()
        self.vocabulary_ = Vocabulary(list(alphabet))
        if not len(self.vocabulary_):
            raise InputError("an empty alphabet", remedy="give at least one symbol")
        words = self.vocabulary_.words
        oracle = Oracle(
            lambda string: function(tuple(words[s] for s in string)),
            max_calls,
            spell=lambda string: " ".join(words[s] for s in string),
        )
        learned = learn_function(
            oracle, len(words), n_states=settings.n_states, tolerance=tolerance, min_length=min_length
        )
        self.model_ = Mixture((predictor_of(learned, statistic),), np.ones(1))
        self.spectrum_, self.n_repaired_, self.unknown_rate_ = np.zeros(0), 0, 0.0
        self.summary_ = {
            "learner": "function",
            "states": learned.n_states,
            "symbols": len(words),
            "calls": len(oracle.answers),
            "seconds": round(time.perf_counter() - started, 2),
        }
        return self

    # -- using --------------------------------------------------------------------------------------------------------

    def log_prob(self, X: Strings) -> np.ndarray:
        """Natural log-probability of each string, shape (n_strings,), for strings of any length.

        A symbol outside the alphabet costs ``log(unknown_rate_)`` and leaves the state to "some symbol".
        """
        return self._scored(X, whole=True)

    def prefix_log_prob(self, X: Strings) -> np.ndarray:
        """Natural log-probability that a string begins so, for each of X, shape (n_strings,)."""
        return self._scored(X, whole=False)

    def predict_next(self, X: Strings) -> np.ndarray:
        """Distribution of what follows each of X, shape (n_strings, n_symbols + 1); the last column is the end."""
        rows = []
        self.n_repaired_ = 0
        for shard in self._shards(X):
            tree = grow_prefix_tree(shard.tokens, shard.offsets)
            rows.append(self._predicted(tree)[0][tree.end_of])
        return np.concatenate(rows) if rows else np.zeros((0, len(self.vocabulary_) + 1))

    def predict(self, X: Strings) -> list[list[str]]:
        """The most probable next symbol after every prefix of each string; ``</s>`` where that is its end.

        A string of t symbols gets t + 1 predictions: before each symbol and after the last.
        """
        self._require_fitted()
        names = np.array([*self.vocabulary_.words, STOP], object)
        answers = []
        self.n_repaired_ = 0
        for shard in self._shards(X):
            tree = grow_prefix_tree(shard.tokens, shard.offsets)
            best = self._predicted(tree)[0].argmax(axis=1)
            for end in tree.end_of.tolist():
                path = [end]
                while path[-1] > 0:
                    path.append(int(tree.parent[path[-1]]))
                answers.append(names[best[path[::-1]]].tolist())
        return answers

    def value(self, X: Strings) -> np.ndarray:
        """The automaton's own value of each string, negative ones included, shape (n_strings,)."""
        wfa = self.wfa_
        corpus = self._encoded(X)
        self._require_known(corpus)
        return wfa.values(string.tolist() for string in corpus)

    def sample(self, n: int, *, random_state: int | None = None, max_length: int = 100_000) -> list[list[str]]:
        """Draw strings; symbols are drawn one after the other from :meth:`predict_next`'s distributions."""
        self._require_fitted()
        rng = np.random.default_rng(self.random_state if random_state is None else random_state)
        drawn = draw_strings(lambda tree: self._predicted(tree)[0], n, rng, max_length)
        return [self.vocabulary_.decode(string) for string in drawn]

    def evaluate(self, X: Strings) -> dict[str, Any]:
        """``wer``, ``perplexity_symbol``, ``perplexity_string``, ``strings``, and what had to be repaired."""
        corpus = self._encoded(X)
        require_strings(corpus)
        wrong = events = 0.0
        log_probs = []
        self.n_repaired_ = 0
        for shard in self._shards(corpus):
            tree = grow_prefix_tree(shard.tokens, shard.offsets)
            distributions, prefix = self._predicted(tree)
            best = distributions.argmax(axis=1)
            missed = tree.through[1:] @ (best[tree.parent[1:]] != tree.symbol[1:])
            wrong += missed + tree.ends @ (best != len(self.vocabulary_))
            events += len(shard.tokens) + len(shard)
            log_probs.append(_ended(tree, distributions, prefix))
        unknown = int((corpus.tokens < 0).sum())
        scores = string_scores(np.concatenate(log_probs) + self._unknown_cost(corpus), np.diff(corpus.offsets))
        return {"wer": float(100.0 * wrong / events), **scores, "unknown": unknown, "repaired": self.n_repaired_}

    def score(self, X: Strings, y: None = None) -> float:
        """Mean log-probability per string (higher is better), for scikit-learn's model selection."""
        return float(self.log_prob(X).mean())

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def wfa_(self) -> WFA:
        """The whole model as one weighted automaton: the direct sum of its parts."""
        self._require_fitted()
        total: WFA | None = None
        for weight, part in zip(self.model_.weights, self.model_.parts, strict=True):
            wfa = part.wfa if isinstance(part, Weighted) else part.to_wfa() if isinstance(part, Ngrams) else None
            assert wfa is not None
            scaled = wfa if weight == 1.0 else float(weight) * wfa
            total = scaled if total is None else total + scaled
        assert total is not None
        return total

    def change_statistic(self, target: Statistic) -> WFA:
        """The automaton of string probabilities, prefix probabilities or expected substring counts (Lemma 3.1)."""
        return self.wfa_.change_statistic("string", target)

    def to_dfa(self, X: Strings, n_states: int = 10, *, n_prefixes: int = 1000, tolerance: float = 0.3) -> DFA:
        """A deterministic approximation on the frequent prefixes of X (section 7.3 of the paper).

        See :func:`~spectragram.automata.dfa.approximate_dfa`; ``tolerance=0`` merges as strictly as the paper.
        """
        corpus = self._known_only(self._encoded(X))
        require_strings(corpus)
        tree = grow_prefix_tree(corpus.tokens, corpus.offsets)
        automata = [part for part in self.model_.parts if isinstance(part, Weighted)]
        states = np.hstack([part.states(tree)[0] for part in automata]) if automata else self._predicted(tree)[0]
        return approximate_dfa(
            tree, states, len(self.vocabulary_), n_states, n_prefixes=n_prefixes, tolerance=tolerance
        )

    # -- inside -------------------------------------------------------------------------------------------------------

    def _settings(self) -> Settings:
        self._choose("learner", self.learner, LEARNERS)
        self._choose("statistic", self.statistic, STATISTICS)
        self._choose("preset", self.preset, tuple(EFFORTS))
        n_states = None if self.n_states in ("auto", None) else self.n_states
        if n_states is not None and (isinstance(n_states, (str, bool)) or n_states < 1):
            raise InputError(f"n_states={self.n_states!r}", remedy='give a positive number or "auto"')
        if self.prior < 0 or self.max_iter < 0 or self.order < 1:
            raise InputError(
                f"prior={self.prior}, max_iter={self.max_iter}, order={self.order}",
                remedy="give prior >= 0, max_iter >= 0 and order >= 1",
            )
        return Settings(
            learner=self.learner,
            n_states=None if n_states is None else int(n_states),
            basis=2000 if isinstance(self.basis, dict) else self.basis,
            statistic=self.statistic,
            prior=self.prior,
            max_iter=self.max_iter,
            order=self.order,
            preset=self.preset,
            seed=self.random_state,
            n_jobs=resolve_jobs(self.n_jobs),
        )

    def _given_basis(self, given: dict[str, Any]) -> Basis:
        if set(given) != {"prefixes", "suffixes"}:
            raise InputError(f"a basis of {', '.join(map(str, given))}", remedy="give prefixes and suffixes")
        encoded = {side: [self.vocabulary_.encode(string).tolist() for string in given[side]] for side in given}
        if any(-1 in string for side in encoded.values() for string in side):
            raise InputError("a basis with symbols that the strings do not hold", remedy="use their alphabet")
        return Basis.of(encoded["prefixes"], encoded["suffixes"], len(self.vocabulary_), self.statistic)

    def _encoded(self, X: Strings) -> Corpus:
        """Over this model's alphabet; symbols outside it are -1."""
        self._require_fitted()
        if not isinstance(X, Corpus):
            return Corpus.from_sequences(X, self.vocabulary_)
        if X.vocabulary is self.vocabulary_ or X.vocabulary.words == self.vocabulary_.words:
            return X
        ids = np.append(self.vocabulary_.encode(X.vocabulary.words), -1)
        return Corpus(ids[X.tokens].astype(np.int32), X.offsets, self.vocabulary_)

    def _known_only(self, corpus: Corpus) -> Corpus:
        """The strings that hold known symbols only."""
        return take(corpus, np.flatnonzero(count_unknown(corpus) == 0))

    def _require_known(self, corpus: Corpus) -> None:
        if (corpus.tokens < 0).any():
            raise InputError(
                f"{int((corpus.tokens < 0).sum())} symbols outside the alphabet",
                remedy="log_prob and predict_next take them; values need known symbols",
            )

    def _shards(self, X: Strings) -> list[Corpus]:
        corpus = self._encoded(X)
        tokens = np.where(corpus.tokens < 0, len(self.vocabulary_), corpus.tokens)
        known = Corpus(tokens.astype(np.int32), corpus.offsets, corpus.vocabulary)
        return known.shards(max(1, corpus.n_tokens // SHARD_TOKENS)) if len(corpus) else []

    def _predicted(self, tree: PrefixTree) -> tuple[np.ndarray, np.ndarray]:
        for part in self.model_.parts:
            if isinstance(part, Weighted) and not np.isfinite(part.total).all():
                raise RankError("the sum of the function over all strings diverges: it has values but no probabilities")
        distributions, prefix, repaired = self.model_.predict(tree)
        self.n_repaired_ += repaired
        return distributions, prefix

    def _scored(self, X: Strings, whole: bool) -> np.ndarray:
        corpus = self._encoded(X)
        found = []
        self.n_repaired_ = 0
        for shard in self._shards(corpus):
            tree = grow_prefix_tree(shard.tokens, shard.offsets)
            distributions, prefix = self._predicted(tree)
            found.append(_ended(tree, distributions, prefix) if whole else prefix[tree.end_of])
        return (np.concatenate(found) if found else np.zeros(0)) + self._unknown_cost(corpus)

    def _unknown_cost(self, corpus: Corpus) -> np.ndarray:
        """Log-probability of the symbols outside the alphabet in each string, (n_strings,)."""
        unknown = count_unknown(corpus)
        each = np.log(self.unknown_rate_) if self.unknown_rate_ > 0 else -np.inf
        return np.where(unknown > 0, np.maximum(unknown, 1) * each, 0.0)

    # -- model files --------------------------------------------------------------------------------------------------

    def _get_state(self) -> State:
        values, arrays = mixture_to_state(self.model_)
        values |= {"vocabulary": self.vocabulary_.to_state(), "unknown_rate": self.unknown_rate_}
        return values, arrays | {"spectrum": self.spectrum_}

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.vocabulary_ = Vocabulary.from_state(values["vocabulary"])
        self.unknown_rate_ = float(values["unknown_rate"])
        self.spectrum_ = arrays["spectrum"]
        self.model_ = mixture_from_state(values, arrays, len(self.vocabulary_))
        self.n_repaired_ = 0


def _ended(tree: PrefixTree, distributions: np.ndarray, prefix: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return prefix[tree.end_of] + np.log(distributions[tree.end_of, -1])
