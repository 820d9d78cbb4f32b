"""Refinement HMMs with probabilities: counting from given states, and EM with smoothing.

The model of figure 1 of Stratos et al. (2013), and the EM of its section 7:

    paper          here          shape
    pi(a,h)        initial       (S,)       S is the number of states, summed over labels
    t(b,k|a,h)     transition    (S, S)
    f(*|a,h)       final         (S,)
    o(x|a,h)       emissions     by cell of the lexicon: p(h|x,a) / p(h|a), times p(x|a) which EM leaves alone

Every M-step pulls the parameters of a state towards those of its label, so that a few iterations sharpen a start
without over-fitting: t(b,k|a,h) = (c + tau p(b,k|a)) / (c(a,h) + tau), and o is mixed with the label's own. A label
with a single state is its own mean, so one state everywhere is exactly the supervised HMM.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from spectragram.data.corpus import even_parts
from spectragram.engine import map_threads
from spectragram.inference.labelled_chain import ChainOperators, diagonal_operators
from spectragram.inference.labelled_counts import expected_counts
from spectragram.learning.states import state_shares
from spectragram.learning.word_cells import Cells
from spectragram.tagging.lexicon import CellVectors

__all__ = [
    "CellEmissions",
    "Emissions",
    "Pulls",
    "RefinedChain",
    "TrainingChain",
    "chain_from_counts",
    "chain_from_shares",
    "chain_from_states",
    "run_em",
]

PULL_OF_LABEL = 20.0
"""tau: how many tokens the transitions of the label are worth to those of a state. Chosen on the dev parts of EWT and
CoNLL-2000."""
LABEL_SMOOTHING = 0.1
"""How many tokens the mean over all labels is worth to the transitions of a label. Chosen by hand, not tuned: it only
has to keep every label possible."""
INITIAL_SMOOTHING = 0.01
"""The same for the first token of a sequence."""
EMISSION_MIX = 0.1
"""Share of an emission that does not depend on the state. Chosen by hand, not tuned."""
SMALLEST_SHARE = 1e-12
"""A guard against division by zero; any tiny value does."""
N_SHARDS = 8
"""Parts in which sequences are counted. It is fixed so that sums do not depend on the number of threads; any number of
at least that of cores would do."""


@dataclass(frozen=True)
class Pulls:
    """How many tokens coarser estimates are worth; zeros make every M-step that of plain EM, as in the paper.

    Attributes
    ----------
    label : float
        The transitions of the label, for those of a state.
    overall : float
        The mean over all labels, for the transitions of a label.
    initial : float
        The same for the first token of a sequence.
    """

    label: float = PULL_OF_LABEL
    overall: float = LABEL_SMOOTHING
    initial: float = INITIAL_SMOOTHING


class Emissions(Protocol):
    """What EM asks of an emission model."""

    def of_tokens(self) -> np.ndarray:
        """o(x_i|a_i,h) of every training token for the states of its label, up to a factor: (n_tokens, m)."""

    def update(self, posteriors: np.ndarray) -> None:
        """M-step, from p(h_i | a, x) of shape (n_tokens, m)."""


@dataclass(frozen=True)
class TrainingChain:
    """Labels of a training corpus and the number of states that each may have.

    Attributes
    ----------
    labels : int32 array, shape (n_tokens,)
    offsets : int64 array, shape (n_sequences + 1,)
        No sequence is empty.
    sizes : int64 array, shape (n_labels,)
        Number of states of each label.
    pulls : Pulls
    """

    labels: np.ndarray
    offsets: np.ndarray
    sizes: np.ndarray
    pulls: Pulls = Pulls()

    @property
    def starts(self) -> np.ndarray:
        """Label a owns states ``starts[a]:starts[a + 1]``."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def state_totals(self, tokens: np.ndarray, posteriors: np.ndarray) -> np.ndarray:
        """Expected number of the tokens in each state: (S,)."""
        labels, columns = self.labels[tokens], posteriors[tokens].T
        table = np.stack([np.bincount(labels, column, len(self.sizes)) for column in columns], axis=1)
        return table[np.arange(len(columns)) < self.sizes[:, None]]


@dataclass(frozen=True)
class RefinedChain:
    """The probabilities of a refinement HMM without its emissions.

    Attributes
    ----------
    initial : array, shape (S,)
    transition : array, shape (S, S)
    final : array, shape (S,)
    starts : int64 array, shape (n_labels + 1,)
        Where the states of each label begin.
    """

    initial: np.ndarray
    transition: np.ndarray
    final: np.ndarray
    starts: np.ndarray

    def operators(self) -> ChainOperators:
        """The same as operators of the forward-backward algorithm (proposition 4.1)."""
        return diagonal_operators(self.initial, self.transition, self.final, self.starts)


