"""EM where it has no local optima: mixture weights of fixed components.

    maximise  sum_i w_i log p_i(t),   p_i linear in t,   t made of one or more probability distributions

is concave, and EM on it is the multiplicative step  t <- t * gradient / normaliser  (Cohen & Collins 2014). Two steps
of the pivot algorithm have this form:

    problem                                    p                                            function
    rule states, figure 1, equation 1          sum_h t(h1,h2,h3) s(g|h1) r(f2|h2) r(f3|h3)  mixture_weights
    matching of states, figure 2, equation 3   sum_hh' r(h|f) t(h'|h) s(g|h')               match_states

**When it stops.** With the gradient g at t and W = sum_i w_i, concavity bounds the gain that any other t could bring:

    (max - current) / W   <=   sum over distributions of (max_k g_k - sum_k t_k g_k) / W   =   gap.

EM stops when this gap, in nats per unit of weight, is at most ``tolerance``, or after ``max_iter`` evaluations. Steps
are extrapolated as in SQUAREM (Varadhan & Roland 2008), which saves nine steps in ten. An extrapolation that lowers
the likelihood is undone, so the likelihood never falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from numba import njit

from spectragram.errors import InputError
from spectragram.spectral.products import row_products
from spectragram.spectral.svd import to_csr

__all__ = ["ConvexEM", "convex_em", "match_states", "mixture_weights"]

CHUNK_ENTRIES = 2**21
"""Numbers in one temporary block: 16 MB, small beside the data. Results do not depend on it up to rounding."""


@dataclass(frozen=True)
class ConvexEM:
    """The result of :func:`convex_em`.

    Attributes
    ----------
    weights : array
        The distributions t, along the last axis unless a function says otherwise.
    log_likelihood : float
        sum_i w_i log p_i one step earlier, over the possible examples; ``weights`` are at least as good.
    gap : float
        Upper bound on the distance to the maximum, in nats per unit of weight.
    n_iterations : int
        Evaluations of the gradient; each is an EM step.
    n_impossible : int
        Examples that have probability zero under every component; they were left out.
    converged : bool
        Whether the gap reached the tolerance.
    """

    weights: np.ndarray
    log_likelihood: float
    gap: float
    n_iterations: int
    n_impossible: int
    converged: bool


Objective = Callable[[np.ndarray], tuple[float, np.ndarray, int]]


def convex_em(
    objective: Objective, start: np.ndarray, total: float, *, max_iter: int = 1000, tolerance: float = 1e-6
) -> ConvexEM:
    """Maximise a concave log-likelihood over distributions along the last axis of ``start``.

    Parameters
    ----------
    objective
        Maps t to (log-likelihood, its gradient in the shape of t, number of impossible examples).
    start
        Must be positive wherever the optimum may be positive: a weight of zero stays zero.
    total
        Sum W of the weights of the examples.
    max_iter, tolerance
        Limits on evaluations and on the gap. The defaults are for exact problems; learners on noisy data stop earlier.
    """
    t = start / start.sum(axis=-1, keepdims=True)
    best, fallback = -np.inf, t
    n = 0
    while True:
        first, n = _em_step(objective, t, total, n)
        if first.log_likelihood < best:  # the extrapolation went too far
            t = fallback
            first, n = _em_step(objective, t, total, n)
        if first.gap <= tolerance or n >= max_iter:
            break
        second, n = _em_step(objective, first.weights, total, n)
        best, fallback = second.log_likelihood, second.weights
        t = _extrapolate(t, first.weights, second.weights)
    return replace(first, n_iterations=n, converged=first.gap <= tolerance)


def _em_step(objective: Objective, t: np.ndarray, total: float, n: int) -> tuple[ConvexEM, int]:
    """t <- t * gradient, normalised; also the likelihood and the gap at the given t, and n + 1."""
    value, gradient, n_impossible = objective(t)
    expected = t * gradient
    mass = expected.sum(axis=-1, keepdims=True)
    gap = float((gradient.max(axis=-1, keepdims=True) - mass).sum()) / total
    # A distribution without any examples stays as it is.
    updated = np.divide(expected, mass, out=t.copy(), where=mass > 0)
    return ConvexEM(updated, value, gap, n + 1, n_impossible, False), n + 1


def _extrapolate(t0: np.ndarray, t1: np.ndarray, t2: np.ndarray) -> np.ndarray:
    """The point to which the EM steps t0, t1, t2 seem to converge; positive wherever t2 is.

    At least 1 % of t2 is kept (any small share does), since a weight of zero could never grow again.
    """
    change = t1 - t0
    bend = (t2 - t1) - change
    length = max(1.0, float(np.linalg.norm(change)) / max(float(np.linalg.norm(bend)), 1e-300))
    ahead = np.maximum(t0 + 2 * length * change + length**2 * bend, 0.01 * t2)
    return ahead / ahead.sum(axis=-1, keepdims=True)


def mixture_weights(
    *views: np.ndarray,
    weights: np.ndarray | None = None,
    start: np.ndarray | None = None,
    max_iter: int = 1000,
    tolerance: float = 1e-6,
) -> ConvexEM:
    """Joint distribution t(h1, ..., hK) of up to three hidden states seen through fixed likelihoods.

    Parameters
    ----------
    views : arrays, shapes (n, m1), ..., (n, mK)
        Likelihoods of example i given each state, e.g. s(g_i | h1), r(f2_i | h2), r(f3_i | h3). Several feature
        functions (section 6.2) are passed as additional examples.
    weights : array, shape (n,)
        How often each example was seen; one by default.
    start : array, shape (m1, ..., mK)
        Uniform by default.

    Returns
    -------
    ConvexEM
        ``weights`` has shape (m1, ..., mK) and sums to one.

    Examples
    --------
    >>> half_of_each = mixture_weights(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> half_of_each.weights
    array([0.5, 0.5])
    """
    likelihoods = [np.ascontiguousarray(view, np.float64) for view in views]
    n = len(likelihoods[0]) if likelihoods else 0
    shape = tuple(view.shape[1] for view in likelihoods)
    counts = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    if not 1 <= len(views) <= 3 or any(len(view) != n for view in likelihoods) or counts.shape != (n,) or n == 0:
        raise InputError(
            f"views of shapes {[np.shape(view) for view in views]} and weights of shape {counts.shape}",
            remedy="give one to three views (n, m) of the same n >= 1 examples",
        )
    rows = max(1, CHUNK_ENTRIES // max(1, int(np.prod(shape[:-1]))))

    def objective(t: np.ndarray) -> tuple[float, np.ndarray, int]:
        table = t.reshape(-1, shape[-1])
        value, gradient, n_impossible = 0.0, np.zeros_like(table), 0
        for a in range(0, n, rows):
            part = slice(a, a + rows)
            *others, last = (view[part] for view in likelihoods)
            joint = row_products(others, len(last))
            log_p, ratio = _log_and_ratio(counts[part], np.einsum("ij,ij->i", joint @ table, last))
            value += float(log_p.sum())
            n_impossible += int(((ratio == 0) & (counts[part] > 0)).sum())
            gradient += joint.T @ (last * ratio[:, np.newaxis])
        return value, gradient.reshape(t.shape), n_impossible

    first = np.ones(shape) if start is None else np.asarray(start, np.float64)
    found = convex_em(objective, first.reshape(1, -1), counts.sum(), max_iter=max_iter, tolerance=tolerance)
    return replace(found, weights=found.weights.reshape(shape))


def match_states(
    cooccurrence: Any,
    memberships: np.ndarray,
    components: np.ndarray,
    *,
    max_iter: int = 1000,
    tolerance: float = 1e-6,
) -> ConvexEM:
    """``t(h'|h)``, rows h, maximising ``sum_fg Q_fg log sum_hh' r(h|f) t(h'|h) s(g|h')`` (figure 2, step 3).

    ``cooccurrence`` is Q (d, e), ``memberships`` ``r(h|f)`` (d, m), ``components`` ``s(g|h')`` (e, k);
    the weights are (m, k).
    """
    Q = to_csr(cooccurrence)

    def objective(t: np.ndarray) -> tuple[float, np.ndarray, int]:
        value, ratios, n_impossible = _ratios(Q, memberships @ t, components)
        return value, memberships.T @ (ratios @ components), n_impossible

    start = np.ones((memberships.shape[1], components.shape[1]))
    return convex_em(objective, start, float(Q.data.sum()), max_iter=max_iter, tolerance=tolerance)


def _ratios(
    Q: scipy.sparse.csr_array, rows: np.ndarray, columns: np.ndarray
) -> tuple[float, scipy.sparse.csr_array, int]:
    """Log-likelihood, and Q_fg / p_fg where Q is not zero, for p_fg = rows_f . columns_g."""
    p = np.empty(Q.nnz)
    _products_at(
        Q.indptr.astype(np.int64),
        Q.indices.astype(np.int64),
        np.ascontiguousarray(rows),
        np.ascontiguousarray(columns),
        p,
    )
    log_p, ratio = _log_and_ratio(Q.data, p)
    n_impossible = int(((p <= 0) & (Q.data > 0)).sum())
    return float(log_p.sum()), scipy.sparse.csr_array((ratio, Q.indices, Q.indptr), shape=Q.shape), n_impossible


def _log_and_ratio(counts: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """c log p and c / p, both 0 where p is."""
    possible = p > 0
    log_p = np.log(p, out=np.zeros_like(p), where=possible)
    return counts * log_p, np.divide(counts, p, out=np.zeros_like(p), where=possible)


@njit(cache=True, nogil=True)
def _products_at(
    indptr: np.ndarray, indices: np.ndarray, rows: np.ndarray, columns: np.ndarray, out: np.ndarray
) -> None:
    """out[place] = rows[f] . columns[g] at every stored entry (f, g) of a sparse matrix."""
    m = rows.shape[1]
    for f in range(len(indptr) - 1):
        row = rows[f]
        for place in range(indptr[f], indptr[f + 1]):
            column = columns[indices[place]]
            total = 0.0
            for h in range(m):
                total += row[h] * column[h]
            out[place] = total
