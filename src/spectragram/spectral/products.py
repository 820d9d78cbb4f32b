"""Moments of products of dense views within groups: E[Z x Y x X | rule] together with all lower orders.

paper                      here                                          shape
Z, Y, X                    views                                         (n, m1), (n, m2), (n, m3)
rule                       groups                                        (n,)
E[Z x Y x X | rule]        ProductMoments.mean()                         (n_groups, m1, m2, m3)
E[Z x Y], E[Z], c(rule)    slices of ProductMoments.sums at constants
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from spectragram.errors import InputError

__all__ = ["ProductMoments", "row_products", "without_constant"]

CHUNK_ENTRIES = 2**20
"""Numbers in one temporary block of products: 8 MB, which fits into the cache of a core or two."""


@dataclass(frozen=True)
class ProductMoments:
    """Sums of products of one to three dense views within groups, together with all lower orders.

    A constant 1 is put in front of each view, so that one tensor holds the moments of all orders: for three views,
    ``sums[a, i, j, k]`` with i, j, k > 0 is the third-order moment, ``sums[a, i, j, 0]`` that of a pair,
    ``sums[a, i, 0, 0]`` that of a single view, and ``sums[a, 0, 0, 0]`` the number of examples in group a.

    Attributes
    ----------
    sums : array, shape (n_groups, m1 + 1, ..., mK + 1)
    """

    sums: np.ndarray

    @classmethod
    def from_rows(cls, views: Sequence[np.ndarray], groups: np.ndarray, n_groups: int) -> Self:
        """Sum over examples; view k has shape (n, m_k), ``groups`` (n,) holds ids < n_groups.

        Rows are sorted by group, then each block of rows of a group is one matrix product, so that memory stays at
        the size of the result.
        """
        if not 1 <= len(views) <= 3 or any(np.ndim(v) != 2 or len(v) != len(views[0]) for v in views):
            raise InputError(
                f"views of shapes {[np.shape(view) for view in views]}",
                remedy="give one to three views (n, m) of the same n examples",
            )
        groups = _group_ids(groups, len(views[0]), n_groups)
        order = np.argsort(groups, kind="stable")
        ends = np.cumsum(np.bincount(groups, minlength=n_groups))
        shape = tuple(view.shape[1] + 1 for view in views)
        sums = np.zeros((n_groups, int(np.prod(shape[:-1])), shape[-1]))
        step = max(1, CHUNK_ENTRIES // sums.shape[1])
        for a, end in enumerate(ends):
            for start in range(ends[a - 1] if a else 0, end, step):
                rows = order[start : min(end, start + step)]
                *others, last = (_with_constant(view[rows]) for view in views)
                sums[a] += row_products(others, len(rows)).T @ last
        return cls(sums.reshape(n_groups, *shape))

    def __add__(self, other: ProductMoments) -> Self:
        if self.sums.shape != other.sums.shape:
            raise InputError(
                f"product moments of shapes {self.sums.shape} and {other.sums.shape} cannot be added",
                remedy="use the same groups and projections for all parts",
            )
        return type(self)(self.sums + other.sums)

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented

    @property
    def order(self) -> int:
        """Number of views."""
        return self.sums.ndim - 1

    @property
    def counts(self) -> np.ndarray:
        """Examples of each group, (n_groups,)."""
        return self.sums.reshape(len(self.sums), -1)[:, 0]

    def mean(self, *, with_constant: bool = False) -> np.ndarray:
        """E[view_1 x ... x view_K | group], (n_groups, m1, ..., mK); 0 for groups without examples.

        ``with_constant`` keeps the constant in front of each view, and with it the lower orders.
        """
        divisor = np.maximum(self.counts, 1.0).reshape(-1, *[1] * self.order)
        return (self.sums if with_constant else without_constant(self.sums)) / divisor


def row_products(views: Sequence[np.ndarray], n: int) -> np.ndarray:
    """Flattened outer products of the views' rows: (n, m1), (n, m2) -> (n, m1 m2); without views, ones (n, 1)."""
    product = np.ones((n, 1))
    for view in views:
        product = (product[:, :, np.newaxis] * view[:, np.newaxis, :]).reshape(n, product.shape[1] * view.shape[1])
    return product


def without_constant(sums: np.ndarray) -> np.ndarray:
    """A tensor (n_groups, m1 + 1, ...) without the constants of its views, (n_groups, m1, ...)."""
    return sums[(slice(None), *[slice(1, None)] * (sums.ndim - 1))]


def _with_constant(view: np.ndarray) -> np.ndarray:
    extended = np.empty((len(view), view.shape[1] + 1))
    extended[:, 0] = 1.0
    extended[:, 1:] = view
    return extended


def _group_ids(groups: np.ndarray, n: int, n_groups: int) -> np.ndarray:
    """Group ids as int64; raises an error unless there is one in range for each of ``n`` examples."""
    ids = np.asarray(groups, np.int64)
    if ids.shape != (n,) or (n and not 0 <= ids.min() <= ids.max() < n_groups):
        raise InputError(
            f"group ids of shape {ids.shape} between {ids.min(initial=0)} and {ids.max(initial=0)}",
            remedy=f"give one id in 0 .. {n_groups - 1} for each of the {n} examples",
        )
    return ids
