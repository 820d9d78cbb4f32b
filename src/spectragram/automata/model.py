"""What a trained model is: a mixture of automata and k-grams that predict the next symbol, and its alphabet.

A mixture sum_k w_k f_k of automata is an automaton again (their direct sum). After a prefix, its state holds how well
each part has predicted that prefix, so the mixture predicts by Bayes' rule, prefix by prefix.

Estimated automata may give symbols negative scores. A negative score is replaced by zero and counted; the scores are
normalised, and a small share of a k-gram model (``backoff``), chosen on held-out strings, is mixed in.

    alpha^{i+1} = alpha^i' A_w / (alpha^i' A_w alpha~_inf)                    Weighted.states              (section 5.1)
    scores  alpha^i' A_sigma alpha~_inf  and, of the end,  alpha^i' alpha_inf     Weighted.next_distributions
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from spectragram.automata.contexts import PAST, ContextTree
from spectragram.automata.ngram import Ngrams
from spectragram.automata.wfa import WFA, Statistic
from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.data.symbols import spell
from spectragram.engine import single_threaded_blas
from spectragram.errors import RankError
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.chain import CANCELLED, forward_states
from spectragram.inference.prefix_tree import PrefixTree, sum_along_paths
from spectragram.learning.spelling import Spelling, UnknownWords, rare_words
from spectragram.learning.words import RARE
from spectragram.schema import Array, Flag, Number, OneOf, Parts, Schema, Text
from spectragram.schema import Part as PartOfState

__all__ = ["Model", "Part", "Weighted", "string_log_probs", "unseen_rate"]

ROUNDING = 1e-9
"""Scores between minus this and zero are rounding error and not counted as negative; scores are at most 1 in size."""
TINY = 1e-300
"""A guard against division by zero; any tiny value does."""


@dataclass(frozen=True)
class Weighted:
    """A weighted automaton that predicts the next symbol.

    Attributes
    ----------
    wfa : WFA
        The automaton of f.
    total : array, shape (m,)
        forward . total = f_p; ones for probabilistic automata, NaN if sums over all strings diverge.
    contexts, context_states : ContextTree, array of shape (context nodes, m)
        A state for every recent past. It replaces a running state whose weights cancel (the reset).
    context_share : float
        Share of that state that is mixed into every running state.
    backoff, backoff_share : Ngrams or None, float
        A k-gram model, and the share of it that is mixed into every prediction.
    reset : bool
        Whether states whose weights cancel are replaced; if not, they are divided by their total whatever its sign, as
        in the paper.
    """

    wfa: WFA
    total: np.ndarray
    contexts: ContextTree
    context_states: np.ndarray
    context_share: float = 0.0
    backoff: Ngrams | None = None
    backoff_share: float = 0.0
    reset: bool = True

    @classmethod
    def probabilistic(cls, wfa: WFA) -> Weighted:
        """A probabilistic automaton: anything can follow every state, and nothing needs repair."""
        return cls.without_contexts(wfa, np.ones(wfa.n_states), wfa.initial / max(wfa.initial.sum(), TINY))

    @classmethod
    def without_contexts(cls, wfa: WFA, total: np.ndarray, state: np.ndarray) -> Weighted:
        """An automaton that is reset to the same state (m,) after every past."""
        contexts = ContextTree.of([()], wfa.n_symbols, PAST)
        return cls(wfa, total, contexts, np.repeat(state[None], len(contexts.parent), axis=0))

    @classmethod
    def of_function(cls, wfa: WFA, statistic: Statistic = "string") -> Weighted:
        """Any automaton of a statistic, ready to predict; totals are NaN if sums over all strings diverge."""
        if wfa.is_probabilistic() and statistic == "string":
            return cls.probabilistic(wfa)
        string = wfa.change_statistic(statistic, "string")
        try:
            # The values of prefixes are known if they are what was learned, also where strings never end.
            total = wfa.final if statistic == "prefix" else string.change_statistic("string", "prefix").final
        except RankError:
            total = np.full(wfa.n_states, np.nan)
        weight = float(string.initial @ total)
        start = string.initial / weight if np.isfinite(weight) and weight > 0 else string.initial
        return cls.without_contexts(string, total, start)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.wfa.n_states

    @cached_property
    def _operators(self) -> np.ndarray:
        # The last one is for symbols outside the alphabet: "some symbol", the sum of all others.
        return np.concatenate([self.wfa.operators, self.wfa.total_operator[None]])

    @cached_property
    def _readout(self) -> np.ndarray:
        return np.column_stack([(self.wfa.operators @ self.total).T, self.wfa.final])

    @cached_property
    def _least(self) -> float:
        """See ``least`` of :func:`forward_states`."""
        if not self.reset:
            return -1.0
        signed = min(self.wfa.initial.min(), self.wfa.operators.min(initial=0.0), self.total.min()) < 0.0
        return CANCELLED if signed else 0.0

    def to_wfa(self) -> WFA:
        """The automaton alone, without resets and back-off."""
        return self.wfa

    def states(self, tree: PrefixTree) -> tuple[np.ndarray, np.ndarray]:
        """State after every prefix, (n_nodes, m), and its scale, (n_nodes,), which is 0 if the state was reset."""
        with single_threaded_blas():
            return forward_states(
                tree.parent, tree.symbol, tree.groups, self.wfa.initial, self._operators, self.total, self._least,
                self.context_states, self.contexts.locate_nodes(tree), self.context_share,
            )  # fmt: skip

    def next_distributions(self, tree: PrefixTree) -> tuple[np.ndarray, int]:
        """Distribution of what follows each prefix, (n_nodes, n_symbols + 1), and how many values were repaired."""
        if not np.isfinite(self.total).all():
            raise RankError("the sum of the function over all strings diverges: it has values but no probabilities")
        states, scales = self.states(tree)
        scores = states @ self._readout
        repaired = int((scores < -ROUNDING).sum() + (scales == 0.0).sum())
        scores = np.maximum(scores, 0.0)
        mass = scores.sum(axis=1, keepdims=True)
        uniform = 1.0 / scores.shape[1]
        scores = np.where(mass > 0, scores / np.where(mass > 0, mass, 1.0), uniform)
        if self.backoff is not None and self.backoff_share > 0:
            scores *= 1.0 - self.backoff_share
            scores += self.backoff_share * self.backoff.next_distributions(tree)[0]
        return scores, repaired

    SCHEMA: ClassVar[Schema] = Schema(
        "Weighted automaton",
        "Initial, transition and final weights, and the states that replace those whose weights cancel.",
        values={
            "type": Text("what kind of part this is", choices=("weighted",)),
            "context_share": Number("share of the state of the context in every state", most=1.0),
            "backoff_share": Number("share of the k-grams in every prediction", most=1.0),
            "has_backoff": Flag("whether there are k-grams"),
            "reset": Flag("whether states whose weights cancel are replaced; they are if it is missing"),
        },
        optional=("reset",),
        arrays={
            "initial": Array("f8", ("n_states",), "initial weights"),
            "operators": Array("f8", ("n_symbols", "n_states", "n_states"), "transition weights of each symbol"),
            "final": Array("f8", ("n_states",), "final weights"),
            "total": Array(
                "f8", ("n_states",), "sums over everything that may follow; NaN if they diverge", any_float=True
            ),
            "context_states": Array("f8", ("n_contexts", "n_states"), "a state for every recent past"),
        },
        parts={
            "contexts": PartOfState(ContextTree.SCHEMA, {"n_symbols": "n_symbols"}, values=None),
            "backoff": PartOfState(
                replace(Ngrams.SCHEMA, values={}), {"n_symbols": "n_symbols"}, values=None, optional=True
            ),
        },
        sizes={"n_states": 1, "n_contexts": 1},
        rule=lambda values, arrays, sizes: (
            None if values["has_backoff"] == ("backoff.table" in arrays) else "k-grams do not fit 'has_backoff'"
        ),
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values: dict[str, Any] = {
            "type": "weighted",
            "context_share": self.context_share,
            "backoff_share": self.backoff_share,
            "has_backoff": self.backoff is not None,
        }
        if not self.reset:
            values["reset"] = False
        arrays = {
            "initial": self.wfa.initial,
            "operators": self.wfa.operators,
            "final": self.wfa.final,
            "total": self.total,
            "context_states": self.context_states,
            **prefixed("contexts", self.contexts.to_arrays()),
        }
        if self.backoff is not None:
            arrays |= prefixed("backoff", self.backoff.to_state()[1])
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any], n_symbols: int) -> Weighted:
        """Inverse of :meth:`to_state`; ``ValueError`` if the arrays do not fit together."""
        wfa = WFA(arrays["initial"], arrays["operators"], arrays["final"])
        if wfa.n_symbols != n_symbols or arrays["total"].shape != wfa.final.shape:
            raise ValueError(f"an automaton over {wfa.n_symbols} symbols for an alphabet of {n_symbols}")
        backoff = None
        if values["has_backoff"]:
            backoff = Ngrams.from_state({}, without_prefix("backoff", arrays), n_symbols)
        contexts = ContextTree.from_arrays(without_prefix("contexts", arrays), n_symbols, PAST)
        states = arrays["context_states"]
        if states.shape != (len(contexts.parent), wfa.n_states):
            raise ValueError("contexts and their states do not fit together")
        shares = float(values["context_share"]), float(values["backoff_share"])
        return cls(wfa, arrays["total"], contexts, states, shares[0], backoff, shares[1], values.get("reset", True))


Part = Weighted | Ngrams
"""Anything that predicts the next symbol after every prefix of a tree."""
PART_SCHEMAS = OneOf({"weighted": Weighted.SCHEMA, "ngrams": Ngrams.SCHEMA}, lambda values, arrays: values.get("type"))
PART_TYPES: dict[str, type[Weighted] | type[Ngrams]] = {"weighted": Weighted, "ngrams": Ngrams}


@dataclass(frozen=True)
class Model:
    """All that prediction needs.

    Attributes
    ----------
    parts : tuple of Weighted and Ngrams
    weights : array, shape (n_parts,)
        They sum to 1.
    vocabulary : Vocabulary
        The alphabet; symbol s of all arrays is its word s.
    unknown_rate : float
        Probability of a symbol outside the alphabet.
    spectrum : array
        Singular values of the Hankel block, empty for learners without one.
    """

    parts: tuple[Part, ...]
    weights: np.ndarray
    vocabulary: Vocabulary
    unknown_rate: float
    spectrum: np.ndarray

    @classmethod
    def of(
        cls, corpus: Corpus, parts: Sequence[Part], weights: np.ndarray, spectrum: np.ndarray | None = None
    ) -> Model:
        """The model of parts that were learned from a corpus."""
        singular_values = np.zeros(0) if spectrum is None else spectrum
        return cls(tuple(parts), weights, corpus.vocabulary, unseen_rate(corpus), singular_values)

    @property
    def n_symbols(self) -> int:
        """Size of the alphabet."""
        return len(self.vocabulary)

    @cached_property
    def open(self) -> bool:
        """Whether there is room for symbols outside the alphabet, because some in it were seen only once.

        Then symbols of the alphabet have 1 - ``unknown_rate`` of the mass, and others are spelled. Otherwise the
        alphabet is taken to be complete: the automaton is the distribution, and another symbol costs
        log(``unknown_rate``), outside it.
        """
        return self.unknown_rate > 0 and bool((self.vocabulary.counts == 1).any())

    @cached_property
    def unknown_words(self) -> UnknownWords:
        """How symbols outside the alphabet are spelled, learned from the rare ones in it."""
        words = [spell(symbol) for symbol in self.vocabulary.words]
        rare = rare_words(words, self.vocabulary.counts.tolist(), RARE)
        return UnknownWords(Spelling.fit([word for word, keep in zip(words, rare, strict=True) if keep]), words)

    def to_wfa(self) -> WFA:
        """The direct sum of the automata of all parts, each multiplied by its weight."""
        scaled = [
            part.to_wfa() if weight == 1.0 else float(weight) * part.to_wfa()
            for weight, part in zip(self.weights, self.parts, strict=True)
        ]
        return reduce(add, scaled)

    def states(self, tree: PrefixTree) -> np.ndarray:
        """The states of all automata after every prefix, (n_nodes, m); for k-grams alone, their predictions."""
        automata = [part for part in self.parts if isinstance(part, Weighted)]
        return np.hstack([part.states(tree)[0] for part in automata]) if automata else self.predict(tree)[0]

    def predict(self, tree: PrefixTree) -> tuple[np.ndarray, np.ndarray, int]:
        """Predict what follows every prefix of a tree, in which a symbol outside the alphabet is ``n_symbols``.

        Returns the distribution of the next symbol, (n_nodes, n_symbols + 1), with the end in the last column; the
        log-probability of each prefix, (n_nodes,), in which symbols outside the alphabet cost nothing; and how many
        values were repaired.
        """
        found = [part.next_distributions(tree) for part in self.parts]
        with np.errstate(divide="ignore"):
            joint = np.log(self.weights)[:, None] + np.stack([prefix_log_probs(tree, p) for p, _ in found])
        prefix = logsumexp(joint, axis=0)
        # After a prefix that is impossible for all parts, they continue with their initial weights.
        with np.errstate(invalid="ignore"):
            posterior = np.exp(joint - prefix)
        posterior[:, ~np.isfinite(prefix)] = self.weights[:, None]
        mixed = sum(share[:, None] * p for share, (p, _) in zip(posterior, found, strict=True))
        return np.asarray(mixed), prefix, sum(n for _, n in found)

    SCHEMA: ClassVar[Schema] = Schema(
        "Automaton",
        "A mixture of automata and k-grams.",
        values={"unknown_rate": Number("probability of a symbol outside the alphabet", most=1.0)},
        arrays={
            "weights": Array("f8", ("n_parts",), "weights of the parts", sums=True),
            "spectrum": Array("f8", ("n_values",), "singular values of the Hankel block", least=0),
        },
        parts={
            "vocabulary": PartOfState(Vocabulary.SCHEMA, {"n_words": "n_symbols"}),
            "": Parts(PART_SCHEMAS, "n_parts", {"n_symbols": "n_symbols"}, values="parts"),
        },
        sizes={"n_symbols": 1, "n_parts": 1},
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them; the arrays of part i begin with ``i.``"""
        described, arrays = [], {"weights": self.weights, "spectrum": self.spectrum}
        for i, part in enumerate(self.parts):
            values, own = part.to_state()
            described.append(values)
            arrays |= prefixed(str(i), own)
        vocabulary, words = self.vocabulary.to_state()
        values = {"parts": described, "vocabulary": vocabulary, "unknown_rate": self.unknown_rate}
        return values, arrays | prefixed("vocabulary", words)

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Model:
        """Inverse of :meth:`to_state`; ``KeyError`` or ``ValueError`` if the arrays do not fit together."""
        vocabulary = Vocabulary.from_state(values["vocabulary"], without_prefix("vocabulary", arrays))
        parts = tuple(
            PART_TYPES[described["type"]].from_state(described, without_prefix(str(i), arrays), len(vocabulary))
            for i, described in enumerate(values["parts"])
        )
        if not parts or arrays["weights"].shape != (len(parts),):
            raise ValueError(f"{len(parts)} parts with weights of shape {arrays['weights'].shape}")
        return cls(parts, arrays["weights"], vocabulary, float(values["unknown_rate"]), arrays["spectrum"])


