"""The method of moments: exact recovery, consistency, and one state as the supervised HMM."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.inference.labelled_chain import ChainOperators, batches, forward_backward
from spectragram.synthetic.rhmm import RefinementHMM
from spectragram.tagging import Tagger
from spectragram.tagging.projection import Projection, with_constant
from spectragram.tagging.spectral import Samples, estimate_operators, inverted

HUGE = 1e13
"""Total weight of exact samples: leaves nothing to the smoothing of label pairs."""


def exact_projection(one: np.ndarray, other: np.ndarray, gamma: np.ndarray) -> Projection:
    """Coordinates of every (label, state) from exact means (l, d, m) of two views, by dense SVD of each covariance."""
    l, _, m = one.shape
    left, right, sigma = np.zeros((l, m, m - 1)), np.zeros((l, m, m - 1)), np.zeros((l, m - 1))
    for a in range(l):
        x, y = (view[a] - (view[a] @ gamma[a])[:, None] for view in (one, other))
        U, s, Vt = np.linalg.svd(x * gamma[a] @ y.T)
        left[a], right[a], sigma[a] = x.T @ U[:, : m - 1], y.T @ Vt[: m - 1].T, s[: m - 1]
    return Projection(left.reshape(l * m, -1), right.reshape(l * m, -1), sigma)


def exact_samples(model: RefinementHMM) -> tuple[Samples, np.ndarray]:
    """Samples whose averages are the exact moments, and the observation table they give.

    Given the states of a token and the next the views are independent, so their means may stand for their draws.
    """
    l, m = model.initial.shape
    size = l * m
    gamma, views = model.state_given_label(), model.views()
    along = exact_projection(views.future, views.past, gamma)
    across = exact_projection(views.present, views.destiny, gamma)
    label_of = np.repeat(np.arange(l), m)
    future = with_constant(along.left)
    past = with_constant(inverted(along, label_of, ridge=0.0))
    destiny = with_constant(inverted(across, label_of, ridge=0.0))
    leaving = np.hstack([model.transition.reshape(size, size), model.stop.reshape(size, 1)])
    here, following = np.divmod(np.arange(2 * size * (size + 1)) % (size * (size + 1)), size + 1)
    first = np.arange(len(here)) < len(here) // 2
    starts, visits = model.initial.ravel(), model.visits().ravel()
    weights = np.where(first, starts[here], (visits - starts)[here]) * leaving[here, following]
    sizes = np.full(l, m)
    samples = Samples(
        labels=label_of[here],
        following=np.append(label_of, l)[following],
        first=first,
        future=future[here],
        next_future=np.vstack([future, np.zeros(m)])[following],
        past=past[here],
        present=with_constant(across.left)[here],
        weights=weights * HUGE,
        state_sizes=sizes,
        observed_sizes=sizes,
    )
    # c_x^a = E[[X = x] D Lambda^-1 | a]
    table = np.einsum("ah,ahx,ahr->xar", gamma, model.emission, destiny.reshape(l, m, m)).reshape(-1, size)
    return samples, table


def marginals(operators: ChainOperators, table: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    offsets = np.array([0, len(tokens)])
    rows, found, _ = forward_backward(operators, offsets, batches(offsets)[0], lambda i: table[tokens[i]])
    ordered = np.empty_like(found)
    ordered[rows] = found
    return ordered / ordered.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("n_labels", "n_states"), [(2, 3), (3, 2), (1, 2), (4, 1)])
def test_exact_moments_give_exact_marginals(n_labels: int, n_states: int, rng: np.random.Generator) -> None:
    model = RefinementHMM.random(n_labels, n_states, 5, rng=rng)
    samples, table = exact_samples(model)
    operators = estimate_operators(samples, smoothing=0.0)
    for length in (1, 2, 5):
        tokens = rng.integers(0, 5, length)
        exact = model.brute_force_marginals(tokens.tolist())
        exact /= exact.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(marginals(operators, table, tokens), exact, atol=1e-8)


def test_smoothing_moves_the_operators_towards_the_label_means(rng: np.random.Generator) -> None:
    samples, _ = exact_samples(RefinementHMM.random(2, 3, 5, rng=rng))
    sharp, smooth = (estimate_operators(samples, smoothing=c * np.sqrt(HUGE)) for c in (0.0, 1e3))
    constant = (sharp.pair_state % 3 == 0) & (sharp.pair_observed % 3 == 0)
    np.testing.assert_allclose(smooth.transition[constant][:, ::3], sharp.transition[constant][:, ::3])
    assert np.abs(smooth.transition[~constant]).max() < 0.05 * np.abs(sharp.transition[~constant]).max()


@pytest.mark.slow
def test_marginals_approach_the_truth_as_data_grows(rng: np.random.Generator) -> None:
    model = RefinementHMM.random(2, 2, 5, rng=rng, conditioning=0.2)
    held_out = model.sample(50, rng).observations
    exact = [model.brute_force_marginals(x.tolist()[:7]) for x in held_out]
    errors = []
    for n in (300, 3000, 30000):
        sample = model.sample(n, rng)
        X, y = ([part.decode(i) for i in range(n)] for part in sample)
        tagger = Tagger(
            2, "spectral", smoothing=0.0, ridge=0.0, backoff=1e-6,
            views={
                "future": ["word[0]", "label[1]", "word[1]"],
                "past": ["label[-1]", "word[-1]"],
                "present": ["word[0]"],
                "destiny": ["label[-1]", "word[-1]", "label[1]", "word[1]"],
            },
        ).fit(X, y)  # fmt: skip
        found = tagger.marginals([held_out.decode(i)[:7] for i in range(len(held_out))])
        pairs = zip(found, exact, strict=True)
        errors.append(np.mean([np.abs(f - e / e.sum(axis=1, keepdims=True)).mean() for f, e in pairs]))
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 0.02


def test_one_state_is_the_supervised_hmm(rng: np.random.Generator) -> None:
    sample = RefinementHMM.random(3, 2, 6, rng=rng).sample(200, rng)
    X, y = ([part.decode(i) for i in range(200)] for part in sample)
    reference = Tagger(learner="hmm", factors=False).fit(X, y).marginals(X)
    for learner in ("spectral", "em", "spectral+em", "pivot"):
        found = Tagger(1, learner, factors=False).fit(X, y).marginals(X)
        np.testing.assert_allclose(np.concatenate(found), np.concatenate(reference), atol=1e-9, err_msg=learner)
