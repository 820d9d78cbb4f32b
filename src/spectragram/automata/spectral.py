"""The spectral learner: one singular value decomposition of a Hankel block gives a weighted automaton.

    H = U Sigma V'    A_sigma = (H V)^+ H_sigma V    alpha_1' = h_{lambda,S}' V    alpha_inf = (H V)^+ h_{P,lambda}

(Balle et al. 2014, section 4.2.) Before the decomposition, rows and columns are scaled by the inverse square roots of
their counts. P = D_u^-1 U Sigma and S = V' D_v^-1 are then a rank factorisation of H, and Lemma 4.1 holds unchanged.
The paper does not scale.

    paper                here                              shape
    P, S                 elements of a basis               p prefixes, s suffixes
    U, Sigma, V          Subspace                          (p, m), (m,), (s, m)
    alpha~_inf           SpectralModel.total               (m,)     weight of "anything may follow"
    H = P S              WFA.forward, WFA.backward         rows of P, columns of S (section 4.1)
    Lemma 4.1            automaton_from_block
    Lemma 3.1            WFA.change_statistic
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from spectragram.automata.contexts import ContextTree
from spectragram.automata.hankel import CountedBlock, HankelBlock
from spectragram.automata.wfa import WFA, Statistic
from spectragram.errors import InputError
from spectragram.spectral.subspace import find_subspace

__all__ = ["SpectralModel", "automaton_from_block", "automaton_of_strings", "learn_spectral"]

KAPPA = 5.0
"""Added to counts before scaling, so that rows seen a few times do not dominate. The value that this library uses for
features of every kind; not tuned on automata."""
SMALLEST = 0.01
"""Singular values below this share of the largest are treated as noise and never inverted. The threshold of
Cohen et al. 2013; not tuned on automata."""
DENSE_ENTRIES, DENSE_SHARE = 500_000, 0.2
"""Blocks with more entries, of which a smaller share is not zero, are decomposed as sparse matrices. Chosen by hand to
save time; the result is the same up to rounding."""
CANCELLED = 1e-3
"""A state is unusable if its total weight is a smaller share than this of the sum of its absolute terms. Chosen by
hand, not tuned."""
TINY = 1e-300
"""A guard against division by zero; any tiny value does."""


@dataclass(frozen=True)
class SpectralModel:
    """An estimated automaton, and what prediction needs in addition.

    Attributes
    ----------
    wfa : the automaton of f
    total : shape (m,), so that forward . total = f_p
    singular_values : shape (m,)
    contexts : the pasts of the basis
    context_states : shape (past nodes, m), the state that each past stands for, scaled to total 1
    """

    wfa: WFA
    total: np.ndarray
    singular_values: np.ndarray
    contexts: ContextTree
    context_states: np.ndarray

    def truncated(self, n_states: int) -> SpectralModel:
        """The model of the ``n_states`` largest singular values, which is the leading part of every array."""
        m = min(n_states, self.wfa.n_states)
        wfa = WFA(self.wfa.initial[:m], self.wfa.operators[:, :m, :m], self.wfa.final[:m])
        total = self.total[:m]
        states = _with_total_one(self.context_states[:, :m], total, self.contexts)
        return SpectralModel(wfa, total, self.singular_values[:m], self.contexts, states)


def automaton_from_block(
    block: HankelBlock,
    n_states: int,
    *,
    scaled: bool = True,
    kappa: float = KAPPA,
    smallest: float = SMALLEST,
    seed: int = 0,
) -> tuple[WFA, np.ndarray | None, np.ndarray, np.ndarray]:
    """The automaton of the function that the block was filled with, of at most ``n_states`` states (Lemma 4.1).

    Returns the automaton; the weights of "anything may follow" (m,) if the block has them; the singular values (m,) of
    the scaled block; and the map (s, m) from rows of H to states. Without ``scaled`` the block is decomposed as it is,
    and ``smallest = 0`` keeps every singular value above zero; both as in the paper.
    """
    row_scale, column_scale = block.scales(kappa) if scaled else map(np.ones, block.matrix.shape)
    matrix = row_scale[:, None] * block.matrix * column_scale
    if not np.isfinite(matrix).all():
        raise InputError("the Hankel block has infinite or undefined values", remedy="check the function or the counts")
    if not matrix.any():
        raise InputError("the Hankel block is all zero", remedy="choose a basis of strings that occur")
    # Blocks of rare strings are mostly zero: products with a sparse matrix are several times faster.
    mostly_zeros = matrix.size > DENSE_ENTRIES and np.count_nonzero(matrix) < DENSE_SHARE * matrix.size
    subspace = find_subspace(sparse.csr_array(matrix) if mostly_zeros else matrix, n_states, truncate=True, rng=seed)
    kept = subspace.singular_values > smallest * subspace.singular_values[0]
    U, sigma, V = subspace.left[:, kept], subspace.singular_values[kept], subspace.right[:, kept]
    to_state = column_scale[:, None] * V  # D_v V
    inverse = (U / sigma).T * row_scale  # (H D_v V)^+ = Sigma^-1 U' D_u
    operators = inverse @ block.shifted(to_state)
    wfa = WFA(block.initial_row @ to_state, operators, inverse @ block.final_column)
    total = None if block.total_column is None else inverse @ block.total_column
    return wfa, total, sigma, to_state


def automaton_of_strings(
    block: CountedBlock, n_states: int, **how: Any
) -> tuple[WFA, np.ndarray, np.ndarray, np.ndarray]:
    """As :func:`automaton_from_block`; Lemma 3.1 converts the automaton of another statistic into that of f.

    An estimate from few strings may make the inversion in Lemma 3.1 impossible (RankError). The statistic ``marked``
    needs no inversion.
    """
    wfa, total, sigma, to_state = automaton_from_block(block, n_states, **how)
    statistic = block.basis.statistic
    if statistic == "string":
        total = wfa.change_statistic("string", "prefix").final
    elif statistic != "marked":
        source: Statistic = "prefix" if statistic == "prefix" else "substring"
        total = wfa.final
        wfa = wfa.change_statistic(source, "string")
    assert total is not None
    return wfa, total, sigma, to_state


def learn_spectral(
    block: CountedBlock,
    n_states: int,
    *,
    scaled: bool = True,
    kappa: float = KAPPA,
    smallest: float = SMALLEST,
    seed: int = 0,
) -> SpectralModel:
    """Learn from counts of any statistic; see :func:`automaton_of_strings`."""
    wfa, total, sigma, to_state = automaton_of_strings(
        block, n_states, scaled=scaled, kappa=kappa, smallest=smallest, seed=seed
    )
    states = block.node_values[:, block.basis.futures.places] @ to_state
    return SpectralModel(wfa, total, sigma, block.basis.pasts, _with_total_one(states, total, block.basis.pasts))


def _with_total_one(states: np.ndarray, total: np.ndarray, contexts: ContextTree) -> np.ndarray:
    """Scale rows so that row . total = 1; rows for which that is impossible are replaced by their parent's."""
    weight = states @ total
    good = weight > CANCELLED * np.abs(states * total).sum(axis=1)
    scaled = states / np.where(good, weight, 1.0)[:, None]
    if not good[0]:
        scaled[0] = total / max(float(total @ total), TINY)
    for node in np.flatnonzero(~good):
        if node:
            scaled[node] = scaled[contexts.parent[node]]
    return scaled
