"""Sums over examples, made so that parts counted anywhere add up to the whole.

    paper                    here                               shape
    phi, psi                 rows of features                   (n, d), (n, e), sparse
    sum_i phi_i psi_i^T      CrossMoment.matrix                 (d, e), sparse
    Omega^a, a = 1..k        GroupedCrossMoment.group(a)        one CrossMoment for each label

Sums of integer features are exact in floating point (up to 2^53), so these moments are bit-identical however the
examples were split. Moments are added with ``+``; ``sum([...])`` works as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

from spectragram.errors import InputError
from spectragram.spectral.sparse import to_csr

__all__ = ["CrossMoment", "GroupMoment", "GroupedCrossMoment", "group_ids"]


@dataclass(frozen=True)
class CrossMoment:
    """Second-order moments of two views of the same examples.

    Attributes
    ----------
    matrix : csr_array, shape (d, e)
        sum_i phi_i psi_i^T.
    left_sums, right_sums : arrays, shapes (d,) and (e,)
        sum_i phi_i and sum_i psi_i.
    left_squares, right_squares : arrays, shapes (d,) and (e,)
        Sums of squared features. For features that are 0 or 1 these are counts, and what CCA scaling divides by.
    n : int
        Number of examples.
    """

    matrix: scipy.sparse.csr_array
    left_sums: np.ndarray
    right_sums: np.ndarray
    left_squares: np.ndarray
    right_squares: np.ndarray
    n: int

    @classmethod
    def from_rows(cls, phi: Any, psi: Any) -> Self:
        """Count the examples whose features are the rows of ``phi`` (n, d) and ``psi`` (n, e)."""
        left, right = _views(phi, psi)
        left_sums, left_squares = _column_sums(left)
        right_sums, right_squares = _column_sums(right)
        return cls(to_csr(left.T @ right), left_sums, right_sums, left_squares, right_squares, left.shape[0])

    def __add__(self, other: CrossMoment) -> Self:
        if self.matrix.shape != other.matrix.shape:
            raise InputError(
                f"cross moments of shapes {self.matrix.shape} and {other.matrix.shape} cannot be added",
                remedy="count all parts with the same two sets of features",
            )
        return type(self)(
            to_csr(self.matrix + other.matrix),
            self.left_sums + other.left_sums,
            self.right_sums + other.right_sums,
            self.left_squares + other.left_squares,
            self.right_squares + other.right_squares,
            self.n + other.n,
        )

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented

    def mean(self) -> scipy.sparse.csr_array:
        """E[phi psi^T]."""
        return self.matrix * (1.0 / self.n)

    def covariance(self) -> LinearOperator:
        """E[phi psi^T] - E[phi] E[psi]^T as an operator: centred views without making sparse rows dense."""
        mean: Any = self.mean()
        left, right = self.left_sums / self.n, self.right_sums / self.n

        def forward(X: np.ndarray) -> np.ndarray:
            return mean @ X - np.multiply.outer(left, right @ X)

        def backward(Y: np.ndarray) -> np.ndarray:
            return mean.T @ Y - np.multiply.outer(right, left @ Y)

        return LinearOperator(
            mean.shape, matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=np.float64
        )


@dataclass(frozen=True)
class GroupMoment:
    """The cross moment of one group, on the features that occur in it.

    ``moment`` has a row for each of ``left_features`` and a column for each of ``right_features`` (ids, ascending).
    """

    moment: CrossMoment
    left_features: np.ndarray
    right_features: np.ndarray


@dataclass(frozen=True)
class GroupedCrossMoment:
    """Cross moments of many groups of examples (one for each label), counted in one sparse product.

    A feature f in group a is treated as a feature of its own, numbered ``a * d + f``; only those that occur are kept.

    Attributes
    ----------
    keys : int64 array, shape (k,)
        The (group, left feature) pairs that occur, ascending.
    matrix : csr_array, shape (k, e)
    left_sums, left_squares : arrays, shape (k,)
    right_sums, right_squares : csr_arrays, shape (n_groups, e)
    counts : int64 array, shape (n_groups,)
        Examples of each group.
    n_left : int
        d, the number of left features.
    """

    keys: np.ndarray
    matrix: scipy.sparse.csr_array
    left_sums: np.ndarray
    left_squares: np.ndarray
    right_sums: scipy.sparse.csr_array
    right_squares: scipy.sparse.csr_array
    counts: np.ndarray
    n_left: int

    @classmethod
    def from_rows(cls, phi: Any, psi: Any, groups: np.ndarray, n_groups: int) -> Self:
        """Count examples with features ``phi`` (n, d), ``psi`` (n, e) and group ids ``groups`` (n,) < n_groups."""
        left, right = _views(phi, psi)
        groups = group_ids(groups, left.shape[0], n_groups)
        of_entry = np.repeat(groups, np.diff(left.indptr))
        keys, columns = np.unique(of_entry * left.shape[1] + left.indices, return_inverse=True)
        tagged = scipy.sparse.csr_array((left.data, columns, left.indptr), shape=(left.shape[0], len(keys)))
        left_sums, left_squares = _column_sums(tagged)
        membership = _membership(groups, n_groups)
        return cls(
            keys,
            to_csr(tagged.T @ right),
            left_sums,
            left_squares,
            to_csr(membership @ right),
            to_csr(membership @ right.power(2)),
            np.bincount(groups, minlength=n_groups),
            left.shape[1],
        )

    def __add__(self, other: GroupedCrossMoment) -> Self:
        if (self.n_left, self.right_sums.shape) != (other.n_left, other.right_sums.shape):
            raise InputError(
                f"moments of {len(self.counts)} groups, {self.n_left} x {self.matrix.shape[1]} features and of "
                f"{len(other.counts)} groups, {other.n_left} x {other.matrix.shape[1]} features cannot be added",
                remedy="count all parts with the same groups and features",
            )
        keys = np.union1d(self.keys, other.keys)
        matrix, sums, squares = _on_keys(self, keys)
        more, more_sums, more_squares = _on_keys(other, keys)
        return type(self)(
            keys,
            to_csr(matrix + more),
            sums + more_sums,
            squares + more_squares,
            to_csr(self.right_sums + other.right_sums),
            to_csr(self.right_squares + other.right_squares),
            self.counts + other.counts,
            self.n_left,
        )

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented

    def group(self, a: int) -> GroupMoment:
        """The moment of group ``a``, on the features that occur in it."""
        first, last = np.searchsorted(self.keys, [a * self.n_left, (a + 1) * self.n_left])
        columns = self.right_squares[[a]].indices  # squares never cancel
        moment = CrossMoment(
            to_csr(self.matrix[first:last][:, columns]),
            self.left_sums[first:last],
            self.right_sums[[a]][:, columns].toarray()[0],
            self.left_squares[first:last],
            self.right_squares[[a]].data,
            int(self.counts[a]),
        )
        return GroupMoment(moment, self.keys[first:last] - a * self.n_left, columns)


def _views(phi: Any, psi: Any) -> tuple[Any, Any]:
    left, right = to_csr(phi), to_csr(psi)
    if left.shape[0] != right.shape[0]:
        raise InputError(
            f"{left.shape[0]} rows of left features but {right.shape[0]} of right ones",
            remedy="give both views of the same examples",
        )
    return left, right


def _column_sums(rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Sum and sum of squares of every column of a CSR matrix."""
    width = rows.shape[1]
    sums = np.bincount(rows.indices, rows.data, minlength=width)
    return sums, np.bincount(rows.indices, rows.data**2, minlength=width)


