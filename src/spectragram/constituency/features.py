"""Inside and outside features of tree nodes, their projections, and the hidden states that clusters of these give.

inside (phi)                                      outside (psi)
the rule at the node                              the rule above, with the place of the node in it
that rule with the left, the right child's rule   the two, the three rules above, with places
each child's symbol                               the parent; the parent and the grandparent
head tag; first and last tag; number of words     the first head tag above that differs; neighbouring tags
words: lower-cased, class, last three letters     number of words to the left, to the right

Everything is integer arithmetic on whole columns of nodes: a feature template is a column of numbers, and a combination
of two templates is a column of numbers again. Figure 5 of Cohen et al. (2012), the singular value decompositions, and
step 1 of figure 4, the projection, are computed by :mod:`spectragram.learning.views`:

paper      here         shape for label a
Y          inside       (n, m)      U' phi
Z sigma    outside      (n, m)      V' psi
sigma      sigma        (m,)        at most n_states, those above a threshold
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from spectragram.constituency.lexicon import word_types
from spectragram.data.heads import HeadRules
from spectragram.data.productions import LEXICAL
from spectragram.data.signatures import signatures
from spectragram.data.treebank import Treebank, head_words
from spectragram.learning import states, views

__all__ = [
    "FeatureColumns",
    "Projection",
    "cluster_shares",
    "extract_features",
    "project_labels",
    "random_shares",
    "states_by_count",
]

BUCKETS = (1, 2, 3, 4, 5, 6, 8, 11, 21, 41)
"""Numbers of words at which a new bucket begins: exact up to five, then ever wider. Chosen by hand, not tuned."""


@dataclass(frozen=True)
class FeatureColumns:
    """Feature templates as columns of numbers, one row a node.

    Attributes
    ----------
    inside, outside : int32 arrays, shape (n_nodes, n_templates)
        Equal numbers in a column are the same feature, and nodes of different labels never share one. -1 says that the
        template does not apply; it applies to all nodes of a label or to none. Or sparse matrices of the values of a
        user's own features (:mod:`spectragram.constituency.nodes`).
    """

    inside: Any
    outside: Any


def extract_features(
    treebank: Treebank, head_rules: HeadRules, known: Container[str] = (), *, exact_words: bool = False
) -> FeatureColumns:
    """All templates for all nodes; ``known`` holds lower-case words, for the classes of capitalised ones.

    With ``exact_words`` the first template of a tag is the word as it is, not in lower case.
    """
    context = _Context(treebank, head_rules, known)
    symbol, left, right, parent = treebank.symbol, treebank.left, treebank.right, treebank.parent
    rule = treebank.production
    lexical = treebank.kind == LEXICAL
    word, shape, suffix = context.word_columns()
    if exact_words:
        word[treebank.leaves] = treebank.sentences.tokens
    inside = [
        np.where(lexical, word, rule),
        np.where(lexical, shape, _at(symbol, left) + 1),
        np.where(lexical, suffix, _at(symbol, right) + 1),
        np.where(lexical, -1, _pair(rule, _at(rule, left))),
        np.where(lexical, -1, _pair(rule, _at(rule, right))),
        np.where(lexical, -1, context.head_tag),
        np.where(lexical, -1, _bucket(treebank.end - treebank.start)),
        np.where(lexical, -1, context.first_tag),
        np.where(lexical, -1, context.last_tag),
    ]
    is_left = _at(left, parent) == np.arange(len(symbol))
    above = _pair(_at(rule, parent), is_left)
    above2 = _pair(above, _at(above, parent))
    above3 = _pair(above2, _at(above, _at(parent, parent)))
    parent_symbol = _at(symbol, parent)
    outside = [
        above,
        above2,
        above3,
        parent_symbol,
        _pair(parent_symbol, _at(parent_symbol, parent)),
        context.other_head,
        _bucket(context.words_before),
        _bucket(context.words_after),
        context.tag_before,
        context.tag_after,
    ]
    # -1 stands for "none" here, which is a value like any other: every node has all outside features.
    return FeatureColumns(_by_label(symbol, inside), _by_label(symbol, [column + 1 for column in outside]))


def _at(column: np.ndarray, node: np.ndarray) -> np.ndarray:
    """``column[node]``, -1 where there is no node."""
    return np.where(node >= 0, column[node], -1)


def _pair(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Number the distinct pairs of values."""
    key = (first.astype(np.int64) + 1) * (int(second.max(initial=0)) + 2) + second + 1
    return np.unique(key, return_inverse=True)[1].astype(np.int32)


