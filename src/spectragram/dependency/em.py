"""EM for all head automata at once, each shrunk towards those of coarser heads; and the baselines DET and DET+F.

    E:  c_h(i, sigma, j), c_h(i, STOP), c_h(start in i)  for every head h and direction, on prefix trees
    M:  all heads     p_0     ~  sum_h c_h + K p(sigma, j)
        coarse head   p_u     ~  sum_{h in u} c_h + K p_0
        head          p_h     ~  c_h + K p_u                         each normalised over all ways to leave a state

K is a number of events per state. Heads seen a few times behave like their coarse class; a head never seen is its
class. The spectral start has one state for the beginning of a sequence and one for each cluster of tags with similar
successors: rows of the matrix of neighbouring siblings, scaled like a Hankel block and projected to its leading
singular vectors. The other start is random.

DET and DET+F, the paper's deterministic baselines (section 7.1), have one state, and another one for the first
modifier. They are the M-step on hard counts, so they are smoothed over heads in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.automata.em import Expected, expect
from spectragram.automata.wfa import WFA
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import ROOT_PRIOR, Grammar, root_distribution
from spectragram.engine import map_threads
from spectragram.engine.progress import Report, silent
from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_tree
from spectragram.learning.em import refine
from spectragram.learning.states import k_means
from spectragram.spectral import cca_weights

__all__ = ["Counts", "learn_deterministic", "learn_em", "maximize"]

SHRINKAGE = 10.0
"""K above, from quick experiments on the dev part of the WSJ sample."""
TOP_SHRINKAGE = 2.0
"""K of the automata of all heads, which see every event and need little. Chosen by hand, not tuned."""
UNSEEN = 0.1
"""Events added to the count of every tag, so that none is impossible. Chosen by hand, not tuned."""
NOISE = 0.3
"""Share of random weights in the start: without it states that begin alike would stay alike. Chosen by hand."""
START_STOP = 0.8
"""Weight of STOP in the start, before normalisation, beside 1 for all modifiers. Chosen by hand, not tuned."""
RARELY = 1e-3
"""A small probability of starting in a state, or of stopping, so that none is zero. Chosen by hand, not tuned."""
K_MEANS_STARTS, K_MEANS_ITERATIONS = 5, 300
"""As is usual for k-means: a few starts against bad optima, and iterations enough to converge."""


@dataclass(frozen=True)
class Counts:
    """Expected counts or, normalised, weights: starts (..., m), moves (..., k, m, m), stops (..., m)."""

    starts: np.ndarray
    moves: np.ndarray
    stops: np.ndarray

    def plus(self, factor: float, other: Counts) -> Counts:
        """Counts + factor * other."""
        return Counts(
            self.starts + factor * other.starts, self.moves + factor * other.moves, self.stops + factor * other.stops
        )

    def normalised(self) -> Counts:
        """Probabilities: starts sum to one, and so do all ways to leave each state."""
        leaving = self.moves.sum(axis=(-3, -1)) + self.stops
        return Counts(
            self.starts / self.starts.sum(axis=-1, keepdims=True),
            self.moves / leaving[..., None, :, None],
            self.stops / leaving,
        )


def learn_em(
    sequences: ModifierSequences,
    tag_counts: np.ndarray,
    coarse_of: np.ndarray,
    n_states: int,
    *,
    max_iter: int,
    spectral_start: bool = True,
    shrinkage: float = SHRINKAGE,
    root_prior: float = ROOT_PRIOR,
    rng: np.random.Generator,
    judge: Callable[[Grammar], float] | None = None,
    n_jobs: int = 1,
    report: Report = silent,
) -> tuple[Grammar, int]:
    """Head automata of ``n_states`` states, and the number of iterations that led to them.

    ``tag_counts`` and ``coarse_of`` are (k,). With a ``judge`` (score on held-out data, higher is better) the automata
    of the best iteration are returned, the start excluded; otherwise those of iteration ``max_iter``.
    """
    root = root_distribution(sequences.roots, tag_counts, root_prior)
    trees, start = [], []
    for direction in range(2):
        trees.append([grow_prefix_tree(*sequences.of(direction, head)) for head in range(sequences.n_symbols)])
        start.append(_start(trees[-1], n_states, spectral_start, rng))
    found = refine(
        _steps(trees, start, coarse_of, shrinkage, max(sequences.blocks[-1], 1), n_jobs),
        start=start,
        max_iter=max_iter,
        judge=None if judge is None else lambda weights: judge(grammar_of(root, weights)),
        judge_start=False,
        report=report,
    )
    return grammar_of(root, found.model), found.iteration


def _steps(
    trees: list[list[PrefixTree]],
    weights: list[Counts],
    coarse_of: np.ndarray,
    shrinkage: float,
    n_sequences: float,
    n_jobs: int,
) -> Iterator[tuple[list[Counts], float]]:
    """Endless EM iterations of both directions: the next weights, and the log-likelihood per sequence before them."""
    while True:
        parts = [_expect(mine, before, n_jobs) for mine, before in zip(trees, weights, strict=True)]
        weights = [maximize(expected, coarse_of, shrinkage) for expected, _ in parts]
        yield weights, sum(log_likelihood for _, log_likelihood in parts) / n_sequences


def _start(trees: list[PrefixTree], n_states: int, spectral: bool, rng: np.random.Generator) -> Counts:
    """The same automaton for every head; with a spectral start the state after a modifier is the cluster of its tag."""
    k, m = len(trees), n_states
    frequencies = np.bincount(
        np.concatenate([tree.symbol[1:] for tree in trees]),
        np.concatenate([tree.through[1:] for tree in trees]),
        minlength=k,
    )
    frequencies = (frequencies + UNSEEN) / (frequencies + UNSEEN).sum()
    moves = NOISE / m * rng.random((k, m, m)) if spectral else rng.gamma(1.0, size=(k, m, m))
    starts = rng.dirichlet(np.full(m, 2.0))  # a flat random distribution, none of whose entries is near zero
    if spectral:
        cluster_of = _cluster_tags(_sibling_counts(trees), m - 1, rng) + 1 if m > 1 else np.zeros(k, np.int64)
        moves[np.arange(k), :, cluster_of] += 1.0
        starts = np.where(np.arange(m) == 0, 1.0, RARELY)
    moves *= frequencies[:, None, None]
    one = Counts(starts, moves, np.full(m, START_STOP)).normalised()
    return Counts(*(np.repeat(array[None], k, axis=0) for array in (one.starts, one.moves, one.stops)))


def _sibling_counts(trees: list[PrefixTree]) -> np.ndarray:
    """How often tag b, or the end (last column), follows tag a in a modifier sequence, (k, k + 1)."""
    k = len(trees)
    counts = np.zeros((k, k + 1))
    for tree in trees:
        inner = np.flatnonzero(tree.parent > 0)
        np.add.at(counts, (tree.symbol[tree.parent[inner]], tree.symbol[inner]), tree.through[inner])
        np.add.at(counts[:, k], tree.symbol[1:], tree.ends[1:])
    return counts


def _cluster_tags(counts: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Clusters of tags by their predicted futures, (k,)."""
    seen = counts.sum(axis=1)
    rows, columns = cca_weights(seen), cca_weights(counts.sum(axis=0))
    U, sigma, _ = np.linalg.svd(rows[:, None] * counts * columns, full_matrices=False)
    r = min(n_clusters, len(sigma))
    # D_u^-1 U Sigma: each tag's distribution of what follows, in the leading singular directions.
    vectors = rows[:, None] * U[:, :r] * sigma[:r]
    n_clusters = min(n_clusters, len(np.unique(vectors.round(9), axis=0)))
    if n_clusters < 2:
        return np.zeros(len(counts), np.int64)
    labels, _ = k_means(
        vectors,
        n_clusters,
        seed=int(rng.integers(2**31)),
        weights=np.sqrt(seen + UNSEEN),
        n_init=K_MEANS_STARTS,
        max_iter=K_MEANS_ITERATIONS,
    )
    return labels.astype(np.int64)