class CellEmissions:
    """o(x|a,h) / p(x|a) = p(h|x,a) / p(h|a), backed off along the lexicon's tree and mixed with 1."""

    def __init__(self, cells: Cells, chain: TrainingChain, mix: float = EMISSION_MIX) -> None:
        self.cells, self.chain, self.mix = cells, chain, mix
        self.model: CellVectors

    def of_tokens(self) -> np.ndarray:
        """The vector of the finest cell of each token, (n_tokens, m)."""
        return self.model.vectors[self.cells.finest]

    def update(self, posteriors: np.ndarray) -> None:
        """Average the posteriors, (n_tokens, m), over cells."""
        chain = self.chain
        width = posteriors.shape[1]
        used = np.arange(width) < chain.sizes[:, None]
        shares = np.ones((len(chain.sizes), width))
        shares[used] = chain.state_totals(np.arange(len(posteriors)), posteriors)
        counts = np.bincount(chain.labels, minlength=len(chain.sizes))
        shares[used] /= np.repeat(np.maximum(counts, 1), chain.sizes)  # some labels may occur in held-out data only
        sums = self.cells.add_up(posteriors) / np.maximum(shares, SMALLEST_SHARE)[self.cells.labels]
        vectors = self.cells.back_off(sums, np.ones_like(shares), per="cell")
        mixed = (1 - self.mix) * vectors + self.mix
        self.model = CellVectors(mixed, np.ones(int(chain.sizes.sum())), chain.starts)


def chain_from_counts(chain: TrainingChain, begins: np.ndarray, moves: np.ndarray, ends: np.ndarray) -> RefinedChain:
    """M-step of the chain: expected numbers of first tokens, moves and last tokens, (S,), (S, S), (S,)."""
    counts = np.concatenate([moves, ends[:, None]], axis=1)
    overall = counts.sum(axis=0) / counts.sum()
    by_label = np.add.reduceat(counts, chain.starts[:-1], axis=0)
    pulls = chain.pulls
    by_label = _pulled(by_label, pulls.overall, overall)
    prior = np.repeat(by_label, chain.sizes, axis=0)
    following = _pulled(counts, pulls.label, prior)
    alone = np.repeat(chain.sizes == 1, chain.sizes)
    following[alone] = prior[alone]
    totals = counts.sum(axis=1)
    initial = begins + pulls.initial * totals / totals.sum()
    return RefinedChain(
        initial / initial.sum(),
        np.ascontiguousarray(following[:, :-1]),
        np.ascontiguousarray(following[:, -1]),
        chain.starts,
    )


def _pulled(counts: np.ndarray, strength: float, prior: np.ndarray) -> np.ndarray:
    """(c + tau p) / (c. + tau), row by row; p itself where there is nothing else."""
    totals = counts.sum(axis=1, keepdims=True) + strength
    return np.where(totals > 0, (counts + strength * prior) / np.where(totals > 0, totals, 1.0), prior)


def chain_from_states(chain: TrainingChain, states: np.ndarray, emissions: Emissions) -> RefinedChain:
    """Count with given states (n_tokens,) of the tokens."""
    posteriors = state_shares(states, chain.sizes[chain.labels])
    flat = chain.starts[chain.labels] + states
    inner = np.ones(len(states), bool)
    inner[chain.offsets[1:] - 1] = False
    here = np.flatnonzero(inner)
    n_states = int(chain.sizes.sum())
    moves = np.bincount(flat[here] * n_states + flat[here + 1], minlength=n_states**2).astype(float)
    emissions.update(posteriors)
    return _chain_from_posteriors(chain, posteriors, moves.reshape(n_states, n_states))


def chain_from_shares(chain: TrainingChain, shares: np.ndarray, emissions: Emissions) -> RefinedChain:
    """Count with shares (n_tokens, m) of the states of each token's label, taken as independent of each other."""
    n, width = shares.shape
    columns = chain.starts[chain.labels][:, None] + np.arange(width)
    valid = np.arange(width) < chain.sizes[chain.labels][:, None]
    rows = np.repeat(np.arange(n), width).reshape(n, width)[valid]
    spread = sparse.csr_array((shares[valid], (rows, columns[valid])), shape=(n, int(chain.sizes.sum())))
    inner = np.ones(n, bool)
    inner[chain.offsets[1:] - 1] = False
    here = np.flatnonzero(inner)
    emissions.update(shares)
    return _chain_from_posteriors(chain, shares, (spread[here].T @ spread[here + 1]).toarray())


def _chain_from_posteriors(chain: TrainingChain, posteriors: np.ndarray, moves: np.ndarray) -> RefinedChain:
    begins = chain.state_totals(chain.offsets[:-1], posteriors)
    return chain_from_counts(chain, begins, moves, chain.state_totals(chain.offsets[1:] - 1, posteriors))


def run_em(
    chain: TrainingChain, model: RefinedChain, emissions: Emissions, *, n_jobs: int = 1
) -> Iterator[tuple[RefinedChain, float]]:
    """Endless EM iterations: the new chain (``emissions`` is updated in place) and the log-likelihood before it."""
    shards = even_parts(chain.offsets, N_SHARDS)
    posteriors = np.zeros((len(chain.labels), int(chain.sizes.max())))
    while True:
        likelihoods = np.ascontiguousarray(emissions.of_tokens())
        parameters = (likelihoods, model.initial, model.transition, model.final, chain.starts, posteriors)

        def count(shard: tuple[int, int], parameters: tuple = parameters) -> tuple[np.ndarray, float]:
            return expected_counts(chain.offsets, shard[0], shard[1], chain.labels, *parameters)

        counted = map_threads(count, shards, n_jobs)
        model = _chain_from_posteriors(chain, posteriors, sum(moves for moves, _ in counted))  # type: ignore[arg-type]
        emissions.update(posteriors)
        yield model, sum(log_likelihood for _, log_likelihood in counted)
