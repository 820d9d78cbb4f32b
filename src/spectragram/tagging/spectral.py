"""Spectral estimation of refinement HMMs (Stratos et al. 2013, figure 4, the method of moments).

    paper          here            shape
    F_1, F_2       future, next_future    (n, d)      [1, projected future]
    P (Sigma)^-1   past            (n, d)      [1, projected past divided by its correlation with the future]
    R              present         (n, e)      [1, projected present]
    D (Lambda)^-1  destiny         (n, e)      [1, projected destiny divided by its correlation with the present]
    C^{b|a}        transition      E[[A_2 = b] F_2 x P Sigma^-1 x R | A_1 = a]
    c_a^1          initial         E[[A_1 = a] F_1 | B = 1]
    c_x^a          -               E[[X = x] D Lambda^-1 | A_1 = a], averaged by :mod:`spectragram.tagging.lexicon`

By default projections are centred given the label, and the constant 1 that stands before each carries the label's mean
exactly: with no further dimension the model is the supervised HMM. Small correlations are not inverted but damped,
sigma / (sigma^2 + (rho sigma_1)^2). Third-order moments of a rare pair of labels are drawn to products of lower-order
ones, as for L-PCFGs (Cohen et al. 2013), and in the end to the constant alone. The paper neither centres nor damps;
Sigma and Lambda are diagonal in both, since projections are singular vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.inference.labelled_chain import ChainOperators
from spectragram.spectral.products import ProductMoments, row_products
from spectragram.spectral.smoothing import smooth_moments
from spectragram.tagging.em import Pulls
from spectragram.tagging.lexicon import CellVectors
from spectragram.tagging.member import Member
from spectragram.tagging.projection import Projection, with_constant
from spectragram.tagging.training import Training

__all__ = ["Samples", "estimate_operators", "inverted", "learn_spectral"]

NOTHING = 1e-12
"""Stands for 0 where a cell without tokens of its own must take the estimate of its parent; any tiny value does."""
DEFAULT_PULLS = Pulls()


@dataclass(frozen=True)
class Samples:
    """Draws of the paper's random variables (section 5.1), one a token.

    Attributes
    ----------
    labels, following : int arrays, shape (n,)
        A_1 and A_2; ``following`` is the number of labels where the sequence ends.
    first : bool array, shape (n,)
        B: the token begins a sequence.
    future, next_future, past : float64 arrays, shape (n, d)
    present : float64 array, shape (n, e)
        Coordinates as in the table above, zero beyond the label's dimensions.
    weights : float64 array, shape (n,)
        How often each was drawn.
    state_sizes, observed_sizes : int arrays, shape (n_labels,)
        Dimensions of each label, the constant included if it is one of the model's.
    constant : bool
        Whether it is. If not, the views are those of the paper, without centring, and the constants that the arrays
        above begin with only serve to take lower-order moments.
    """

    labels: np.ndarray
    following: np.ndarray
    first: np.ndarray
    future: np.ndarray
    next_future: np.ndarray
    past: np.ndarray
    present: np.ndarray
    weights: np.ndarray
    state_sizes: np.ndarray
    observed_sizes: np.ndarray
    constant: bool = True


def inverted(projection: Projection, labels: np.ndarray, ridge: float) -> np.ndarray:
    """The right view times the (damped) inverse of its correlation with the left one: (n_tokens, n_dims)."""
    sigma = projection.singular_values
    damping = sigma**2 + (ridge * sigma[:, :1]) ** 2
    return projection.right * np.divide(sigma, damping, out=np.zeros_like(sigma), where=damping > 0)[labels]


def learn_spectral(training: Training, seed: int, noise: float = 0.0) -> Member:
    """Operators in the coordinates of the projected views (figure 4)."""
    settings, labels = training.settings, training.labels
    constant = settings.decomposition.centred
    n_dims = settings.n_states - constant
    along, across = training.along(n_dims, seed, noise), training.across(n_dims, seed, noise)
    future = with_constant(along.left)
    ends = training.observed.offsets[1:] - 1
    following = np.append(labels[1:], training.n_labels)
    following[ends] = training.n_labels
    first = np.zeros(len(labels), bool)
    first[training.observed.offsets[:-1]] = True
    samples = Samples(
        labels=labels,
        following=following,
        first=first,
        future=future,
        next_future=np.roll(future, -1, axis=0),
        past=with_constant(inverted(along, labels, settings.ridge)),
        present=with_constant(across.left),
        weights=np.ones(len(labels)),
        state_sizes=along.ranks + constant,
        observed_sizes=across.ranks + constant,
        constant=constant,
    )
    destiny = inverted(across, labels, settings.ridge)
    destiny = with_constant(destiny) if constant else destiny
    # A label that no token of this class has takes its mean vector, times the vanishing P(a|x) of such a pair.
    counts = np.maximum(np.bincount(labels, minlength=training.n_labels), 1)
    root = np.stack([np.bincount(labels, column, training.n_labels) / counts for column in destiny.T], axis=1)
    cells, sizes = training.cells, samples.observed_sizes
    emissions = CellVectors(
        cells.back_off(cells.add_up(destiny), root, per="cell", kappa=max(settings.class_pull, NOTHING)),
        root[np.arange(root.shape[1]) < sizes[:, None]],
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
    )
    return Member(estimate_operators(samples, settings.smoothing, settings.trusted, settings.pulls), emissions)


def estimate_operators(
    samples: Samples, smoothing: float, trusted: float = np.inf, pulls: Pulls = DEFAULT_PULLS
) -> ChainOperators:
    """Operators of theorem 5.1 from samples, figure 4's method of moments.

    ``smoothing`` is C of lambda = sqrt(c) / (C + sqrt(c)), which is 1 from ``trusted`` examples on; ``pulls`` are those
    of label transitions and of the first token.
    """
    n_labels = len(samples.state_sizes)
    d, e = samples.state_sizes, samples.observed_sizes
    starts = np.concatenate([[0], np.cumsum(d)])
    observed_starts = np.concatenate([[0], np.cumsum(e)])
    pair_starts = np.concatenate([[0], np.cumsum(d * e)])
    transition = np.zeros((pair_starts[-1], starts[-1]))
    final = np.zeros(pair_starts[-1])
    chances = _label_transitions(samples, n_labels, pulls.overall)
    by_pair = _tokens_by_pair(samples, n_labels)
    means = [_label_means(view, samples, n_labels) for view in (samples.future, samples.past, samples.present)]
    extra = 0 if samples.constant else 1  # a constant that only serves to take moments
    for a in range(n_labels):
        own = slice(pair_starts[a], pair_starts[a + 1])
        past, present = samples.past[:, : d[a] + extra], samples.present[:, : e[a] + extra]
        ends = [means[1][a, : d[a] + extra], means[2][a, : e[a] + extra]]
        for b in range(n_labels):
            views = [samples.next_future[:, : d[b] + extra], past, present]
            backgrounds = [means[0][b, : d[b] + extra], *ends]
            moment = _moment(samples, by_pair[a][b], views, backgrounds, smoothing, trusted)
            transition[own, starts[b] : starts[b + 1]] = chances[a, b] * moment.reshape(d[b], -1).T
        moment = _moment(samples, by_pair[a][n_labels], [past, present], ends, smoothing, trusted)
        final[own] = chances[a, n_labels] * moment.ravel()
    initial = _initial_moment(samples, n_labels, pulls.initial)[:, extra:]
    initial = initial[np.arange(initial.shape[1]) < d[:, None]]
    pair_state = np.concatenate([np.repeat(np.arange(starts[a], starts[a + 1]), e[a]) for a in range(n_labels)])
    pair_observed = np.concatenate(
        [np.tile(np.arange(observed_starts[a], observed_starts[a + 1]), d[a]) for a in range(n_labels)]
    )
    return ChainOperators(initial, transition, final, pair_observed, pair_state, starts)


def _label_means(view: np.ndarray, samples: Samples, n_labels: int) -> np.ndarray:
    """The mean of a view over the tokens of each label, (n_labels, d).

    Views with a constant are centred, so nothing but the constant is left; that is written down, not computed.
    """
    means = np.zeros((n_labels, view.shape[1]))
    if samples.constant:
        means[:, 0] = 1.0
        return means
    np.add.at(means, samples.labels, view * samples.weights[:, None])
    counts = np.bincount(samples.labels, samples.weights, n_labels)[:, None]
    return means / np.where(counts > 0, counts, 1.0)


def _initial_moment(samples: Samples, n_labels: int, strength: float) -> np.ndarray:
    """E[[A_1 = a] F_1 | B = 1], with a trace of every label's frequency in its constant: (n_labels, d)."""
    sums = np.zeros((n_labels, samples.future.shape[1]))
    np.add.at(sums, samples.labels, samples.future * (samples.weights * samples.first)[:, None])
    sums[:, 0] += strength * np.bincount(samples.labels, samples.weights, n_labels) / samples.weights.sum()
    return sums / (samples.weights[samples.first].sum() + strength)