def _expect(trees: list[PrefixTree], weights: Counts, n_jobs: int) -> tuple[Counts, float]:
    """Expected counts of every head's automaton on its own sequences, and their log-likelihood."""

    def one_head(head: int) -> Expected:
        starts, moves, stops = weights.starts[head], weights.moves[head], weights.stops[head]
        if not trees[head].ends.any():
            return Expected(np.zeros_like(starts), np.zeros_like(moves), np.zeros_like(stops), 0.0)
        return expect([trees[head]], WFA(starts, moves, stops))

    parts = map_threads(one_head, range(len(trees)), n_jobs)
    counts = Counts(
        np.stack([part.starts for part in parts]),
        np.stack([part.moves for part in parts]),
        np.stack([part.stops for part in parts]),
    )
    return counts, sum(part.log_likelihood for part in parts)


def maximize(expected: Counts, coarse_of: np.ndarray, shrinkage: float = SHRINKAGE) -> Counts:
    """The M-step above, from the top of the hierarchy down; with ``shrinkage = 0`` that of plain EM, the paper's."""
    if shrinkage == 0.0:
        return _relative_frequencies(expected)
    k, m = expected.stops.shape
    top = Counts(expected.starts.sum(axis=0), expected.moves.sum(axis=0), expected.stops.sum(axis=0))
    # p(sigma, j), whatever the state was before.
    anything = (top.moves.sum(axis=1) + UNSEEN / m) / (top.moves.sum() + top.stops.sum() + UNSEEN * k)
    prior = Counts(
        np.full(m, RARELY), np.repeat(anything[:, None], m, axis=1), np.full(m, max(1.0 - anything.sum(), RARELY))
    )
    top = top.plus(TOP_SHRINKAGE, prior).normalised()
    members = np.zeros((coarse_of.max() + 1, k))
    members[coarse_of, np.arange(k)] = 1.0
    coarse = Counts(members @ expected.starts, np.tensordot(members, expected.moves, 1), members @ expected.stops)
    coarse = coarse.plus(shrinkage, top).normalised()
    above = Counts(coarse.starts[coarse_of], coarse.moves[coarse_of], coarse.stops[coarse_of])
    return expected.plus(shrinkage, above).normalised()


