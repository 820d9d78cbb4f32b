"""Helpers that all synthetic models share: checking parameters, drawing well-conditioned ones, and sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from spectragram.data.corpus import Vocabulary
from spectragram.errors import InputError

__all__ = [
    "Outcomes",
    "conditioned",
    "draw_many",
    "draw_rows",
    "expected_visits",
    "require_distributions",
    "require_shapes",
    "symbols",
    "weakest_correlation",
    "without_end",
]

Model = TypeVar("Model")

SUMS_TOLERANCE = 1e-9
"""How far the sum of a distribution may be from 1: far above rounding errors, far below any real mistake."""
SHARPNESS = np.linspace(0, 1, 11)
"""Values of sharpness that :func:`conditioned` tries in turn. Chosen by hand, not tuned."""
DRAWS_PER_SHARPNESS = 20
"""Random models drawn for each value of sharpness before the next one is tried. Chosen by hand, not tuned."""
LARGEST_CHANCE = 1 - 2.0**-32
"""Uniform numbers are cut off here, so that row + chance stays below row + 1 in float64 for up to 2^21 rows."""


class Outcomes:
    """Many discrete distributions over the same outcomes, from which it draws all at once.

    Parameters
    ----------
    probabilities : array, shape (n_rows, n_outcomes)
        One distribution per row.
    """

    def __init__(self, probabilities: np.ndarray) -> None:
        n_rows, self.n_outcomes = probabilities.shape
        cumulative = np.cumsum(probabilities, axis=1)
        cumulative /= cumulative[:, -1:]
        # Row r occupies the interval [r, r + 1] of one long increasing table, so one search serves all rows.
        self.table = (cumulative + np.arange(n_rows)[:, None]).ravel()

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw one outcome from each of the given rows: int64 array with the shape of ``rows``."""
        chance = np.minimum(rng.random(rows.shape), LARGEST_CHANCE)
        return np.searchsorted(self.table, rows + chance, side="right") - rows * self.n_outcomes


def draw_many(probabilities: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw n outcomes from one distribution, given as an array of any shape: flat indices, int64, shape (n,)."""
    return Outcomes(probabilities.reshape(1, -1)).draw(np.zeros(n, np.int64), rng)


def draw_rows(n_rows: int, n_columns: int, sharpness: float, rng: np.random.Generator) -> np.ndarray:
    """Draw random distributions, one per row: shape (n_rows, n_columns).

    With sharpness 1 every row has columns of its own, with sharpness 0 all rows share all columns. If there are more
    rows than columns, some rows share their columns even at sharpness 1.
    """
    shared = rng.dirichlet(np.ones(n_columns), n_rows)
    owner = np.resize(rng.permutation(n_rows), n_columns)
    rng.shuffle(owner)
    own = rng.gamma(1.0, size=(n_rows, n_columns)) * (owner == np.arange(n_rows)[:, None])
    # A row left without columns (more rows than columns) borrows one.
    empty = np.flatnonzero(own.sum(axis=1) == 0)
    own[empty, rng.integers(0, n_columns, len(empty))] = 1.0
    own /= own.sum(axis=1, keepdims=True)
    return (1 - sharpness) * shared + sharpness * own


def conditioned(draw: Callable[[float], Model], measure: Callable[[Model], float], conditioning: float) -> Model:
    """Draw sharper and sharper random models and return the first whose measure reaches ``conditioning``."""
    best = 0.0
    for sharpness in SHARPNESS:
        for _ in range(DRAWS_PER_SHARPNESS):
            model = draw(float(sharpness))
            value = measure(model)
            if value >= conditioning:
                return model
            best = max(best, value)
    raise InputError(
        f"no random model of this size reached conditioning {conditioning:g}; the best one had {best:.3g}",
        remedy="ask for a smaller value, fewer states or more symbols",
    )


def weakest_correlation(left: np.ndarray, right: np.ndarray) -> float:
    """Smallest of the m canonical correlations in the joint table left right', from its (d, m) and (e, m) factors.

    The table is scaled as for CCA: every entry is divided by the square roots of its row total and its column total.
    The largest correlation is then 1, and the smallest says how far the table is from a smaller rank.
    """
    rows, columns = left @ right.sum(axis=0), right @ left.sum(axis=0)
    left = left[rows > 0] / np.sqrt(rows[rows > 0])[:, None]
    right = right[columns > 0] / np.sqrt(columns[columns > 0])[:, None]
    if min(len(left), len(right)) < left.shape[1]:
        return 0.0
    # The singular values of left right' are those of the small matrix R_left R_right'.
    core = np.linalg.qr(left)[1] @ np.linalg.qr(right)[1].T
    return float(np.linalg.svd(core, compute_uv=False)[-1])


def require_shapes(expected: str, fits: bool, *arrays: np.ndarray) -> None:
    """Raise :class:`InputError` unless ``fits``; the message lists the shapes and the ``expected`` ones."""
    if not fits:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise InputError(f"the parameters have shapes {shapes}", remedy=f"give arrays of shapes {expected}")


def require_distributions(name: str, totals: np.ndarray, *parts: np.ndarray) -> None:
    """Raise :class:`InputError` if any of the ``parts`` is negative or any of their ``totals`` is not 1."""
    smallest = min(part.min() for part in parts)
    if smallest < 0 or not np.allclose(totals, 1, rtol=0, atol=SUMS_TOLERANCE):
        raise InputError(
            f"{name} must be non-negative and add up to 1, but the smallest one is {smallest:g} and the sums are "
            f"{np.asarray(totals).ravel()[:4]}",
            remedy="normalise them",
        )


def without_end(expected: np.ndarray) -> bool:
    """Whether a process may go on forever, given the expected numbers of successors of each kind, shape (n, n).

    It ends with probability one and in finite expected time if the spectral radius is below 1.
    """
    return bool(max(abs(np.linalg.eigvals(expected))) > 1 - SUMS_TOLERANCE)


def expected_visits(start: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Expected number of visits to each kind of node, v = start + step' v, shape (n,).

    Parameters
    ----------
    start : array, shape (n,)
        Expected number of nodes of each kind at the start.
    step : array, shape (n, n)
        Expected number of successors of each kind (columns) of a node of each kind (rows).
    """
    return np.linalg.solve(np.eye(len(start)) - step.T, start)


def symbols(prefix: str, n: int, tokens: np.ndarray) -> Vocabulary:
    """A vocabulary of n invented words with their counts in ``tokens``."""
    return Vocabulary([f"{prefix}{i}" for i in range(n)], np.bincount(tokens, minlength=n))
