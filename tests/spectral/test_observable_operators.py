"""Exact moments of a hidden Markov model give an observable-operator model of the same distribution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse

from spectragram.spectral import Scaling, find_subspace


@pytest.fixture
def hmm(rng):
    """Start (m,), transitions (m, m), emissions (m, n), all well conditioned."""
    m, n = 3, 5
    transitions = 0.6 * np.eye(m) + 0.4 * rng.dirichlet(np.ones(m), m)
    emissions = rng.dirichlet(np.full(n, 0.4), m)
    return rng.dirichlet(np.ones(m)), transitions, emissions


def probability(start, transitions, emissions, string):
    state = start
    for symbol in string:
        state = (state * emissions[:, symbol]) @ transitions
    return state.sum()


@pytest.mark.parametrize("kappa", [None, 0.0, 0.01])
@pytest.mark.parametrize("method", ["dense", "krylov", "auto"])
def test_prefix_probabilities_from_hankel_blocks(hmm, kappa, method):
    start, _, emissions = hmm
    n = emissions.shape[1]
    words = [(), *itertools.product(range(n), repeat=1), *itertools.product(range(n), repeat=2)]
    H = np.array([[probability(*hmm, u + v) for v in words] for u in words])
    H_symbol = [np.array([[probability(*hmm, (*u, a, *v)) for v in words] for u in words]) for a in range(n)]
    # With or without CCA scaling: folded vectors work on the raw blocks.
    counts = (H[:, 0], H[0]) if kappa is not None else (np.ones(len(words)),) * 2
    scaling = Scaling.from_counts(*counts, kappa=kappa or 0.0)
    subspace = scaling.fold(find_subspace(scipy.sparse.csr_array(scaling.apply(H)), len(start), method=method))
    U, V = subspace.left, subspace.right
    inverse = np.linalg.inv(U.T @ H @ V)
    initial, final = H[0] @ V, inverse @ (U.T @ H[:, 0])
    operators = [inverse @ (U.T @ block @ V) for block in H_symbol]
    for string in itertools.product(range(n), repeat=4):
        value = initial
        for symbol in string:
            value = value @ operators[symbol]
        assert value @ final == pytest.approx(probability(*hmm, string), abs=1e-12, rel=1e-8)