def _relative_frequencies(expected: Counts) -> Counts:
    """Counts, normalised; a state that nothing reaches stops, and a head that was never seen starts in state 0."""
    unused = expected.moves.sum(axis=(-3, -1)) + expected.stops == 0.0
    starts = expected.starts.copy()
    starts[..., 0] += starts.sum(axis=-1) == 0.0
    return Counts(starts, expected.moves, expected.stops + unused).normalised()


def learn_deterministic(
    sequences: ModifierSequences,
    tag_counts: np.ndarray,
    coarse_of: np.ndarray,
    *,
    first: bool,
    shrinkage: float = SHRINKAGE,
    root_prior: float = ROOT_PRIOR,
) -> Grammar:
    """DET, or with ``first`` DET+F; ``tag_counts`` and ``coarse_of`` are (k,)."""
    k, m = sequences.n_symbols, 2 if first else 1
    lengths = np.diff(sequences.offsets)
    automaton = np.repeat(np.arange(2 * k), np.diff(sequences.blocks))
    # The state in which each modifier is generated: 0 for the first of its sequence, m - 1 for others.
    place = np.arange(len(sequences.tokens)) - np.repeat(sequences.offsets[:-1], lengths)
    state = np.where(place == 0, 0, m - 1)
    starts, stops = np.zeros((2 * k, m)), np.zeros((2 * k, m))
    moves = np.zeros((2 * k, k, m, m))
    starts[:, 0] = np.bincount(automaton, minlength=2 * k)
    np.add.at(stops, (automaton, np.where(lengths == 0, 0, m - 1)), 1.0)
    np.add.at(moves[..., m - 1], (np.repeat(automaton, lengths), sequences.tokens, state), 1.0)
    sides = slice(0, k), slice(k, None)
    weights = [maximize(Counts(starts[side], moves[side], stops[side]), coarse_of, shrinkage) for side in sides]
    return grammar_of(root_distribution(sequences.roots, tag_counts, root_prior), weights)


def grammar_of(root: np.ndarray, weights: Sequence[Counts]) -> Grammar:
    """The grammar with this distribution of root words, (k,), and the automata of the left and right directions."""
    return Grammar(
        root,
        np.stack([side.starts for side in weights]),
        np.stack([side.moves for side in weights]),
        np.stack([side.stops for side in weights]),
    )
