"""The spectral learner: one singular value decomposition of a Hankel block gives a weighted automaton.

    H = U Sigma V'    A_sigma = (H V)^+ H_sigma V    alpha_1' = h_{lambda,S}' V    alpha_inf = (H V)^+ h_{P,lambda}

(Balle et al. 2014, section 4.2.) Before the decomposition rows and columns are scaled by the inverse roots of their
counts; as P = D_u^-1 U Sigma and S = V' D_v^-1 are then the rank factorisation of H, lemma 4.1 holds unchanged.

    paper                here                              shape
    P, S                 elements of a basis               p prefixes, s suffixes
    U, Sigma, V          Subspace                          (p, m), (m,), (s, m)
    alpha~_inf           SpectralModel.total               (m,)     weight of "anything may follow"
    H = P S              WFA.forward, WFA.backward         rows of P, columns of S (section 4.1)
    lemma 4.1            automaton_from_block
    lemma 3.1            WFA.change_statistic
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from spectragram.automata.contexts import ContextTree
from spectragram.automata.hankel import CountedBlock, HankelBlock
from spectragram.automata.wfa import WFA, Statistic
from spectragram.errors import InputError
from spectragram.spectral.subspace import find_subspace

__all__ = ["SpectralModel", "automaton_from_block", "learn_spectral"]

KAPPA = 5.0
"""Added to counts before scaling: rows seen a few times must not outweigh the rest."""
DENSE_ENTRIES = 500_000
SMALLEST = 0.01
"""Singular values below this share of the largest are noise, and are never inverted."""


@dataclass(frozen=True)
class SpectralModel:
    """An estimated automaton with what prediction needs beside it.

    Attributes
    ----------
    wfa : the automaton of f
    total : shape (m,), so that forward . total = f_p
    singular_values : shape (m,)
    contexts, context_states : the pasts of the basis, and the state each stands for, (past nodes, m), total 1
    """

    wfa: WFA
    total: np.ndarray
    singular_values: np.ndarray
    contexts: ContextTree
    context_states: np.ndarray

    def truncated(self, n_states: int) -> SpectralModel:
        """The model of the ``n_states`` largest singular values: the leading part of every array."""
        m = min(n_states, self.wfa.n_states)
        wfa = WFA(self.wfa.initial[:m], self.wfa.operators[:, :m, :m], self.wfa.final[:m])
        total = self.total[:m]
        states = _with_total_one(self.context_states[:, :m], total, self.contexts)
        return SpectralModel(wfa, total, self.singular_values[:m], self.contexts, states)


def automaton_from_block(
    block: HankelBlock, n_states: int, *, kappa: float = KAPPA, smallest: float = SMALLEST, seed: int = 0
) -> tuple[WFA, np.ndarray | None, np.ndarray, np.ndarray]:
    """The automaton of the function the block belongs to, of at most ``n_states`` states (lemma 4.1).

    Returns it, the weights of "anything may follow" where the block knows them, the singular values of the scaled
    block, and the map (s, m) from rows of H to states.
    """
    row_scale, column_scale = block.scales(kappa)
    scaled = row_scale[:, None] * block.matrix * column_scale
    if not np.isfinite(scaled).all():
        raise InputError("a Hankel block with values that are not finite", remedy="check the function or the counts")
    if not scaled.any():
        raise InputError("a Hankel block of zeros only", remedy="choose a basis of strings that occur")
    # Blocks of rare strings are mostly zeros: products with a sparse one are several times quicker.
    mostly_zeros = scaled.size > DENSE_ENTRIES and np.count_nonzero(scaled) < 0.2 * scaled.size
    subspace = find_subspace(sparse.csr_array(scaled) if mostly_zeros else scaled, n_states, truncate=True, rng=seed)
    kept = subspace.singular_values > smallest * subspace.singular_values[0]
    U, sigma, V = subspace.left[:, kept], subspace.singular_values[kept], subspace.right[:, kept]
    to_state = column_scale[:, None] * V  # D_v V
    inverse = (U / sigma).T * row_scale  # (H D_v V)^+ = Sigma^-1 U' D_u
    operators = inverse @ block.shifted(to_state)
    wfa = WFA(block.initial_row @ to_state, operators, inverse @ block.final_column)
    total = None if block.total_column is None else inverse @ block.total_column
    return wfa, total, sigma, to_state


def learn_spectral(
    block: CountedBlock, n_states: int, *, kappa: float = KAPPA, smallest: float = SMALLEST, seed: int = 0
) -> SpectralModel:
    """Learn from counts of any statistic; Lemma 3.1 turns the automaton into that of f where it is of another.

    A spectral estimate of a few strings may make the inversion of Lemma 3.1 impossible (RankError); the statistic
    ``marked`` needs none.
    """
    wfa, total, sigma, to_state = automaton_from_block(block, n_states, kappa=kappa, smallest=smallest, seed=seed)
    statistic = block.basis.statistic
    if statistic == "string":
        total = wfa.change_statistic("string", "prefix").final
    elif statistic != "marked":
        source: Statistic = "prefix" if statistic == "prefix" else "substring"
        total = wfa.final
        wfa = wfa.change_statistic(source, "string")
    assert total is not None
    states = block.node_values[:, block.basis.futures.places] @ to_state
    return SpectralModel(wfa, total, sigma, block.basis.pasts, _with_total_one(states, total, block.basis.pasts))


def _with_total_one(states: np.ndarray, total: np.ndarray, contexts: ContextTree) -> np.ndarray:
    """Scale rows so that row . total = 1; rows of which that is impossible take their parent's."""
    weight = states @ total
    good = weight > 1e-3 * np.abs(states * total).sum(axis=1)
    scaled = states / np.where(good, weight, 1.0)[:, None]
    if not good[0]:
        scaled[0] = total / max(float(total @ total), 1e-300)
    for node in np.flatnonzero(~good):
        if node:
            scaled[node] = scaled[contexts.parent[node]]
    return scaled
