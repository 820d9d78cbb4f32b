"""What a trained automaton is good for beyond predicting: values, distances, likely strings, deterministic forms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from spectragram.automata.approximation import FREQUENT_PREFIXES, TOLERANCE, CountedDFA, approximate_dfa
from spectragram.automata.best_strings import MAX_EXPANDED, most_probable
from spectragram.automata.comparison import Estimate, cross_entropy, is_deterministic, sampled_l1, sampled_mean
from spectragram.automata.determinization import find_directions
from spectragram.automata.held_out import known_only, require_known, require_strings
from spectragram.automata.model import Model, Weighted
from spectragram.automata.ngram import MAX_DENSE
from spectragram.automata.wfa import WFA, Statistic
from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.data.inputs import Strings
from spectragram.errors import RankError
from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_tree

__all__ = ["Workbench"]

DRAWN = 2000
"""Strings drawn for a deterministic approximation if none are given. Chosen by hand: enough for about a thousand
frequent prefixes."""
LONGEST = 100
"""They are cut after this many symbols, since those of some models never end. Chosen by hand."""
COMPARED = 2000
"""Strings drawn for a distance. Chosen by hand: the bound on the L1 distance is then 0.06."""
HALF = 0.5
"""A state of a function that is not a distribution accepts where the value is above this: between those of strings that
a language has (1) and has not (0)."""
TINY = 1e-9
"""A state of a distribution accepts if strings end there with a larger probability; near the rounding error."""


class Workbench:
    """Methods of :class:`~spectragram.automata.Automaton` that work on the automaton itself."""

    model_: Model

    if TYPE_CHECKING:

        @property
        def vocabulary_(self) -> Vocabulary: ...  # noqa: D102
        @property
        def _trained(self) -> Model: ...
        def _encoded(self, X: Strings) -> Corpus: ...
        def log_prob(self, X: Strings) -> np.ndarray: ...  # noqa: D102
        def sample(self, n: int, *, random_state: int = 0, max_length: int = 100_000) -> list[list[Any]]: ...  # noqa: D102

    def value(self, X: Strings) -> np.ndarray:
        """The value of each string under :attr:`wfa_`, which may be negative, shape (n_strings,)."""
        corpus = self._encoded(X)
        require_known(corpus)
        return self.wfa_.values(string.tolist() for string in corpus)

    @property
    def wfa_(self) -> WFA:
        """The automata of all parts as one: their direct sum, each multiplied by its weight.

        For probabilistic learners that is the whole model. For ``spectral`` it is the estimated automaton alone,
        without back-off and resets and with negative values, so :meth:`value`, :meth:`change_statistic` and exports
        differ from :meth:`log_prob`.
        """
        return self._trained.to_wfa()

    def change_statistic(self, target: Statistic) -> WFA:
        """The automaton of string probabilities, prefix probabilities or expected substring counts (Lemma 3.1)."""
        return self.wfa_.change_statistic("string", target)

    # -- likely strings and distances -------------------------------------------------------------------------------

    def most_probable(self, n: int = 10, *, max_expanded: int = MAX_EXPANDED) -> list[tuple[list[Any], float]]:
        """The ``n`` most probable strings with their probabilities, best first.

        Exact, for models of probabilistic parts; see :mod:`spectragram.automata.best_strings`.
        """
        found = most_probable(self.wfa_, n, max_expanded=max_expanded)
        return [(self.vocabulary_.decode(string), value) for string, value in found]

    def l2_distance(self, other: Workbench) -> float:
        """sqrt(sum_x (f(x) - g(x))^2) of the automata ``wfa_`` of two models over all strings, in closed form."""
        return _over_one_alphabet(self, other, 0).l2_distance(_over_one_alphabet(self, other, 1))

    def counterexample(self, other: Workbench, tolerance: float = 1e-8) -> list[Any] | None:
        """A shortest string on which the automata ``wfa_`` of two models differ, or None if they are equal."""
        left, right = _over_one_alphabet(self, other, 0), _over_one_alphabet(self, other, 1)
        found = left.counterexample(right, tolerance)
        return None if found is None else [_joined(self, other)[symbol] for symbol in found]

    def l1_distance(self, other: Workbench, n: int = COMPARED, *, random_state: int = 0) -> Estimate:
        """The sum of abs(p(x) - q(x)) over all strings, 0 to 2, from about ``n`` drawn strings, with a bound."""
        half = max(n // 2, 1)
        drawn = self._drawn(half, random_state) + other._drawn(half, random_state + 1)
        return sampled_l1(self.log_prob(drawn), other.log_prob(drawn))

    def kl_divergence(self, other: Workbench, n: int = COMPARED, *, random_state: int = 0) -> Estimate:
        """sum_x p(x) log(p(x) / q(x)) over all strings, in nats; p is this model.

        Exact if both models are deterministic probabilistic automata. Otherwise an average over ``n`` drawn strings,
        which is more precise if one of them is.
        """
        p, q = _probabilistic(self, other, 0), _probabilistic(self, other, 1)
        entropy = None if p is None or not is_deterministic(p) else cross_entropy(p, p)
        crossed = None if p is None or q is None or not is_deterministic(q) else cross_entropy(p, q)
        if entropy is not None and crossed is not None:
            return Estimate(crossed - entropy)
        if crossed == np.inf:
            return Estimate(crossed)
        drawn = self._drawn(n, random_state)
        log_p, log_q = self.log_prob(drawn), other.log_prob(drawn)
        if entropy is not None:
            return sampled_mean(log_p - log_q, log_p, -entropy)
        if crossed is not None:
            return sampled_mean(log_p - log_q, log_q, -crossed)
        return sampled_mean(log_p - log_q)

    def _drawn(self, n: int, seed: int) -> list[list[Any]]:
        """Strings drawn from the model; refuses to wait for strings that never end."""
        for part in self._trained.parts:
            if isinstance(part, Weighted) and not part.backoff_share and not part.wfa.is_irredundant():
                raise RankError("no strings can be drawn: those of this model never end, or its sum diverges")
        return self.sample(n, random_state=seed)

    # -- deterministic forms ----------------------------------------------------------------------------------------

    def to_dfa(
        self,
        X: Strings | None = None,
        n_states: int = 10,
        *,
        n_prefixes: int = FREQUENT_PREFIXES,
        tolerance: float = TOLERANCE,
    ) -> CountedDFA:
        """A deterministic automaton with counts of the strings X, exact where at most ``n_states`` states are enough.

        Each direction of forward vectors is then a state, so states that differ stay apart, a dead state among them.
        Otherwise it approximates the model on the frequent prefixes of X (section 7.3 of the paper; see
        :func:`~spectragram.automata.approximation.approximate_dfa`); ``tolerance=0`` merges as strictly as the paper.

        A state of a distribution accepts if strings can end there; that of any other function, such as the
        characteristic function of a language, if the value there is above 0.5.

        Parameters
        ----------
        X : path, Corpus or iterable of strings, optional
            By default 2000 strings drawn from the model, or all short strings if it is not a distribution.
        n_states : int
            Most states of the result.
        n_prefixes : int
            Number of frequent prefixes that are clustered.
        tolerance : float
            Share of a move's weight that may go elsewhere.
        """
        corpus = self._encoded(self._typical(n_prefixes) if X is None else X)
        require_strings(corpus)
        corpus = known_only(corpus)
        require_strings(corpus)
        tree = grow_prefix_tree(corpus.tokens, corpus.offsets)
        exact = self._exact_dfa(tree, n_states)
        if exact is not None:
            return exact
        states = self._trained.states(tree) if self._is_distribution() else _directions(self.wfa_, tree)
        return approximate_dfa(
            tree, states, self.vocabulary_.words, n_states, n_prefixes=n_prefixes, tolerance=tolerance
        )

    def _is_distribution(self) -> bool:
        parts = self._trained.parts
        return all(not isinstance(part, Weighted) or bool(np.isfinite(part.total).all()) for part in parts)

    def _typical(self, n_prefixes: int) -> list[list[Any]]:
        if self._is_distribution():
            return self.sample(DRAWN, max_length=LONGEST)
        words = self.vocabulary_.words
        strings = (list(string) for length in count() for string in product(words, repeat=length))
        return list(islice(strings, n_prefixes))

    def _exact_dfa(self, tree: PrefixTree, n_states: int) -> CountedDFA | None:
        (part, *others) = self._trained.parts
        if others or not isinstance(part, Weighted) or part.context_share or part.backoff_share or n_states < 1:
            return None
        # The automaton of prefixes has the same states as that of strings, also if no string ever ends.
        is_distribution = self._is_distribution()
        prefixes = WFA(part.wfa.initial, part.wfa.operators, part.total) if is_distribution else part.wfa
        found = find_directions(prefixes, n_states)
        if found is None:
            return None
        values = found.vectors @ found.wfa.final
        accepts = values * found.sizes > HALF
        if is_distribution:
            going_on = found.vectors @ found.wfa.total_operator @ found.wfa.final
            accepts = values - going_on > TINY * np.abs(values)
        at = np.zeros(len(tree), np.int64)
        for node in range(1, len(tree)):
            at[node] = found.target[at[tree.parent[node]], tree.symbol[node]]
        counts = np.zeros((len(found.target), len(self.vocabulary_) + 1))
        np.add.at(counts, (at[tree.parent[1:]], tree.symbol[1:]), tree.through[1:])
        np.add.at(counts, (at, np.full(len(at), -1)), tree.ends)
        return CountedDFA(found.target, accepts, self.vocabulary_.words, counts)


def _directions(wfa: WFA, tree: PrefixTree) -> np.ndarray:
    """The forward vector of every prefix, scaled to length 1, (n_nodes, m)."""
    states = np.zeros((len(tree), wfa.n_states))
    states[0] = wfa.initial / (np.linalg.norm(wfa.initial) or 1.0)
    for node in range(1, len(tree)):
        states[node] = states[tree.parent[node]] @ wfa.operators[tree.symbol[node]]
        states[node] /= np.linalg.norm(states[node]) or 1.0
    return states


def _joined(left: Workbench, right: Workbench) -> list[Any]:
    """The symbols of two models, each once."""
    return list(dict.fromkeys([*left.vocabulary_.words, *right.vocabulary_.words]))


def _over_one_alphabet(left: Workbench, right: Workbench, side: int) -> WFA:
    """The automaton of the left (0) or right (1) model over the symbols of both; its own are all it can read."""
    model: Sequence[Workbench] = (left, right)
    wfa, index = model[side].wfa_, model[side].vocabulary_.index
    words = _joined(left, right)
    operators = np.zeros((len(words), wfa.n_states, wfa.n_states))
    for number, word in enumerate(words):
        if word in index:
            operators[number] = wfa.operators[index[word]]
    return WFA(wfa.initial, operators, wfa.final)


def _probabilistic(left: Workbench, right: Workbench, side: int) -> WFA | None:
    """The automaton of one of two models over one alphabet, if it is all of the model and probabilistic."""
    model = (left, right)[side]
    if set(left.vocabulary_.words) != set(right.vocabulary_.words):
        return None  # symbols outside the alphabet have probabilities that no automaton holds
    for part in model._trained.parts:
        if isinstance(part, Weighted) and (part.context_share or part.backoff_share):
            return None
        if part.n_states > MAX_DENSE:
            return None
    wfa = _over_one_alphabet(left, right, side)
    return wfa if wfa.is_probabilistic() and wfa.is_irredundant() else None
