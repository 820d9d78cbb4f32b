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
for the spectral one (d_x^a in figure 4 of Stratos et al. 2013), posteriors of states over their mean for EM.

``cells`` are the pairs (node, label) with tokens of that label below the node; everything is stored by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numba import njit

from spectragram.data.signatures import neutral_signature
from spectragram.tagging.sequences import Observation, Observations

__all__ = ["EXACT", "INITIAL", "SEPARATOR", "CellVectors", "Lexicon", "back_off_keys"]

SUFFIX_LENGTHS = (5, 4, 3, 2, 1)
SEPARATOR = "\x1f"
EXACT, INITIAL = "0", "0^"
"""First parts of the names of nodes that are observations themselves."""


def back_off_keys(observation: Observation, by_looks: bool, initial: bool = False) -> list[str]:
    """Names of the nodes of an observation, finest first, without the root.

    Words at the beginning of a sentence (``initial``) are nodes of their own below the same lower-case form.

    >>> [key.replace(SEPARATOR, "/") for key in back_off_keys(("dog", "NN"), by_looks=False)]
    ['0/dog/NN', '-/NN']
    """
    word, *rest = observation
    keys = [SEPARATOR.join([INITIAL if initial and by_looks else EXACT, *observation])]
    if by_looks:
        looks = neutral_signature(word, initial=initial, suffix_lengths=SUFFIX_LENGTHS)
        classes = [word.lower(), *looks]
        keys += [SEPARATOR.join([str(level), name, *rest]) for level, name in enumerate(classes, start=1)]
    return keys + [SEPARATOR.join(["-", *rest[k:]]) for k in range(len(rest))]


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

    def nodes(self, observed: Observations) -> np.ndarray:
        """The finest node known of each type of observation, int64; 0 (the root) where nothing is."""
        index, by_looks = self.index, self.by_looks
        found = []
        for observation, initial in zip(observed.types, observed.initial.tolist(), strict=True):
            node = None if initial else index.get(SEPARATOR.join([EXACT, *observation]))
            if node is None:
                keys = back_off_keys(observation, by_looks, initial)
                node = next((index[key] for key in keys if key in index), 0)
            found.append(node)
        return np.array(found, np.int64)

    def words(self) -> frozenset[str]:
        """First columns of all observations seen in training."""
        exact = (EXACT + SEPARATOR, INITIAL + SEPARATOR)
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
        nodes = lexicon.nodes(observed)
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
