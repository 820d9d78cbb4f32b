"""Smoothing of third-order moments (Cohen et al. 2013): rare rules borrow from lower orders.

    E  =  l E3 + (1 - l) [ l E2 + (1 - l) ( l E1 + (1 - l) E0 ) ],      l = sqrt(c) / (C + sqrt(c))

    c    examples of the rule; from ``trusted`` examples on, l = 1
    E3   E[Z x Y x X | rule]
    E2   mean of the three products of a pair and a single:  E[Z x Y] x E[X],  E[Z x X] x E[Y],  E[Y x X] x E[Z]
    E1   E[Z] x E[Y] x E[X] of the rule
    E0   the same product of the means of the labels, which do not depend on the rule

A unary rule has two views, and its chain begins with E2, their product; a lexical rule has one view, and its chain is
the mean of the rule, then that of the label. The constant of each view (see
:class:`~spectragram.spectral.products.ProductMoments`) is smoothed together with it, so that lower orders taken from
the result are consistent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.errors import InputError
from spectragram.spectral.products import ProductMoments, without_constant

__all__ = ["confidence", "smooth_moments"]

GROUPS_AT_A_TIME = 64
"""Rules smoothed at a time: it bounds the memory of temporary arrays. Results do not depend on it."""
STRENGTH, TRUSTED = 30.0, 1000.0
"""C, and the count from which a rule is not smoothed, as in Cohen et al. 2013; learners may set others."""


def confidence(counts: np.ndarray, *, strength: float = STRENGTH, trusted: float = TRUSTED) -> np.ndarray:
    """l = sqrt(c) / (C + sqrt(c)) for every count, and 1 from ``trusted`` on.

    >>> confidence(np.array([0.0, 900.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    root = np.sqrt(np.asarray(counts, np.float64))
    return np.where(np.asarray(counts) >= trusted, 1.0, root / np.maximum(strength + root, 1e-300))


def smooth_moments(
    moments: ProductMoments,
    background: Sequence[np.ndarray],
    *,
    strength: float = STRENGTH,
    trusted: float = TRUSTED,
    with_constant: bool = False,
) -> np.ndarray:
    """Smoothed E[view_1 x ... x view_K | group] of every group, (n_groups, m1, ..., mK).

    Parameters
    ----------
    moments : ProductMoments of one, two or three views
    background : arrays, shapes (n_groups, m1), ..., (n_groups, mK)
        The expected views if nothing is known about the group: for a rule a -> b c, the means of Z over nodes
        labelled a, of Y over b and of X over c. With zeros, only the constants of E0 remain.
    strength : float
        C: with C^2 examples, the rule's own moment gets a weight of one half.
    trusted : float
        Groups with at least this many examples are not smoothed.
    with_constant : bool
        Keep the constant in front of each view: shape (n_groups, m1 + 1, ..., mK + 1).
    """
    expected = tuple((len(moments.sums), size - 1) for size in moments.sums.shape[1:])
    if tuple(np.shape(mean) for mean in background) != expected:
        raise InputError(
            f"background means of shapes {[np.shape(mean) for mean in background]}",
            remedy=f"expected {list(expected)}: a row for each group, a column for each dimension of the view",
        )
    weight = confidence(moments.counts, strength=strength, trusted=trusted)
    chosen = moments.sums if with_constant else without_constant(moments.sums)
    smoothed = np.empty(chosen.shape)
    for start in range(0, len(smoothed), GROUPS_AT_A_TIME):
        part = slice(start, start + GROUPS_AT_A_TIME)
        chain = _chain(ProductMoments(moments.sums[part]), [mean[part] for mean in background])
        l = weight[part].reshape(-1, *[1] * moments.order)
        E = chain[0]
        for better in chain[1:]:
            E = l * better + (1 - l) * E
        smoothed[part] = E if with_constant else without_constant(E)
    return smoothed


def _chain(moments: ProductMoments, background: Sequence[np.ndarray]) -> list[np.ndarray]:
    """E0, E1, ..., EK with constants, each in the shape of ``moments.sums``; for K = 3, E2 averages three splits."""
    E = moments.mean(with_constant=True)
    order = moments.order
    # The mean of one view: the indices of all other views are at the constant.
    singles = [E[(slice(None), *(slice(None) if k == view else 0 for k in range(order)))] for view in range(order)]
    priors = [np.concatenate([np.ones((len(mean), 1)), mean], axis=1) for mean in background]
    letters = "ijk"[:order]
    outer = ",".join("a" + letter for letter in letters) + "->a" + letters
    chain = [np.einsum(outer, *priors)]
    if order > 1:
        chain.append(np.einsum(outer, *singles))
    if order == 3:
        z, y, x = singles
        splits = (("aij,ak", E[:, :, :, 0], x), ("aik,aj", E[:, :, 0, :], y), ("ajk,ai", E[:, 0, :, :], z))
        chain.append(sum(np.einsum(f"{sides}->aijk", pair, single) for sides, pair, single in splits) / 3)
    return [*chain, E]
