"""What an observation says about labels and hidden states, for frequent, rare and unseen observations alike.

Every observation is a leaf of a tree in which it backs off to coarser classes:

    word -> lower-case form -> shape and last 5 .. 1 letters -> shape -> kind of word -> anything

With further columns (a part of speech) all classes above are paired with them, and the last resort is the further
columns alone. Classes by looks (shape and suffix) are counted on rare words only, because those are what unseen
words resemble; all others on all words. A node x with children's counts C(x, a) and parent p knows

    P(a|x)   = (C(x,a) + kappa P(a|p)) / (C(x) + kappa)
    v(x,a)   = (sum of the vectors of its tokens with label a + kappa v(p,a)) / (C(x,a) + kappa)

and the observation vector of label a is c_x^a = P(a|x)/p(a) * v(x,a), which is p(x|a) E[vector | x, a] up to a
factor p(x) that no marginal depends on. The tokens' vectors are what a learner makes of them: projected destinies
for the spectral one (d_x^a in the paper), posteriors of states over their mean for EM.

``cells`` are the pairs (node, label) with tokens of that label below the node; everything is stored by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numba import njit

from spectragram.data.signatures import neutral_signature
from spectragram.tagging.sequences import Observation, Observations

__all__ = ["CellVectors", "Cells", "Lexicon", "learn_lexicon"]

SUFFIX_LENGTHS = (5, 4, 3, 2, 1)
RARE = 5
"""Words seen at most so often stand for unseen words."""
SEPARATOR = "\x1f"


def back_off_keys(observation: Observation, by_looks: bool) -> list[str]:
    """Names of the nodes of an observation, finest first, without the root.

    >>> [key.replace(SEPARATOR, "/") for key in back_off_keys(("dog", "NN"), by_looks=False)]
    ['0/dog/NN', '-/NN']
    """
    word, *rest = observation
    keys = [SEPARATOR.join(["0", *observation])]
    if by_looks:
        looks = neutral_signature(word, suffix_lengths=SUFFIX_LENGTHS)
        classes = [word.lower(), *looks]
        keys += [SEPARATOR.join([str(level), name, *rest]) for level, name in enumerate(classes, start=1)]
    return keys + [SEPARATOR.join(["-", *rest[k:]]) for k in range(len(rest))]


@dataclass(frozen=True)
class Cells:
    """Which cells the tokens of a training corpus fall into.

    Attributes
    ----------
    of_token : int64 array, shape (n_tokens,)
        Number of the pair (observation, label) of each token.
    of_pair : int64 array, shape (n_pairs,)
        The finest cell of each pair.
    sums : sparse matrix, shape (n_cells, n_pairs)
        Adds what is known about pairs up to all cells that count them.
    parents : int64 array, shape (n_cells,)
        The cell of the same label at the parent node, a smaller number; -1 under the root.
    counts : float64 array, shape (n_cells,)
        C(x, a).
    labels : int32 array, shape (n_cells,)
    kappa : float
        How many tokens the parent's opinion is worth.
    """

    of_token: np.ndarray
    of_pair: np.ndarray
    sums: sp.csr_matrix
    parents: np.ndarray
    counts: np.ndarray
    labels: np.ndarray
    kappa: float

    def add_up(self, token_vectors: np.ndarray) -> np.ndarray:
        """Sums of the tokens' vectors (n_tokens, width) in every cell (n_cells, width)."""
        n_tokens = len(self.of_token)
        by_pair = sp.csr_matrix(
            (np.ones(n_tokens), (self.of_token, np.arange(n_tokens))), (len(self.of_pair), n_tokens)
        )
        return self.sums @ (by_pair @ token_vectors)

    def back_off(self, cell_sums: np.ndarray, root: np.ndarray) -> np.ndarray:
        """v(x,a) of every cell from the sums of its tokens' vectors; ``root`` (n_labels, width) is the last resort."""
        return _back_off(cell_sums, self.counts, self.parents, root[self.labels], self.kappa)


