"""Theorem 3 of Cohen et al. (2012): how many examples make estimated probabilities as good as one likes.

    M_a >= 128 m^2 / (((1 + eps)^(1 / (2N + 1)) - 1)^2 Lambda^2 sigma^4) log(2 m R / delta)      for all labels a

    then  1 - eps <= |p^ / p| <= 1 + eps  for a tree of N rules, with probability 1 - delta

    paper     here               what it is
    m         n_states
    N         n_nodes            rules of the tree
    R         n_rules            rules of the grammar
    Lambda    Coefficients.least    smallest absolute element of c^1, d^inf, D and Sigma^-1
    sigma     Coefficients.sigma    smallest m-th singular value of Omega^a

The paper mentions a version for marginals and leaves it out. It follows from the one for trees: all trees of a sentence
of n words have N = 2n - 1 rules, so one event bounds the ratio of each of them, and mu(a, i, j) is a sum of their
probabilities, which are positive; the ratio of the sums lies between the same bounds (:func:`marginal_nodes`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.errors import ParameterError

__all__ = ["Coefficients", "error_bound", "examples_needed", "marginal_nodes"]


@dataclass(frozen=True)
class Coefficients:
    """What theorem 3 asks of a grammar and its features.

    Attributes
    ----------
    n_states, n_rules : int
    least : float
        Lambda.
    sigma : float
    """

    n_states: int
    n_rules: int
    least: float
    sigma: float

    @classmethod
    def of_moments(
        cls,
        rules: np.ndarray,
        inside_outside: np.ndarray,
        binary: np.ndarray,
        lexical: np.ndarray,
        root: np.ndarray,
        n_states: int,
    ) -> Coefficients:
        """From exact moments, as :func:`~spectragram.constituency.spectral.recover_operators` takes them.

        ``rules`` are ``a, b, c`` of a -> b c, (n_rules, 3). Rules and roots of probability zero are no part of the
        grammar, so tensors and vectors that are zero altogether do not count.
        """
        U, sigma, Vt = np.linalg.svd(inside_outside, full_matrices=False)
        U, V = U[:, :, :n_states], np.swapaxes(Vt[:, :n_states], 1, 2)
        a, b, c = np.asarray(rules).T
        vectors = np.einsum("awo,aox->awx", lexical, V).reshape(-1, n_states)
        tensors = np.einsum("rkol,rkz,rox,rly->rzxy", binary, U[c], V[a], U[b], optimize=True).reshape(len(binary), -1)
        # In these coordinates Sigma is diagonal; its zeros are no estimates.
        parts = [1.0 / sigma[:, :n_states], np.einsum("ad,adx->ax", root, U), vectors, tensors]
        used = [np.abs(part[np.abs(part).max(axis=1) > 0]) for part in parts]
        n_rules = len(used[2]) + len(used[3])
        return cls(n_states, n_rules, min(float(part.min()) for part in used), float(sigma[:, n_states - 1].min()))


def marginal_nodes(n_words: int) -> int:
    """N for the marginals of a sentence: the rules of any of its trees.

    >>> marginal_nodes(3)
    5
    """
    if n_words < 1:
        raise ParameterError("n_words", n_words, remedy="give at least one word")
    return 2 * n_words - 1


def examples_needed(found: Coefficients, n_nodes: int, *, epsilon: float, delta: float = 0.05) -> float:
    """M_a: training examples of every label that theorem 3 asks for."""
    if not epsilon > 0 or not 0 < delta < 1 or n_nodes < 1:
        raise ParameterError(
            "epsilon", epsilon, remedy="give epsilon > 0, delta between 0 and 1, and at least one node"
        )
    root = np.expm1(np.log1p(epsilon) / (2 * n_nodes + 1))
    return float(_factor(found, delta) / root**2)


def error_bound(found: Coefficients, n_nodes: int, n_examples: float, *, delta: float = 0.05) -> float:
    """epsilon: the relative error that theorem 3 allows after so many examples of every label.

    >>> grammar = Coefficients(2, 10, 0.1, 0.2)
    >>> n = examples_needed(grammar, 3, epsilon=0.1)
    >>> round(error_bound(grammar, 3, n), 6)
    0.1
    """
    step = np.sqrt(_factor(found, delta) / n_examples)
    return float(np.expm1((2 * n_nodes + 1) * np.log1p(step)))


def _factor(found: Coefficients, delta: float) -> float:
    m = found.n_states
    return 128.0 * m**2 / (found.least**2 * found.sigma**4) * np.log(2.0 * m * found.n_rules / delta)
