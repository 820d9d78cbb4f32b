"""What a trained model is: automata and k-grams that predict the next symbol, alone or mixed.

A mixture sum_k w_k f_k of automata is again an automaton (their direct sum); its state after a prefix holds how well
each part has predicted so far. That is how a mixture predicts here: by Bayes' rule, prefix by prefix.

Estimated automata may score symbols negatively. The one rule: a negative score counts as zero and is reported, the rest
is normalised, and a small share of a k-gram model (``backoff``), chosen on held-out strings, is mixed in.

    alpha^{i+1} = alpha^i' A_w / (alpha^i' A_w alpha~_inf)                    Weighted.states              (section 5.1)
    scores  alpha^i' A_sigma alpha~_inf  and, of the end,  alpha^i' alpha_inf     Weighted.next_distributions
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Protocol

import numpy as np
from scipy.special import logsumexp

from spectragram.automata.contexts import PAST, ContextTree
from spectragram.automata.ngram import Ngrams
from spectragram.automata.wfa import WFA
from spectragram.engine import single_threaded_blas
from spectragram.inference.chain import forward_states
from spectragram.inference.prefix_tree import PrefixTree, sum_along_paths

__all__ = ["Mixture", "Part", "Weighted"]

ROUNDING = 1e-9
"""Scores above minus this are zero up to rounding, not negative."""


class Part(Protocol):
    """Anything that predicts the next symbol after every prefix of a tree."""

    @property
    def n_symbols(self) -> int:
        """Size of the alphabet."""

    def to_wfa(self) -> WFA:
        """The part as an automaton of string weights."""

    def next_distributions(self, tree: PrefixTree) -> tuple[np.ndarray, int]:
        """What follows each prefix, (n_nodes, n_symbols + 1), and how many values had to be repaired."""


@dataclass(frozen=True)
class Weighted:
    """A weighted automaton that predicts.

    Attributes
    ----------
    wfa : the automaton of f
    total : shape (m,), forward . total = f_p; ones for probabilistic automata
    contexts, context_states : a state for every recent past, taken when the running state makes no sense (the reset)
    context_share : how much of that state is mixed into every running state
    backoff, backoff_share : k-grams mixed into every prediction, and how much of them
    """

    wfa: WFA
    total: np.ndarray
    contexts: ContextTree
    context_states: np.ndarray
    context_share: float = 0.0
    backoff: Ngrams | None = None
    backoff_share: float = 0.0

    @classmethod
    def probabilistic(cls, wfa: WFA) -> Weighted:
        """A probabilistic automaton: every state can be followed by anything, nothing needs repair."""
        contexts = ContextTree.of([()], wfa.n_symbols, PAST)
        stationary = np.repeat(wfa.initial[None] / max(wfa.initial.sum(), 1e-300), len(contexts.parent), axis=0)
        return cls(wfa, np.ones(wfa.n_states), contexts, stationary)

    @property
    def n_symbols(self) -> int:
        """Size of the alphabet."""
        return self.wfa.n_symbols

    @cached_property
    def _operators(self) -> np.ndarray:
        # One more for symbols outside the alphabet: "some symbol", the sum of all.
        return np.concatenate([self.wfa.operators, self.wfa.total_operator[None]])

    @cached_property
    def _readout(self) -> np.ndarray:
        return np.column_stack([(self.wfa.operators @ self.total).T, self.wfa.final])

    @cached_property
    def _signed(self) -> bool:
        return bool(min(self.wfa.initial.min(), self.wfa.operators.min(initial=0.0), self.total.min()) < 0.0)

    def to_wfa(self) -> WFA:
        """The automaton alone: neither resets nor back-off are part of it."""
        return self.wfa

    def states(self, tree: PrefixTree) -> tuple[np.ndarray, np.ndarray]:
        """State after every prefix, (n_nodes, m), and its scale, (n_nodes,): 0 where the state was reset."""
        with single_threaded_blas():
            return forward_states(
                tree.parent, tree.symbol, tree.groups, self.wfa.initial, self._operators, self.total, self._signed,
                self.context_states, self.contexts.locate_nodes(tree), self.context_share,
            )  # fmt: skip

    def next_distributions(self, tree: PrefixTree) -> tuple[np.ndarray, int]:
        """What follows each prefix, (n_nodes, n_symbols + 1), and the number of resets and negative scores."""
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


@dataclass(frozen=True)
class Mixture:
    """Parts with weights (n_parts,) that sum to 1."""

    parts: tuple[Part, ...]
    weights: np.ndarray

    @property
    def n_symbols(self) -> int:
        """Size of the alphabet."""
        return self.parts[0].n_symbols

    def to_wfa(self) -> WFA:
        """The direct sum of the parts' automata, each with its weight."""
        scaled = [
            part.to_wfa() if weight == 1.0 else float(weight) * part.to_wfa()
            for weight, part in zip(self.weights, self.parts, strict=True)
        ]
        return reduce(add, scaled)

    def states(self, tree: PrefixTree) -> np.ndarray:
        """The states of all automata after every prefix, (n_nodes, m); of k-grams alone, what they predict."""
        automata = [part for part in self.parts if isinstance(part, Weighted)]
        return np.hstack([part.states(tree)[0] for part in automata]) if automata else self.predict(tree)[0]

    def predict(self, tree: PrefixTree) -> tuple[np.ndarray, np.ndarray, int]:
        """What follows each prefix (n_nodes, k + 1); log-probability of each prefix (n_nodes,); repaired values.

        Symbols outside the alphabet are passed over: they cost nothing here.
        """
        found = [part.next_distributions(tree) for part in self.parts]
        with np.errstate(divide="ignore"):
            joint = np.log(self.weights)[:, None] + np.stack([prefix_log_probs(tree, p) for p, _ in found])
        prefix = logsumexp(joint, axis=0)
        # Where all parts hold a prefix to be impossible, they predict on with their first weights.
        with np.errstate(invalid="ignore"):
            posterior = np.exp(joint - prefix)
        posterior[:, ~np.isfinite(prefix)] = self.weights[:, None]
        mixed = sum(share[:, None] * p for share, (p, _) in zip(posterior, found, strict=True))
        return np.asarray(mixed), prefix, sum(n for _, n in found)


def prefix_log_probs(tree: PrefixTree, distributions: np.ndarray) -> np.ndarray:
    """Log-probability of every prefix of a tree from the distributions of its symbols, (n_nodes,)."""
    known = np.flatnonzero((tree.symbol >= 0) & (tree.symbol < distributions.shape[1] - 1))
    steps = np.zeros(len(tree))
    with np.errstate(divide="ignore"):
        steps[known] = np.log(distributions[tree.parent[known], tree.symbol[known]])
    return sum_along_paths(tree.parent, steps)


def string_log_probs(tree: PrefixTree, part: Part) -> np.ndarray:
    """Log-probability of every string of a tree, in the order of ``end_of``."""
    distributions, _ = part.next_distributions(tree)
    with np.errstate(divide="ignore"):
        return prefix_log_probs(tree, distributions)[tree.end_of] + np.log(distributions[tree.end_of, -1])
