"""The Brown model with known parameters: exact unigram and bigram moments, samples.

paper (Stratos et al. 2014)   here          shape
pi                            initial       (m,)
T[c', c] = t(c' | c)          transition    (m, m), columns sum to 1
O[x, c] = o(x | c)            emission      (n, m), columns sum to 1, one non-zero in every row
C(x)                          clusters      (n,)
B, u, v, pi~                  BrownMoments  bigram (n, n), first (n,), second (n,), clusters (m,)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.data.corpus import Corpus
from spectragram.errors import InputError
from spectragram.synthetic._chance import (
    Outcomes,
    conditioned,
    draw_many,
    draw_rows,
    require_distributions,
    require_shapes,
    symbols,
    weakest_correlation,
)

__all__ = ["BrownModel", "BrownMoments"]

LEAST_EMISSION = 0.1
"""Added to random emission weights so that no word is nearly impossible. Chosen by hand, not tuned."""


@dataclass(frozen=True)
class BrownMoments:
    """Exact probabilities of a pair of neighbouring words at a random position in a sequence."""

    bigram: np.ndarray
    """B[x, x'] = P(X_I = x, X_{I+1} = x'), (n, n)"""
    first: np.ndarray
    """u[x] = P(X_I = x), (n,)"""
    second: np.ndarray
    """v[x] = P(X_{I+1} = x), (n,)"""
    clusters: np.ndarray
    """pi~[c] = P(C_I = c), (m,)"""


@dataclass(frozen=True)
class BrownModel:
    """An HMM over m clusters in which each of the n words belongs to exactly one cluster."""

    initial: np.ndarray
    transition: np.ndarray
    emission: np.ndarray

    def __post_init__(self) -> None:
        m = self.n_clusters
        fits = self.transition.shape == (m, m) and self.emission.shape[1:] == (m,)
        require_shapes("(m,), (m, m) and (n, m)", fits, self.initial, self.transition, self.emission)
        require_distributions("the initial weights", self.initial.sum(), self.initial)
        require_distributions("the transitions from a cluster", self.transition.sum(axis=0), self.transition)
        require_distributions("the emissions of a cluster", self.emission.sum(axis=0), self.emission)
        if ((self.emission > 0).sum(axis=1) != 1).any():
            raise InputError(
                "a word belongs to several clusters or to none", remedy="assign each word to exactly one cluster"
            )

    @classmethod
    def random(
        cls, n_words: int, n_clusters: int, *, rng: np.random.Generator, conditioning: float = 0.02
    ) -> BrownModel:
        """Draw a model whose :meth:`conditioning` is at least ``conditioning``; every cluster gets words."""
        if n_words < n_clusters:
            raise InputError(
                f"there are {n_words} words for {n_clusters} clusters", remedy="use at least one word per cluster"
            )

        def draw(sharpness: float) -> BrownModel:
            owner = rng.permutation(np.arange(n_words) % n_clusters)
            emission = np.zeros((n_words, n_clusters))
            emission[np.arange(n_words), owner] = rng.gamma(1.0, size=n_words) + LEAST_EMISSION
            emission /= emission.sum(axis=0)
            transition = draw_rows(n_clusters, n_clusters, sharpness, rng).T
            return cls(rng.dirichlet(np.ones(n_clusters)), transition, emission)

        return conditioned(draw, BrownModel.conditioning, conditioning)

    @property
    def n_clusters(self) -> int:
        """Number of clusters m."""
        return len(self.initial)

    @property
    def n_words(self) -> int:
        """Number of words n."""
        return len(self.emission)

    @property
    def clusters(self) -> np.ndarray:
        """C(x), the cluster of each word, shape (n,)."""
        return self.emission.argmax(axis=1)

    def conditioning(self) -> float:
        """Weakest of the m canonical correlations between neighbours in a long text, sigma_m of Omega (equation 1)."""
        return weakest_correlation(self.emission * self.stationary(), self.emission @ self.transition)

    def stationary(self) -> np.ndarray:
        """Stationary distribution of the transition over clusters, shape (m,)."""
        system = np.vstack([self.transition - np.eye(self.n_clusters), np.ones(self.n_clusters)])
        return np.clip(np.linalg.lstsq(system, np.eye(self.n_clusters + 1)[-1], rcond=None)[0], 0, 1)

    def probability(self, words: Sequence[int]) -> float:
        """P(x_1 .. x_N) among the sequences of length N."""
        c = self.clusters[list(words)]
        emitted = self.emission[list(words), c].prod()
        return float(self.initial[c[0]] * emitted * self.transition[c[1:], c[:-1]].prod())

    def moments(self, length: int) -> BrownMoments:
        """Exact moments of two neighbours, the first at a position drawn uniformly from 1 .. length - 1."""
        if length < 2:
            raise InputError(f"sequences of length {length} have no neighbours", remedy="use a length of at least 2")
        here, total = self.initial, np.zeros(self.n_clusters)
        for _ in range(length - 1):
            total += here
            here = self.transition @ here
        clusters = total / (length - 1)
        next_word = self.emission @ self.transition  # O T
        return BrownMoments(
            (self.emission * clusters) @ next_word.T,  # B = O diag(pi~) (O T)'
            self.emission @ clusters,
            next_word @ clusters,
            clusters,
        )

    def sample(self, n: int, length: int, rng: np.random.Generator) -> Corpus:
        """Draw n sequences of ``length`` words, named w0, w1, ..."""
        moves, words = Outcomes(self.transition.T), Outcomes(self.emission.T)
        tokens = np.empty((n, length), np.int32)
        cluster = draw_many(self.initial, n, rng)
        for i in range(length):
            tokens[:, i] = words.draw(cluster, rng)
            cluster = moves.draw(cluster, rng)
        offsets = np.arange(n + 1, dtype=np.int64) * length
        return Corpus(tokens.ravel(), offsets, symbols("w", self.n_words, tokens.ravel()))