def _label_transitions(samples: Samples, n_labels: int, strength: float) -> np.ndarray:
    """p(b|a), the end of the sequence last: (n_labels, n_labels + 1)."""
    counts = np.zeros((n_labels, n_labels + 1))
    np.add.at(counts, (samples.labels, samples.following), samples.weights)
    overall = counts.sum(axis=0) / counts.sum()
    return (counts + strength * overall) / np.maximum(counts.sum(axis=1, keepdims=True) + strength, NOTHING)


def _tokens_by_pair(samples: Samples, n_labels: int) -> list[list[np.ndarray]]:
    """Token numbers of every pair (label, following label)."""
    width = n_labels + 1
    key = samples.labels.astype(np.int64) * width + samples.following
    parts = np.split(np.argsort(key, kind="stable"), np.cumsum(np.bincount(key, minlength=n_labels * width))[:-1])
    return [parts[a * width : (a + 1) * width] for a in range(n_labels)]


def _moment(
    samples: Samples,
    tokens: np.ndarray,
    views: list[np.ndarray],
    background: list[np.ndarray],
    smoothing: float,
    trusted: float,
) -> np.ndarray:
    """E[view_1 x view_2 x ...] over the tokens, smoothed; the views, of all samples, begin with their constant.

    The chain ends in ``background``, the labels' own means, which begin with the constant as well.
    """
    first, *others = (view[tokens] for view in views)
    sums = (first * samples.weights[tokens, None]).T @ row_products(others, len(tokens))
    moments = ProductMoments(sums.reshape(1, *(view.shape[1] for view in views)))
    ends = [mean[None, 1:] for mean in background]
    return smooth_moments(moments, ends, strength=smoothing, trusted=trusted, with_constant=samples.constant)[0]
