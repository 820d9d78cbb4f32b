"""What hidden states emit: symbols with probabilities, or vectors with normal distributions.

    Categorical    b_x(s) = B(s, x)
    Gaussian       b_x(s) = N(x; mu_s, Sigma_s)

Both know the likelihood of every observation in every state and how to estimate themselves from the posteriors of the
states (the M-step).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectragram.errors import InputError
from spectragram.schema import Array, OneOf, Schema

__all__ = ["SCHEMAS", "Categorical", "Emissions", "Gaussian", "emissions_from"]

TINY = 1e-300
"""A guard against division by zero; any tiny value does."""
ROUNDING = 1e-6
"""Probabilities that a user gives may miss the sum 1 by this much."""


MEANS = Array("f8", ("n_states", "n_dimensions"), "mean vector of each state")
SCHEMAS = OneOf(
    {
        "categorical": Schema(
            "Categorical emissions",
            arrays={"emissionprob": Array("f8", ("n_states", "n_symbols"), "symbols of each state", sums=True)},
            sizes={"n_symbols": 1},
        ),
        "diag": Schema(
            "Gaussian emissions with independent dimensions",
            arrays={
                "means": MEANS,
                "covariances": Array(
                    "f8",
                    ("n_states", "n_dimensions"),
                    "variances",
                    rule=("positive", lambda found: bool(found.min() > 0)),
                ),
            },
            sizes={"n_dimensions": 1},
        ),
        "full": Schema(
            "Gaussian emissions",
            arrays={
                "means": MEANS,
                "covariances": Array(
                    "f8",
                    ("n_states", "n_dimensions", "n_dimensions"),
                    "covariance matrices",
                    rule=("positive definite", lambda found: bool(np.linalg.eigvalsh(found).min() > 0)),
                ),
            },
            sizes={"n_dimensions": 1},
        ),
    },
    choose=lambda _, arrays: (
        "categorical" if "emissionprob" in arrays else "full" if np.ndim(arrays.get("covariances", 0)) == 3 else "diag"
    ),
)
"""What model files hold of emissions."""


@dataclass(frozen=True)
class Categorical:
    """Probabilities of symbols, ``table`` (m, k)."""

    table: np.ndarray

    @classmethod
    def estimate(cls, counts: np.ndarray, prior: float) -> Categorical:
        """From expected counts (m, k); ``prior`` events with the overall frequencies are added in each state."""
        overall = counts.sum(axis=0) + 1.0  # no symbol of the alphabet is impossible
        smoothed = counts + prior * overall / overall.sum()
        total = smoothed.sum(axis=1, keepdims=True)
        return cls(np.where(total > 0, smoothed / np.maximum(total, TINY), overall / overall.sum()))

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        return self.table.shape[0] * (self.table.shape[1] - 1)

    def check(self, values: np.ndarray) -> None:
        """Refuse observations that the model cannot have emitted."""
        n_symbols = self.table.shape[1]
        if values.ndim != 1:
            raise InputError(
                f"vectors of {values.shape[1]} numbers for a model of symbols", remedy="give whole numbers"
            )
        if len(values) and values.max() >= n_symbols:
            raise InputError(
                f"symbol {values.max()}, but the model knows 0 to {n_symbols - 1}",
                remedy="train with n_symbols set to the size of the alphabet",
            )

    def log_likelihood(self, values: np.ndarray) -> np.ndarray:
        """Logarithm of the probability of each observation in each state, (n, m)."""
        with np.errstate(divide="ignore"):
            return np.log(self.table.T)[values]

    def draw(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A symbol from each of the states."""
        cumulative = np.cumsum(self.table, axis=1)
        cumulative /= cumulative[:, -1:]
        return (rng.random(len(states))[:, None] >= cumulative[states]).sum(axis=1)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """As model files hold them."""
        return {"emissionprob": self.table}