class Lexicon:
    """The tree of observations with the labels seen at its nodes; nodes are numbered, parents first, root 0.

    Attributes
    ----------
    keys : list of str
        Names of nodes.
    parents : int32 array, shape (n_nodes,)
    totals : float64 array, shape (n_nodes,)
        C(x).
    cell_starts : int64 array, shape (n_nodes + 1,)
        Node x has cells ``cell_starts[x]:cell_starts[x + 1]``.
    cell_labels, cell_counts : int32 and float64 arrays, shape (n_cells,)
    prior : float64 array, shape (n_labels,)
        p(a).
    kappa : float
        How many tokens the parent's opinion is worth.
    """

    def __init__(
        self,
        keys: Sequence[str],
        parents: np.ndarray,
        totals: np.ndarray,
        cell_starts: np.ndarray,
        cell_labels: np.ndarray,
        cell_counts: np.ndarray,
        prior: np.ndarray,
        *,
        kappa: float,
        by_looks: bool,
    ) -> None:
        self.keys = list(keys)
        self.index = {key: node for node, key in enumerate(self.keys)}
        self.parents, self.totals = parents, totals
        self.cell_starts, self.cell_labels, self.cell_counts = cell_starts, cell_labels, cell_counts
        self.prior = prior
        self.kappa = kappa
        self.by_looks = by_looks

    @property
    def n_labels(self) -> int:
        """Labels seen in training."""
        return len(self.prior)

    def nodes(self, types: Iterable[Observation]) -> np.ndarray:
        """The finest node known of each observation, int64; 0 (the root) where nothing is."""
        index, by_looks = self.index, self.by_looks
        found = []
        for observation in types:
            exact = index.get(SEPARATOR.join(["0", *observation]))
            if exact is None:
                exact = next((index[key] for key in back_off_keys(observation, by_looks) if key in index), 0)
            found.append(exact)
        return np.array(found, np.int64)

    def words(self) -> frozenset[str]:
        """First columns of all observations seen in training."""
        exact = "0" + SEPARATOR
        return frozenset(key.split(SEPARATOR)[1] for key in self.keys if key.startswith(exact))

    def label_probabilities(self, nodes: np.ndarray) -> np.ndarray:
        """P(a|x) of each node: (n,) -> (n, n_labels)."""
        return _label_probabilities(
            nodes,
            self.parents,
            self.totals,
            self.cell_starts,
            self.cell_labels,
            self.cell_counts,
            self.prior,
            self.kappa,
        )

    def vectors(self, nodes: np.ndarray, cell_vectors: np.ndarray, root: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """v(x,a) of each node, labels one after the other: (n,) -> (n, starts[-1]).

        ``cell_vectors`` (n_cells, width) are those of cells, ``root`` (starts[-1],) those where a label was never
        seen with any class of the observation, ``starts`` (n_labels + 1,) the runs of dimensions of labels.
        """
        return _vectors(nodes, self.parents, self.cell_starts, self.cell_labels, cell_vectors, root, starts)

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain values and arrays, for model files."""
        arrays = {
            name: getattr(self, name)
            for name in ("parents", "totals", "cell_starts", "cell_labels", "cell_counts", "prior")
        }
        return {"keys": self.keys, "kappa": self.kappa, "by_looks": self.by_looks}, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; checks that the parts fit."""
        lexicon = cls(**values, **arrays)
        n_nodes, n_cells = len(lexicon.keys), len(lexicon.cell_labels)
        fits = (
            len(lexicon.parents) == len(lexicon.totals) == len(lexicon.cell_starts) - 1 == n_nodes
            and lexicon.cell_starts[-1] == n_cells == len(lexicon.cell_counts)
            and (lexicon.parents[1:] < np.arange(1, n_nodes)).all()
            and (lexicon.parents[1:] >= 0).all()
            and ((lexicon.cell_labels >= 0) & (lexicon.cell_labels < len(lexicon.prior))).all()
        )
        if not fits:
            raise ValueError("the parts of the lexicon do not fit together")
        return lexicon


@dataclass(frozen=True)
class CellVectors:
    """Observation vectors by cell of the lexicon.

    Attributes
    ----------
    vectors : float64 array, shape (n_cells, width)
        v(x,a) of every cell.
    root : float64 array, shape (starts[-1],)
        v of labels never seen with any class of an observation.
    starts : int64 array, shape (n_labels + 1,)
    """

    vectors: np.ndarray
    root: np.ndarray
    starts: np.ndarray

    def of_tokens(self, lexicon: Lexicon, observed: Observations, weight: float) -> Callable[[np.ndarray], np.ndarray]:
        """c_x^a = (P(a|x)/p(a))^weight v(x,a), looked up by type."""
        nodes = lexicon.nodes(observed.types)
        ratios = (lexicon.label_probabilities(nodes) / lexicon.prior) ** weight
        vectors = lexicon.vectors(nodes, self.vectors, self.root, self.starts)
        vectors *= np.repeat(ratios, np.diff(self.starts), axis=1)
        return lambda tokens: vectors[observed.tokens[tokens]]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name."""
        return {"vectors": self.vectors, "root": self.root, "starts": self.starts}

    def __post_init__(self) -> None:
        if self.starts[-1] != len(self.root) or np.diff(self.starts).max() > self.vectors.shape[1]:
            raise ValueError("observation vectors of unequal length")


def learn_lexicon(
    observed: Observations, labels: np.ndarray, n_labels: int, *, kappa: float, by_looks: bool
) -> tuple[Lexicon, Cells]:
    """Build the tree over the training observations and count labels at its nodes."""
    keys, paths, counted = _grow_tree(observed, by_looks)
    pair_keys, of_token = np.unique(observed.tokens.astype(np.int64) * n_labels + labels, return_inverse=True)
    pair_type, pair_label = np.divmod(pair_keys, n_labels)
    # A pair has a cell at every node on the path of its observation.
    path_keys = paths[pair_type] * n_labels + pair_label[:, None]
    cell_keys, on_path = np.unique(path_keys, return_inverse=True)
    on_path = on_path.reshape(path_keys.shape)
    cell_node, cell_label = np.divmod(cell_keys, n_labels)
    pair, level = np.nonzero(counted[pair_type])
    sums = sp.csr_matrix((np.ones(len(pair)), (on_path[pair, level], pair)), (len(cell_keys), len(pair_keys)))
    counts = sums @ np.bincount(of_token).astype(float)
    node_parents = _parents(paths, np.zeros(len(keys), np.int64), root=0)
    cell_parents = _parents(on_path, np.empty(len(cell_keys), np.int64), root=-1)
    lexicon = Lexicon(
        keys,
        node_parents,
        np.bincount(cell_node, counts, len(keys)),
        np.searchsorted(cell_node, np.arange(len(keys) + 1)).astype(np.int64),
        cell_label,
        counts,
        np.bincount(labels, minlength=n_labels) / len(labels),
        kappa=kappa,
        by_looks=by_looks,
    )
    return lexicon, Cells(of_token, on_path[:, 0], sums, cell_parents, counts, cell_label, kappa)


def _grow_tree(observed: Observations, by_looks: bool) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of nodes; each type's path (n_types, n_levels), finest first; at which nodes of it the type counts.

    A type passes by classes that no rare word belongs to: there its path repeats the next coarser node.
    """
    named = [back_off_keys(observation, by_looks) for observation in observed.types]
    n_levels = len(named[0])
    n_looks = n_levels - 1 - observed.n_columns if by_looks else 0  # all but the exact, lower-case and further columns
    words = [observation[0] for observation in observed.types]
    seen: dict[str, int] = {}
    for word, count in zip(words, np.bincount(observed.tokens).tolist(), strict=True):
        seen[word] = seen.get(word, 0) + count
    rare = np.array([seen[word] <= RARE for word in words])
    index: dict[str, int] = {"": 0}
    paths = np.zeros((len(named), n_levels + 1), np.int64)
    counted = np.ones((len(named), n_levels), bool)
    for level in range(n_levels - 1, -1, -1):
        if by_looks and 2 <= level < 2 + n_looks:
            counted[:, level] = rare
        for i in np.flatnonzero(counted[:, level]).tolist():
            paths[i, level] = index.setdefault(named[i][level], len(index))
        for i in np.flatnonzero(~counted[:, level]).tolist():
            paths[i, level] = index.get(named[i][level], paths[i, level + 1])
    return list(index), paths[:, :-1], counted


def _parents(paths: np.ndarray, parents: np.ndarray, root: int) -> np.ndarray:
    """The next coarser entry of every entry of the paths, repetitions skipped; ``root`` above the coarsest."""
    above = np.full(len(paths), root)
    for level in range(paths.shape[1] - 1, -1, -1):
        here = paths[:, level]
        new = here != above if level == paths.shape[1] - 1 else here != paths[:, level + 1]
        parents[here[new]] = above[new]
        above = here
    return parents


@njit(cache=True, nogil=True)
def _back_off(sums, counts, parents, roots, kappa):  # type: ignore[no-untyped-def]
    """v(x,a) of cells, parents first: (n_cells, width), (n_cells,), (n_cells,), (n_cells, width) -> (n_cells, width)."""
    vectors = np.empty_like(sums)
    for cell in range(len(counts)):
        parent = parents[cell]
        prior = vectors[parent] if parent >= 0 else roots[cell]
        vectors[cell] = (sums[cell] + kappa * prior) / (counts[cell] + kappa)
    return vectors


@njit(cache=True, nogil=True)
def _label_probabilities(nodes, parents, totals, starts, labels, counts, prior, kappa):  # type: ignore[no-untyped-def]
    found = np.zeros((len(nodes), len(prior)))
    for i in range(len(nodes)):
        node, share = nodes[i], 1.0  # what coarser nodes still have to say
        while node > 0:
            scale = share / (totals[node] + kappa)
            for cell in range(starts[node], starts[node + 1]):
                found[i, labels[cell]] += scale * counts[cell]
            share = scale * kappa
            node = parents[node]
        found[i] += share * prior
    return found


@njit(cache=True, nogil=True)
def _vectors(nodes, parents, cell_starts, labels, cell_vectors, root, starts):  # type: ignore[no-untyped-def]
    found = np.empty((len(nodes), len(root)))
    done = np.empty(len(starts) - 1, np.bool_)
    for i in range(len(nodes)):
        found[i] = root
        done[:] = False
        node = nodes[i]
        while node > 0:  # the finest cell of a label holds the coarser ones already
            for cell in range(cell_starts[node], cell_starts[node + 1]):
                a = labels[cell]
                if not done[a]:
                    done[a] = True
                    found[i, starts[a] : starts[a + 1]] = cell_vectors[cell, : starts[a + 1] - starts[a]]
            node = parents[node]
    return found
