"""Small random grammars with hidden states, and all derivations of short sentences by brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from spectragram.constituency.brackets import LabelSet
from spectragram.constituency.em import TrainingTrees, member_from_shares
from spectragram.constituency.features import random_shares
from spectragram.constituency.model import Grammar, Member, Thresholds
from spectragram.data.binarization import Binarizer, unbinarize
from spectragram.data.heads import learn_head_rules
from spectragram.data.productions import BINARY, LEXICAL, UNARY
from spectragram.data.treebank import Treebank
from spectragram.data.trees import Tree, make_tree

Part = tuple[str, int, int, int, int]
"""('edge', rule, i, k, j), ('link', rule or -1, symbol, i, j), ('item', symbol, i, j, 0) of bottom items."""
Vectors = Callable[[int], tuple[np.ndarray, np.ndarray]]
"""Tags of the word at a place, and their vectors, as a lexicon gives them."""


def random_trees(rng: np.random.Generator, n: int = 8, n_words: int = 4) -> list[Tree]:
    """Trees of up to ``n_words`` words over two phrase labels, two tags and three words, with unary chains."""

    def grow(size: int) -> Tree:
        label = str(rng.choice(["A", "B"]))
        if size == 1:
            node = make_tree(str(rng.choice(["s", "t"])), (), str(rng.choice(["x", "y", "z"])))
            return make_tree(label, (node,)) if rng.random() < 0.4 else node
        n_children = int(rng.integers(2, min(size, 3) + 1))
        cuts = np.sort(rng.choice(np.arange(1, size), n_children - 1, replace=False))
        sizes = np.diff([0, *cuts, size])
        node = make_tree(label, tuple(grow(int(part)) for part in sizes))
        # Sometimes a chain of one or two labels above
        for _ in range(int(rng.integers(0, 3)) if rng.random() < 0.4 else 0):
            node = make_tree("B" if node.label == "A" else "A", (node,))
        return node

    grown = [grow(int(rng.integers(1, n_words + 1))) for _ in range(n)]
    return [tree if tree.word is None else make_tree("A", (tree,)) for tree in grown]


def training_trees(trees: Sequence[Tree], direction: str = "right") -> TrainingTrees:
    binarizer = Binarizer(direction, head_rules=learn_head_rules(trees))  # type: ignore[arg-type]
    return TrainingTrees.of(Treebank.from_trees(trees, binarizer))


def random_member(data: TrainingTrees, rng: np.random.Generator, n_states: int = 2, *, signed: bool = False) -> Member:
    """Every symbol has one to ``n_states`` states, nodes belong to them at random; ``signed`` flips some weights."""
    sizes = rng.integers(1, n_states + 1, data.treebank.productions.n_symbols).astype(np.int32)
    # The eighth power makes most shares nearly zero or one, so that states differ.
    shares = random_shares(data.treebank.symbol, sizes, rng) ** 8
    member = member_from_shares(data, sizes, shares / shares.sum(axis=1, keepdims=True))
    if not signed:
        return member
    operators = member.operators
    signs = rng.choice([-1.0, 1.0], len(operators.root), p=[0.3, 0.7])
    return replace(member, operators=operators._replace(root=operators.root * signs))


def make_grammar(data: TrainingTrees, members: Sequence[Member], *, thresholds: Thresholds | None = None) -> Grammar:
    """A grammar that prunes nothing unless it is told to."""
    one_state = np.ones(data.treebank.productions.n_symbols, np.int32)
    coarse = member_from_shares(data, one_state, np.ones((data.treebank.n_nodes, 1)))
    labels = LabelSet.of_treebank(data.treebank)
    found = thresholds or Thresholds(0.0, 0.0)
    return Grammar(data.treebank.productions, data.rules, labels, coarse, coarse, tuple(members), found)


@dataclass(frozen=True)
class Derivation:
    """Value under a member; the parts that it is made of; kind, symbol and rule of nodes, children before parents."""

    value: float
    parts: tuple[Part, ...]
    nodes: tuple[tuple[int, int, int], ...]

    def tree(self, grammar: Grammar, words: Sequence[str]) -> Tree:
        kinds, symbols, rules = zip(*self.nodes, strict=True)
        tree = unbinarize(grammar.productions.tree(kinds, symbols, rules, words))
        outer = grammar.labels.outer
        return tree if outer is None else make_tree(outer, (tree,))


@dataclass(frozen=True)
class Enumeration:
    """All derivations of a sentence; ``vectors`` replaces those of the member's lexicon."""

    grammar: Grammar
    member: Member
    words: Sequence[str]
    vectors: Vectors | None = None
    any_root: bool = False
    first: bool = True
    known: dict[tuple[int, int, int], list] = field(default_factory=dict)
    """Top items that have been enumerated."""

    def tensor(self, r: int) -> np.ndarray:
        o = self.member.operators
        return o.binary[o.binary_start[r] : o.binary_start[r + 1]].reshape(o.n_states[self.grammar.rules.binary[r]])

    def matrix(self, u: int) -> np.ndarray:
        o = self.member.operators
        return o.unary[o.unary_start[u] : o.unary_start[u + 1]].reshape(o.n_states[self.grammar.rules.unary[u]])

    def of_symbol(self, flat: np.ndarray, a: int) -> np.ndarray:
        start = self.member.operators.state_start
        return flat[start[a] : start[a + 1]]

    def bottoms(self, a: int, i: int, j: int) -> Iterator[tuple[np.ndarray, tuple, tuple]]:
        """Vector, parts and nodes of every bottom item of symbol a over words i .. j-1."""
        own: Part = ("item", a, i, j, 0)
        if j - i == 1 and a < self.grammar.productions.n_tags:
            look_up = self.vectors or (lambda at: self.member.lexicon.vectors(self.words[at], self.first and at == 0))
            tags, vectors = look_up(i)
            at = np.flatnonzero(tags == a)
            if len(at):
                yield vectors[at[0], : self.member.operators.n_states[a]], (own,), ((LEXICAL, a, 0),)
        for r, (parent, b, c) in enumerate(self.grammar.rules.binary.tolist()):
            if parent != a:
                continue
            for k in range(i + 1, j):
                for left, left_parts, left_nodes in self.tops(b, i, k):
                    for right, right_parts, right_nodes in self.tops(c, k, j):
                        vector = np.einsum("xyz,y,z->x", self.tensor(r), left, right)
                        parts = (own, ("edge", r, i, k, j), *left_parts, *right_parts)
                        yield vector, parts, (*left_nodes, *right_nodes, (BINARY, a, r))

    def tops(self, a: int, i: int, j: int) -> list[tuple[np.ndarray, tuple, tuple]]:
        """Likewise of every top item."""
        if (a, i, j) not in self.known:
            self.known[a, i, j] = list(self._tops(a, i, j))
        return self.known[a, i, j]

    def _tops(self, a: int, i: int, j: int) -> Iterator[tuple[np.ndarray, tuple, tuple]]:
        for vector, parts, nodes in self.bottoms(a, i, j):
            yield self.of_symbol(self.member.operators.kept, a) * vector, (("link", -1, a, i, j), *parts), nodes
        for u, (parent, b) in enumerate(self.grammar.rules.unary.tolist()):
            if parent == a:
                for vector, parts, nodes in self.bottoms(b, i, j):
                    yield self.matrix(u) @ vector, (("link", u, a, i, j), *parts), (*nodes, (UNARY, a, u))

    def derivations(self) -> list[Derivation]:
        root = self.member.operators.root
        found = []
        for a in range(self.grammar.productions.n_symbols):
            weights = self.of_symbol(np.ones_like(root) if self.any_root else root, a)
            for vector, parts, nodes in self.tops(a, 0, len(self.words)):
                if weights.any():
                    found.append(Derivation(float(weights @ vector), parts, nodes))
        return found

    def value(self) -> float:
        return sum(derivation.value for derivation in self.derivations())
