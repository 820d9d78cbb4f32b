"""What all synthetic models share: drawing parameters of a wanted conditioning, and drawing from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from spectragram.data.vocabulary import Vocabulary
from spectragram.errors import InputError

__all__ = ["Outcomes", "conditioned", "draw_rows", "require_distributions", "symbols", "weakest_correlation"]

Model = TypeVar("Model")

SUMS_TOLERANCE = 1e-9
DRAWS_PER_SHARPNESS = 20


class Outcomes:
    """Many discrete distributions over the same outcomes, to draw from all at once.

    Parameters
    ----------
    probabilities : array, shape (n_rows, n_outcomes)
        One distribution a row.
    """

    def __init__(self, probabilities: np.ndarray) -> None:
        n_rows, self.n_outcomes = probabilities.shape
        cumulative = np.cumsum(probabilities, axis=1)
        cumulative /= cumulative[:, -1:]
        # Row r occupies the interval [r, r + 1] of one long increasing table, so one search serves all rows.
        self.table = (cumulative + np.arange(n_rows)[:, None]).ravel()

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One outcome from each of the named rows: int64 array, shape of ``rows``."""
        # Below 1 by more than rounding, so that row + chance never reaches the next row.
        chance = np.minimum(rng.random(rows.shape), 1 - 2.0**-32)
        return np.searchsorted(self.table, rows + chance, side="right") - rows * self.n_outcomes


def draw_rows(n_rows: int, n_columns: int, sharpness: float, rng: np.random.Generator) -> np.ndarray:
    """Random distributions, one a row; sharpness 1 gives each row columns of its own, 0 lets all share all.

    With more rows than columns some rows share their columns even then.
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
    """The first of many random models, drawn sharper and sharper, whose measure reaches ``conditioning``."""
    best = 0.0
    for sharpness in np.linspace(0, 1, 11):
        for _ in range(DRAWS_PER_SHARPNESS):
            model = draw(float(sharpness))
            value = measure(model)
            if value >= conditioning:
                return model
            best = max(best, value)
    raise InputError(
        f"no random model of this size reached conditioning {conditioning:g} (the best: {best:.3g})",
        remedy="ask for less, or for fewer states or more symbols",
    )


def weakest_correlation(left: np.ndarray, right: np.ndarray) -> float:
    """Smallest of the m canonical correlations in the joint table left right', from its (d, m) and (e, m) factors.

    The table is scaled as for CCA: every entry divided by the roots of its row's and its column's total. The
    largest correlation is then 1; the smallest tells how far the table is from a smaller rank.
    """
    rows, columns = left @ right.sum(axis=0), right @ left.sum(axis=0)
    left = left[rows > 0] / np.sqrt(rows[rows > 0])[:, None]
    right = right[columns > 0] / np.sqrt(columns[columns > 0])[:, None]
    if min(len(left), len(right)) < left.shape[1]:
        return 0.0
    # Singular values of left right' are those of the small R_left R_right'.
    core = np.linalg.qr(left)[1] @ np.linalg.qr(right)[1].T
    return float(np.linalg.svd(core, compute_uv=False)[-1])


def require_distributions(what: str, totals: np.ndarray, *parts: np.ndarray) -> None:
    """Refuse parameters that are negative or whose totals are not one."""
    if any((part < 0).any() for part in parts) or not np.allclose(totals, 1, rtol=0, atol=SUMS_TOLERANCE):
        raise InputError(
            f"{what} should be probabilities that add up to 1, but they add up to {np.asarray(totals).ravel()[:4]}",
            remedy="normalise them",
        )


def symbols(prefix: str, n: int, tokens: np.ndarray) -> Vocabulary:
    """A vocabulary of n invented words with the counts they have in ``tokens``."""
    return Vocabulary([f"{prefix}{i}" for i in range(n)], np.bincount(tokens, minlength=n))