def _bucket(n: np.ndarray) -> np.ndarray:
    """Small numbers exactly, larger ones ever more roughly."""
    return np.searchsorted(BUCKETS, n, side="right").astype(np.int32)


def _by_label(symbol: np.ndarray, columns: Sequence[np.ndarray]) -> np.ndarray:
    """Give every (label, value) a number of its own, labels in order; -1 stays."""
    table = np.empty((len(symbol), len(columns)), np.int32)
    for c, column in enumerate(columns):
        key = symbol.astype(np.int64) * (int(column.max(initial=0)) + 1) + column
        key[column < 0] = -1
        distinct, number = np.unique(key, return_inverse=True)
        table[:, c] = number - (1 if distinct[0] < 0 else 0)
    return table


class _Context:
    """Columns that take more than one node to compute."""

    def __init__(self, treebank: Treebank, head_rules: HeadRules, known: Container[str]) -> None:
        self.treebank, self.known = treebank, known
        sentences = treebank.sentences
        tree = treebank.tree_of_node
        self.words_before = treebank.start - sentences.offsets[tree]
        self.words_after = sentences.offsets[tree + 1] - treebank.end
        leaf_tags = treebank.symbol[treebank.leaves]
        none = treebank.productions.n_tags  # stands for the end of the sentence
        self.first_tag = leaf_tags[treebank.start]
        self.last_tag = leaf_tags[treebank.end - 1]
        self.tag_before = np.where(self.words_before > 0, leaf_tags[treebank.start - 1], none)
        self.tag_after = np.where(self.words_after > 0, np.append(leaf_tags, none)[treebank.end], none)
        self.head_tag = leaf_tags[head_words(treebank, head_rules)]
        self.other_head = _other_heads(treebank.parent, self.head_tag)

    def word_columns(self) -> list[np.ndarray]:
        """Of words, as numbers: lower-cased, class without the longest suffix, last three letters."""
        treebank = self.treebank
        leaves = treebank.leaves
        tokens = treebank.sentences.tokens
        words = treebank.productions.words.words
        type_of, types = word_types(treebank)
        classes = signatures([words[w] for w, _ in types], initial=[i for _, i in types], known=self.known)
        columns = [np.full(len(treebank.kind), -1, np.int32) for _ in range(3)]
        columns[0][leaves] = _numbers([word.lower() for word in words])[tokens]
        columns[1][leaves] = _numbers([levels[1] for levels in classes])[type_of]
        columns[2][leaves] = _numbers([word.lower()[-3:] for word in words])[tokens]
        return columns


def _numbers(names: Sequence[str]) -> np.ndarray:
    index: dict[str, int] = {}
    return np.array([index.setdefault(name, len(index)) for name in names], np.int32)


