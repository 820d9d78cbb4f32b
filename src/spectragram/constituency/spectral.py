"""The spectral learner: operators from first to third moments of projected nodes (Cohen et al. 2012, 2013).

    paper (figure 4)      here
    Y = U' phi            projection.inside
    Z = Sigma^-1 V' psi   projection.outside / sigma         so that E[Y Z' | a] is the identity
    C^{a -> b c}          c(r) / c(a) E[Z (x) Y_left (x) Y_right | r]
    c^inf_{a -> x}        c(a -> x) / c(a) E[Z | a -> x]
    c^1_a                 sum of Y over roots a / number of trees

The third moment of a rule that is not frequent is shrunk towards products of lower moments (Cohen et al. 2013; see
:mod:`spectragram.spectral.smoothing`). The result is not a probability distribution, and nothing here or in the chart
needs it to be one.
"""

from __future__ import annotations

import numpy as np

from spectragram.constituency.em import TrainingTrees
from spectragram.constituency.features import Projection
from spectragram.constituency.lexicon import Lexicon
from spectragram.constituency.model import Member
from spectragram.data.productions import BINARY, UNARY
from spectragram.inference.chart_rules import Operators, Rules, layout, make_operators
from spectragram.inference.tree_assignments import count_assignments
from spectragram.spectral.products import ProductMoments
from spectragram.spectral.smoothing import smooth_moments

__all__ = ["learn_spectral", "recover_operators"]

SHRINK = 30.0
"""Strength of the shrinkage, C of Cohen et al. (2013): a moment counted n times keeps the share
sqrt(n) / (C + sqrt(n)). On the dev part of wsj-sample differences between values around 30 are within noise."""
FREQUENT = 1000
"""A rule that occurs this often is not shrunk (Cohen et al. 2013)."""
SMOOTH_WORDS = 0.4
"""Share of a word's vector that comes from its tag alone (Cohen et al. 2013)."""


def learn_spectral(
    trees: TrainingTrees,
    projections: list[Projection],
    shrink: float = SHRINK,
    *,
    trusted: float = FREQUENT,
    smooth_words: float = SMOOTH_WORDS,
) -> Member:
    """Steps 2 and 3 of figure 4; with ``shrink=0`` and ``smooth_words=0`` the estimates of the paper, not smoothed.

    Rules seen ``trusted`` times are not shrunk.
    """
    treebank = trees.treebank
    n_states = np.array([len(projection.sigma) for projection in projections], np.int32)
    Y = np.zeros((treebank.n_nodes, int(n_states.max())))
    Z = np.zeros_like(Y)
    for projection in projections:
        m = len(projection.sigma)
        Y[projection.nodes, :m] = projection.inside
        Z[projection.nodes, :m] = projection.outside / projection.sigma
    counts = np.bincount(treebank.symbol, minlength=len(n_states)).astype(float)
    # Step 2. Z includes Sigma^-1, so these are the operators of step 3, except that they are not yet divided by c(a).
    sums = count_assignments(layout(trees.rules, n_states), n_states, trees.nodes, Z, Y, len(trees.words.tags))
    means = _label_means(Y, treebank.symbol, counts), _label_means(Z, treebank.symbol, counts)
    operators = make_operators(
        trees.rules,
        n_states,
        _smoothed(trees, BINARY, n_states, Y, Z, means, counts, sums.binary, shrink, trusted),
        _smoothed(trees, UNARY, n_states, Y, Z, means, counts, sums.unary, shrink, trusted),
        np.ones(int(n_states.sum())),
        sums.root / len(treebank),
    )
    n_tags = treebank.productions.n_tags
    share = np.bincount(trees.words.tags, trees.words.counts, minlength=n_tags) / trees.words.n_tokens
    divisor = np.where(np.arange(Y.shape[1]) < n_states[:n_tags, None], share[:, None], np.inf)
    return Member(operators, Lexicon(trees.words, sums.lexical, divisor, means[1][:n_tags], smooth_words))


