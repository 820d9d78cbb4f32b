"""Refinement HMMs with known parameters: exact probabilities, feature means, moments, samples.

    paper (Stratos et al. 2013)      here              shape
    pi(a, h)                         initial           (l, m)
    t(b, h' | a, h)                  transition        (l, m, l, m)   [a, h, b, h']
    o(x | a, h)                      emission          (l, m, n)
    f(* | a, h)                      stop              (l, m)
    Gamma^a                          state_given_label (l, m)
    I^a, J^a, K^a, W^a               RefinementViews.future, past, present, destiny    (l, d, m)
    Omega_1^a, Omega_2^a             RefinementMoments.future_past, present_destiny    (l, d1, d2), (l, d3, d4)
    D^{b|a}, D^{*|a}, d_x^a, c_a^1   RefinementMoments.next, end, emission, initial, before projection

Moments are averages over *all* positions of all sequences. (Figure 4 draws one position from each sequence. Past and
future then depend on each other through the length of the sequence, and the factorisation behind the method is only
approximate. Averaging over every position avoids that.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from spectragram.data.corpus import Corpus
from spectragram.synthetic._chance import (
    conditioned,
    draw_rows,
    expected_visits,
    require_distributions,
    require_shapes,
    symbols,
    weakest_correlation,
)
from spectragram.synthetic.automata import PNFA

__all__ = ["LabelledSample", "RefinementHMM", "RefinementMoments", "RefinementViews", "window_features"]

STOP_RANGE = (0.5, 1.5)
"""Range of the stop probabilities, as multiples of 1 / mean_length. Chosen by hand, not tuned."""


class LabelledSample(NamedTuple):
    """Sequences of observations and the label of each observation."""

    observations: Corpus
    labels: Corpus


@dataclass(frozen=True)
class RefinementViews:
    """Mean of each feature vector given the label and state of the current position, shape (l, d, m) each."""

    future: np.ndarray
    past: np.ndarray
    present: np.ndarray
    destiny: np.ndarray

    def transformed(
        self, future: np.ndarray, past: np.ndarray, present: np.ndarray, destiny: np.ndarray
    ) -> RefinementViews:
        """The means of linearly mapped feature vectors; each map has shape (new d, d)."""
        return RefinementViews(future @ self.future, past @ self.past, present @ self.present, destiny @ self.destiny)


@dataclass(frozen=True)
class RefinementMoments:
    """Exact expectations over all positions, given the current label a (see the table above)."""

    future_past: np.ndarray
    """``E[phi(F1) psi(P)' | a]``, (l, d1, d2)"""
    present_destiny: np.ndarray
    """``E[xi(R) v(D)' | a]``, (l, d3, d4)"""
    next: np.ndarray
    """``E[[A2 = b] phi(F2) x psi(P) x xi(R) | a]``, (l, l, d1, d2, d3), indexed [a, b]"""
    end: np.ndarray
    """``E[[A2 = *] psi(P) xi(R)' | a]``, (l, d2, d3)"""
    emission: np.ndarray
    """``E[[X = x] v(D) | a]``, (l, n, d4)"""
    initial: np.ndarray
    """``E[[A1 = a] phi(F1) | first position]``, (l, d1)"""


@dataclass(frozen=True)
class RefinementHMM:
    """A refinement HMM over labels 0 .. l - 1, each with m hidden states, and observations 0 .. n - 1."""

    initial: np.ndarray
    transition: np.ndarray
    emission: np.ndarray
    stop: np.ndarray

    def __post_init__(self) -> None:
        l, m = self.initial.shape
        fits = self.transition.shape == (l, m, l, m) and self.emission.shape[:2] == self.stop.shape == (l, m)
        expected = "(l, m), (l, m, l, m), (l, m, n) and (l, m)"
        require_shapes(expected, fits, self.initial, self.transition, self.emission, self.stop)
        require_distributions("the initial weights", self.initial.sum(), self.initial)
        require_distributions("the emissions of a state", self.emission.sum(axis=2), self.emission)
        leaving = self.transition.sum(axis=(2, 3)) + self.stop
        require_distributions("the transition and stop weights of a state", leaving, self.transition, self.stop)

    @classmethod
    def random(
        cls,
        n_labels: int,
        n_states: int,
        n_observations: int,
        *,
        rng: np.random.Generator,
        mean_length: float = 6.0,
        conditioning: float = 0.02,
    ) -> RefinementHMM:
        """Draw a model whose :meth:`conditioning` is at least ``conditioning``.

        The mean length of its sequences is close to ``mean_length``. Both defaults were chosen by hand.
        """
        l, m, n = n_labels, n_states, n_observations

        def draw(sharpness: float) -> RefinementHMM:
            stop = np.clip(rng.uniform(*STOP_RANGE, (l, m)) / mean_length, 0, 1)
            transition = draw_rows(l * m, l * m, sharpness, rng).reshape(l, m, l, m)
            emission = np.stack([draw_rows(m, n, sharpness, rng) for _ in range(l)])
            initial = rng.dirichlet(np.ones(l * m)).reshape(l, m)
            return cls(initial, transition * (1 - stop)[:, :, None, None], emission, stop)

        return conditioned(draw, RefinementHMM.conditioning, conditioning)

    @property
    def n_labels(self) -> int:
        """Number of labels l."""
        return self.initial.shape[0]

    @property
    def n_states(self) -> int:
        """Number of hidden states m per label."""
        return self.initial.shape[1]

    @property
    def n_observations(self) -> int:
        """Number of observations n."""
        return self.emission.shape[2]

    def conditioning(self) -> float:
        """Weakest canonical correlation, over labels, between future and past and between present and destiny."""
        views, gamma = self.views(), self.state_given_label()
        return min(
            weakest_correlation(one[a] * gamma[a], other[a])
            for one, other in ((views.future, views.past), (views.present, views.destiny))
            for a in range(self.n_labels)
        )

    def to_pnfa(self) -> PNFA:
        """An automaton with the same distribution.

        Its symbol a * n + x is the pair of label a and observation x. State a * m + h is the state h of label a, and
        one more state is the end of a sequence.
        """
        l, m, n = self.n_labels, self.n_states, self.n_observations
        moves = np.concatenate([self.transition.reshape(l, m, l * m), self.stop[:, :, None]], axis=2)
        operators = np.zeros((l, n, l, m, l * m + 1))
        for a in range(l):
            operators[a, :, a] = self.emission[a].T[:, :, None] * moves[a]
        square = np.zeros((l * n, l * m + 1, l * m + 1))
        square[:, :-1] = operators.reshape(l * n, l * m, l * m + 1)
        return PNFA(np.append(self.initial.ravel(), 0.0), square, np.eye(l * m + 1)[-1])

    def probability(self, labels: Sequence[int], observations: Sequence[int]) -> float:
        """P(a_1 .. a_N, x_1 .. x_N), summed over hidden states; N is at least 1."""
        alpha = self.initial[labels[0]] * self.emission[labels[0], :, observations[0]]
        for a, b, x in zip(labels, labels[1:], observations[1:], strict=False):
            alpha = alpha @ self.transition[a, :, b, :] * self.emission[b, :, x]
        return float(alpha @ self.stop[labels[-1]])

    def brute_force_marginals(self, observations: Sequence[int]) -> np.ndarray:
        """mu(a, i) = P(a_i = a, x_1 .. x_N), shape (N, l), by enumeration of all label sequences; for small N."""
        marginals = np.zeros((len(observations), self.n_labels))
        places = np.arange(len(observations))
        for labels in product(range(self.n_labels), repeat=len(observations)):
            marginals[places, list(labels)] += self.probability(labels, observations)
        return marginals

    def visits(self) -> np.ndarray:
        """Expected number of positions with each label and state, mu = pi + mu T, shape (l, m)."""
        size = self.n_labels * self.n_states
        return expected_visits(self.initial.ravel(), self.transition.reshape(size, size)).reshape(self.initial.shape)

    def state_given_label(self) -> np.ndarray:
        """Gamma, P(h | a) over all positions, shape (l, m)."""
        visits = self.visits()
        return visits / visits.sum(axis=1, keepdims=True)

    def views(self) -> RefinementViews:
        """Exact means of :func:`window_features` given the label and the state."""
        l, m = self.initial.shape
        size = l * m
        T, o, f = self.transition.reshape(size, size), self.emission.reshape(size, -1), self.stop.reshape(size, 1)
        mu = self.visits().reshape(size, 1)
        before = T.T * mu.T / mu  # P(previous state | state)
        first = self.initial.reshape(size, 1) / mu
        label = np.repeat(np.eye(l), m, axis=0)
        following = np.hstack([T @ label, f, T @ o, f])
        preceding = np.hstack([before @ label, first, before @ o, first])

        def by_label(means: np.ndarray) -> np.ndarray:
            return means.reshape(l, m, -1).transpose(0, 2, 1)

        return RefinementViews(
            by_label(np.hstack([o, following])),
            by_label(preceding),
            by_label(o),
            by_label(np.hstack([preceding, following])),
        )

    def moments(self, views: RefinementViews | None = None) -> RefinementMoments:
        """Exact moments of the window features, or of other views with known means.

        Other views must respect the independence assumptions of the model: given (a, h), future and past are
        independent, and so are present and destiny.
        """
        v = self.views() if views is None else views
        gamma, t = self.state_given_label(), self.transition
        # E[[A2 = b] phi(F2) | a, h] = I^b T^{b|a}
        skipped = np.einsum("bik,ahbk->abih", v.future, t)
        present = v.present * gamma[:, None]
        return RefinementMoments(
            np.einsum("aih,ajh,ah->aij", v.future, v.past, gamma),
            np.einsum("akh,alh->akl", present, v.destiny),
            np.einsum("abih,ajh,akh->abijk", skipped, v.past, present),
            np.einsum("ah,ajh,akh->ajk", self.stop, v.past, present),
            np.einsum("ahx,alh,ah->axl", self.emission, v.destiny, gamma),
            np.einsum("ah,aih->ai", self.initial, v.future),
        )

    def sample(self, n: int, rng: np.random.Generator) -> LabelledSample:
        """Draw n labelled sequences with observations named x0, x1, ... and labels named a0, a1, ..."""
        pairs = self.to_pnfa().sample(n, rng)
        labels, observations = np.divmod(pairs.tokens, np.int32(self.n_observations))
        return LabelledSample(
            Corpus(observations, pairs.offsets, symbols("x", self.n_observations, observations)),
            Corpus(labels, pairs.offsets, symbols("a", self.n_labels, labels)),
        )


def window_features(
    labels: Sequence[int], observations: Sequence[int], n_labels: int, n_observations: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Indicator features of each position: future, past, present and destiny, shape (N, d) each.

    future    current observation; next label or end; next observation or end
    past      previous label or start; previous observation or start
    present   current observation
    destiny   the features of past; next label or end; next observation or end
    """
    label, observation = np.eye(n_labels + 1), np.eye(n_observations + 1)
    a, x = np.asarray(labels), np.asarray(observations)
    # One extra index after the last stands for the start and the end.
    following = np.hstack([label[np.append(a[1:], n_labels)], observation[np.append(x[1:], n_observations)]])
    preceding = np.hstack([label[np.append(n_labels, a[:-1])], observation[np.append(n_observations, x[:-1])]])
    present = np.eye(n_observations)[x]
    return np.hstack([present, following]), preceding, present, np.hstack([preceding, following])
