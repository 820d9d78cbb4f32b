"""The anchor ("pivot") decomposition: from co-occurrences to probabilities, without local optima.

    Q_fg = sum_h pi(h) r(f|h) s(g|h)        (Cohen & Collins 2014, section 5)

If every hidden state h has a *pivot*, a row f that occurs with no other state, the rows' mean contexts v_f lie in the
convex hull of those of the pivots, and the weights of that combination are p(h|f).

    paper        here                   shape
    Q            cooccurrence           (d, e), sparse, non-negative
    phi(g)       projection             (e, l)
    v_f          means                  (d, l)
    p(f)         mass                   (d,)
    s_1..s_m     anchors                (m,)
    q(h|f)       memberships            (d, m), rows sum to one
    pi(h)        prior                  (m,)
    r(f|h)       left                   (d, m), columns sum to one
    s(g|h)       right                  (e, m), columns sum to one
    t(h'|h)      match_states(...)      (m, m)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from spectragram.errors import InputError, RankError
from spectragram.spectral.mixtures import match_states
from spectragram.spectral.scaling import Scaling
from spectragram.spectral.simplex import simplex_least_squares
from spectragram.spectral.subspace import find_subspace
from spectragram.spectral.svd import to_csr

__all__ = [
    "OneSided",
    "TwoSided",
    "decompose_means",
    "find_anchors",
    "pivot_decompose",
    "pivot_decompose_both",
]

FLAT = 1e-13
"""Squared distances below this share of the spread of the points are rounding errors."""


@dataclass(frozen=True)
class OneSided:
    """The parameters that section 5.2 recovers from one side of Q; see the table of the module."""

    anchors: np.ndarray
    memberships: np.ndarray
    prior: np.ndarray
    left: np.ndarray


@dataclass(frozen=True)
class TwoSided:
    """The parameters that figure 2 recovers: both conditional distributions, with matched states."""

    prior: np.ndarray
    left: np.ndarray
    right: np.ndarray
    memberships: np.ndarray


def find_anchors(points: np.ndarray, n_anchors: int, candidates: np.ndarray | None = None) -> np.ndarray:
    """Rows of ``points`` (n, l) that span the hull of all rows: FastAnchorWords of Arora et al. (2013).

    The first anchor is the row farthest from the mean, each further one the row farthest from the affine span of those
    before; then each anchor in turn is replaced by the row farthest from the span of the others. ``candidates`` are the
    rows that may be picked (all by default). If the rows span too few dimensions for ``n_anchors``, the last anchors
    are arbitrary distinct rows.

    >>> square = np.array([[0.5, 0.5], [0.0, 0.0], [0.0, 1.0], [0.3, 0.3], [1.0, 0.0]])
    >>> sorted(find_anchors(square, 3).tolist())
    [1, 2, 4]
    """
    rows = np.arange(len(points)) if candidates is None else np.asarray(candidates)
    if len(rows) < n_anchors or n_anchors < 1:
        raise InputError(
            f"{n_anchors} anchors from {len(rows)} candidate rows", remedy="use fewer states or admit rarer rows"
        )
    X = np.asarray(points, np.float64)[rows]
    spread = _squares(X - X.mean(axis=0))
    floor = FLAT * spread.max()
    picked = [_farthest(spread, [], floor)]
    directions = np.empty((0, X.shape[1]))
    # Squared distance to the affine span of the anchors; each new anchor takes one component off.
    distance = _squares(X - X[picked[0]])
    for _ in range(1, n_anchors):
        picked.append(_farthest(distance, picked, floor))
        direction = _unit_outside(directions, X[picked[-1]] - X[picked[0]])
        distance = distance - _component(X, X[picked[0]], direction)
        directions = np.vstack([directions, direction])
    if n_anchors > 1:
        _clean_up(X, picked, distance, floor)
    return rows[np.array(picked)]


def _clean_up(X: np.ndarray, picked: list[int], distance: np.ndarray, floor: float) -> None:
    """Second pass of FastAnchorWords, in place: each anchor is chosen again, given all others.

    ``distance`` is to the span of all anchors; to that of all but one it is larger by the square of one component.
    """
    for i in range(len(picked)):
        others = picked[:i] + picked[i + 1 :]
        base = X[others[0]]
        directions = _orthonormal_rows(X[others[1:]] - base)
        without = distance + _component(X, base, _unit_outside(directions, X[picked[i]] - base))
        picked[i] = _farthest(without, others, floor)
        distance = without - _component(X, base, _unit_outside(directions, X[picked[i]] - base))


def decompose_means(
    means: np.ndarray,
    mass: np.ndarray,
    n_states: int,
    *,
    min_count: float = 0.0,
    tolerance: float = 1e-14,
    n_jobs: int | None = 1,
) -> OneSided:
    """Steps 3 and 4 of section 5.2, for representations computed by the caller (section 6.2: several features).

    Parameters
    ----------
    means : array, shape (d, l)
        v_f, the mean representation of the contexts of f; rows without mass are ignored.
    mass : array, shape (d,)
        How often, or how probably, f occurs.
    n_states : int
    min_count : float
        Rows with less mass are never anchors, since their means may be extreme by chance.
    tolerance : float
        Of the least squares, see :func:`~spectragram.spectral.simplex.simplex_least_squares`.
    """
    seen = mass > 0
    if not seen.any():
        raise InputError("no row has any mass", remedy="give counts that are not all zero")
    anchors = find_anchors(means, n_states, np.flatnonzero(seen & (mass >= min_count)))
    found = simplex_least_squares(means[seen], means[anchors], tolerance=tolerance, n_jobs=n_jobs)
    memberships = np.zeros((len(means), n_states))
    memberships[seen] = found
    del found  # of a large vocabulary, each of these tables takes hundreds of megabytes
    # pi(h) = sum_f p(f) q(h|f),   r(f|h) = p(f) q(h|f) / pi(h)
    joint = memberships * (mass / mass.sum())[:, np.newaxis]
    prior = joint.sum(axis=0)
    if (prior <= 0).any():
        kept = int((prior > 0).sum())
        raise RankError(f"n_states={n_states}, but only {kept} anchors differ: use n_states<={kept} or richer features")
    memberships[~seen] = prior
    joint /= prior
    return OneSided(anchors, memberships, prior, joint)


def pivot_decompose(
    cooccurrence: Any,
    n_states: int,
    *,
    min_count: float = 0.0,
    kappa: float = 0.0,
    rng: np.random.Generator | int = 0,
    n_jobs: int | None = 1,
) -> OneSided:
    """Section 5.2 for one side of Q: CCA projection, mean contexts, anchors, simplex least squares.

    Parameters
    ----------
    cooccurrence : sparse or dense array, shape (d, e)
        Counts or probabilities.
    n_states : int
    min_count : float
        Rows with a smaller sum are never anchors.
    kappa : float
        Pseudo-counts in the CCA scaling, in the same unit as ``cooccurrence``.
    """
    Q = to_csr(cooccurrence)
    if (Q.data < 0).any() or not Q.data.sum() > 0:
        raise InputError("co-occurrences must be non-negative and not all zero", remedy="give counts")
    mass, right_mass = np.asarray(Q.sum(axis=1)), np.asarray(Q.sum(axis=0))
    # Step 1: phi(g) by CCA
    scaling = Scaling.from_counts(mass, right_mass, kappa=kappa)
    projection = scaling.fold(find_subspace(scaling.apply(Q), n_states, rng=rng)).right
    # Step 2: v_f = E[phi(g) | f]
    total = Q @ projection
    means = np.divide(total, mass[:, np.newaxis], out=np.zeros_like(total), where=mass[:, np.newaxis] > 0)
    return decompose_means(means, mass, n_states, min_count=min_count, n_jobs=n_jobs)


def pivot_decompose_both(
    cooccurrence: Any,
    n_states: int,
    *,
    min_count: float = 0.0,
    kappa: float = 0.0,
    max_iter: int = 5000,
    tolerance: float = 1e-9,
    rng: np.random.Generator | int = 0,
    n_jobs: int | None = 1,
) -> TwoSided:
    """Figure 2: each side separately, then convex EM to match their states (step 3).

    Options as in :func:`pivot_decompose`; ``max_iter`` and ``tolerance`` as in
    :mod:`spectragram.spectral.mixtures`.
    """
    Q = to_csr(cooccurrence)
    generator = np.random.default_rng(rng)
    rows, columns = (
        pivot_decompose(side, n_states, min_count=min_count, kappa=kappa, rng=generator, n_jobs=n_jobs)
        for side in (Q, Q.T)
    )
    matching = match_states(Q, rows.memberships, columns.left, max_iter=max_iter, tolerance=tolerance)
    # s(g|h) = sum_h' t(h'|h) s(g|h')
    return TwoSided(rows.prior, rows.left, columns.left @ matching.weights.T, rows.memberships)


def _squares(X: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", X, X)


def _component(X: np.ndarray, base: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Squared component of every row of X - base along a unit (or zero) direction."""
    return (X @ direction - base @ direction) ** 2


def _farthest(distance: np.ndarray, taken: list[int], floor: float) -> int:
    """Index of the largest squared distance among rows not taken; the first row if only rounding errors are left."""
    allowed = np.where(distance > floor, distance, 0.0)
    allowed[taken] = -1.0
    return int(np.argmax(allowed))


def _unit_outside(directions: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The part of a vector orthogonal to orthonormal rows, scaled to length one; zero if nothing is left.

    1e-12 of the length is rounding: nothing that is left of a vector inside the span is larger.
    """
    rest = vector
    for _ in range(2):  # the second pass removes rounding errors of the first
        rest = rest - (directions @ rest) @ directions
    length = np.linalg.norm(rest)
    return rest / length if length > 1e-12 * np.linalg.norm(vector) else np.zeros_like(vector)


def _orthonormal_rows(X: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span those of X."""
    if not len(X):
        return X
    Q, R, _ = scipy.linalg.qr(X.T, mode="economic", pivoting=True)
    sizes = np.abs(R.diagonal())
    return Q[:, sizes > 1e-12 * sizes.max()].T
