"""Smoothing of third-order moments (Cohen et al. 2013): rare rules borrow from lower orders.

    E  =  l E3 + (1 - l) [ l E2 + (1 - l) ( l E1 + (1 - l) E0 ) ],      l = sqrt(c) / (C + sqrt(c))

    c    examples of the rule; from ``trusted`` examples on, l = 1
    E3   E[Z x Y x X | rule]
    E2   mean of the three products of a pair and a single:  E[Z x Y] x E[X],  E[Z x X] x E[Y],  E[Y x X] x E[Z]
    E1   E[Z] x E[Y] x E[X] of the rule
    E0   the same product of what is known without the rule: the labels' own means

A unary rule has two views, and the chain begins with its pair; a lexical rule has one, and the chain is its mean,
then the label's. A view's constant (see :class:`~spectragram.spectral.products.ProductMoments`) is smoothed along with
it, so that lower orders taken from the result agree with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.errors import InputError
from spectragram.spectral.products import ProductMoments, without_constant

__all__ = ["confidence", "smooth_means", "smooth_moments"]

GROUPS_AT_A_TIME = 64
"""Rules smoothed together: bounds the temporaries."""


def confidence(counts: np.ndarray, *, strength: float = 30.0, trusted: float = 1000.0) -> np.ndarray:
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
    strength: float = 30.0,
    trusted: float = 1000.0,
    with_constant: bool = False,
) -> np.ndarray:
    """Smoothed E[view_1 x ... x view_K | group] of every group, (n_groups, m1, ..., mK).

    Parameters
    ----------
    moments : ProductMoments of one, two or three views
    background : arrays, shapes (n_groups, m1), ..., (n_groups, mK)
        What to expect of each view where the group says nothing: for a rule a -> b c the means of Z over nodes
        labelled a, of Y over b, of X over c. Zeros end the chain in the constant alone.
    strength : float
        C: with C^2 examples a rule is believed half.
    trusted : float
        From this count on, a group is not smoothed.
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


def smooth_means(means: np.ndarray, backgrounds: np.ndarray, *, weight: float | np.ndarray = 0.6) -> np.ndarray:
    """weight * mean + (1 - weight) * background: the fixed mixture of lexical rules a -> x with their label a.

    ``means`` and ``backgrounds`` have shape (n, m); ``weight`` is one number or one for each row.
    """
    w = np.asarray(weight, np.float64)
    w = w[:, np.newaxis] if w.ndim else w
    return w * means + (1 - w) * backgrounds


def _chain(moments: ProductMoments, background: Sequence[np.ndarray]) -> list[np.ndarray]:
    """E0, E1, ..., EK with constants, each of the shape of ``moments.sums``; E2 of K = 3 averages three splits."""
    E = moments.mean(with_constant=True)
    order = moments.order
    # A view's own mean: all other indices at the constant.
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