def _label_means(values: np.ndarray, symbol: np.ndarray, counts: np.ndarray) -> np.ndarray:
    total = np.stack([np.bincount(symbol, column, minlength=len(counts)) for column in values.T], axis=1)
    return total / np.maximum(counts, 1.0)[:, None]


def _smoothed(
    trees: TrainingTrees,
    kind: int,
    n_states: np.ndarray,
    Y: np.ndarray,
    Z: np.ndarray,
    means: tuple[np.ndarray, np.ndarray],
    counts: np.ndarray,
    sums: np.ndarray,
    shrink: float,
    trusted: float,
) -> np.ndarray:
    """Tensors (or matrices) of all rules of a kind, flat; ``sums`` are their sums over nodes before smoothing."""
    treebank = trees.treebank
    rules = trees.rules.binary if kind == BINARY else trees.rules.unary
    nodes = np.flatnonzero(treebank.kind == kind)
    nodes = nodes[np.argsort(treebank.rule[nodes], kind="stable")]
    bounds = np.searchsorted(treebank.rule[nodes], np.arange(len(rules) + 1))
    out = np.empty_like(sums)
    start = 0
    for r in range(len(rules)):
        at = nodes[bounds[r] : bounds[r + 1]]
        c = len(at)
        sizes = n_states[rules[r]]
        views = [Z[at, : sizes[0]], Y[treebank.left[at], : sizes[1]]]
        label_means = [means[1][None, rules[r, 0], : sizes[0]], means[0][None, rules[r, 1], : sizes[1]]]
        if kind == BINARY:
            views.append(Y[treebank.right[at], : sizes[2]])
            label_means.append(means[0][None, rules[r, 2], : sizes[2]])
        stop = start + int(sizes.astype(np.int64).prod())
        if shrink and c < trusted:
            moments = ProductMoments.from_rows(views, np.zeros(c, np.int64), 1)
            moment = smooth_moments(moments, label_means, strength=shrink, trusted=trusted)
        else:  # nothing to smooth, and the sums are known
            moment = sums[start:stop] / c
        out[start:stop] = (c / counts[rules[r, 0]]) * moment.ravel()
        start = stop
    return out


def recover_operators(
    rules: Rules,
    inside_outside: np.ndarray,
    binary: np.ndarray,
    lexical: np.ndarray,
    root: np.ndarray,
    n_states: int,
) -> tuple[Operators, np.ndarray]:
    """Figures 4 and 5 of Cohen et al. (2012) for given moments, exact ones or those counted elsewhere.

    Parameters
    ----------
    rules : Rules
        Without unary rules; labels are numbered as in the moments.
    inside_outside : array, shape (n_labels, d, d')
        Omega^a = E[phi psi' | a].
    binary : array, shape (n_rules, d, d', d)
        E[[a -> b c] phi(right) x psi(outside) x phi(left) | a].
    lexical : array, shape (n_labels, n_words, d')
        E[[a -> x] psi(outside) | a].
    root : array, shape (n_labels, d)
        E[[label a] phi | root].
    n_states : int

    Returns
    -------
    operators : Operators
    vectors : array, shape (n_labels, n_words, n_states)
        c^inf of every label and word.
    """
    n_labels = len(inside_outside)
    U, sigma, Vt = np.linalg.svd(inside_outside, full_matrices=False)
    U = U[:, :, :n_states]
    # Z = Sigma^-1 V' psi
    V = np.swapaxes(Vt[:, :n_states], 1, 2) / sigma[:, None, :n_states]
    a, b, c = rules.binary.T
    tensors = np.einsum("rkol,rox,rly,rkz->rxyz", binary, V[a], U[b], U[c], optimize=True)
    operators = make_operators(
        rules,
        np.full(n_labels, n_states, np.int32),
        tensors.ravel(),
        np.zeros(0),
        np.ones(n_labels * n_states),
        np.einsum("ad,adx->ax", root, U).ravel(),
    )
    return operators, np.einsum("awo,aox->awx", lexical, V)