@dataclass(frozen=True)
class Gaussian:
    """Normal distributions with ``means`` (m, d) and ``covariances``, (m, d, d) or their diagonals (m, d)."""

    means: np.ndarray
    covariances: np.ndarray

    @property
    def full(self) -> bool:
        """Whether dimensions may depend on each other."""
        return self.covariances.ndim == 3

    @classmethod
    def estimate(cls, values: np.ndarray, shares: np.ndarray, full: bool, floor: np.ndarray) -> Gaussian:
        """From vectors (n, d) and the posteriors of the states (n, m); ``floor`` (d,) is added to all variances."""
        mass = np.maximum(shares.sum(axis=0), TINY)[:, None]
        means = shares.T @ values / mass
        if not full:
            return cls(means, np.maximum(shares.T @ values**2 / mass - means**2, 0.0) + floor)
        covariances = np.empty((len(means), values.shape[1], values.shape[1]))
        for state, mean in enumerate(means):
            centred = values - mean
            covariances[state] = (shares[:, state, None] * centred).T @ centred / mass[state]
        return cls(means, covariances + np.diag(floor))

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        m, d = self.means.shape
        return m * d + m * (d * (d + 1) // 2 if self.full else d)

    def check(self, values: np.ndarray) -> None:
        """Refuse observations of another kind or size."""
        if values.ndim != 2 or values.shape[1] != self.means.shape[1]:
            got = "whole numbers" if values.ndim == 1 else f"vectors of {values.shape[1]} numbers"
            raise InputError(
                f"{got} for a model of vectors of {self.means.shape[1]} numbers", remedy="give such vectors"
            )

    def log_likelihood(self, values: np.ndarray) -> np.ndarray:
        """Logarithm of the density of each observation in each state, (n, m)."""
        found = np.empty((len(values), len(self.means)))
        for state, mean in enumerate(self.means):
            covariance = self.covariances[state]
            if self.full:
                factor = np.linalg.cholesky(covariance)
                distances = np.linalg.solve(factor, (values - mean).T)
                log_volume = 2.0 * float(np.log(np.diag(factor)).sum())
                squares = (distances**2).sum(axis=0)
            else:
                log_volume = float(np.log(covariance).sum())
                squares = ((values - mean) ** 2 / covariance).sum(axis=1)
            found[:, state] = -0.5 * (squares + log_volume + values.shape[1] * np.log(2.0 * np.pi))
        return found

    def draw(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A vector from each of the states."""
        noise = rng.normal(size=(len(states), self.means.shape[1]))
        if self.full:
            return self.means[states] + np.einsum("nij,nj->ni", np.linalg.cholesky(self.covariances)[states], noise)
        return self.means[states] + np.sqrt(self.covariances)[states] * noise

    def to_arrays(self) -> dict[str, np.ndarray]:
        """As model files hold them."""
        return {"means": self.means, "covariances": self.covariances}


Emissions = Categorical | Gaussian


def emissions_from(arrays: dict[str, Any], n_states: int) -> Emissions:
    """Inverse of ``to_arrays``; ``ValueError`` if the arrays do not fit together or are not probabilities."""
    if "emissionprob" in arrays:
        table = np.asarray(arrays["emissionprob"], np.float64)
        if table.ndim != 2 or len(table) != n_states:
            raise ValueError(f"emission probabilities of shape {table.shape} for {n_states} states")
        require_distributions(table, "emission probabilities")
        return Categorical(table)
    means = np.asarray(arrays["means"], np.float64)
    covariances = np.asarray(arrays["covariances"], np.float64)
    sizes = means.shape, (*means.shape, means.shape[-1])
    if means.ndim != 2 or len(means) != n_states or covariances.shape not in sizes:
        raise ValueError(f"means of shape {means.shape}, covariances of shape {covariances.shape}, {n_states} states")
    if not (np.isfinite(means).all() and np.isfinite(covariances).all()):
        raise ValueError("means or covariances are not finite")
    smallest = covariances if covariances.ndim == 2 else np.linalg.eigvalsh(covariances)
    if not (smallest > 0).all():
        raise ValueError("a covariance is not positive definite")
    return Gaussian(means, covariances)


def require_distributions(rows: np.ndarray, what: str) -> None:
    """``ValueError`` unless every row holds probabilities that sum to 1."""
    if not (np.isfinite(rows).all() and (rows >= 0).all() and (np.abs(rows.sum(axis=-1) - 1.0) < ROUNDING).all()):
        raise ValueError(f"{what} are negative or do not sum to 1")
