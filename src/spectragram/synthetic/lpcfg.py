"""Latent-variable PCFGs with known parameters: exact probabilities, feature means, moments, samples.

    paper (Cohen et al. 2012, Cohen & Collins 2014)   here               shape
    pi(a, h)                                          root               (n_interminals, m)
    a -> b c                                          rules              (R, 3), sorted by a
    t(a -> b c, h2, h3 | a, h1)                       binary             (R, m, m, m)   [rule, h1, h2, h3]
    q(a -> x | a, h)                                  lexical            (n_preterminals, m, n_words)
    gamma^a                                           state_given_label  (n_labels, m)
    I^a, J^a                                          inside, outside    (n_labels, d, m), (n_labels, d', m)
    Omega^a                                           inside_outside     (n_labels, d, d')
    D^{a -> b c}, d^inf_{a -> x}, c^1_a               binary, lexical, root of the moments, before projection

Interminals have the labels 0 .. n_interminals - 1, pre-terminals the labels after them. A skeletal tree is represented
by its leftmost derivation, a sequence of rule numbers: binary rule r has number r, and pre-terminal p (counted from 0)
over word x has number R + p * n_words + x.

Moments are averages over *all* nodes of all trees. (If one node were drawn from each tree, inside and outside would
depend on each other through the size of the tree, and the factorisation behind the method would only be approximate.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.data.trees import Tree
from spectragram.errors import InputError
from spectragram.synthetic._chance import (
    Outcomes,
    conditioned,
    draw_many,
    draw_rows,
    expected_visits,
    require_distributions,
    require_shapes,
    weakest_correlation,
    without_end,
)
from spectragram.synthetic._grammar import draw_child_states, draw_rule_choice, leftmost, make_exclusive
from spectragram.synthetic._tree_moments import TreeMoments, count_tree_moments

__all__ = ["LatentPCFG", "TreeMoments"]


@dataclass(frozen=True)
class LatentPCFG:
    """A latent-variable PCFG in Chomsky normal form with m states per label."""

    root: np.ndarray
    rules: np.ndarray
    binary: np.ndarray
    lexical: np.ndarray

    def __post_init__(self) -> None:
        m, n_rules = self.n_states, len(self.rules)
        fits = self.binary.shape == (n_rules, m, m, m) and self.lexical.shape[1] == m
        expected = "(n_interminals, m), (R, 3), (R, m, m, m) and (n_preterminals, m, n_words)"
        require_shapes(expected, fits, self.root, self.rules, self.binary, self.lexical)
        if (np.diff(self.rules[:, 0]) < 0).any() or set(self.rules[:, 0]) != set(range(self.n_interminals)):
            raise InputError(
                "the rules are out of order or an interminal has none",
                remedy="sort them by parent and give every interminal at least one",
            )
        require_distributions("the root weights", self.root.sum(), self.root)
        require_distributions("the lexical rules of a state", self.lexical.sum(axis=2), self.lexical)
        totals = np.add.reduceat(self.binary.sum(axis=(2, 3)), self.first_rule)
        require_distributions("the binary rules of a state", totals, self.binary)
        if without_end(self.offspring):
            raise InputError("trees may grow without end", remedy="lower the weights of rules with interminal children")

    @classmethod
    def random(
        cls,
        n_interminals: int,
        n_preterminals: int,
        n_words: int,
        n_states: int,
        *,
        rng: np.random.Generator,
        branching: float = 0.6,
        conditioning: float = 0.02,
        pivot: bool = False,
    ) -> LatentPCFG:
        """Draw a grammar that has all rules a -> b c and whose :meth:`conditioning` is at least ``conditioning``.

        Parameters
        ----------
        branching : float
            Upper bound on the expected number of interminal children of a node. It must be below 1, so that trees are
            finite. The default gives small trees; it was chosen by hand.
        conditioning : float
            Lower bound on the conditioning. The default was chosen by hand.
        pivot : bool
            Whether the grammar must also satisfy the pivot assumption: every label and state has a rule, and a
            position in the rule above it, that no other state of the label has.
        """
        if not 0 < branching < 1:
            raise InputError(f"branching={branching}", remedy="give a number between 0 and 1")
        n_labels = n_interminals + n_preterminals
        if n_states > min(n_preterminals**2, 2 * n_interminals * n_labels, n_words):
            raise InputError(
                f"{n_interminals} + {n_preterminals} labels and {n_words} words cannot tell {n_states} states apart",
                remedy="use fewer states, more pre-terminals or more words",
            )
        rules = np.stack(np.meshgrid(np.arange(n_interminals), *[np.arange(n_labels)] * 2, indexing="ij"), -1)
        rules = rules.reshape(-1, 3)

        def draw(sharpness: float) -> LatentPCFG:
            root = rng.dirichlet(np.ones(n_interminals * n_states)).reshape(n_interminals, n_states)
            lexical = np.stack([draw_rows(n_states, n_words, sharpness, rng) for _ in range(n_preterminals)])
            if pivot:
                for words in lexical:
                    make_exclusive(words.T, rng.permutation(n_words))
                    words /= words.sum(axis=1, keepdims=True)
            choice = draw_rule_choice(rules, n_interminals, n_states, sharpness, branching, pivot, rng)
            states = draw_child_states(rules, n_states, sharpness, pivot, rng)
            return cls(root, rules, choice[:, :, None, None] * states, lexical)

        return conditioned(draw, LatentPCFG.conditioning, conditioning)

    @property
    def n_interminals(self) -> int:
        """Number of labels with rules a -> b c."""
        return self.root.shape[0]

    @property
    def n_preterminals(self) -> int:
        """Number of labels with rules a -> x."""
        return self.lexical.shape[0]

    @property
    def n_labels(self) -> int:
        """Number of interminals and pre-terminals."""
        return self.n_interminals + self.n_preterminals

    @property
    def n_states(self) -> int:
        """Number of hidden states m per label."""
        return self.root.shape[1]

    @property
    def n_words(self) -> int:
        """Number of words."""
        return self.lexical.shape[2]

    @property
    def n_rules(self) -> int:
        """Number of binary and lexical rules."""
        return len(self.rules) + self.n_preterminals * self.n_words

    @cached_property
    def first_rule(self) -> np.ndarray:
        """Index of the first binary rule of each interminal, shape (n_interminals,)."""
        return np.searchsorted(self.rules[:, 0], np.arange(self.n_interminals))

    @cached_property
    def offspring(self) -> np.ndarray:
        """Expected number of children (b, h') of a node (a, h), shape (n_labels * m, n_labels * m)."""
        m = self.n_states
        expected = np.zeros((self.n_labels, m, self.n_labels, m))
        for (a, b, c), t in zip(self.rules, self.binary, strict=True):
            expected[a, :, b] += t.sum(axis=2)
            expected[a, :, c] += t.sum(axis=1)
        return expected.reshape(self.n_labels * m, -1)

    def conditioning(self) -> float:
        """Weakest canonical correlation, over labels, between a node's rule and its position in the rule above."""
        inside, outside, gamma = self.inside(), self.outside(), self.state_given_label()
        return min(weakest_correlation(inside[a] * gamma[a], outside[a]) for a in range(self.n_labels))

    def probability(self, derivation: Sequence[int]) -> float:
        """P(r_1 .. r_N) of a skeletal tree, summed over hidden states."""
        stack: list[tuple[int, np.ndarray]] = []
        # From the last rule to the first: the subtrees of a rule are then on the stack, the left one on top.
        for rule in reversed(derivation):
            if rule < len(self.rules):
                a, b, c = self.rules[rule]
                (left_label, left), (right_label, right) = stack.pop(), stack.pop()
                if (left_label, right_label) != (b, c):
                    return 0.0
                stack.append((a, np.einsum("hij,i,j->h", self.binary[rule], left, right)))
            else:
                p, word = divmod(rule - len(self.rules), self.n_words)
                stack.append((self.n_interminals + p, self.lexical[p, :, word]))
        ((label, inside),) = stack
        return float(self.root[label] @ inside) if label < self.n_interminals else 0.0

    def visits(self) -> np.ndarray:
        """Expected number of nodes with each label and state in a tree, shape (n_labels, m)."""
        start = np.zeros((self.n_labels, self.n_states))
        start[: self.n_interminals] = self.root
        return expected_visits(start.ravel(), self.offspring).reshape(start.shape)

    def state_given_label(self) -> np.ndarray:
        """gamma, P(h | a) over all nodes, shape (n_labels, m)."""
        visits = self.visits()
        return visits / visits.sum(axis=1, keepdims=True)

    def inside(self) -> np.ndarray:
        """I^a for the feature "rule at the root of the inside tree": P(rule | a, h), shape (n_labels, n_rules, m)."""
        means = np.zeros((self.n_labels, self.n_rules, self.n_states))
        numbers = np.arange(len(self.rules))
        means[self.rules[:, 0], numbers] = self.binary.sum(axis=(2, 3))
        for p in range(self.n_preterminals):
            start = len(self.rules) + p * self.n_words
            means[self.n_interminals + p, start : start + self.n_words] = self.lexical[p].T
        return means

    def outside(self) -> np.ndarray:
        """J^a for the feature "rule above the node, and which child the node is": shape (n_labels, 2 R + 1, m).

        Feature 2 r is "left child in rule r", 2 r + 1 is "right child in rule r", and the last one is "root of the
        tree".
        """
        visits = self.visits()
        counts = np.zeros((self.n_labels, 2 * len(self.rules) + 1, self.n_states))
        for r, (a, b, c) in enumerate(self.rules):
            children = np.tensordot(visits[a], self.binary[r], 1)  # (h2, h3)
            counts[b, 2 * r] += children.sum(axis=1)
            counts[c, 2 * r + 1] += children.sum(axis=0)
        counts[: self.n_interminals, -1] = self.root
        return counts / visits[:, None]

    def moments(self, inside: np.ndarray | None = None, outside: np.ndarray | None = None) -> TreeMoments:
        """Exact moments for the given feature means, by default those of :meth:`inside` and :meth:`outside`.

        The means may be projected ones, for example ``np.stack([U[a].T @ I[a] for a in labels])``.
        """
        I = self.inside() if inside is None else inside
        J = self.outside() if outside is None else outside
        gamma = self.state_given_label()
        weighted = J * gamma[:, None]  # E[psi(O) [H1 = h] | a]
        a, b, c = self.rules.T
        return TreeMoments(
            np.einsum("aih,ajh->aij", I, weighted),
            np.einsum("rhgf,rjf,rkh,rlg->rjkl", self.binary, I[c], weighted[a], I[b], optimize=True),
            np.einsum("phx,pkh->pxk", self.lexical, weighted[self.n_interminals :]),
            np.einsum("ah,aih->ai", self.root, I[: self.n_interminals]),
        )

    def counted_moments(self, corpus: Corpus) -> TreeMoments:
        """Estimate the default moments of :meth:`moments` from sampled trees."""
        return count_tree_moments(self, corpus)

    def sample(self, n: int, rng: np.random.Generator) -> Corpus:
        """Draw n skeletal trees as leftmost derivations; the words of the corpus are the names of the rules."""
        m = self.n_states
        nodes = draw_many(self.root, n, rng)
        expand = self._expansions()
        generations: list[tuple[np.ndarray, np.ndarray]] = []  # rule of each node, and which nodes have children
        while len(nodes):
            parents = np.flatnonzero(nodes < self.n_interminals * m)
            outcome = expand.draw(nodes, rng)
            rule, states = np.divmod(outcome[parents], m * m)
            rule += self.first_rule[nodes[parents] // m]
            number = outcome + len(self.rules) + (nodes // m - self.n_interminals) * self.n_words
            number[parents] = rule
            generations.append((number, parents))
            nodes = (self.rules[rule, 1:] * m + np.stack(np.divmod(states, m), axis=1)).ravel()
        tokens, offsets = leftmost(generations)
        counts = np.bincount(tokens, minlength=self.n_rules)
        return Corpus(tokens, offsets, Vocabulary(self.rule_names(), counts))

    def _expansions(self) -> Outcomes:
        """Distribution over the expansions of a node (label, state): (rule, states of its children), or a word."""
        m = self.n_states
        sizes = np.diff(np.append(self.first_rule, len(self.rules))) * m * m
        table = np.zeros((self.n_labels, m, max(sizes.max(), self.n_words)))
        for a, (start, size) in enumerate(zip(self.first_rule, sizes, strict=True)):
            table[a, :, :size] = self.binary[start : start + size // (m * m)].swapaxes(0, 1).reshape(m, -1)
        table[self.n_interminals :, :, : self.n_words] = self.lexical
        return Outcomes(table.reshape(self.n_labels * m, -1))

    def label_names(self) -> list[str]:
        """Names of the labels: A0, A1, ... for interminals, then P0, P1, ... for pre-terminals."""
        return [f"A{a}" for a in range(self.n_interminals)] + [f"P{p}" for p in range(self.n_preterminals)]

    def rule_names(self) -> list[str]:
        """Names of the rules, for example ``A0->A1 P2`` or ``P2->w7``."""
        labels = self.label_names()
        names = [f"{labels[a]}->{labels[b]} {labels[c]}" for a, b, c in self.rules]
        return names + [f"P{p}->w{x}" for p in range(self.n_preterminals) for x in range(self.n_words)]

    def to_tree(self, derivation: Sequence[int]) -> Tree:
        """The skeletal tree of a leftmost derivation."""
        labels = self.label_names()
        stack: list[Tree] = []
        for rule in reversed(derivation):
            if rule < len(self.rules):
                stack.append(Tree(labels[self.rules[rule, 0]], [stack.pop(), stack.pop()]))
            else:
                p, word = divmod(rule - len(self.rules), self.n_words)
                stack.append(Tree(f"P{p}", word=f"w{word}"))
        (tree,) = stack
        return tree
