"""Hidden states that emit vectors: one Gaussian with full covariance for every state of every label.

A state has few frames, so its covariance is drawn to that of its label S_a and to the pooled one S:

    Sigma_h = (1 - w) [ lambda S_h + (1 - lambda) (S_a + S) / 2 ] + w S,     lambda = c_h / (c_h + k)

with c_h the expected number of frames of the state. Frames that are ten milliseconds apart are far from independent, so
densities enter with an exponent below 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from spectragram.schema import Array, Schema
from spectragram.tagging.em import TrainingChain

__all__ = ["GaussianEmissions", "GaussianStates"]

FRAMES_OF_LABEL = 100.0
"""k: how many frames the covariance of the label is worth. Chosen on the dev part of the TIMIT sample."""
MEAN_OF_LABEL = 2.0
"""How many frames the mean of the label is worth. Chosen by hand, not tuned."""
POOLED_SHARE = 0.4
"""w. Chosen on the dev part of the TIMIT sample."""
JITTER = 1e-3
"""Added to variances, which are about 1 in normalised frames, so that covariances can be inverted. Chosen by hand."""
SMALLEST_DENSITY = 1e-30
"""A guard against a product of zeros; any tiny value does."""


@dataclass(frozen=True)
class GaussianStates:
    """Gaussians of all states, label by label.

    Attributes
    ----------
    means : float64 array, shape (S, d)
    whitening : float64 array, shape (S, d, d)
        Inverse Cholesky factors W: the quadratic form is |W (x - mean)|^2.
    starts : int64 array, shape (n_labels + 1,)
        Where the states of each label begin.
    """

    means: np.ndarray
    whitening: np.ndarray
    starts: np.ndarray

    def __post_init__(self) -> None:
        n_states, d = self.means.shape
        if self.whitening.shape != (n_states, d, d) or self.starts[-1] != n_states:
            raise ValueError("the Gaussians do not fit together")

    def log_densities(self, frames: np.ndarray, states: np.ndarray) -> np.ndarray:
        """log N(x; mean, Sigma) of frames (n, d) in the given states, up to one constant: (n, len(states))."""
        found = np.empty((len(frames), len(states)))
        for j, s in enumerate(states.tolist()):
            W = self.whitening[s]
            away = frames @ W.T - W @ self.means[s]
            found[:, j] = np.log(np.diag(W)).sum() - 0.5 * np.einsum("ij,ij->i", away, away)
        return found

    def of_tokens(self, lexicon: Any, observed: Any, weight: float) -> Callable[[np.ndarray], np.ndarray]:
        """Densities of frames in all states to the power ``weight``, the largest of each frame scaled to 1."""
        logs = weight * self.log_densities(observed.frames, np.arange(len(self.means)))
        densities = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf))
        return lambda tokens: densities[tokens]

    SCHEMA: ClassVar[Schema] = Schema(
        "Gaussians",
        "A Gaussian for every state of every label.",
        arrays={
            "means": Array("f8", ("n_observed", "n_dimensions"), "means"),
            "whitening": Array(
                "f8",
                ("n_observed", "n_dimensions", "n_dimensions"),
                "inverse Cholesky factors of the covariances",
                rule=("diagonals are positive", lambda W: bool((np.diagonal(W, axis1=1, axis2=2) > 0).all())),
            ),
            "starts": Array("i8", ("n_labels + 1",), "where the states of each label begin", starts="n_observed"),
        },
        sizes={"n_dimensions": 1},
    )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name."""
        return {"means": self.means, "whitening": self.whitening, "starts": self.starts}


class GaussianEmissions:
    """The Gaussians during EM; see :class:`spectragram.tagging.em.Emissions`."""

    def __init__(self, frames: np.ndarray, chain: TrainingChain, weight: float) -> None:
        self.frames, self.chain, self.weight = frames, chain, weight
        self.rows = [np.flatnonzero(chain.labels == a) for a in range(len(chain.sizes))]
        self.covariances = np.stack([_covariance(frames[rows]) for rows in self.rows])
        shares = np.bincount(chain.labels, minlength=len(chain.sizes)) / len(chain.labels)
        self.pooled = np.tensordot(shares, self.covariances, axes=1)
        self.model: GaussianStates

    def of_tokens(self) -> np.ndarray:
        """Densities in the states of each frame's own label."""
        found = np.zeros((len(self.frames), int(self.chain.sizes.max())))
        starts = self.chain.starts
        for a, rows in enumerate(self.rows):
            logs = self.weight * self.model.log_densities(self.frames[rows], np.arange(starts[a], starts[a + 1]))
            found[rows, : logs.shape[1]] = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.maximum(found, SMALLEST_DENSITY)

    def update(self, posteriors: np.ndarray) -> None:
        """Means and covariances of all states from p(h|x)."""
        n_states, d = int(self.chain.sizes.sum()), self.frames.shape[1]
        means, whitening = np.empty((n_states, d)), np.empty((n_states, d, d))
        for a, rows in enumerate(self.rows):
            frames, mean_of_label = self.frames[rows], self.frames[rows].mean(axis=0)
            for h in range(self.chain.sizes[a]):
                share = posteriors[rows, h]
                c = share.sum()
                mean = (share @ frames + MEAN_OF_LABEL * mean_of_label) / (c + MEAN_OF_LABEL)
                away = frames - mean
                scatter = (away * share[:, None]).T @ away / max(c, 1.0)
                state = self.chain.starts[a] + h
                means[state] = mean
                whitening[state] = _whitening(self._shrunk(scatter, c, a))
        self.model = GaussianStates(means, whitening, self.chain.starts)

    def _shrunk(self, scatter: np.ndarray, c: float, a: int) -> np.ndarray:
        keep = c / (c + FRAMES_OF_LABEL)
        covariance = keep * scatter + (1 - keep) * (self.covariances[a] + self.pooled) / 2
        covariance += JITTER * np.eye(len(covariance))
        return (1 - POOLED_SHARE) * covariance + POOLED_SHARE * self.pooled


def _covariance(frames: np.ndarray) -> np.ndarray:
    away = frames - frames.mean(axis=0)
    return away.T @ away / max(len(frames) - 1, 1)


def _whitening(covariance: np.ndarray) -> np.ndarray:
    """W with W' W the inverse of the covariance, lower triangular."""
    factor = np.linalg.cholesky(covariance)
    return scipy.linalg.solve_triangular(factor, np.eye(len(factor)), lower=True)
