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
    draw_rows,
    require_distributions,
    symbols,
    weakest_correlation,
)

__all__ = ["BrownModel", "BrownMoments"]


@dataclass(frozen=True)
class BrownMoments:
    """Exact probabilities of a pair of neighbours picked at random from a sequence."""

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
    """An HMM over m clusters in which every one of n words belongs to a single cluster."""

    initial: np.ndarray
    transition: np.ndarray
    emission: np.ndarray

    def __post_init__(self) -> None:
        m = self.n_clusters
        if self.transition.shape != (m, m) or self.emission.shape[1:] != (m,):
            raise InputError(
                f"shapes {self.initial.shape}, {self.transition.shape}, {self.emission.shape}",
                remedy="give (m,), (m, m) and (n, m)",
            )
        require_distributions("initial weights", self.initial.sum(), self.initial)
        require_distributions("moves from a cluster", self.transition.sum(axis=0), self.transition)
        require_distributions("words of a cluster", self.emission.sum(axis=0), self.emission)
        if ((self.emission > 0).sum(axis=1) != 1).any():
            raise InputError("a word of several clusters, or of none", remedy="give each word exactly one")

    @classmethod
    def random(
        cls, n_words: int, n_clusters: int, *, rng: np.random.Generator, conditioning: float = 0.02
    ) -> BrownModel:
        """Draw a model whose :meth:`conditioning` is at least the one asked for; every cluster has words."""
        if n_words < n_clusters:
            raise InputError(f"{n_words} words for {n_clusters} clusters", remedy="use at least one word a cluster")

        def draw(sharpness: float) -> BrownModel:
            owner = rng.permutation(np.arange(n_words) % n_clusters)
            emission = np.zeros((n_words, n_clusters))
            emission[np.arange(n_words), owner] = rng.gamma(1.0, size=n_words) + 0.1
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
        """C(x): the cluster of every word, (n,)."""
        return self.emission.argmax(axis=1)

    def conditioning(self) -> float:
        """Weakest of the m canonical correlations between neighbours in a long text: sigma_m of Omega (equation 1)."""
        return weakest_correlation(self.emission * self.stationary(), self.emission @ self.transition)

    def stationary(self) -> np.ndarray:
        """Distribution over clusters that the transition leaves as it is, (m,)."""
        system = np.vstack([self.transition - np.eye(self.n_clusters), np.ones(self.n_clusters)])
        return np.clip(np.linalg.lstsq(system, np.eye(self.n_clusters + 1)[-1], rcond=None)[0], 0, 1)

    def probability(self, words: Sequence[int]) -> float:
        """P(x_1 .. x_N) among sequences of that length."""
        c = self.clusters[list(words)]
        emitted = self.emission[list(words), c].prod()
        return float(self.initial[c[0]] * emitted * self.transition[c[1:], c[:-1]].prod())

    def moments(self, length: int) -> BrownMoments:
        """Exact moments of two neighbours, the first at a place drawn evenly from 1 .. length - 1."""
        if length < 2:
            raise InputError(f"sequences of length {length} have no neighbours", remedy="use length 2 or more")
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
        """Draw n sequences of ``length`` words; the words are w0, w1, ..."""
        moves, words = Outcomes(self.transition.T), Outcomes(self.emission.T)
        tokens = np.empty((n, length), np.int32)
        cluster = Outcomes(self.initial[None]).draw(np.zeros(n, np.int64), rng)
        for i in range(length):
            tokens[:, i] = words.draw(cluster, rng)
            cluster = moves.draw(cluster, rng)
        offsets = np.arange(n + 1, dtype=np.int64) * length
        return Corpus(tokens.ravel(), offsets, symbols("w", self.n_words, tokens.ravel()))