@njit(cache=True, nogil=True)
def _other_heads(parent: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Going up from each node, the first head tag that is another one; -1 if there is none."""
    other = np.full(len(parent), -1, np.int32)
    for n in range(len(parent) - 1, -1, -1):
        if parent[n] >= 0:
            other[n] = head[parent[n]] if head[parent[n]] != head[n] else other[parent[n]]
    return other


SOFT = 0.05
"""Share of a node that is spread evenly over all states, so that EM can still move it. Chosen by hand on
wsj-sample dev."""
NODES_A_STATE, GROWTH = 20.0, 0.6
"""A symbol seen n times gets (n / 20) ** 0.6 states: more for frequent symbols, but not in proportion. Tuned on
wsj-sample dev."""
WEIGHT_OF_SIGMA = 0.5
"""Dimensions are weighted by their singular value to this power. Tuned on wsj-sample dev."""


def states_by_count(counts: np.ndarray, n_states: int) -> np.ndarray:
    """Number of states of each symbol, at most ``n_states``.

    >>> states_by_count(np.array([30, 200, 600, 2000, 50000]), 16).tolist()
    [1, 4, 8, 16, 16]
    """
    return states.states_by_count(counts, n_states, per_state=NODES_A_STATE, power=GROWTH, whole=np.round)


def cluster_shares(
    projections: Sequence[Projection], n_states: np.ndarray, n_nodes: int, random_state: int = 0, n_jobs: int = 1
) -> np.ndarray:
    """How much of each node belongs to each state of its symbol, (n_nodes, largest number of states)."""

    def coordinates(a: int) -> np.ndarray:
        projection = projections[a]
        views = [(projection.inside, projection.sigma), (projection.outside, projection.sigma)]
        return states.joint_coordinates(views, power=WEIGHT_OF_SIGMA)

    nodes = [projection.nodes for projection in projections]
    state = states.cluster_rows(nodes, n_states, coordinates, seed=random_state, n_jobs=n_jobs)
    sizes = np.empty(n_nodes, np.int32)
    for a, own in enumerate(nodes):
        sizes[own] = n_states[a]
    return states.state_shares(state, sizes, soft=SOFT)


def random_shares(symbol: np.ndarray, n_states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A start without knowledge: every node spread at random over the states of its symbol."""
    return states.random_shares(n_states[symbol], rng)


# Not the exact solver: it is as fast, but with exact trailing directions F1 on wsj-sample is 0.2 to 0.4 lower.
DECOMPOSITION = views.Decomposition(centred=False, solver="power", least=0.01)
"""Directions with a smaller correlation than 0.01 are noise, and inverting them would amplify it. The bound is that
of Cohen et al. (2013)."""


@dataclass(frozen=True)
class Projection:
    """One label's nodes, projected.

    Attributes
    ----------
    nodes : int64 array, shape (n,)
    inside, outside : float64 arrays, shape (n, m)
    sigma : float64 array, shape (m,)
        Correlations of insides and outsides, largest first.
    """

    nodes: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    sigma: np.ndarray

    def first(self, m: int) -> Projection:
        """Its leading ``m`` dimensions."""
        return Projection(self.nodes, self.inside[:, :m], self.outside[:, :m], self.sigma[:m])


def project_labels(
    columns: FeatureColumns,
    symbol: np.ndarray,
    n_symbols: int,
    n_states: int,
    *,
    noise: float = 0.0,
    random_state: int = 0,
    n_jobs: int = 1,
    how: views.Decomposition = DECOMPOSITION,
) -> list[Projection]:
    """Steps 0 and 1 of figure 4: a projection for every symbol.

    Parameters
    ----------
    columns : FeatureColumns
    symbol : int array, shape (n_nodes,)
        The label of each node; every label occurs.
    n_symbols : int
    n_states : int
        Dimensions at most.
    noise : float
        Perturbs the features, see :meth:`spectragram.learning.views.View.of`.
    random_state, n_jobs : int
    how : Decomposition
    """
    found = views.project_labels(
        columns.inside,
        columns.outside,
        symbol,
        n_symbols,
        lambda n_nodes: n_states,
        how,
        noise=noise,
        seed=random_state,
        n_jobs=n_jobs,
    )
    return [_with_constant(p) if len(p.sigma) == 0 else Projection(p.rows, p.left, p.right, p.sigma) for p in found]


def _with_constant(projection: views.Projection) -> Projection:
    """No two nodes share anything: one dimension, which is constant."""
    ones = np.ones((len(projection.rows), 1))
    return Projection(projection.rows, ones, ones.copy(), np.ones(1))