def group_ids(groups: np.ndarray, n: int, n_groups: int) -> np.ndarray:
    """Group ids as int64, refused where there is not one in range for each of ``n`` examples."""
    ids = np.asarray(groups, np.int64)
    if ids.shape != (n,) or (n and not 0 <= ids.min() <= ids.max() < n_groups):
        raise InputError(
            f"group ids of shape {ids.shape} between {ids.min(initial=0)} and {ids.max(initial=0)}",
            remedy=f"give one id in 0 .. {n_groups - 1} for each of the {n} examples",
        )
    return ids


def _membership(groups: np.ndarray, n_groups: int) -> Any:
    """(n_groups, n) with a one where example i belongs to group a."""
    n = len(groups)
    return scipy.sparse.csr_array((np.ones(n), groups, np.arange(n + 1)), shape=(n, n_groups)).T


def _on_keys(part: GroupedCrossMoment, keys: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Matrix, left sums and left squares with a row for each of ``keys``, a superset of the part's own."""
    size = len(keys)
    places = np.searchsorted(keys, part.keys)
    lengths, sums, squares = np.zeros(size, np.int64), np.zeros(size), np.zeros(size)
    lengths[places] = np.diff(part.matrix.indptr)
    sums[places], squares[places] = part.left_sums, part.left_squares
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    shape = (size, part.matrix.shape[1])
    return scipy.sparse.csr_array((part.matrix.data, part.matrix.indices, indptr), shape=shape), sums, squares