def unseen_rate(corpus: Corpus) -> float:
    """Probability of a symbol outside the alphabet: the Good-Turing estimate, symbols seen once over all tokens."""
    counts = np.bincount(corpus.tokens, minlength=1)
    # Half a symbol if none was seen once: the probability must not be zero.
    return float(max((counts == 1).sum(), 0.5) / (corpus.n_tokens + 1))


def prefix_log_probs(tree: PrefixTree, distributions: np.ndarray) -> np.ndarray:
    """Log-probability of every prefix of a tree, (n_nodes,), from the distributions of what follows each."""
    known = np.flatnonzero((tree.symbol >= 0) & (tree.symbol < distributions.shape[1] - 1))
    steps = np.zeros(len(tree))
    with np.errstate(divide="ignore"):
        steps[known] = np.log(distributions[tree.parent[known], tree.symbol[known]])
    return sum_along_paths(tree.parent, steps)


def string_log_probs(tree: PrefixTree, part: Part) -> np.ndarray:
    """Log-probability of every string of a tree, in the order of ``end_of``, (n_strings,)."""
    distributions, _ = part.next_distributions(tree)
    with np.errstate(divide="ignore"):
        return prefix_log_probs(tree, distributions)[tree.end_of] + np.log(distributions[tree.end_of, -1])
