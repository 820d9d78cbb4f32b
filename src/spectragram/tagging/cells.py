"""Counting a lexicon from training data: the tree of observations, and which tokens fall into which of its cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import njit

from spectragram.tagging.lexicon import Lexicon, back_off_keys
from spectragram.tagging.sequences import Observations

__all__ = ["Cells", "learn_lexicon"]

RARE = 5
"""Words seen at most so often stand for unseen words."""


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
    types = zip(observed.types, observed.initial.tolist(), strict=True)
    named = [back_off_keys(observation, by_looks, initial) for observation, initial in types]
    n_levels = len(named[0])
    n_looks = n_levels - 1 - observed.n_columns if by_looks else 0  # all but the exact, lower-case and further columns
    words = [observation[0] for observation in observed.types]
    seen: dict[str, int] = {}
    for word, count in zip(words, np.bincount(observed.tokens, minlength=len(words)).tolist(), strict=True):
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
    """v(x,a) of cells, parents first; sums, roots and result (n_cells, width), the others (n_cells,)."""
    vectors = np.empty_like(sums)
    for cell in range(len(counts)):
        parent = parents[cell]
        prior = vectors[parent] if parent >= 0 else roots[cell]
        vectors[cell] = (sums[cell] + kappa * prior) / (counts[cell] + kappa)
    return vectors
